/*
 * How a hart translates user addresses (Mach's pmap): Sv32 page tables (RISC-V privileged specification 1.12, section
 * 4.3), of user mode only, as the kernel runs in machine mode with physical addresses and is in none of them. A pmap is
 * only a cache of what map and objects say: any translation may be removed at any time, and a fault brings it back. It
 * records where each page (vm/page.h) is mapped, so that a page can be removed from all pmaps.
 *
 * Rights that are removed are gone on all harts when the call returns (shootdown): harts that use the pmap are called
 * (intr/call.h), and no others. A hart that is called while it runs the kernel stops using the pmap, so an idle one is
 * called once; it checks on its way to user mode, the only user of translations. Rights that are added are not
 * announced: a hart with older translations faults, and the fault finds nothing to do. So remove, protect and the like
 * may be called only by threads outside of sections, without a simple lock; else they panic.
 *
 * The core does not distinguish address spaces (ASID), ignores the bits A and D, and does not keep its instruction
 * cache coherent: page.h says how a page that has held instructions is reused.
 *
 * Locking: a pmap's simple lock guards its tables; a page's list of mappings has one of a few locks (hashed), taken
 * after that. From a page to its pmaps, the second lock is only tried (paper `mach`, 3.2). Both are at SPL_SOFTCLOCK,
 * so that copies can be made under locks of that level. The caller that maps pages has them busy or their object
 * locked.
 */
#ifndef VM_PMAP_H
#define VM_PMAP_H

#include "arch/hart.h"
#include "lock/simple_lock.h"
#include "vm/types.h"

struct pmap {
    volatile uint32_t serial; /* never 0, unique; changed when harts must check again (mmu_use) */
    uint32_t root;            /* the page of its root table */
    volatile uint32_t fetched; /* bit h: hart h's instruction cache holds nothing older than the pages */
    uint32_t resident;        /* number of translations */
    struct simple_lock lock;
};

bool pmap_init(struct pmap *pmap); /* false: no page is free */
void pmap_destroy(struct pmap *pmap);

/* Maps `page` at `address`, in place of any page there until now. 0, or -ENOMEM: the tables have no room. */
int pmap_enter(struct pmap *pmap, uint32_t address, struct vm_page *page, unsigned rights);

/*
 * The same for `n` pages at consecutive addresses in one table (pmap_room), which are not mapped yet. 0 if the first
 * one is mapped; the others may not be.
 */
int pmap_enter_new(struct pmap *pmap, uint32_t address, struct vm_page *const page[], uint32_t n, unsigned rights);

/*
 * How many pages from `address` on, in one table, have no translation: up to one more than those before it that have
 * one, and up to `most`. 0: this one has one. A hint.
 */
uint32_t pmap_room(const struct pmap *pmap, uint32_t address, uint32_t most);
void pmap_remove(struct pmap *pmap, uint32_t begin, uint32_t end);
void pmap_protect(struct pmap *pmap, uint32_t begin, uint32_t end, unsigned rights); /* no more than these rights */

/* Limits the rights to `page` in all pmaps; 0 removes it. */
void pmap_page_protect(struct vm_page *page, unsigned rights);

/*
 * The same without the shootdown: returns the harts to be called for it (bit h), for a caller that changes several
 * pages.
 */
uint32_t pmap_page_protect_later(struct vm_page *page, unsigned rights);
void pmap_shootdown(uint32_t harts);

/*
 * The physical address of `address` if user mode has all of `rights` to it now, or 0. A hint, unless the caller keeps
 * it valid.
 */
uint32_t pmap_lookup(struct pmap *pmap, uint32_t address, unsigned rights);

/*
 * Copies up to `n` bytes, as far as they lie in pages mapped with `rights`. Returns how many were copied: fewer than n
 * tells where to fault. Never sleeps. With `string`, ends after the first 0.
 */
uint32_t pmap_copy_in(struct pmap *pmap, void *to, uint32_t from, uint32_t n, bool string);
uint32_t pmap_copy_out(struct pmap *pmap, uint32_t to, const void *from, uint32_t n, unsigned rights);

/* The kernel has changed instructions in a page that may be executed here. */
void pmap_text_changed(struct pmap *pmap);

extern volatile uint32_t pmap_shootdowns, pmap_calls, pmap_tables;
#endif
