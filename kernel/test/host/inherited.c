/*
 * A task's memory is built a second time, object by object, from what vm/inherited.h says of it: the second task reads
 * what the first had, whatever either writes; pages that an upper object lacks come from the object that it
 * shadows. Sources: vm/inherited.c vm/map.c vm/shared.c vm/object.c vm/fault.c vm/page.c vm/pager.c vm/pageout.c
 * vm/swap.c vm/radix.c mem/page.c mem/zone.c lock/simple_lock.c lib/printf.c test/host/fake/vm.c
 */
#include "vm/inherited.h"

#include <errno.h>
#include <string.h>

#include "lib/random.h"
#include "test/host/fake/vm.h"
#include "test/host/host.h"
#include "vm/internal.h"

#define PAGES 12
#define MOST 32 /* objects */
#define ROUNDS 40
#define RW (PAGE_READ | PAGE_WRITE)

/* A pager whose memory is an object of the same kernel: it reads there what another node would send. */
static struct far {
    struct vm_object *object, *here;
    bool through;
} far[MOST];
static unsigned fars, asked, below, terminated;
static uint8_t page[PAGE_SIZE];
static struct vm_map *writer; /* of the file below all objects, or 0 */

static uint32_t *word(struct vm_map *map, unsigned n, unsigned rights);

static void far_request(uint32_t memory, vm_control_t control, uint32_t index, uint32_t count, unsigned rights)
{
    (void)rights;
    CHECK_EQUAL(count, 1);
    asked++;
    int result = vm_object_read(far[memory].object, index, far[memory].through, page);
    CHECK(result >= 0);
    below += result;
    if (result && writer) /* before the search goes further down */
        *word(writer, index, PAGE_WRITE) = 6;
    CHECK_EQUAL(
        result ? vm_pager_data_unavailable(control, index, 1) : vm_pager_data_supply(control, index, page, 1, 0), 0);
}

static void far_terminate(uint32_t memory, vm_control_t control)
{
    (void)control;
    terminated++;
    vm_object_release(far[memory].object);
}

static const struct vm_pager far_pager = {.name = "far", .data_request = far_request, .terminate = far_terminate};

/* The object that represents `object`, with all below it; the caller gets a reference. */
static struct vm_object *far_of(struct vm_object *object, struct vm_object *relative)
{
    for (unsigned i = 0; i < fars; i++)
        if (far[i].object == object && vm_object_try_reference(far[i].here))
            return far[i].here;
    CHECK(fars < MOST);
    unsigned n = fars++;
    uint32_t offset;
    struct vm_object *next = vm_object_below(object, &offset, &far[n].through);
    vm_object_reference(object);
    far[n].object = object;
    far[n].here = vm_object_create_relative(&far_pager, n, vm_object_size(object), relative, 7);
    CHECK(far[n].here);
    if (next) {
        struct vm_object *o = far_of(next, far[n].here);
        vm_object_set_shadow(far[n].here, o, offset);
        vm_object_release(o);
        vm_object_release(next);
    }
    return far[n].here;
}

static struct vm_map *build(struct vm_map *snapshot)
{
    struct vm_map *map = vm_map_create();
    struct vm_inherited r;
    struct vm_form form = vm_map_form(snapshot);
    vm_map_set_form(map, &form);
    for (uint32_t at = 0; vm_map_next(snapshot, at, &r); at = r.end) {
        struct vm_object *own = r.object;
        if (own) {
            r.object = far_of(own, 0);
            vm_object_release(own);
        }
        CHECK_EQUAL(vm_map_enter(map, &r), 0);
    }
    return map;
}

static uint32_t address_of(unsigned n)
{
    return VM_BEGIN + n * PAGE_SIZE;
}

static uint32_t *word(struct vm_map *map, unsigned n, unsigned rights)
{
    int error;
    uint32_t *w = fake_access(map, address_of(n), rights, &error);
    CHECK(w);
    return w + 3;
}

static void check(struct vm_map *map, const uint32_t *value)
{
    for (unsigned n = 0; n < PAGES; n++)
        CHECK_EQUAL(*word(map, n, PAGE_READ), value[n]);
}

/* The first map's memory: a file, which another map writes, or pages of 0. */
static void first_memory(struct random *r, struct vm_map *map, uint32_t *mine)
{
    static uint8_t bytes[PAGES * PAGE_SIZE];
    uint32_t address = VM_BEGIN;
    writer = 0;
    if (random_below(r, 2)) {
        struct vm_object *file = vm_object_of_bytes(bytes, sizeof bytes, PAGES);
        for (unsigned n = 0; n < PAGES; n++)
            memcpy(bytes + n * PAGE_SIZE + 12, &(uint32_t){mine[n] = 1000 + n}, 4);
        CHECK_EQUAL(vm_map_object(map, &address, sizeof bytes, VM_FIXED, file, 0, true, RW, RW, VM_INHERIT_COPY), 0);
        writer = vm_map_create();
        int error = vm_map_object(writer, &address, sizeof bytes, VM_FIXED, file, 0, false, RW, RW, VM_INHERIT_COPY);
        CHECK_EQUAL(error, 0);
        vm_object_release(file);
    } else {
        CHECK_EQUAL(vm_allocate(map, &address, sizeof bytes, VM_FIXED), 0);
    }
}

