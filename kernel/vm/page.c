/* Pages of objects (page.h). */
#include "vm/page.h"

#include <string.h>

#include "lib/panic.h"
#include "sched/sched.h"
#include "vm/internal.h"

#define RESERVE 8 /* pages for threads that free others, and for page tables */

uint32_t vm_pages_begin;
struct vm_page *vm_pages;
volatile bool vm_page_scarce;
static volatile uint32_t promised, promised_tables;
uint32_t vm_page_count, vm_page_low, vm_ahead = VM_AHEAD;
struct vm_counts vm_counts[MAX_HARTS];

/* Guards that a thread that found a page busy is asleep before it is woken. */
DEFINE_SIMPLE_LOCK(sleepers_lock, "vm sleepers", SPL_SOFTPREEMPT);

void vm_pages_init(uint32_t begin, uint32_t end, uint32_t most)
{
    begin = (begin + PAGE_MASK) & ~PAGE_MASK;
    uint32_t table = ((end - begin) / PAGE_SIZE * sizeof(struct vm_page) + PAGE_MASK) & ~PAGE_MASK;
    vm_pages = page_pointer(begin);
    vm_pages_begin = begin + table;
    vm_page_count = (end - vm_pages_begin) / PAGE_SIZE;
    if (vm_page_count > most)
        vm_page_count = most;
    memset(vm_pages, 0, vm_page_count * sizeof *vm_pages);
    promised = promised_tables = 0;
    vm_page_low = vm_page_count / 32 + RESERVE;
    pages_init(vm_pages_begin, vm_pages_begin + vm_page_count * PAGE_SIZE);
}

void vm_page_zero(struct vm_page *page)
{
    memset(vm_page_bytes(page), 0, PAGE_SIZE);
}

void vm_page_copy(struct vm_page *to, const struct vm_page *from)
{
    memcpy(vm_page_bytes(to), vm_page_bytes(from), PAGE_SIZE);
}

static inline void clean_slate(struct vm_page *p)
{
    p->busy = true;
    p->wanted = p->dirty = p->backed = p->absent = p->error = p->unlocking = p->granted = p->inactive = false;
    p->clean = 0; /* no instruction cache has what is about to be written */
    p->locked = 0;
    p->wired = 0;
}

struct vm_page *vm_page_alloc(void)
{
    bool fewer = false;
    uint32_t address = page_borrow(RESERVE, &fewer);
    if (unlikely(fewer) && pages_in_common() < vm_page_low)
        vm_pageout_wake();
    if (!address)
        return 0;
    struct vm_page *p = vm_page_at(address);
    clean_slate(p);
    return p;
}

uint32_t vm_page_alloc_some(struct vm_page *page[], uint32_t n)
{
    uint32_t address[VM_AHEAD], have = page_borrow_some(RESERVE, address, n);
    for (uint32_t i = 0; i < have; i++) {
        page[i] = vm_page_at(address[i]);
        clean_slate(page[i]);
    }
    return have;
}

void vm_page_free(struct vm_page *page)
{
    if (page->object || page->place.pmap)
        panic("vm_page_free: page %#lx is in use", (unsigned long)vm_page_address(page));
    page->busy = false;
    page_return(vm_page_address(page));
}

bool vm_page_insert(struct vm_object *object, uint32_t index, struct vm_page *page)
{
    if (!radix_set(&object->pages, index, page))
        return false;
    page->object = object;
    page->index = index;
    object->resident++;
    object->busy++;
    return true;
}

bool vm_page_add(struct vm_object *object, uint32_t index, struct vm_page *page)
{
    if (!radix_add(&object->pages, index, page))
        return false;
    page->busy = false;
    page->object = object;
    page->index = index;
    object->resident++;
    return true;
}

void vm_page_remove(struct vm_page *page)
{
    struct vm_object *o = page->object;
    radix_clear(&o->pages, page->index);
    o->resident--;
    o->busy--;
    page->object = 0;
}

