/*
 * Virtual memory, its machine-independent part: random operations on maps agree with a model in which each page of a
 * map is a cell of its own or shared; also with little memory, when pages go to the default pager and come back,
 * and when memory is out.
 *
 * Sources: vm/map.c vm/shared.c vm/inherited.c vm/object.c vm/fault.c vm/page.c vm/pager.c vm/pageout.c vm/swap.c
 * vm/radix.c mem/page.c mem/zone.c lock/simple_lock.c lib/printf.c test/host/fake/vm.c
 */
#include <errno.h>
#include <string.h>

#include "lib/minmax.h"
#include "lib/random.h"
#include "mem/zone.h"
#include "test/host/fake/vm.h"
#include "test/host/host.h"
#include "vm/internal.h"
#include "vm/swap.h"

#define MAPS 6
#define WINDOW 40 /* pages from VM_BEGIN, in which all happens */
#define FILE_PAGES 24
#define RW (PAGE_READ | PAGE_WRITE)

/* ---- The model. */

struct cell {
    unsigned references;
    uint32_t value;
};

struct page {
    struct cell *cell; /* 0: no region */
    unsigned rights, maximum;
    enum vm_inherit inherit;
};

static struct model {
    struct vm_map *map; /* 0: none */
    struct page page[WINDOW];
} models[MAPS];

static struct cell cells[MAPS * WINDOW + 4 * FILE_PAGES];

/* What can be mapped by name: a file, and memory of 0. */
static struct named {
    struct vm_object *object;
    struct cell *cell[FILE_PAGES];
} named[2];

static uint8_t file_bytes[FILE_PAGES * PAGE_SIZE - 100];
static struct random seed;
static unsigned done[16], no_memory;
static bool scarce;

static uint32_t below(uint32_t n)
{
    return random_below(&seed, n);
}

static struct cell *cell_new(uint32_t value)
{
    for (unsigned i = 0; i < sizeof cells / sizeof *cells; i++)
        if (!cells[i].references) {
            cells[i] = (struct cell){1, value};
            return &cells[i];
        }
    host_failed(__FILE__, __LINE__, "too few cells");
}

static void page_set(struct page *p, struct page with)
{
    if (p->cell)
        p->cell->references--;
    *p = with;
}

static uint32_t address_of(unsigned page)
{
    return VM_BEGIN + page * PAGE_SIZE;
}

/* ---- What user mode does. A value is in a page's second word, and in its last, except at the file's end. */

static uint32_t *words(struct vm_map *map, unsigned page, unsigned rights, int *error)
{
    return fake_access(map, address_of(page), rights, error);
}

static int expected(const struct page *p, unsigned rights)
{
    return !p->cell ? -EFAULT : rights & ~p->rights ? -EACCES : 0;
}

static void check_page(struct model *m, unsigned page)
{
    int error;
    uint32_t *w = words(m->map, page, PAGE_READ, &error);
    if (scarce && error == -ENOMEM) {
        no_memory++;
        return;
    }
    CHECK_EQUAL(error, expected(&m->page[page], PAGE_READ));
    if (!error) {
        CHECK_EQUAL(w[1], m->page[page].cell->value);
        CHECK_EQUAL(w[900], m->page[page].cell->value);
    }
}

static void check_all(void)
{
    fake_looks = true;
    for (unsigned i = 0; i < MAPS; i++)
        for (unsigned p = 0; models[i].map && p < WINDOW; p++)
            check_page(&models[i], p);
    fake_looks = false;
}

static void write_page(struct model *m, unsigned page, uint32_t value)
{
    int error;
    uint32_t *w = words(m->map, page, PAGE_WRITE, &error);
    if (scarce && error == -ENOMEM) {
        no_memory++;
        return;
    }
    CHECK_EQUAL(error, expected(&m->page[page], PAGE_WRITE));
    if (!error)
        w[1] = w[900] = m->page[page].cell->value = value;
}

/* ---- Operations. Where the kernel says that memory is out, nothing may have happened. */

struct range {
    unsigned page, count;
};

static struct range some_range(void)
{
    unsigned page = below(WINDOW), count = 1 + below(below(4) ? 6 : 20);
    return (struct range){page, MIN(count, WINDOW - page)};
}

static bool out_of_memory(int error)
{
    if (error == -ENOMEM)
        CHECK(scarce);
    no_memory += error == -ENOMEM;
    return error == -ENOMEM;
}

static bool all_there(const struct model *m, struct range r)
{
    for (unsigned i = 0; i < r.count; i++)
        if (!m->page[r.page + i].cell)
            return false;
    return true;
}

static unsigned some_rights(void)
{
    static const unsigned rights[] = {RW, RW, RW, RW, PAGE_READ, PAGE_READ, 0, PAGE_READ | PAGE_EXECUTE, PAGE_RIGHTS};
    return rights[below(9)];
}

static void allocate(struct model *m)
{
    struct range r = some_range();
    uint32_t address = address_of(r.page);
    unsigned flags = below(3) ? VM_REPLACE : VM_FIXED;
    bool is_free = true;
    for (unsigned i = 0; i < r.count; i++)
        is_free = is_free && !m->page[r.page + i].cell;
    int error = vm_allocate(m->map, &address, r.count * PAGE_SIZE, flags);
    if (out_of_memory(error))
        return;
    CHECK_EQUAL(error, is_free || flags == VM_REPLACE ? 0 : -EEXIST);
    for (unsigned i = 0; i < r.count && !error; i++)
        page_set(&m->page[r.page + i], (struct page){cell_new(0), RW, PAGE_RIGHTS, VM_INHERIT_COPY});
}

static void anywhere(struct model *m)
{
    unsigned count = 1 + below(4), page, free = 0;
    for (page = 0; page < WINDOW && free < count; page++)
        free = m->page[page].cell ? 0 : free + 1;
    if (free < count)
        return;
    page -= count;
    uint32_t address = 0;
    int error = vm_allocate(m->map, &address, count * PAGE_SIZE, VM_ANYWHERE);
    if (out_of_memory(error))
        return;
    CHECK_EQUAL(error, 0);
    CHECK_EQUAL(address, address_of(page));
    for (unsigned i = 0; i < count; i++)
        page_set(&m->page[page + i], (struct page){cell_new(0), RW, PAGE_RIGHTS, VM_INHERIT_COPY});
}

static void deallocate(struct model *m)
{
    struct range r = some_range();
    int error = vm_deallocate(m->map, address_of(r.page), r.count * PAGE_SIZE);
    if (out_of_memory(error))
        return;
    CHECK_EQUAL(error, 0);
    for (unsigned i = 0; i < r.count; i++)
        page_set(&m->page[r.page + i], (struct page){0});
}

static void protect(struct model *m)
{
    struct range r = some_range();
    bool maximum = !below(6);
    unsigned rights = some_rights();
    int error = vm_protect(m->map, address_of(r.page), r.count * PAGE_SIZE, maximum, rights), should = 0;
    if (out_of_memory(error))
        return;
    if (!all_there(m, r))
        should = -EFAULT;
    for (unsigned i = 0; i < r.count && !should && !maximum; i++)
        if (rights & ~m->page[r.page + i].maximum)
            should = -EACCES;
    if (!maximum && rights == PAGE_RIGHTS)
        should = -EACCES;
    CHECK_EQUAL(error, should);
    for (unsigned i = 0; i < r.count && !error; i++) {
        struct page *p = &m->page[r.page + i];
        if (maximum) {
            p->maximum &= rights;
            p->rights &= p->maximum;
        } else {
            p->rights = rights;
        }
    }
}

