/*
 * run=test-vm: maps, objects and faults, by threads on all harts at once. Each has a map of its own, and a model of
 * what is in its pages: it allocates, frees, writes, reads, copies, forks, and ends maps. All share a named object, of
 * which each writes its own words, and one map, in which each has a place: so families are shared, chains are
 * shortened while others search them, and faults meet busy pages. Where memory is scarce (user.pages=,
 * vm.swap=), pages are paged out and in meanwhile, and a lack of memory is an error. At the end nothing is left.
 */
#include <errno.h>
#include <string.h>

#include "test/test.h"
#include "vm/internal.h"

#define AT 0x10000000u
#define NAMED 0x11000000u
#define PAGES 12
#define COMMON (AT + 0x100000u)

static struct vm_object *test_vm_named;
static struct vm_map *common;

static struct state {
    struct random random;
    struct vm_map *map;
    uint32_t value[PAGES];       /* of each page's word; the page is there */
    uint32_t mine, shared;       /* this hart's word of the named object, and of the common map */
    uint32_t no_memory, checks, forks;
} states[MAX_HARTS];

/* Whether it was done; else memory is out, which is allowed. */
static bool done(struct state *s, int error)
{
    if (error == -ENOMEM) {
        s->no_memory++;
        return false;
    }
    if (error)
        panic("hart %u: error %d", (unsigned)(s - states), -error);
    return true;
}

static void test_vm_check(struct state *s, struct vm_map *map, uint32_t address, uint32_t should)
{
    uint32_t is;
    if (!done(s, copyin(map, &is, address, sizeof is)))
        return;
    s->checks++;
    if (is != should)
        panic("hart %u: at %#lx is %#lx, not %#lx", (unsigned)(s - states), (unsigned long)address, (unsigned long)is,
              (unsigned long)should);
}

static uint32_t test_vm_place(const struct state *s, uint32_t page)
{
    return AT + page * PAGE_SIZE + 4 * (uint32_t)(s - states);
}

static void write_word(struct state *s, uint32_t page)
{
    uint32_t value = random_next(&s->random);
    if (done(s, copyout(s->map, test_vm_place(s, page), &value, sizeof value)))
        s->value[page] = value;
}

/* A copy keeps what was there when it was made, whatever either side writes. */
static void fork_and_compare(struct state *s)
{
    uint32_t was[PAGES];
    struct vm_map *child = vm_map_fork(s->map);
    if (!child) {
        s->no_memory++;
        return;
    }
    s->forks++;
    memcpy(was, s->value, sizeof was);
    for (unsigned i = random_below(&s->random, 6); i; i--) {
        uint32_t page = random_below(&s->random, PAGES), value = random_next(&s->random);
        if (random_below(&s->random, 2))
            write_word(s, page);
        else if (done(s, copyout(child, test_vm_place(s, page), &value, sizeof value)))
            was[page] = value;
        page = random_below(&s->random, PAGES);
        test_vm_check(s, child, test_vm_place(s, page), was[page]);
        test_vm_check(s, s->map, test_vm_place(s, page), s->value[page]);
    }
    if (random_below(&s->random, 2)) { /* the parent ends, and the child goes on */
        struct vm_map *parent = s->map;
        s->map = child;
        memcpy(s->value, was, sizeof was);
        child = parent;
    }
    vm_map_release(child);
}

static void named_word(struct state *s)
{
    uint32_t at = NAMED + 4 * (uint32_t)(s - states), value = random_next(&s->random);
    test_vm_check(s, s->map, at, s->mine);
    if (done(s, copyout(s->map, at, &value, sizeof value)))
        s->mine = value;
}

