/*
 * Pages: random calls on several harts agree with a model; no other owner changes what one wrote; and pages in a
 * row are found exactly where there are some, whatever their former owners. Sources: mem/page.c lock/simple_lock.c
 */
#include "mem/page.h"

#include <string.h>

#include "arch/hart.h"
#include "lib/random.h"
#include "test/host/host.h"

#define PAGES 300
#define RAM_PAGES PAGES
#define HARTS 3

#include "test/host/ram.h"

/* The model: the owner of each page; NOBODY: it can be allocated. */
enum owner { NOBODY, ALLOCATED, BORROWED, ROW };
static enum owner owner[PAGES];
static uint32_t row_pages[PAGES]; /* of the row that begins here */
static uint32_t unowned;

static uint32_t number_of(uint32_t page)
{
    return (page - BASE) / PAGE_SIZE;
}

static void get(uint32_t page, enum owner by)
{
    uint32_t i = number_of(page);
    CHECK(page % PAGE_SIZE == 0 && i < PAGES && owner[i] == NOBODY);
    owner[i] = by;
    unowned--;
    memset(page_pointer(page), (int)i, PAGE_SIZE);
}

static void lose(uint32_t i)
{
    for (uint32_t at = 0; at < PAGE_SIZE; at += 64)
        CHECK_EQUAL(memory[i * PAGE_SIZE + at], (uint8_t)i);
    memset(memory + i * PAGE_SIZE, 0xa5, PAGE_SIZE);
    owner[i] = NOBODY;
    unowned++;
}

static bool has_row(uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < PAGES && found < n; i++)
        found = owner[i] == NOBODY ? found + 1 : 0;
    return found == n;
}

static uint32_t begin(void)
{
    hart_count = HARTS;
    for (unsigned h = 0; h < HARTS; h++)
        harts[h].id = h;
    pages_init(BASE, BASE + sizeof memory);
    uint32_t all = pages_free();
    memset(owner, 0, sizeof owner);
    for (uint32_t i = 0; i < PAGES - all; i++)
        owner[i] = ALLOCATED; /* by mem/page.c, for its own use */
    unowned = all;
    return all;
}

static void take_row(struct random *r)
{
    uint32_t n = 2 + random_below(r, 24), reserve = random_below(r, 3) ? 0 : random_below(r, 100);
    bool should = unowned >= n + reserve && has_row(n);
    uint32_t page = pages_take_row(n, reserve);
    CHECK_EQUAL(page != 0, should);
    if (!page)
        return;
    row_pages[number_of(page)] = n;
    for (uint32_t i = 0; i < n; i++)
        get(page + i * PAGE_SIZE, ROW);
}

static void give_back(uint32_t i)
{
    uint32_t page = BASE + i * PAGE_SIZE, n = 1;
    switch (owner[i]) {
    case ALLOCATED:
        lose(i);
        page_free(page);
        break;
    case BORROWED:
        lose(i);
        page_return(page);
        break;
    case ROW:
        if (!row_pages[i])
            return; /* in the middle of a row */
        for (n = 0; n < row_pages[i]; n++)
            lose(i + n);
        row_pages[i] = 0;
        pages_give_row(page, n);
        break;
    default: break;
    }
}

/* Allocates more for a while, then frees more, so that memory is all used, and all free, again and again. */
HOST_TEST(any_order_of_calls)
{
    struct random r = random_from(1, 0);
    uint32_t all = begin(), rows_failed = 0, own = PAGES - all;
    for (unsigned turn = 0; turn < 40000 * host_times(); turn++) {
        curhart = &harts[random_below(&r, HARTS)];
        bool takes = random_below(&r, 10) < (turn / 700 % 2 ? 3 : 7), fewer = false;
        uint32_t page;
        if (!takes) {
            give_back(own + random_below(&r, all));
        } else if (random_below(&r, 20) == 0) {
            rows_failed += !has_row(10);
            take_row(&r);
        } else if (random_below(&r, 2)) {
            page = page_alloc_raw();
            CHECK_EQUAL(page != 0, unowned != 0);
            if (page)
                get(page, ALLOCATED);
        } else {
            page = page_borrow(0, &fewer);
            CHECK_EQUAL(page != 0, unowned != 0);
            if (page)
                get(page, BORROWED);
        }
        CHECK_EQUAL(pages_free(), unowned);
    }
    CHECK(rows_failed > 10);
    for (uint32_t i = own; i < PAGES; i++)
        give_back(i);
    CHECK_EQUAL(pages_free(), all);
    CHECK_EQUAL(pages_lent(), 0);
}

static uint32_t rows(uint32_t n)
{
    uint32_t page[PAGES], have = 0;
    while ((page[have] = pages_take_row(n, 0)))
        have++;
    for (uint32_t i = 0; i < have; i++)
        pages_give_row(page[i], n);
    return have;
}

HOST_TEST(memory_used_once_leaves_as_many_rows)
{
    struct random r = random_from(2, 0);
    uint32_t all = begin(), page[PAGES];
    for (uint32_t n = 2; n < 60; n += 7) {
        begin();
        uint32_t before = rows(n), used = all - random_below(&r, n); /* some were never used */
        begin();
        for (uint32_t i = 0; i < used; i++) {
            curhart = &harts[i % HARTS];
            page[i] = page_alloc_raw();
        }
        CHECK(used < all || !page_alloc_raw());
        for (uint32_t left = used; left; left--) {
            uint32_t i = random_below(&r, left);
            curhart = &harts[left % HARTS];
            page_return(page[i]);
            page[i] = page[left - 1];
        }
        CHECK_EQUAL(before, all / n);
        CHECK_EQUAL(rows(n), before);
        CHECK_EQUAL(pages_free(), all);
    }
}