static void inherit(struct model *m)
{
    struct range r = some_range();
    enum vm_inherit inherit = (enum vm_inherit)below(3);
    int error = vm_inherit(m->map, address_of(r.page), r.count * PAGE_SIZE, inherit);
    if (out_of_memory(error))
        return;
    CHECK_EQUAL(error, all_there(m, r) ? 0 : -EFAULT);
    for (unsigned i = 0; i < r.count && !error; i++)
        m->page[r.page + i].inherit = inherit;
}

static void copy(struct model *m)
{
    struct range from = some_range(), to = some_range();
    unsigned count = MIN(from.count, to.count);
    from.count = to.count = count;
    int error = vm_copy(m->map, address_of(from.page), count * PAGE_SIZE, address_of(to.page)), should = 0, access = 0;
    unsigned apart = from.page < to.page ? to.page - from.page : from.page - to.page;
    for (unsigned i = 0; i < count && all_there(m, from); i++)
        if (!(m->page[from.page + i].rights & PAGE_READ))
            access = -EACCES;
    for (unsigned i = 0; i < count && all_there(m, to); i++)
        if (!(m->page[to.page + i].rights & PAGE_WRITE))
            access = -EACCES;
    if (apart < count)
        should = -EINVAL;
    else if (!all_there(m, to) || !all_there(m, from))
        should = -EFAULT;
    else
        should = access;
    /* an operation that failed half-way has copied some: a page has its old value, or the new one */
    if (scarce && !should && error) {
        CHECK(error == -ENOMEM || error == -EFAULT);
        no_memory++;
        for (unsigned i = 0; i < count; i++) {
            struct cell *c = m->page[to.page + i].cell;
            int failed;
            uint32_t *w = words(m->map, to.page + i, PAGE_WRITE, &failed);
            if (failed)
                host_failed(__FILE__, __LINE__, "no page to look at: %d", failed);
            CHECK(w[1] == c->value || w[1] == m->page[from.page + i].cell->value);
            c->value = w[900] = w[1];
        }
        return;
    }
    if (out_of_memory(error))
        return;
    CHECK_EQUAL(error, should);
    for (unsigned i = 0; i < count && !error; i++)
        m->page[to.page + i].cell->value = m->page[from.page + i].cell->value;
}

static void map_named(struct model *m)
{
    struct range r = some_range();
    struct named *n = &named[below(2)];
    bool copies = below(2);
    unsigned offset = below(FILE_PAGES + 4), rights = below(2) ? RW : PAGE_READ;
    enum vm_inherit inherits = below(2) ? VM_INHERIT_COPY : VM_INHERIT_SHARE;
    uint32_t address = address_of(r.page);
    int error = vm_map_object(m->map, &address, r.count * PAGE_SIZE, VM_REPLACE, n->object, offset, copies, rights, RW,
                              inherits);
    if (out_of_memory(error))
        return;
    CHECK_EQUAL(error, offset + r.count <= FILE_PAGES ? 0 : -EINVAL);
    for (unsigned i = 0; i < r.count && !error; i++) {
        struct cell *c = n->cell[offset + i];
        if (copies)
            c = cell_new(c->value);
        else
            c->references++;
        page_set(&m->page[r.page + i], (struct page){c, rights, RW, inherits});
    }
}

static void fork_map(struct model *m)
{
    struct model *child = models;
    while (child < models + MAPS && child->map)
        child++;
    if (child == models + MAPS)
        return;
    child->map = vm_map_fork(m->map);
    if (!child->map) {
        CHECK(scarce);
        no_memory++;
        return;
    }
    for (unsigned i = 0; i < WINDOW; i++) {
        const struct page *p = &m->page[i];
        struct page c = *p;
        if (!p->cell || p->inherit == VM_INHERIT_NONE)
            c = (struct page){0};
        else if (p->inherit == VM_INHERIT_COPY)
            c.cell = cell_new(p->cell->value);
        else
            p->cell->references++;
        if (p->cell && p->inherit == VM_INHERIT_SHARE) {
            c.maximum &= ~(p->rights & PAGE_EXECUTE ? PAGE_WRITE : PAGE_EXECUTE);
            m->page[i].maximum = c.maximum;
        }
        child->page[i] = c;
    }
}

static void end_map(struct model *m)
{
    vm_map_release(m->map);
    m->map = 0;
    for (unsigned i = 0; i < WINDOW; i++)
        page_set(&m->page[i], (struct page){0});
}

static void bytes(struct model *m)
{
    uint8_t buffer[2 * PAGE_SIZE];
    unsigned page = below(WINDOW - 1);
    int error = copyin(m->map, buffer, address_of(page) + 100, sizeof buffer / 2);
    const struct page *p = &m->page[page];
    bool may = !expected(p, PAGE_READ) && !expected(p + 1, PAGE_READ);
    if (error && may && scarce) {
        no_memory++;
        return;
    }
    CHECK_EQUAL(error, may ? 0 : -EFAULT);
    if (!error)
        CHECK(!memcmp(buffer + 3600 - 100, &p->cell->value, 4));
    int wrong;
    uint32_t value = random_next(&seed);
    if (!expected(p, PAGE_WRITE)) {
        error = copyout(m->map, address_of(page) + 4, &value, 4);
        if (error && scarce) {
            no_memory++;
            return;
        }
        CHECK_EQUAL(error, 0);
        p->cell->value = value;
        uint32_t *w = words(m->map, page, PAGE_WRITE, &wrong);
        CHECK(w && w[1] == value);
        w[900] = value;
    } else {
        CHECK_EQUAL(copyout(m->map, address_of(page) + 4, &value, 4), -EFAULT);
    }
}

static void regions(struct model *m)
{
    struct vm_region region = {0};
    unsigned last = 0;
    for (uint32_t at = 0; !vm_region(m->map, at, &region); at = region.end) {
        CHECK(region.begin < region.end && region.begin >= at);
        for (unsigned p = (region.begin - VM_BEGIN) / PAGE_SIZE; p < (region.end - VM_BEGIN) / PAGE_SIZE; p++) {
            for (; last < p; last++)
                CHECK(!m->page[last].cell);
            CHECK(m->page[p].cell);
            CHECK_EQUAL(region.rights, m->page[p].rights);
            CHECK_EQUAL(region.maximum, m->page[p].maximum);
            CHECK_EQUAL(region.inherit, m->page[p].inherit);
            last = p + 1;
        }
    }
    for (; last < WINDOW; last++)
        CHECK(!m->page[last].cell);
}

static void wire(struct model *m)
{
    struct range r = some_range();
    int error = vm_wire(m->map, address_of(r.page), r.count * PAGE_SIZE, true);
    if (error == -ENOMEM && scarce)
        return;
    CHECK_EQUAL(error, all_there(m, r) ? 0 : -EFAULT);
    if (error)
        return;
    struct vm_statistics before, after;
    if (scarce)
        vm_page_wait();
    vm_statistics(&before);
    for (unsigned i = 0; i < r.count; i++)
        check_page(m, r.page + i);
    vm_statistics(&after);
    CHECK_EQUAL(after.pageins, before.pageins);
    CHECK_EQUAL(vm_wire(m->map, address_of(r.page), r.count * PAGE_SIZE, false), 0);
}

static bool sometimes(void)
{
    return !below(4);
}