static void common_word(struct state *s)
{
    uint32_t at = COMMON + (uint32_t)(s - states) * 4, value = random_next(&s->random);
    uint32_t own = COMMON + PAGE_SIZE * (8 + (uint32_t)(s - states)), is;
    test_vm_check(s, common, at, s->shared);
    if (done(s, copyout(common, at, &value, sizeof value)))
        s->shared = value;
    /* its list of regions changes while others fault */
    if (!done(s, vm_allocate(common, &own, PAGE_SIZE, VM_FIXED)))
        return;
    if (done(s, copyin(common, &is, own, sizeof is)))
        assert(!is);
    if (done(s, vm_protect(common, own, PAGE_SIZE, false, PAGE_READ)))
        assert(copyout(common, own, &value, sizeof value) == -EFAULT);
    while (!done(s, vm_deallocate(common, own, PAGE_SIZE)))
        thread_yield();
}

static void test_vm_move(struct state *s)
{
    uint32_t from = random_below(&s->random, PAGES), to = random_below(&s->random, PAGES);
    if (from == to)
        return;
    int error = vm_copy(s->map, AT + from * PAGE_SIZE, PAGE_SIZE, AT + to * PAGE_SIZE);
    if (done(s, error))
        s->value[to] = s->value[from];
}

static void renew(struct state *s)
{
    uint32_t page = random_below(&s->random, PAGES), address = AT + page * PAGE_SIZE;
    if (done(s, vm_allocate(s->map, &address, PAGE_SIZE, VM_REPLACE)))
        s->value[page] = 0;
}

static void test_vm_begin(struct state *s, unsigned hart)
{
    uint32_t address = AT, there = NAMED;
    s->random = random_from(run_seed, hart);
    s->map = vm_map_create();
    if (!s->map || vm_allocate(s->map, &address, PAGES * PAGE_SIZE, VM_FIXED) ||
        vm_map_object(s->map, &there, PAGE_SIZE, VM_FIXED, test_vm_named, 0, false, PAGE_READ | PAGE_WRITE,
                      PAGE_READ | PAGE_WRITE, VM_INHERIT_SHARE))
        panic("run=test-vm: no memory to begin with: give more user.pages");
}

static void test_vm_traffic(void *arg)
{
    unsigned hart = (uintptr_t)arg;
    struct state *s = &states[hart];
    test_vm_begin(s, hart);
    for (uint32_t n = bootargs_number(BOOT(test_vm, rounds)); n; n--) {
        switch (random_below(&s->random, 8)) {
        case 0: fork_and_compare(s); break;
        case 1: named_word(s); break;
        case 2: common_word(s); break;
        case 3: test_vm_move(s); break;
        case 4: renew(s); break;
        default: write_word(s, random_below(&s->random, PAGES)); break;
        }
        uint32_t page = random_below(&s->random, PAGES);
        test_vm_check(s, s->map, test_vm_place(s, page), s->value[page]);
    }
    for (uint32_t page = 0; page < PAGES; page++)
        test_vm_check(s, s->map, test_vm_place(s, page), s->value[page]);
    vm_map_release(s->map);
}

static int vm(void)
{
    uint32_t address = COMMON, no_memory = 0, checks = 0, forks = 0;
    test_vm_named = vm_object_create(1);
    common = vm_map_create();
    if (!test_vm_named || !common || vm_allocate(common, &address, PAGE_SIZE, VM_FIXED))
        panic("run=test-vm: no memory to begin with: give more user.pages");
    test_on_every_hart(test_vm_traffic);
    vm_map_release(common);
    vm_object_release(test_vm_named);
    vm_check_no_leak();
    test_assert_base();
    struct vm_statistics v;
    vm_statistics(&v);
    assert(!v.promised && vm_swap_free() == vm_swap_pages());
    for (unsigned h = 0; h < test_harts(); h++) {
        no_memory += states[h].no_memory;
        checks += states[h].checks;
        forks += states[h].forks;
    }
    kprintf("@test name=vm checks=%lu forks=%lu no_memory=%lu pageins=%lu pageouts=%lu copies=%lu pushes=%lu "
            "collapses=%lu\n",
            (unsigned long)checks, (unsigned long)forks, (unsigned long)no_memory, (unsigned long)v.pageins,
            (unsigned long)v.pageouts, (unsigned long)v.copies, (unsigned long)v.pushes, (unsigned long)v.collapses);
    return 0;
}

RUN("test-vm", "test: maps, objects and faults from all harts", vm);
