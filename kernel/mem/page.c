/*
 * Pages (page.h): a list of those given back, linked through their first word, the rest that nobody has had yet, and a
 * few for each hart, so that those that borrow pages do not meet at one lock with each.
 */
#include "mem/page.h"

#include <string.h>

#include "arch/hart.h"
#include "lib/compiler.h"
#include "lib/layout.h"
#include "lib/panic.h"
#include "lock/simple_lock.h"

DEFINE_SIMPLE_LOCK(pages_lock, "pages", SPL_HIGH);
static SIMPLE_LOCK_CLASS(cache_class, "pages of a hart", SPL_HIGH);

#define DRAWN 16 /* pages */

static uint32_t first, count; /* of the list */
static uint32_t begin, next, end; /* of all; of the rest */

#define CACHE(h) [h] = {.lock = SIMPLE_LOCK("pages of a hart", cache_class)}
_Static_assert(MAX_HARTS == 8, "one line each");

static struct cache {
    struct simple_lock lock;
    uint32_t lent; /* less what was given back here: of all harts together it counts; without the lock, by this hart */
    uint32_t count, page[PAGE_CACHE];
} __attribute__((aligned(64))) caches[MAX_HARTS] = {CACHE(0), CACHE(1), CACHE(2), CACHE(3),
                                                    CACHE(4), CACHE(5), CACHE(6), CACHE(7)};

void pages_init(uint32_t from, uint32_t to)
{
    begin = next = (from + PAGE_MASK) & ~PAGE_MASK;
    end = to & ~PAGE_MASK;
    first = count = 0;
    for (unsigned h = 0; h < MAX_HARTS; h++)
        caches[h].count = caches[h].lent = 0;
}

uint32_t pages_in_common(void)
{
    return count + (end - next) / PAGE_SIZE;
}

static void give(uint32_t page)
{
    *(uint32_t *)page_pointer(page) = first;
    first = page;
    count++;
}

/* Of the pages that nobody has had, some at once to the list, in an order drawn from the layout. */
static void draw_some(void)
{
    uint32_t page[DRAWN];
    for (unsigned i = 0; i < DRAWN; i++, next += PAGE_SIZE) {
        uint32_t j = layout_choice(LAYOUT_OF_FRAME, next / PAGE_SIZE, i + 1);
        page[i] = i == j ? next : page[j];
        page[j] = next;
    }
    for (unsigned i = 0; i < DRAWN; i++)
        give(page[i]);
}

static uint32_t take(void)
{
    if (layout_seed && !first && (end - next) / PAGE_SIZE >= DRAWN)
        draw_some();
    uint32_t page = first;
    if (page) {
        first = *(uint32_t *)page_pointer(page);
        count--;
    } else if (next < end) {
        page = next;
        next += PAGE_SIZE;
    }
    return page;
}

/*
 * Some of the pages that are in common go to `c`, which is this hart's, and one to the caller: half of what it holds at a time,
 * so that neither the next page nor the next one back needs this, but fewer when few are left. No two locks at once.
 */
static COLD uint32_t fill(struct cache *c, uint32_t reserve)
{
    uint32_t page[PAGE_CACHE / 2], n = 0;
    simple_lock(&pages_lock);
    uint32_t common = pages_in_common(), some = common > reserve ? common - reserve : 0;
    uint32_t most = some / (2 * hart_count) < PAGE_CACHE / 2 ? some / (2 * hart_count) : PAGE_CACHE / 2;
    while (n < most || (n < 1 && some))
        page[n++] = take();
    simple_unlock(&pages_lock);
    if (n > 1) {
        simple_lock(&c->lock);
        for (uint32_t i = 1; i < n; i++)
            c->page[c->count++] = page[i]; /* it was empty, and others only take */
        simple_unlock(&c->lock);
    }
    return n ? page[0] : 0;
}

/* When all else is out: what harts keep. */
static COLD uint32_t take_from_caches(void)
{
    uint32_t page = 0;
    for (unsigned h = 0; h < MAX_HARTS && !page; h++) {
        if (!caches[h].count)
            continue;
        simple_lock(&caches[h].lock);
        if (caches[h].count)
            page = caches[h].page[--caches[h].count];
        simple_unlock(&caches[h].lock);
    }
    return page;
}