static void one_operation(void)
{
    struct model *m = &models[below(MAPS)];
    unsigned what = below(100);
    if (!m->map) {
        if (what < 20)
            m->map = vm_map_create();
        return;
    }
    static const struct {
        unsigned upto;
        void (*fn)(struct model *m);
    } operations[] = {{8, allocate},   {12, anywhere}, {16, deallocate}, {23, protect}, {29, inherit}, {36, copy},
                      {42, map_named}, {52, fork_map}, {56, end_map},    {62, bytes},   {65, regions}, {67, wire}};
    for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++)
        if (what < operations[i].upto) {
            operations[i].fn(m);
            done[i]++;
            return;
        }
    if (what < 90)
        write_page(m, below(WINDOW), random_next(&seed));
    else if (what < 97)
        check_page(m, below(WINDOW));
    else if (what < 98)
        fake_forget(random_next(&seed), 3);
    else if (scarce)
        vm_page_wait();
}

static uint32_t free_at_start;

/* A store behind the RAM disk that cannot be written now and then. */
#define STORE_PAGES 500
static uint8_t stored[STORE_PAGES][PAGE_SIZE];
static uint32_t store_writes, store_reads, store_failures;
static bool with_store;

static int store_move(uint32_t n, void *data, bool write)
{
    CHECK(n < STORE_PAGES);
    if (write && store_writes++ % 7 == 0) {
        store_failures++;
        memset(stored[n], 0xee, PAGE_SIZE / 2);
        return -EIO;
    }
    store_reads += !write;
    write ? memcpy(stored[n], data, PAGE_SIZE) : memcpy(data, stored[n], PAGE_SIZE);
    return 0;
}

static const struct vm_swap_store store = {.pages = STORE_PAGES, .move = store_move};

static void begin(unsigned number, uint32_t pages, uint32_t swap)
{
    seed = random_from(number, 1);
    fake_vm_init(pages, swap);
    if (with_store) {
        CHECK_EQUAL(vm_swap_on(&store), 0);
        CHECK_EQUAL(vm_swap_on(&store), -EBUSY);
        CHECK_EQUAL(vm_swap_free(), swap + STORE_PAGES);
    }
    free_at_start = pages_free();
    host_upgrade_fails = sometimes;
    for (unsigned i = 0; i < FILE_PAGES; i++) {
        uint32_t value = i * 0x01010101u + 7, first[1024] = {0};
        first[1] = first[900] = value;
        memcpy(file_bytes + i * PAGE_SIZE, first, i + 1 < FILE_PAGES ? PAGE_SIZE : PAGE_SIZE - 100);
        named[0].cell[i] = cell_new(value);
        named[1].cell[i] = cell_new(0);
    }
    named[0].object = vm_object_of_bytes(file_bytes, sizeof file_bytes, FILE_PAGES);
    named[1].object = vm_object_create(FILE_PAGES);
    models[0].map = vm_map_create();
    CHECK(named[0].object && named[1].object && models[0].map);
}

static void end(void)
{
    for (unsigned i = 0; i < MAPS; i++)
        if (models[i].map)
            end_map(&models[i]);
    vm_object_release(named[0].object);
    vm_object_release(named[1].object);
    memset(cells, 0, sizeof cells);
    vm_check_no_leak();
    CHECK_EQUAL(fake_translations(), 0);
    struct vm_statistics s;
    vm_statistics(&s);
    CHECK_EQUAL(s.promised, 0);
    CHECK_EQUAL(vm_swap_free(), vm_swap_pages());
    CHECK_EQUAL(vm_swap_off(), 0);
    zones_reclaim();

    CHECK_EQUAL(pages_free(), free_at_start);
}

static void run(unsigned number, unsigned operations, uint32_t pages, uint32_t swap)
{
    begin(number, pages, swap);
    vm_object_collapses = number % 4;
    for (unsigned n = 0; n < operations; n++) {
        one_operation();
        if (n % 64 == 0)
            check_all();
    }
    check_all();
    end();
}

HOST_TEST(random_operations_agree_with_a_model)
{
    for (unsigned number = 1; number <= 24; number++)
        run(number, 2500, 1500, 0);
    for (unsigned i = 0; i < 12; i++)
        CHECK(done[i] > 100);
    struct vm_statistics s;
    vm_statistics(&s);
    CHECK(s.collapses > 20 && s.bypasses > 5 && s.pushes > 100 && s.copies > 100 && s.shadows > 100);
}

#define FEW 6

/* Copies the pages shared by name to the map's own behind them. */
static void copy_few(struct model *m)
{
    uint32_t to = address_of(FEW);
    CHECK(!vm_allocate(m->map, &to, FEW * PAGE_SIZE, VM_REPLACE));
    CHECK(!vm_copy(m->map, address_of(0), FEW * PAGE_SIZE, to));
    for (unsigned i = 0; i < FEW; i++)
        page_set(&m->page[FEW + i], (struct page){cell_new(m->page[i].cell->value), RW, PAGE_RIGHTS, VM_INHERIT_COPY});
}

/*
 * Few pages, shared by name and copied again and again, are written so often that harts have translations of them from
 * before a copy: a missed shootdown changes the copy.
 */
HOST_TEST(what_harts_remember_changes_no_copy)
{
    for (unsigned n = 1; n < 4; n++) {
        begin(n + 100, 400, 0);
        for (unsigned turn = 0; turn < 1500; turn++) {
            struct model *m = &models[below(3)];
            unsigned what = below(100);
            uint32_t address = address_of(0);
            if (!m->map)
                m->map = vm_map_create();
            if (!m->page[0].cell || what < 2) {
                CHECK(!vm_map_object(m->map, &address, FEW * PAGE_SIZE, VM_REPLACE, named[1].object, 0, false, RW, RW,
                                     VM_INHERIT_COPY));
                for (unsigned i = 0; i < FEW; i++) {
                    named[1].cell[i]->references++;
                    page_set(&m->page[i], (struct page){named[1].cell[i], RW, RW, VM_INHERIT_COPY});
                }
            } else if (what < 70) {
                write_page(m, below(FEW), random_next(&seed));
            } else if (what < 76) {
                fork_map(m);
            } else if (what < 82) {
                end_map(m);
            } else if (what < 86) {
                map_named(m);
            } else if (what < 90) {
                copy_few(m);
            } else {
                check_page(m, below(FEW));
            }
            if (turn % 4 == 0)
                check_all();
        }
        end();
    }
}

HOST_TEST(they_do_when_pages_leave_memory_and_come_back)
{
    scarce = true;
    for (unsigned number = 1; number <= 16; number++)
        run(number, 2500, 100, 600);
    struct vm_statistics s;
    vm_statistics(&s);
    CHECK(s.pageouts > 500 && s.pageins > 500);
}

HOST_TEST(a_store_behind_the_ram_disk_does_as_well_and_may_fail)
{
    scarce = with_store = true;
    for (unsigned number = 1; number <= 8; number++)
        run(number, 2500, 150, number % 2 * 50);
    CHECK(store_writes > 200 && store_reads > 100 && store_failures > 20);
    scarce = with_store = false;
}

