/*
 * Pages of main RAM that user mode's memory is in (mem/page.h gives them out), and the queues by which they leave it again.
 *
 * A page is in one object, or free. While it is busy nobody but who made it so maps, copies, moves or frees it: who wants it
 * sleeps until it is not. So a page is cleared, copied and brought in by its pager without any lock. A page that is wired stays;
 * of the others the page-out daemon takes those that have not been used for longest: `active` pages come, oldest first, to
 * `inactive`, without translations; who uses one meanwhile brings it back. Hardware keeps no bits for that (pmap.h), so a
 * page is dirty from when user mode may write to it.
 *
 * Memory that is promised. Whoever allocates memory is told -ENOMEM then, and not when he uses it: what may have to be
 * found for it is counted (vm_promise), and is never more than main RAM and the default pager can hold. The last few pages are for
 * those that make others free.
 *
 * Locking: an object's mutex guards which pages it has and their state; the queues have a simple lock, pages_queue_lock, at
 * SPL_SOFTPREEMPT, which is taken after any of these.
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

enum vm_page_queue { VM_PAGE_NO_QUEUE, VM_PAGE_ACTIVE, VM_PAGE_INACTIVE };

struct vm_page {
    struct pmap_place place; /* the first; pmap.c's */
    uint8_t executed;        /* it has been executable since the start: caches of instructions may hold it */
    uint8_t clean;           /* bit h: hart h's holds nothing older than its content; counts if `executed` */
    uint8_t queue;           /* enum vm_page_queue */
    uint8_t locked;          /* rights that the pager withholds */
    bool busy, wanted;       /* somebody works on it; others wait for that */
    bool dirty;              /* the pager has not got it as it is */
    bool absent, error;      /* busy until the pager has given it; it could not */
    uint16_t wired;
    struct vm_object *object;
    uint32_t index; /* in the object */
    struct vm_page *next, *previous; /* in a queue */
};

/* The page that `address`, physical, lies in; and the other way round. */
struct vm_page *vm_page_at(uint32_t address);
uint32_t vm_page_address(const struct vm_page *page);

/* A page that is busy, in no object, with anything in it; 0: none is free. */
struct vm_page *vm_page_alloc(void);
void vm_page_free(struct vm_page *page); /* in no object, not mapped */

/* So many pages may be asked for at any time; false: that would be more than there are. And no more. */
bool vm_promise(uint32_t pages);
void vm_unpromise(uint32_t pages);
#endif
