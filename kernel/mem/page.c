/*
 * Pages (page.h): a list of returned pages, linked through their first words, the rest that has never been allocated,
 * and a cache for each hart, so that harts that borrow pages rarely contend for one lock. A bit for each page says
 * whether it is in the list, so that rows of adjacent pages are found there, too.
 */
#include "mem/page.h"

#include <string.h>
#include <sys/queue.h>

#include "arch/hart.h"
#include "lib/compiler.h"
#include "lib/layout.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lock/simple_lock.h"

DEFINE_SIMPLE_LOCK(pages_lock, "pages", SPL_HIGH);
static SIMPLE_LOCK_CLASS(cache_class, "pages of a hart", SPL_HIGH);

#define DRAWN 16 /* pages */

static uint32_t page_begin, page_next, page_end, page_limit; /* start of all, start and end of the rest, end of all */
static volatile uint32_t *listed;        /* bitmap in the first pages; changed with the lock held */

struct listed_page {
    LIST_ENTRY(listed_page) link;
};

static LIST_HEAD(, listed_page) page_list;
static uint32_t page_count; /* in the list */

#define CACHE(h) [h] = {.lock = SIMPLE_LOCK("pages of a hart", cache_class)}
_Static_assert(MAX_HARTS == 8, "one line each");

static struct cache {
    struct simple_lock lock;
    uint32_t lent; /* less the pages returned here: only the sum over harts counts; without the lock, by this hart */
    uint32_t count, page[PAGE_CACHE];
} __attribute__((aligned(64))) caches[MAX_HARTS] = {CACHE(0), CACHE(1), CACHE(2), CACHE(3),
                                                    CACHE(4), CACHE(5), CACHE(6), CACHE(7)};

void pages_init(uint32_t from, uint32_t to)
{
    page_begin = (from + PAGE_MASK) & ~PAGE_MASK;
    page_end = page_limit = to & ~PAGE_MASK;
    uint32_t words = ((page_end - page_begin) / PAGE_SIZE + 31) / 32, bytes = words * sizeof *listed;
    listed = page_pointer(page_begin);
    for (uint32_t i = 0; i < words; i++)
        listed[i] = 0;
    page_next = page_begin + ((bytes + PAGE_MASK) & ~PAGE_MASK);
    LIST_INIT(&page_list);
    page_count = 0;
    for (unsigned h = 0; h < MAX_HARTS; h++)
        caches[h].count = caches[h].lent = 0;
}

uint32_t pages_in_common(void)
{
    return page_count + (page_end - page_next) / PAGE_SIZE;
}

static uint32_t page_number_of(uint32_t page)
{
    return (page - page_begin) / PAGE_SIZE;
}

static bool is_listed(uint32_t number)
{
    return listed[number / 32] >> number % 32 & 1;
}

static void page_take_out(uint32_t page)
{
    struct listed_page *p = page_pointer(page);
    uint32_t number = page_number_of(page);
    LIST_REMOVE(p, link);
    listed[number / 32] &= ~(1u << number % 32);
    page_count--;
}

static void page_give(uint32_t page)
{
    uint32_t number = page_number_of(page);
    struct listed_page *p = page_pointer(page);
    LIST_INSERT_HEAD(&page_list, p, link);
    listed[number / 32] |= 1u << number % 32;
    page_count++;
}

/* Moves some never-allocated pages to the list at once, in an order drawn from the layout. */
static void draw_some(void)
{
    uint32_t page[DRAWN];
    for (unsigned i = 0; i < DRAWN; i++, page_next += PAGE_SIZE) {
        uint32_t j = layout_choice(LAYOUT_OF_FRAME, page_next / PAGE_SIZE, i + 1);
        page[i] = i == j ? page_next : page[j];
        page[j] = page_next;
    }
    for (unsigned i = 0; i < DRAWN; i++)
        page_give(page[i]);
}

static uint32_t page_take(void)
{
    if (layout_seed && LIST_EMPTY(&page_list) && (page_end - page_next) / PAGE_SIZE >= DRAWN)
        draw_some();
    uint32_t page = 0;
    if (!LIST_EMPTY(&page_list)) {
        page = page_address(LIST_FIRST(&page_list));
        page_take_out(page);
    } else if (page_next < page_end) {
        page = page_next;
        page_next += PAGE_SIZE;
    }
    return page;
}

/*
 * Moves some common pages to `c`, this hart's cache, and returns one to the caller: half a cache at a time, so that
 * neither the next allocation nor the next return needs this, but fewer when few are left. Never holds two locks at
 * once.
 */