uint32_t page_alloc_raw(void)
{
    crit_t s = simple_lock_enter(&pages_lock);
    uint32_t page = take();
    simple_unlock(&pages_lock);
    if (unlikely(!page))
        page = take_from_caches();
    crit_sec_leave(s);
    return page;
}

uint32_t page_borrow(uint32_t reserve, bool *fewer)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    struct cache *c = &caches[curhart->id];
    simple_lock(&c->lock);
    uint32_t page = c->count ? c->page[--c->count] : 0;
    simple_unlock(&c->lock);
    if (unlikely(!page)) {
        *fewer = true;
        page = fill(c, reserve);
        if (!page && !reserve)
            page = take_from_caches();
    }
    if (page)
        c->lent++;
    crit_sec_leave(s);
    return page;
}

uint32_t page_borrow_some(uint32_t reserve, uint32_t page[], uint32_t n)
{
    uint32_t have = 0;
    crit_t s = crit_sec_enter(SPL_HIGH);
    struct cache *c = &caches[curhart->id];
    simple_lock(&c->lock);
    while (have < n && c->count)
        page[have++] = c->page[--c->count];
    simple_unlock(&c->lock);
    if (have < n) {
        simple_lock(&pages_lock);
        while (have < n && pages_in_common() > reserve)
            page[have++] = take();
        simple_unlock(&pages_lock);
    }
    c->lent += have;
    crit_sec_leave(s);
    return have;
}

uint32_t page_alloc(void)
{
    uint32_t page = page_alloc_raw();
    if (page)
        memset(page_pointer(page), 0, PAGE_SIZE);
    return page;
}

bool page_is_ours(uintptr_t address)
{
    return address >= begin && address < next;
}

static void check(uint32_t page)
{
    if (page & PAGE_MASK || !page_is_ours(page))
        panic("page_free: %#lx is no page", (unsigned long)page);
}

void page_free(uint32_t page)
{
    check(page);
    crit_t s = simple_lock_enter(&pages_lock);
    give(page);
    simple_lock_leave(&pages_lock, s);
}

void page_return(uint32_t page)
{
    check(page);
    uint32_t over[PAGE_CACHE / 2], n = 0;
    crit_t s = crit_sec_enter(SPL_HIGH);
    struct cache *c = &caches[curhart->id];
    simple_lock(&c->lock);
    if (unlikely(c->count == PAGE_CACHE))
        while (n < PAGE_CACHE / 2)
            over[n++] = c->page[--c->count];
    c->page[c->count++] = page;
    simple_unlock(&c->lock);
    c->lent--;
    if (unlikely(n)) {
        simple_lock(&pages_lock);
        while (n)
            give(over[--n]);
        simple_unlock(&pages_lock);
    }
    crit_sec_leave(s);
}

uint32_t pages_take_end(uint32_t n, uint32_t reserve)
{
    uint32_t page = 0;
    crit_t s = simple_lock_enter(&pages_lock);
    if ((end - next) / PAGE_SIZE >= n && pages_in_common() >= n + reserve)
        page = end -= n * PAGE_SIZE;
    simple_lock_leave(&pages_lock, s);
    return page;
}

void pages_give_end(uint32_t page, uint32_t n)
{
    crit_t s = simple_lock_enter(&pages_lock);
    if (page != end)
        panic("pages_give_end: %#lx is not the last that was taken", (unsigned long)page);
    end += n * PAGE_SIZE;
    simple_lock_leave(&pages_lock, s);
}

uint32_t pages_free(void)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < MAX_HARTS; h++) {
        crit_t s = simple_lock_enter(&caches[h].lock);
        n += caches[h].count;
        simple_lock_leave(&caches[h].lock, s);
    }
    crit_t s = simple_lock_enter(&pages_lock);
    n += pages_in_common();
    simple_lock_leave(&pages_lock, s);
    return n;
}

/* In one section: whoever was to run between two of these looks could borrow, or return, any number of pages meanwhile. */
uint32_t pages_kept(uint32_t all)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    uint32_t others = pages_free() + pages_lent();
    crit_sec_leave(s);
    return all > others ? all - others : 0;
}

uint32_t pages_lent(void)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < MAX_HARTS; h++)
        n += caches[h].lent;
    return n;
}