/* Switched on while the RAM disk is in use, and off again: both keep their pages. */
HOST_TEST(a_store_comes_and_goes_while_there_are_pages_at_the_pager)
{
    enum { PAGES = 60, SWAP = 30 };
    begin(1, 60, SWAP);
    struct vm_map *map = models[0].map;
    uint32_t at = 0x20000000u, value;
    CHECK_EQUAL(vm_swap_off(), 0);
    CHECK_EQUAL(vm_allocate(map, &at, PAGES * PAGE_SIZE, VM_FIXED), 0);
    for (uint32_t n = 0; n < PAGES; n++)
        CHECK_EQUAL(vm_write(map, at + n * PAGE_SIZE, &n, sizeof n), 0);
    uint32_t used = vm_swap_pages() - vm_swap_free();
    CHECK(used > 10);
    CHECK_EQUAL(vm_swap_on(&store), 0);
    CHECK_EQUAL(vm_swap_free(), SWAP + STORE_PAGES - used);
    store_writes = 1;
    uint32_t more = 0x28000000u;
    CHECK_EQUAL(vm_allocate(map, &more, PAGES * PAGE_SIZE, VM_FIXED), 0);
    for (uint32_t n = 0; n < PAGES; n++)
        CHECK_EQUAL(vm_write(map, more + n * PAGE_SIZE, &n, sizeof n), 0);
    CHECK(vm_swap_free() < STORE_PAGES);
    CHECK_EQUAL(vm_swap_off(), -EBUSY);
    for (uint32_t n = 0; n < 2 * PAGES; n++) {
        CHECK_EQUAL(vm_read(map, (n < PAGES ? at : more) + n % PAGES * PAGE_SIZE, sizeof value, &value), 0);
        CHECK_EQUAL(value, n % PAGES);
    }
    CHECK_EQUAL(vm_deallocate(map, more, PAGES * PAGE_SIZE), 0);
    CHECK_EQUAL(vm_deallocate(map, at, PAGES * PAGE_SIZE), 0);
    CHECK_EQUAL(vm_swap_off(), 0);
    CHECK_EQUAL(vm_swap_pages(), SWAP);
    vm_map_release(map);
    models[0].map = 0;
}

/*
 * Without a RAM disk there is no room after the store is gone; an object that had pages there may still ask for one.
 */
HOST_TEST(a_pager_without_any_room_refuses)
{
    fake_vm_init(60, 0);
    static uint8_t page[PAGE_SIZE];
    for (unsigned turn = 0; turn < 2; turn++) {
        CHECK_EQUAL(vm_swap_pages(), 0);
        CHECK_EQUAL(vm_swap.data_return(1, 1, 7, page, 1, false), -ENOMEM);
        vm_swap.data_unwanted(1, 1, 7, 1);
        CHECK_EQUAL(vm_swap_on(&store), 0);
        store_writes = 1;
        CHECK_EQUAL(vm_swap.data_return(1, 1, 7, page, 1, false), 0);
        CHECK_EQUAL(vm_swap_off(), -EBUSY);
        vm_swap.data_unwanted(1, 1, 7, 1);
        CHECK_EQUAL(vm_swap_off(), 0);
    }
}

/* Also when no slot of the pager is free: a page that has come back still has its slot, and can leave again. */
HOST_TEST(what_was_promised_is_there)
{
    for (uint32_t pages = 60; pages < 240; pages += 30)
        for (uint32_t swap = 0; swap < 240; swap += 40) {
            begin(pages + swap, pages + swap + 10, swap);
            struct vm_map *map = models[0].map;
            uint32_t at = 0x20000000u, n = pages + swap, value;
            while (vm_allocate(map, &at, n * PAGE_SIZE, VM_FIXED))
                n--;
            CHECK(n > swap);
            for (uint32_t round = 0; round < 4; round++)
                for (uint32_t i = 0; i < n; i++) {
                    uint32_t page = round == 3 ? below(n) : i;
                    if (round && round < 3) {
                        CHECK_EQUAL(vm_read(map, at + page * PAGE_SIZE, sizeof value, &value), 0);
                        CHECK_EQUAL(value, page ^ (round - 1));
                    }
                    value = page ^ round;
                    CHECK_EQUAL(vm_write(map, at + page * PAGE_SIZE, &value, sizeof value), 0);
                }
            end();
        }
}

HOST_TEST(memory_that_runs_out_is_an_error_to_who_asks)
{
    scarce = true;
    for (unsigned number = 1; number <= 16; number++)
        run(number, 2500, 40 + number * 5, number % 2 ? 0 : 40);
    CHECK(no_memory > 200);
}

/* Of two maps that share a page, neither may execute it while the other may write it. */
HOST_TEST(shared_memory_stays_data)
{
    begin(1, 200, 0);
    struct vm_map *map = models[0].map, *child;
    uint32_t at = 0x20000000u;
    CHECK_EQUAL(vm_allocate(map, &at, PAGE_SIZE, VM_FIXED), 0);
    CHECK_EQUAL(vm_inherit(map, at, PAGE_SIZE, VM_INHERIT_SHARE), 0);
    CHECK((child = vm_map_fork(map)));
    CHECK_EQUAL(vm_inherit(child, at, PAGE_SIZE, VM_INHERIT_COPY), 0);
    CHECK_EQUAL(vm_protect(child, at, PAGE_SIZE, false, PAGE_READ | PAGE_EXECUTE), -EACCES);
    CHECK_EQUAL(vm_protect(map, at, PAGE_SIZE, false, PAGE_READ | PAGE_EXECUTE), -EACCES);
    CHECK_EQUAL(vm_protect(map, at, PAGE_SIZE, false, PAGE_READ), 0);
    CHECK_EQUAL(vm_protect(map, at, PAGE_SIZE, false, RW), 0);
    vm_map_release(child);
    end();
}

/* Nor room at the default pager: neither pages there nor pages that have come back keep a slot. */
HOST_TEST(what_is_deallocated_in_part_leaves_the_pager)
{
    enum { PAGES = 60, SWAP = 50 };
    begin(1, 40, SWAP);
    struct vm_map *map = models[0].map;
    uint32_t at = 0x20000000u, value;
    CHECK_EQUAL(vm_allocate(map, &at, PAGES * PAGE_SIZE, VM_FIXED), 0);
    for (unsigned round = 0; round < 2; round++)
        for (uint32_t n = 0; n < PAGES; n++)
            CHECK_EQUAL(round ? vm_read(map, at + n * PAGE_SIZE, sizeof value, &value)
                              : vm_write(map, at + n * PAGE_SIZE, &n, sizeof n),
                        0);
    CHECK(vm_swap_free() < SWAP - 20);
    CHECK_EQUAL(vm_deallocate(map, at + PAGE_SIZE, (PAGES - 2) * PAGE_SIZE), 0);
    CHECK(vm_swap_free() >= SWAP - 2);
    CHECK_EQUAL(vm_read(map, at + (PAGES - 1) * PAGE_SIZE, sizeof value, &value), 0);
    CHECK_EQUAL(value, PAGES - 1);
    end();
}

/* A task that frees part of its memory keeps no more pages than it still has mapped. */
HOST_TEST(what_is_deallocated_in_part_is_free)
{
    enum { PAGES = 64 };
    begin(1, 1500, 0);
    struct vm_map *map = models[0].map;
    struct vm_statistics s;
    uint32_t at[4];
    for (unsigned i = 0; i < 4; i++) {
        at[i] = 0x20000000u + 2 * i * PAGES * PAGE_SIZE;
        CHECK_EQUAL(vm_allocate(map, &at[i], PAGES * PAGE_SIZE, VM_FIXED), 0);
        for (uint32_t n = 0; n < PAGES; n++)
            CHECK_EQUAL(vm_write(map, at[i] + n * PAGE_SIZE, &n, sizeof n), 0);
        CHECK_EQUAL(vm_deallocate(map, at[i] + PAGE_SIZE, (PAGES - 2) * PAGE_SIZE), 0);
    }
    vm_statistics(&s);
    CHECK_EQUAL(s.used, 4 * 2);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t value;
        CHECK_EQUAL(vm_read(map, at[i] + (PAGES - 1) * PAGE_SIZE, sizeof value, &value), 0);
        CHECK_EQUAL(value, PAGES - 1);
    }
    end();
}