void vm_page_wake(struct vm_page *page)
{
    if (!page->wanted)
        return;
    page->wanted = false;
    crit_t s = simple_lock_enter(&sleepers_lock);
    thread_wakeup(page);
    simple_lock_leave(&sleepers_lock, s);
}

void vm_page_unbusy(struct vm_page *page)
{
    page->busy = false;
    page->object->busy--;
    if (page->wanted)
        vm_page_wake(page);
}

void vm_page_discard(struct vm_page *page)
{
    if (page->place.pmap)
        pmap_page_protect(page, 0);
    if (!page->busy) {
        page->busy = true;
        page->object->busy++;
    }
    vm_page_remove(page);
    vm_page_wake(page);
    vm_page_free(page);
}

void vm_page_to_pager(struct vm_page *page)
{
    struct vm_object *o = page->object;
    if (page->place.pmap)
        pmap_page_protect(page, 0);
    radix_set(&o->pages, page->index, VM_PAGED); /* needs no memory: the slot is in use */
    o->resident--;
    o->paged++;
    o->busy -= page->busy;
    page->object = 0;
    vm_page_wake(page);
    vm_page_free(page);
}

void vm_page_sleep(struct vm_page *page, struct vm_object *object, struct lock *map)
{
    page->wanted = true;
    crit_t s = simple_lock_enter(&sleepers_lock);
    vm_object_unlock(object);
    if (map)
        lock_done(map);
    thread_sleep(page, &sleepers_lock);
    simple_lock_leave(&sleepers_lock, s);
}

/* Pages that the kernel uses, or will use for page tables not allocated yet, are not promised. */
bool vm_promise(uint32_t n)
{
    uint32_t used = pages_kept(vm_page_count), tables = pmap_tables - vm_maps();
    uint32_t slack = 2 * RESERVE + used / 8 + vm_page_count / 64;
    uint32_t least = used + slack + (tables < promised_tables ? promised_tables - tables : 0),
             most = vm_page_count + vm_swap_pages();
    for (;;) {
        uint32_t old = promised;
        if (least > most || old > most - least || n > most - least - old)
            return false;
        if (__atomic_compare_exchange_n(&promised, &old, old + n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
    }
}

void vm_unpromise(uint32_t n)
{
    if (__atomic_fetch_sub(&promised, n, __ATOMIC_RELAXED) < n)
        panic("vm_unpromise: %lu pages more are given back than were promised", (unsigned long)n);
}

bool vm_promise_tables(uint32_t n)
{
    if (!vm_promise(n))
        return false;
    __atomic_fetch_add(&promised_tables, n, __ATOMIC_RELAXED);
    vm_unpromise(n);
    return true;
}

void vm_unpromise_tables(uint32_t n)
{
    __atomic_fetch_sub(&promised_tables, n, __ATOMIC_RELAXED);
}

void vm_statistics(struct vm_statistics *s)
{
    *s = (struct vm_statistics){.pages = vm_page_count,
                                .free = pages_free(),
                                .promised = promised,
                                .tables = promised_tables,
                                .shootdowns = pmap_shootdowns,
                                .calls = pmap_calls,
                                .objects = vm_objects(),
                                .maps = vm_maps()};
    s->used = pages_lent();
    for (uint32_t i = 0; i < vm_page_count; i++) {
        s->inactive += vm_pages[i].object && vm_pages[i].inactive;
        s->wired += vm_pages[i].object && vm_pages[i].wired;
    }
    s->active = s->used - s->inactive;
    for (unsigned h = 0; h < hart_count; h++) {
        const struct vm_counts *c = &vm_counts[h];
        s->faults += c->faults;
        s->zero_fills += c->zero_fills;
        s->copies += c->copies;
        s->reactivations += c->reactivations;
        s->pageins += c->pageins;
        s->pageouts += c->pageouts;
        s->pushes += c->pushes;
        s->shadows += c->shadows;
        s->collapses += c->collapses;
        s->bypasses += c->bypasses;
    }
}