/*
 * A map with ancestors, each of which has written some pages; half of the time a file lies below all, which another map
 * writes.
 */
static void round_of(struct random *r)
{
    uint32_t mine[PAGES] = {0}, theirs[PAGES];
    struct vm_map *line[4] = {vm_map_create()};
    unsigned generations = 1 + random_below(r, 3);
    fars = asked = below = terminated = 0;
    first_memory(r, line[0], mine);
    for (unsigned g = 0; g < generations; g++) {
        for (unsigned i = random_below(r, PAGES); i; i--) {
            unsigned n = random_below(r, PAGES);
            *word(line[g], n, PAGE_WRITE) = mine[n] = random_next(r);
        }
        if (g + 1 < generations)
            line[g + 1] = vm_map_fork(line[g]);
    }
    struct vm_map *parent = line[generations - 1], *snapshot = vm_map_fork(parent), *child = build(snapshot);
    vm_map_release(snapshot);
    memcpy(theirs, mine, sizeof theirs);
    for (unsigned i = 0; i < 60; i++) {
        unsigned n = random_below(r, PAGES);
        if (writer)
            *word(writer, random_below(r, PAGES), PAGE_WRITE) = 6; /* changes the file, and no copy of it */
        switch (random_below(r, 4)) {
        case 0: *word(parent, n, PAGE_WRITE) = mine[n] = random_next(r); break;
        case 1: *word(child, n, PAGE_WRITE) = theirs[n] = random_next(r); break;
        case 2: CHECK_EQUAL(*word(child, n, PAGE_READ), theirs[n]); break;
        default: CHECK_EQUAL(*word(parent, n, PAGE_READ), mine[n]);
        }
    }
    check(parent, mine);
    check(child, theirs);
    struct vm_map *grandchild = vm_map_fork(child);
    for (unsigned n = 0; n < PAGES; n += 2)
        *word(child, n, PAGE_WRITE) = 5;
    check(grandchild, theirs);
    vm_map_release(child);
    check(grandchild, theirs);
    check(parent, mine);
    vm_map_release(grandchild);
    CHECK_EQUAL(terminated, fars);
    CHECK(asked || !fars);
    for (unsigned g = 0; g < generations; g++)
        vm_map_release(line[g]);
    if (writer)
        vm_map_release(writer);
    CHECK_EQUAL(vm_objects(), 0);
    vm_check_no_leak();
}

HOST_TEST(memory_that_is_built_again_is_what_it_was)
{
    struct random r = random_from(1, 3);
    unsigned came_from_below = 0;
    fake_vm_init(400, 0);
    for (unsigned i = 0; i < ROUNDS * host_times(); i++) {
        round_of(&r);
        came_from_below += below;
    }
    CHECK(came_from_below > ROUNDS);
}

static void no_terminate(uint32_t memory, vm_control_t control)
{
    (void)memory, (void)control;
}

static const struct vm_pager no_pager = {.name = "none", .terminate = no_terminate};

/* What another node says of objects may be wrong: no object comes to lie below itself, or on another family's. */
HOST_TEST(a_chain_has_an_end_and_one_family)
{
    enum { OBJECTS = 6 };
    struct vm_object *o[OBJECTS];
    int lies_on[OBJECTS];
    struct random r = random_from(1, 4);
    fake_vm_init(400, 0);
    for (unsigned i = 0; i < OBJECTS; i++) {
        o[i] = vm_object_create_relative(&no_pager, 0, 1, i && i < OBJECTS - 1 ? o[0] : 0, 7);
        CHECK(o[i]);
        lies_on[i] = -1;
    }
    for (unsigned i = 0; i < 400; i++) {
        unsigned above = random_below(&r, OBJECTS), under = random_below(&r, OBJECTS);
        int at = (int)under;
        while (at >= 0 && at != (int)above)
            at = lies_on[at];
        bool sound = lies_on[above] < 0 && at < 0 && (above == OBJECTS - 1) == (under == OBJECTS - 1);
        CHECK_EQUAL(vm_object_set_shadow(o[above], o[under], 0), sound);
        if (sound)
            lies_on[above] = (int)under;
    }
    for (unsigned i = 0; i < OBJECTS; i++)
        vm_object_release(o[i]);
}