/* Numbers of all sizes in any order, in trees that are empty now and then; also when allocating nodes fails. */
HOST_TEST(tables_by_number_are_as_large_as_what_is_in_them)
{
    enum { VALUES = 40, PAGES = 200 };
    static uint32_t number[VALUES], held[PAGES];
    static bool in[VALUES];
    for (unsigned turn = 0; turn < 400; turn++) {
        begin(turn + 1, PAGES, 0);
        zones_reclaim();
        uint32_t taken = 0, left = turn % 2 ? turn / 2 % 4 : PAGES;
        while (pages_free() > left)
            held[taken++] = page_alloc_raw();
        struct radix r = {0};
        unsigned refused = 0, most = 1 + below(VALUES);
        for (unsigned i = 0; i < most; i++) {
            do
                number[i] = below(1u << (1 + below(4 * RADIX_BITS)));
            while (radix_get(&r, number[i]));
            in[i] = radix_set(&r, number[i], &number[i]);
            CHECK_EQUAL(radix_get(&r, number[i]) == &number[i], in[i]);
            refused += !in[i];
            if (!in[i])
                number[i] = ~0u;
        }
        CHECK(!refused || turn % 2);
        for (unsigned step = 0; step < 4 * VALUES + most; step++) {
            unsigned i = step < 4 * VALUES ? below(most) : step - 4 * VALUES; /* finally all are removed */
            if (number[i] == ~0u)
                continue;
            if (in[i] || step >= 4 * VALUES)
                radix_clear(&r, number[i]), in[i] = false;
            else
                in[i] = radix_add(&r, number[i], &number[i]);
            uint32_t first = below(1u << (1 + below(4 * RADIX_BITS))), found = first, least = ~0u;
            for (unsigned k = 0; k < most; k++)
                if (in[k] && number[k] >= first && number[k] < least)
                    least = number[k];
            uint32_t *value = radix_next(&r, &found);
            CHECK_EQUAL(value ? *value : ~0u, least);
        }
        CHECK(!r.root && !r.height && !radix_get(&r, 0) && !radix_nodes());
        while (taken)
            page_free(held[--taken]);
        end();
    }
}

/* Whichever page of a region is accessed first. */
HOST_TEST(of_large_regions_nothing_is_left)
{
    for (unsigned number = 1; number <= 60; number++) {
        uint32_t pages = number % 2 ? 1500 : 12 + below(200), left = 0;
        begin(number, pages, 0);
        struct vm_map *map = models[0].map;
        for (unsigned i = 0; i < 12; i++) {
            uint32_t at = 0x20000000u, n = 1 + below(1u << (1 + below(10)));
            if (vm_allocate(map, &at, n * PAGE_SIZE, VM_ANYWHERE))
                continue;
            for (unsigned k = below(5); k--;)
                left += vm_write(map, at + below(n) * PAGE_SIZE, &n, sizeof n) == -ENOMEM;
            if (below(2))
                CHECK_EQUAL(vm_deallocate(map, at, n * PAGE_SIZE), 0);
        }
        CHECK(!left || !(number % 2));
        end();
    }
}

static uint32_t resident(void)
{
    struct vm_statistics s;
    vm_statistics(&s);
    return s.used;
}

static void touch(struct vm_map *map, uint32_t address, unsigned rights)
{
    int error;
    uint32_t *w = fake_access(map, address, rights, &error);
    CHECK(w && !w[0] && !w[1023]);
    if (rights & PAGE_WRITE)
        w[0] = w[1023] = address;
}

/*
 * Twice as many with each fault, but none beyond the region or over existing pages, and none for reads or a descent.
 */
HOST_TEST(who_writes_in_order_gets_pages_ahead)
{
    enum { PAGES = 40, THERE = 11 };
    static const uint32_t after[][2] = {{0, 1}, {1, 3}, {3, 7}, {7, 11}, {12, 25}, {25, PAGES}};
    begin(1, 1500, 0);
    struct vm_map *map = models[0].map;
    uint32_t at = 0x20000000u, next = at + (PAGES + 1) * PAGE_SIZE;
    CHECK_EQUAL(vm_allocate(map, &at, PAGES * PAGE_SIZE, VM_FIXED), 0);
    CHECK_EQUAL(vm_allocate(map, &next, PAGES * PAGE_SIZE, VM_FIXED), 0);
    touch(map, at + THERE * PAGE_SIZE, PAGE_WRITE);
    for (unsigned i = 0; i < sizeof after / sizeof *after; i++) {
        touch(map, at + after[i][0] * PAGE_SIZE, PAGE_WRITE);
        CHECK_EQUAL(resident(), after[i][1] + (after[i][1] <= THERE));
    }
    CHECK_EQUAL(fake_translations(), PAGES);
    for (uint32_t page = 0; page < PAGES; page++)
        if (page != 0 && page != 1 && page != 3 && page != 7 && page != 12 && page != 25 && page != THERE)
            touch(map, at + page * PAGE_SIZE, PAGE_WRITE);
    for (uint32_t page = 0; page < 8; page++)
        touch(map, next + page * PAGE_SIZE, PAGE_READ);
    CHECK_EQUAL(resident(), PAGES + 8);
    for (uint32_t page = PAGES; page-- > PAGES - 8;)
        touch(map, next + page * PAGE_SIZE, PAGE_WRITE);
    CHECK_EQUAL(resident(), PAGES + 16);
    end();
}

/* Whichever page of an object comes first, and whichever is removed last, no node of its table is left. */
HOST_TEST(the_first_page_of_an_object_is_far_from_its_begin)
{
    enum { PAGES = 1300 };
    static const uint32_t first[] = {0, 63, 64, 127, 1000, PAGES - 1};
    for (unsigned i = 0; i < sizeof first / sizeof *first; i++)
        for (unsigned more = 0; more < 3; more++) {
            begin(1, 1500, 0);
            struct vm_map *map = models[0].map;
            uint32_t at = 0x20000000u;
            CHECK_EQUAL(vm_allocate(map, &at, PAGES * PAGE_SIZE, VM_FIXED), 0);
            touch(map, at + first[i] * PAGE_SIZE, PAGE_WRITE);
            if (more)
                CHECK_EQUAL(vm_write(map, at + (more == 1 ? 1 : PAGES - 2) * PAGE_SIZE, &at, sizeof at), 0);
            if (more == 2)
                CHECK_EQUAL(vm_deallocate(map, at + first[i] * PAGE_SIZE, PAGE_SIZE), 0);
            end();
        }
}

/* Nor behind a region whose object was once longer. */
HOST_TEST(pages_ahead_end_with_the_region)
{
    enum { PAGES = 8, REST = 5 };
    begin(1, 1500, 0);
    struct vm_map *map = models[0].map;
    uint32_t at = 0x20000000u;
    int error;
    CHECK_EQUAL(vm_allocate(map, &at, PAGES * PAGE_SIZE, VM_FIXED), 0);
    touch(map, at, PAGE_WRITE);
    CHECK_EQUAL(vm_deallocate(map, at + REST * PAGE_SIZE, (PAGES - REST) * PAGE_SIZE), 0);
    for (uint32_t page = 1; page < REST; page++)
        touch(map, at + page * PAGE_SIZE, PAGE_WRITE);
    CHECK_EQUAL(resident(), REST);
    CHECK(!fake_access(map, at + REST * PAGE_SIZE, PAGE_WRITE, &error) && error == -EFAULT);
    end();
}