static COLD uint32_t page_fill(struct cache *c, uint32_t reserve)
{
    uint32_t page[PAGE_CACHE / 2], n = 0;
    simple_lock(&pages_lock);
    uint32_t common = pages_in_common(), some = common > reserve ? common - reserve : 0;
    uint32_t most = MIN(some / (2 * hart_count), PAGE_CACHE / 2);
    while (n < most || (n < 1 && some))
        page[n++] = page_take();
    simple_unlock(&pages_lock);
    if (n > 1) {
        simple_lock(&c->lock);
        for (uint32_t i = 1; i < n; i++)
            c->page[c->count++] = page[i]; /* it was empty, and other harts only take */
        simple_unlock(&c->lock);
    }
    return n ? page[0] : 0;
}

/* When all other pages are out: takes one from a hart's cache. */
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
    uint32_t page = page_take();
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
        page = page_fill(c, reserve);
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
            page[have++] = page_take();
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
    return (address >= page_begin && address < page_next) || (address >= page_end && address < page_limit);
}

/* On the host free pages are filled, so that code that goes on using one, or expects zeros, fails. */
#ifdef __riscv
#define page_fill_free(page) ((void)0)
#else
__attribute__((no_sanitize("address"))) static void page_fill_free(uint32_t page)
{
    volatile uint32_t *word = page_pointer(page);
    for (uint32_t i = 0; i < PAGE_SIZE / sizeof *word; i++)
        word[i] = 0xa5a5a5a5;
}
#endif

static void page_check(uint32_t page)
{
    if (page & PAGE_MASK || !page_is_ours(page))
        panic("page_free: %#lx is no page", (unsigned long)page);
    page_fill_free(page);
}

void page_free(uint32_t page)
{
    page_check(page);
    crit_t s = simple_lock_enter(&pages_lock);
    page_give(page);
    simple_lock_leave(&pages_lock, s);
}

void page_return(uint32_t page)
{
    page_check(page);
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
            page_give(over[--n]);
        simple_unlock(&pages_lock);
    }
    crit_sec_leave(s);
}

/*
 * The number of the first of `n` adjacent pages that are in the list, as high in memory as possible; 0: none. A
 * hint.
 */
static uint32_t find_listed(uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = page_number_of(page_limit); i-- > 0;) {
        uint32_t word = listed[i / 32];
        if (!word) {
            found = 0;
            i -= i % 32;
            continue;
        }
        found = word >> i % 32 & 1 ? found + 1 : 0;
        if (found == n)
            return i;
    }
    return 0;
}

/* With the lock held: takes the pages for the caller, if they are still in the list. */
static bool take_listed(uint32_t number, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!is_listed(number + i))
            return false;
    for (uint32_t i = 0; i < n; i++)
        page_take_out(page_begin + (number + i) * PAGE_SIZE);
    return true;
}

/* Moves the pages of all harts' caches to the list. */
static void list_all(void)
{
    for (unsigned h = 0; h < MAX_HARTS; h++) {
        uint32_t page[PAGE_CACHE], n = 0;
        simple_lock(&caches[h].lock);
        while (caches[h].count)
            page[n++] = caches[h].page[--caches[h].count];
        simple_unlock(&caches[h].lock);
        simple_lock(&pages_lock);
        while (n)
            page_give(page[--n]);
        simple_unlock(&pages_lock);
    }
}

#define TRIES 3 /* other harts may take pages between the search, made without the lock, and what follows */

static uint32_t search_row(uint32_t n, uint32_t reserve)
{
    uint32_t page = 0;
    for (unsigned tries = 0; tries < TRIES && !page; tries++) {
        uint32_t number = find_listed(n);
        if (!number)
            break;
        simple_lock(&pages_lock);
        if (pages_in_common() >= n + reserve && take_listed(number, n))
            page = page_begin + number * PAGE_SIZE;
        simple_unlock(&pages_lock);
    }
    return page;
}

uint32_t pages_take_row(uint32_t n, uint32_t reserve)
{
    uint32_t page = 0;
    crit_t s = simple_lock_enter(&pages_lock);
    if ((page_end - page_next) / PAGE_SIZE < n) {
        for (; page_next < page_end; page_next += PAGE_SIZE) /* a row may begin before it */
            page_give(page_next);
    } else if (pages_in_common() >= n + reserve) {
        page = page_end -= n * PAGE_SIZE;
    }
    simple_unlock(&pages_lock);
    if (!page) {
        list_all(); /* otherwise pages in the harts' caches would interrupt it */
        page = search_row(n, reserve);
    }
    crit_sec_leave(s);
    return page;
}

void pages_give_row(uint32_t page, uint32_t n)
{
    crit_t s = simple_lock_enter(&pages_lock);
    if (page == page_end && page_next < page_end)
        page_end += n * PAGE_SIZE;
    else
        while (n)
            page_give(page + --n * PAGE_SIZE);
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

/*
 * In one section: another thread that ran between the two readings could borrow, or return, any number of pages.
 */
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
