/*
 * Pages of main RAM for user mode's memory (mem/page.h allocates them), and the clock by which they are
 * reclaimed.
 *
 * A page is in one object, or free. While it is busy only the thread that made it so maps, copies, moves or frees it:
 * others that need it sleep until it is not. So a page is cleared, copied and brought in by its pager without any lock.
 * A wired page stays; through the others the page-out daemon goes round and round (4.3BSD's clock, vm/pageout.c), with
 * two hands: the first makes a page inactive, which removes its translations; use makes it active again; the second
 * frees, or gives to the pager, those still inactive. No queue is kept in order, so a fault takes no lock for it.
 * Hardware keeps no bits (pmap.h), so a page is dirty from when user mode may write to it.
 *
 * Promised memory. An allocation fails with -ENOMEM, so that later use does not: the memory that it may need is counted
 * (vm_promise), and never exceeds what main RAM and the default pager can hold. The last few pages are reserved for
 * threads that free others.
 *
 * Locking: the lock of the object's family guards which pages it has, and their state.
 */
#ifndef VM_PAGE_H
#define VM_PAGE_H

#include <sys/queue.h>

#include "vm/types.h"

/* One mapping of a page. */
struct pmap_place {
    struct pmap *pmap; /* 0: none */
    uint32_t address;
    SLIST_ENTRY(pmap_place) link;
};

struct vm_page {
    struct pmap_place place; /* the first; owned by pmap.c */
    uint8_t executed;        /* it has been executable since the start: instruction caches may hold it */
    uint8_t clean; /* bit h: hart h's cache holds nothing older than its content; counts if `executed`; 0: it may be
                              * mapped for writing */
    uint8_t locked; /* rights that the pager withholds */
    bool busy, wanted; /* a thread works on it; others wait for that */
    bool inactive; /* not used since the clock's first hand passed */
    bool dirty; /* the pager does not have its current content */
    bool backed; /* the pager has had it: if it is not dirty, it may be freed */
    bool absent : 1,
        error : 1; /* busy until the pager supplies it; it could not. Guarded by the family's lock, so in one byte */
    bool unlocking : 1; /* the pager has been asked for rights that it withholds */
    bool granted : 1;   /* it has given them, and they have not been used yet (shared.h) */
    uint16_t wired;
    struct vm_object *object;
    uint32_t index; /* in the object */
};

#ifdef __riscv
_Static_assert(sizeof(struct vm_page) == 32, "half a line of the caches, and found by a shift");
#endif

extern struct vm_page *vm_pages; /* all pages, and the address of the first */
extern uint32_t vm_pages_begin;

/* The page that contains the physical `address`; and the other way round. */
static inline struct vm_page *vm_page_at(uint32_t address)
{
    return &vm_pages[(address - vm_pages_begin) / PAGE_SIZE];
}

static inline uint32_t vm_page_address(const struct vm_page *page)
{
    return vm_pages_begin + (uint32_t)(page - vm_pages) * PAGE_SIZE;
}

static inline void *vm_page_bytes(const struct vm_page *page)
{
    return page_pointer(vm_page_address(page));
}

/* A busy page, in no object, with undefined content; 0: none is free. */
struct vm_page *vm_page_alloc(void);
void vm_page_free(struct vm_page *page); /* in no object, not mapped */

/* Promises so many pages; false: that would exceed what there is. vm_unpromise takes a promise back. */
bool vm_promise(uint32_t pages);
void vm_unpromise(uint32_t pages);
bool vm_promise_tables(uint32_t pages); /* the same for page tables, which are used as long as they are promised */
void vm_unpromise_tables(uint32_t pages);
#endif
