/*
 * What a hart translates user addresses with (Mach's pmap): Sv32 page tables (RISC-V privileged specification 1.12,
 * section 4.3), of user mode alone, for the kernel runs in machine mode with physical addresses and is in none of them.
 * A pmap is no more than a cache of what map and objects say: any translation may go at any time, and comes back by a
 * fault. It knows of each page (vm/page.h) where it is mapped, so that a page can be taken from all.
 *
 * Rights that are taken away are gone on all harts when the call returns (shootdown): harts that have the pmap in use
 * are called (intr/call.h), and no others. A hart that is called while it runs the kernel stops using the pmap, so an
 * idle one is called once; it looks on its way to user mode, where translations are used alone. Rights that are given
 * are not told: a hart that has an older state faults, and finds that the fault is none. So a caller of remove, protect
 * and the like is a thread outside of sections, without a simple lock; else it panics.
 *
 * The core does not tell address spaces apart (ASID), does not look at the bits A and D, and does not keep its
 * instruction cache coherent: page.h says how a page that has held instructions is used again.
 *
 * Locking: a pmap's simple lock guards its tables; a page's list of mappings has one of a few locks (hashed), which is
 * taken after that. Where the way is from the page to the pmaps, the second is only tried (paper `mach`, 3.2). Both are
 * at SPL_SOFTCLOCK, so that copies can be made under locks of that level. What maps pages has them busy or their object
 * locked.
 */
#ifndef VM_PMAP_H
#define VM_PMAP_H

#include "arch/hart.h"
#include "lock/simple_lock.h"
#include "vm/types.h"

struct pmap {
    volatile uint32_t serial; /* never 0, no other pmap's; changed when harts are to look again (pmap_use) */
    uint32_t root;            /* its page table's first page */
    volatile uint32_t fetched; /* bit h: hart h's instruction cache holds nothing older than the pages */
    uint32_t resident;        /* translations */
    struct simple_lock lock;
};

bool pmap_init(struct pmap *pmap); /* false: there is no page left */
void pmap_destroy(struct pmap *pmap);

/* `page`, or another one at the same place until now, is seen at `address`. 0, or -ENOMEM: the tables have no room. */
int pmap_enter(struct pmap *pmap, uint32_t address, struct vm_page *page, unsigned rights);

/*
 * The same for `n` pages at addresses that follow each other, in one table (pmap_room), which are mapped nowhere yet. 0
 * if the first is; those behind may not be.
 */
int pmap_enter_new(struct pmap *pmap, uint32_t address, struct vm_page *const page[], uint32_t n, unsigned rights);

/*
 * From `address` on, how many pages in one table have no translation, up to one more than those before it that have
 * one, and `most`. 0: this one has one. A hint.
 */
uint32_t pmap_room(const struct pmap *pmap, uint32_t address, uint32_t most);
void pmap_remove(struct pmap *pmap, uint32_t begin, uint32_t end);
void pmap_protect(struct pmap *pmap, uint32_t begin, uint32_t end, unsigned rights); /* no more than these */

/* In all pmaps, no more than these rights to `page`; 0 takes it out. */
void pmap_page_protect(struct vm_page *page, unsigned rights);

/*
 * The same, but for the shootdown: gives the harts that are to be called for it (bit h), for whoever changes several
 * pages.
 */
uint32_t pmap_page_protect_later(struct vm_page *page, unsigned rights);
void pmap_shootdown(uint32_t harts);

/*
 * The physical address of `address` if user mode has all of `rights` to it now, or 0. A hint, unless who asks keeps it
 * so.
 */
uint32_t pmap_lookup(struct pmap *pmap, uint32_t address, unsigned rights);

/*
 * Copy up to `n` bytes, as far as they lie in pages that are there with `rights`. Gives how many were copied: less
 * than n says where to fault. Never sleeps. With `string`, ends behind the first 0.
 */
uint32_t pmap_copy_in(struct pmap *pmap, void *to, uint32_t from, uint32_t n, bool string);
uint32_t pmap_copy_out(struct pmap *pmap, uint32_t to, const void *from, uint32_t n, unsigned rights);

/* What instructions may be in, has been changed by the kernel in a page that may be executed here. */
void pmap_text_changed(struct pmap *pmap);

extern volatile uint32_t pmap_shootdowns, pmap_calls, pmap_tables;
#endif
