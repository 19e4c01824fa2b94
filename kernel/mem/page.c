/* Pages (page.h): a list of those given back, linked through their first word, and the rest that nobody has had yet. */
#include "mem/page.h"

#include <string.h>

#include "lib/panic.h"
#include "lock/simple_lock.h"

DEFINE_SIMPLE_LOCK(pages_lock, "pages", SPL_HIGH);

static uint32_t first, count; /* of the list */
static uint32_t begin, next, end; /* of all; of the rest */

void pages_init(uint32_t from, uint32_t to)
{
    begin = next = (from + PAGE_MASK) & ~PAGE_MASK;
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

uint32_t page_alloc_raw(void)
{
    crit_t s = simple_lock_enter(&pages_lock);
    uint32_t page = take();
    simple_lock_leave(&pages_lock, s);
    return page;
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

void page_free(uint32_t page)
{
    if (page & PAGE_MASK || !page_is_ours(page))
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
