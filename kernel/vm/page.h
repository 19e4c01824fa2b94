/*
 * Pages of main RAM that user mode's memory is in (mem/page.h gives them out), and the queues by which they leave it
 * again.
 *
 * A page is in one object, or free. While it is busy nobody but who made it so maps, copies, moves or frees it: who
 * wants it sleeps until it is not. So a page is cleared, copied and brought in by its pager without any lock. A page
 * that is wired stays; the others the page-out daemon goes round and round through (4.3BSD's clock, vm/pageout.c), with
 * two hands: the first makes a page inactive, which takes its translations; who uses it brings it back; the second
 * frees, or gives to the pager, those that are inactive still. No queue has to be kept in order, so a fault takes no
 * lock for it. Hardware keeps no bits (pmap.h), so a page is dirty from when user mode may write to it.
 *
 * Memory that is promised. Whoever allocates memory is told -ENOMEM then, and not when he uses it: what may have to be
 * found for it is counted (vm_promise), and is never more than main RAM and the default pager can hold. The last few
 * pages are for those that make others free.
 *
 * Locking: the lock of the object's family guards which pages it has and their state.
 */
#ifndef VM_PAGE_H
#define VM_PAGE_H

#include "vm/types.h"

/* One place where a page is mapped. */
struct pmap_place {
    struct pmap *pmap; /* 0: this is none */
    uint32_t address;
    struct pmap_place *next;
};

struct vm_page {
    struct pmap_place place; /* the first; pmap.c's */
    uint8_t executed;        /* it has been executable since the start: caches of instructions may hold it */
    uint8_t clean; /* bit h: hart h's holds nothing older than its content; counts if `executed`; 0: it may be
                              * mapped for writing */
    uint8_t locked; /* rights that the pager withholds */
    bool busy, wanted; /* somebody works on it; others wait for that */
    bool inactive; /* not used since the clock's first hand came by */
    bool dirty; /* the pager has not got it as it is */
    bool backed; /* the pager has had it: if it is not dirty, it may go */
    bool absent : 1,
        error : 1; /* busy until the pager has given it; it could not. With the family's lock, so in one byte */
    bool unlocking : 1; /* the pager has been asked for rights that it withholds */
    bool granted : 1;   /* it has given them, and nobody has used them yet (shared.h) */
    uint16_t wired;
    struct vm_object *object;
    uint32_t index; /* in the object */
};

#ifdef __riscv
_Static_assert(sizeof(struct vm_page) == 32, "half a line of the caches, and found by a shift");
#endif

extern struct vm_page *vm_pages; /* all of them, and the address of the first */
extern uint32_t vm_pages_begin;

/* The page that `address`, physical, lies in; and the other way round. */
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

/* A page that is busy, in no object, with anything in it; 0: none is free. */
struct vm_page *vm_page_alloc(void);
void vm_page_free(struct vm_page *page); /* in no object, not mapped */

/* So many pages may be asked for at any time; false: that would be more than there are. And no more. */
bool vm_promise(uint32_t pages);
void vm_unpromise(uint32_t pages);
bool vm_promise_tables(uint32_t pages); /* the same of page tables, which are used as long as they are promised */
void vm_unpromise_tables(uint32_t pages);
#endif