/* Nor where few are left: another thread may need a page that one has unused. */
HOST_TEST(no_pages_ahead_where_memory_is_short)
{
    enum { ALL = 200, PAGES = 170 };
    begin(1, ALL, 0);
    struct vm_map *map = models[0].map;
    uint32_t at = 0x20000000u, value = 1;
    CHECK_EQUAL(vm_allocate(map, &at, PAGES * PAGE_SIZE, VM_FIXED), 0);
    uint32_t page = 0;
    for (; pages_free() > 50; page = resident())
        CHECK_EQUAL(vm_write(map, at + page * PAGE_SIZE, &value, sizeof value), 0);
    for (uint32_t had = page; page < had + 8; page++) {
        CHECK_EQUAL(vm_write(map, at + page * PAGE_SIZE, &value, sizeof value), 0);
        CHECK_EQUAL(resident(), page + 1);
    }
    end();
}

/*
 * A pager of pages of 0, which keeps none. When it is notified of its object's end, memory is short, and page-out scans
 * all pages.
 */
static bool ending;
static unsigned asked_to_keep;

static void ending_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    (void)memory, (void)rights;
    CHECK_EQUAL(vm_pager_data_unavailable(control, page, count), 0);
}

static int ending_return(uint32_t memory, vm_control_t control, uint32_t page, const void *data, uint32_t count,
                         bool kept)
{
    (void)memory, (void)control, (void)page, (void)data, (void)count, (void)kept;
    CHECK(!ending);
    asked_to_keep++;
    return -EIO;
}

static void ending_terminate(uint32_t memory, vm_control_t control)
{
    (void)memory, (void)control;
    ending = true;
    for (unsigned n = 0; n < 4; n++)
        vm_page_wait();
}

HOST_TEST(page_out_leaves_pages_of_an_object_that_ends)
{
    enum { PAGES = 8, ALL = 60 };
    static const struct vm_pager pager = {
        .name = "ending", .data_request = ending_request, .data_return = ending_return, .terminate = ending_terminate};
    begin(1, ALL, 0);
    struct vm_map *map = models[0].map;
    struct vm_object *o = vm_object_create_paged(&pager, 1, PAGES);
    uint32_t at = 0x20000000u;
    CHECK(o);
    CHECK_EQUAL(vm_map_object(map, &at, PAGES * PAGE_SIZE, VM_FIXED, o, 0, false, RW, RW, VM_INHERIT_SHARE), 0);
    for (uint32_t page = 0; page < PAGES; page++)
        CHECK_EQUAL(vm_write(map, at + page * PAGE_SIZE, &page, sizeof page), 0);
    vm_object_release(o); /* the region's reference is the last */
    uint32_t held[ALL], n = 0;
    while ((held[n] = page_alloc_raw()))
        n++;
    vm_page_wait();
    CHECK(n && asked_to_keep);
    CHECK_EQUAL(vm_deallocate(map, at, PAGES * PAGE_SIZE), 0);
    CHECK(ending);
    while (n)
        page_free(held[--n]);
    end();
}

/*
 * A pager that withholds the right to write until it is asked, and counts its calls: each call of the interface
 * in both directions (vm/pager.h), a copy that keeps the old contents, errors, and its end.
 */
#define TOLD_PAGES 8u
static struct {
    unsigned init, requests, unlocks, returns, completed, copies, ends;
    vm_control_t control;
    bool fails;
    uint32_t page[TOLD_PAGES][PAGE_SIZE / 4];
} told;

static void told_init(uint32_t memory, vm_control_t control, uint32_t pages)
{
    CHECK(memory == 9 && pages == TOLD_PAGES);
    told.control = control;
    told.init++;
}

static void told_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    CHECK(memory == 9 && control == told.control && count == 1 && rights);
    told.requests++;
    CHECK_EQUAL(told.fails ? vm_pager_data_error(control, page, 1)
                           : vm_pager_data_supply(control, page, told.page[page], 1, PAGE_WRITE),
                0);
}

static void told_unlock(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    CHECK(memory == 9 && control == told.control && count == 1 && rights & PAGE_WRITE);
    told.unlocks++;
    CHECK_EQUAL(vm_pager_lock_request(control, page, 1, VM_RETURN_NONE, false, 0), 0);
}

static int told_return(uint32_t memory, vm_control_t control, uint32_t page, const void *data, uint32_t count,
                       bool kept)
{
    CHECK(memory == 9 && control == told.control && count == 1);
    (void)kept;
    memcpy(told.page[page], data, PAGE_SIZE);
    told.returns++;
    return 0;
}

static void told_completed(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count)
{
    CHECK(memory == 9 && control == told.control && page + count <= TOLD_PAGES);
    told.completed++;
}

static void told_copy(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count)
{
    CHECK(memory == 9 && control == told.control && !page && count == TOLD_PAGES);
    told.copies++;
}

static void told_terminate(uint32_t memory, vm_control_t control)
{
    CHECK(memory == 9 && control == told.control);
    told.ends++;
}

static uint32_t word_at(struct vm_map *map, uint32_t at)
{
    uint32_t value = 0;
    CHECK_EQUAL(vm_read(map, at, sizeof value, &value), 0);
    return value;
}

static void store_at(struct vm_map *map, uint32_t at, uint32_t value)
{
    CHECK_EQUAL(vm_write(map, at, &value, sizeof value), 0);
}

HOST_TEST(a_pager_is_told_and_obeyed)
{
    static const struct vm_pager pager = {.name = "told",
                                          .init = told_init,
                                          .data_request = told_request,
                                          .data_unlock = told_unlock,
                                          .data_return = told_return,
                                          .lock_completed = told_completed,
                                          .copy = told_copy,
                                          .terminate = told_terminate};
    begin(1, 60, 0);
    for (uint32_t i = 0; i < TOLD_PAGES; i++)
        told.page[i][0] = 100 + i;
    struct vm_map *map = models[0].map;
    struct vm_object *o = vm_object_create_paged(&pager, 9, TOLD_PAGES);
    uint32_t at = 0x20000000u, seen = 0x21000000u, all = TOLD_PAGES * PAGE_SIZE;
    CHECK(o && told.init == 1 && vm_object_control(o) == told.control);
    CHECK_EQUAL(vm_map_object(map, &at, all, VM_FIXED, o, 0, false, RW, RW, VM_INHERIT_COPY), 0);
    CHECK(word_at(map, at) == 100 && told.requests == 1 && !told.unlocks);
    store_at(map, at, 7); /* a withheld right is requested, once */
    CHECK(word_at(map, at) == 7 && told.unlocks == 1);
    store_at(map, at, 8);
    CHECK(told.unlocks == 1 && told.completed == 1 && !told.returns);

    CHECK_EQUAL(vm_pager_lock_request(told.control, 0, TOLD_PAGES, VM_RETURN_DIRTY, false, PAGE_WRITE), 0);
    CHECK(told.returns == 1 && told.page[0][0] == 8 && word_at(map, at) == 8 && told.requests == 1);
    store_at(map, at, 9);
    CHECK(told.unlocks == 2);
    CHECK_EQUAL(vm_pager_lock_request(told.control, 0, TOLD_PAGES, VM_RETURN_ALL, true, 0), 0);
    CHECK(told.returns == 2 && told.page[0][0] == 9 && word_at(map, at) == 9 && told.requests == 2);

    CHECK_EQUAL(vm_map_object(map, &seen, all, VM_FIXED, o, 0, true, RW, RW, VM_INHERIT_COPY), 0);
    struct vm_map *child = vm_map_fork(map);
    CHECK(child && told.copies == 2);
    store_at(map, at, 10); /* pushed first */
    CHECK(word_at(map, seen) == 9 && word_at(child, at) == 9 && word_at(map, at) == 10);
    store_at(child, at + PAGE_SIZE, 55); /* and a copy's page is its own */
    CHECK(word_at(map, at + PAGE_SIZE) == 101 && word_at(map, seen + PAGE_SIZE) == 101);
    vm_map_release(child);

    told.fails = true;
    CHECK_EQUAL(vm_fault(map, at + 5 * PAGE_SIZE, PAGE_READ), -EIO);
    told.fails = false;
    CHECK(word_at(map, at + 5 * PAGE_SIZE) == 105); /* the next access asks again */
    CHECK_EQUAL(vm_pager_data_supply(told.control, 6, told.page[6], 1, 0), -ENOENT); /* no thread waits for it */
    CHECK_EQUAL(vm_pager_data_supply(told.control, TOLD_PAGES, told.page[0], 1, 0), -EINVAL);
    CHECK_EQUAL(vm_pager_lock_request(told.control, 1, TOLD_PAGES, VM_RETURN_ALL, true, 0), -EINVAL);
    CHECK_EQUAL(vm_pager_lock_request(told.control + 1, 0, 1, VM_RETURN_ALL, true, 0), -ENOENT);
    CHECK_EQUAL(vm_pager_data_error(told.control + 1, 0, 1), -ENOENT);

    CHECK_EQUAL(vm_pager_destroy(told.control), 0);
    CHECK_EQUAL(vm_fault(map, at + 7 * PAGE_SIZE, PAGE_READ), -EIO);
    CHECK(word_at(map, at) == 10 && !told.ends);
    CHECK_EQUAL(vm_deallocate(map, at, all), 0);
    CHECK_EQUAL(vm_deallocate(map, seen, all), 0);
    vm_object_release(o);
    CHECK(told.ends == 1 && vm_pager_destroy(told.control) == -ENOENT);
    end();
}

