/* Pages (page.h): a list of those given back, linked through their first word, and the rest that nobody has had yet. */
#include "mem/page.h"

#include <string.h>

#include "lib/panic.h"
#include "lock/simple_lock.h"

DEFINE_SIMPLE_LOCK(pages_lock, "pages", SPL_SOFTPREEMPT);

static uint32_t first, count; /* of the list */
static uint32_t next, end;    /* of the rest */

void pages_init(uint32_t from, uint32_t to)
{
    next = (from + PAGE_MASK) & ~PAGE_MASK;
    end = to & ~PAGE_MASK;
    first = count = 0;
}

static uint32_t take(void)
{
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

uint32_t page_alloc(void)
{
    crit_t s = simple_lock_enter(&pages_lock);
    uint32_t page = take();
    simple_lock_leave(&pages_lock, s);
    if (page)
        memset(page_pointer(page), 0, PAGE_SIZE);
    return page;
}

void page_free(uint32_t page)
{
    if (!page || page & PAGE_MASK || page >= next)
        panic("page_free: %#lx is no page", (unsigned long)page);
    crit_t s = simple_lock_enter(&pages_lock);
    *(uint32_t *)page_pointer(page) = first;
    first = page;
    count++;
    simple_lock_leave(&pages_lock, s);
}

uint32_t pages_free(void)
{
    crit_t s = simple_lock_enter(&pages_lock);
    uint32_t n = count + (end - next) / PAGE_SIZE;
    simple_lock_leave(&pages_lock, s);
    return n;
}