static uint32_t promised(void)
{
    struct vm_statistics s;
    vm_statistics(&s);
    return s.promised;
}

#define TOP 0x30000000u
#define STEP (4 * PAGE_SIZE)
#define STACK_MOST (16 * PAGE_SIZE)

static struct vm_map *grown;

static void another_thread_was_first(void)
{
    host_before_write = 0;
    store_at(grown, TOP - STEP - 8, 41);
}

static void its_map_is_held_alone(void)
{
    host_before_lock = 0;
    CHECK(grown->lock.written);
}

/* In whole steps, up to the next region or the agreed limit; exactly the pages that it has are promised. */
HOST_TEST(a_stack_grows_as_it_is_used)
{
    begin(1, 200, 0);
    struct vm_map *map = grown = models[0].map;
    uint32_t way = TOP - 3 * STEP + PAGE_SIZE;
    CHECK_EQUAL(vm_allocate_stack(map, TOP, STACK_MOST, STEP), 0);
    CHECK_EQUAL(vm_allocate_stack(map, TOP, STACK_MOST, STEP), -EEXIST);
    CHECK(promised() == 4 && vm_map_size(map) == STEP);
    store_at(map, TOP - 4, 40);
    CHECK(promised() == 4 && vm_map_size(map) == STEP);
    host_before_write = another_thread_was_first;
    CHECK_EQUAL(word_at(map, TOP - STEP - 8), 41);
    CHECK(!host_before_write && promised() == 8 && vm_map_size(map) == 2 * STEP);

    struct vm_map *child = vm_map_fork(map);
    CHECK(child && promised() == 16);
    CHECK_EQUAL(word_at(child, TOP - STEP - 8), 41);
    store_at(child, TOP - 4 * STEP, 42); /* two steps at once, to the last page */
    CHECK(promised() == 24 && vm_map_size(child) == 4 * STEP && vm_map_size(map) == 2 * STEP);
    CHECK_EQUAL(vm_fault(child, TOP - 4 * STEP - 4, PAGE_WRITE), -EFAULT);
    CHECK_EQUAL(vm_deallocate(child, TOP - 2 * STEP, STEP), 0);
    CHECK_EQUAL(vm_fault(child, TOP - 2 * STEP, PAGE_WRITE), -EFAULT); /* it was there, and was removed on purpose */
    vm_map_release(child);
    CHECK_EQUAL(promised(), 8);

    CHECK_EQUAL(vm_allocate(map, &way, PAGE_SIZE, VM_FIXED), 0);
    CHECK_EQUAL(vm_protect(map, way, PAGE_SIZE, false, PAGE_READ), 0);
    CHECK_EQUAL(vm_fault(map, way - 4, PAGE_WRITE), -EFAULT);
    host_before_lock = its_map_is_held_alone;
    CHECK_EQUAL(word_at(map, way + 2 * PAGE_SIZE), 0);
    CHECK(!host_before_lock && promised() == 8 + 1 + 2 && vm_map_size(map) == 2 * STEP + 3 * PAGE_SIZE);
    CHECK_EQUAL(vm_fault(map, way, PAGE_WRITE), -EACCES);
    CHECK_EQUAL(vm_deallocate(map, way, PAGE_SIZE), 0);
    uint32_t n = 0; /* if memory is out, nothing has happened */
    while (vm_promise(1))
        n++;
    CHECK_EQUAL(vm_fault(map, way, PAGE_WRITE), -ENOMEM);
    CHECK_EQUAL(vm_map_size(map), 2 * STEP + 2 * PAGE_SIZE);
    vm_unpromise(n);
    store_at(map, way, 43);
    CHECK(promised() == 12 && vm_map_size(map) == 3 * STEP);
    store_at(map, TOP - 4 * STEP, 44);
    CHECK(promised() == 16 && vm_map_size(map) == 4 * STEP);
    end();
}

static uint32_t tables(void)
{
    struct vm_statistics s;
    vm_statistics(&s);
    return s.tables;
}

/*
 * The first region in the range of a page table promises the table's page, besides the program's; until the
 * map is freed, as the table may exist.
 */
HOST_TEST(page_tables_are_promised)
{
    enum { AT = 0x10000000, SPANS = 10 };
    begin(1, 200, 0);
    struct vm_map *map = models[0].map;
    for (uint32_t i = 0; i < 2 * SPANS; i++) { /* a second region there takes none */
        uint32_t at = AT + i % SPANS * TABLE_REACH + (i >= SPANS ? 4 * PAGE_SIZE : 0);
        CHECK_EQUAL(vm_allocate(map, &at, PAGE_SIZE, VM_FIXED), 0);
        CHECK(promised() == i + 1 && tables() == (i < SPANS ? i + 1 : SPANS));
    }
    uint32_t across = AT + (2 * SPANS + 1) * TABLE_REACH - PAGE_SIZE;
    CHECK_EQUAL(vm_allocate(map, &across, 2 * PAGE_SIZE, VM_FIXED), 0);
    CHECK_EQUAL(tables(), SPANS + 2);
    struct vm_map *child = vm_map_fork(map);
    CHECK(child && tables() == 2 * (SPANS + 2));
    vm_map_release(child);
    CHECK_EQUAL(vm_deallocate(map, AT, 4 * SPANS * TABLE_REACH), 0);
    CHECK(promised() == 0 && tables() == SPANS + 2);
    uint32_t n = 0, at = AT + SPANS * TABLE_REACH, again = AT;
    while (vm_promise(1))
        n++;
    vm_unpromise(1);
    CHECK_EQUAL(vm_allocate(map, &again, PAGE_SIZE, VM_FIXED), 0);
    CHECK_EQUAL(vm_deallocate(map, again, PAGE_SIZE), 0);
    CHECK_EQUAL(vm_allocate(map, &at, PAGE_SIZE, VM_FIXED), -ENOMEM); /* no page is left for its table */
    vm_unpromise(n - 1);
    end();
    CHECK_EQUAL(tables(), 0);
}

/*
 * A mapping that replaces promised memory takes over its promise: nothing is promised twice meanwhile, and nothing is
 * lost.
 */
HOST_TEST(what_replaces_memory_has_its_promise)
{
    enum { AT = 0x20000000, PAGES = 100, SIZE = PAGES * PAGE_SIZE };
    begin(1, 200, 0);
    struct vm_map *map = models[0].map;
    uint32_t at = AT, more = AT + SIZE, n = 0;
    CHECK_EQUAL(vm_allocate(map, &at, SIZE, VM_FIXED), 0);
    store_at(map, AT + 5 * PAGE_SIZE, 7);
    CHECK_EQUAL(vm_allocate(map, &at, SIZE, VM_REPLACE), 0);
    CHECK(promised() == PAGES && word_at(map, AT + 5 * PAGE_SIZE) == 0);
    while (vm_promise(1))
        n++;
    CHECK_EQUAL(vm_allocate(map, &at, SIZE, VM_REPLACE), 0);
    CHECK_EQUAL(vm_allocate(map, &at, SIZE + PAGE_SIZE, VM_REPLACE), -ENOMEM);
    CHECK(promised() == PAGES + n && vm_map_size(map) == SIZE);
    vm_unpromise(n);
    at = AT + SIZE - 2 * PAGE_SIZE;
    CHECK_EQUAL(vm_allocate(map, &at, 4 * PAGE_SIZE, VM_REPLACE), 0);
    CHECK_EQUAL(promised(), PAGES + 2);
    at = AT + PAGE_SIZE; /* read-only memory has no promise */
    CHECK_EQUAL(vm_map_object(map, &at, 3 * PAGE_SIZE, VM_REPLACE, named[0].object, 0, false, PAGE_READ, PAGE_READ,
                              VM_INHERIT_COPY),
                0);
    CHECK_EQUAL(promised(), PAGES - 1);
    CHECK_EQUAL(vm_allocate(map, &at, 3 * PAGE_SIZE, VM_REPLACE), 0);
    CHECK_EQUAL(promised(), PAGES + 2);
    CHECK_EQUAL(vm_deallocate(map, more, 2 * PAGE_SIZE), 0);
    CHECK_EQUAL(promised(), PAGES);
    end();
}

/* In a child's range, too: first from the requested address, then from the range's begin, never behind its end. */
HOST_TEST(what_may_be_anywhere_lies_in_the_room)
{
    enum { BEGIN = 0x20000000, PAGES = 6, END = BEGIN + PAGES * PAGE_SIZE };
    begin(1, 200, 0);
    struct vm_map *map = models[0].map;
    uint32_t at = 0;
    CHECK(!vm_allocate(map, &at, PAGE_SIZE, VM_ANYWHERE) && at == VM_BEGIN);
    vm_map_set_room(map, BEGIN, END);
    at = 0;
    CHECK(!vm_allocate(map, &at, 2 * PAGE_SIZE, VM_ANYWHERE) && at == BEGIN);
    at = END - PAGE_SIZE;
    CHECK(!vm_allocate(map, &at, PAGE_SIZE, VM_ANYWHERE) && at == END - PAGE_SIZE);
    struct vm_map *child = vm_map_fork(map);
    CHECK(child);
    for (unsigned i = 0; i < 2; i++) {
        struct vm_map *one = i ? child : map;
        at = END - PAGE_SIZE;
        CHECK(!vm_allocate(one, &at, PAGE_SIZE, VM_ANYWHERE) && at == BEGIN + 2 * PAGE_SIZE);
        CHECK_EQUAL(vm_allocate(one, &at, 3 * PAGE_SIZE, VM_ANYWHERE), -ENOMEM);
        at = 0x30000000;
        CHECK(!vm_allocate(one, &at, 2 * PAGE_SIZE, VM_ANYWHERE) && at == BEGIN + 3 * PAGE_SIZE);
        CHECK_EQUAL(vm_allocate(one, &at, PAGE_SIZE, VM_ANYWHERE), -ENOMEM);
    }
    vm_map_release(child);
    end();
}

enum { MEANWHILE = 80 };
static struct vm_page *borrowed[MEANWHILE];
static unsigned sections;

/* While this thread is not within a section, others may run for long. */
static void others_borrow_and_return(void)
{
    if (sections--)
        return;
    host_section_begins = 0;
    for (unsigned i = 0; i < MEANWHILE; i++)
        if (borrowed[i]) {
            vm_page_free(borrowed[i]);
            borrowed[i] = 0;
        } else {
            CHECK((borrowed[i] = vm_page_alloc()));
        }
}

/* The pages left to promise do not depend on how many pages come and go while they are counted. */
HOST_TEST(memory_is_promised_while_others_take_and_return_pages)
{
    begin(1, 200, 0);
    uint32_t most = 0;
    while (vm_promise(1))
        most++;
    for (unsigned moment = 0; moment < 2 * (MAX_HARTS + 4); moment++) {
        vm_unpromise(1);
        sections = moment / 2; /* taken and returned in turn */
        host_section_begins = others_borrow_and_return;
        CHECK(vm_promise(1));
        CHECK(!vm_promise(1));
        host_section_begins = 0;
    }
    for (unsigned i = 0; i < MEANWHILE; i++)
        if (borrowed[i])
            vm_page_free(borrowed[i]);
    vm_unpromise(most);
    end();
}

#define EATEN 600
#define OTHERS 60

/* A program divides its unpromised mappings into as many regions as the kernel allows. */
HOST_TEST(a_program_with_many_regions_leaves_others_what_they_were_promised)
{
    static uint8_t file[EATEN * 64];
    fake_vm_init(160, 0);
    struct vm_object *object = vm_object_of_bytes(file, sizeof file, EATEN * 16);
    struct vm_map *eater = vm_map_create(), *other = vm_map_create();
    uint32_t at = VM_BEGIN, theirs = VM_BEGIN, size = EATEN * 16 * PAGE_SIZE, regions = 0;
    CHECK(!vm_allocate(other, &theirs, OTHERS * PAGE_SIZE, VM_FIXED));
    uint32_t before = promised(), free_before = pages_free();
    CHECK(!vm_map_object(eater, &at, size, VM_FIXED, object, 0, false, PAGE_READ, PAGE_READ, VM_INHERIT_COPY));
    CHECK_EQUAL(promised(), before);
    int error = 0;
    for (uint32_t i = 1; !error && i < EATEN * 16; i += 2) {
        error = vm_protect(eater, at + i * PAGE_SIZE, PAGE_SIZE, false, 0);
        regions += error ? 0 : 2;
    }
    CHECK_EQUAL(error, -ENOMEM);
    CHECK(regions > 100 && promised() > before + (regions - 100) / 8);
    int failed;
    for (uint32_t i = 0; i < OTHERS; i++)
        CHECK(fake_access(other, theirs + i * PAGE_SIZE, PAGE_WRITE, &failed));
    struct vm_map *child = vm_map_fork(eater); /* it would have as many regions */
    CHECK(!child);
    CHECK(!vm_deallocate(eater, at, size));
    CHECK_EQUAL(promised(), before);
    vm_map_release(eater);
    vm_map_release(other);
    vm_object_release(object);
    zones_reclaim();
    CHECK_EQUAL(promised(), 0);
    CHECK(pages_free() >= free_before - 4);
}
