/*
 * How a hart translates user addresses. Machine mode does not translate, so the pmap of a process may stay in satp
 * while kernel threads run, but not past its end. Each time a hart is about to enter user mode it compares its `serial`
 * with that of the thread's pmap, and changes satp if they differ: also after it has dropped its translations at
 * another hart's request (pmap.h).
 */
#ifndef VM_MMU_H
#define VM_MMU_H

#include "arch/csr.h"
#include "arch/hart.h"
#include "vm/pmap.h"

struct vm_hart {
    uint32_t serial; /* of the pmap in satp; 0: of none, and satp must be changed; with interrupts off on chip */
    struct pmap *volatile pmap; /* the same; other harts read it to decide which to call */
};

HART_PART_OF(vm)

/* Drop this hart's cached translations: the core does not tell spaces apart by their ASID. */
static inline void mmu_flush(void)
{
    __asm__ volatile("sfence.vma" ::: "memory");
}

void mmu_change(struct pmap *pmap);

/* This hart is about to run user mode with `pmap`; interrupts are off on chip, so that it stays on this hart. */
static inline void mmu_use(struct pmap *pmap)
{
    if (__builtin_expect(vm_hart()->serial != pmap->serial, 0))
        mmu_change(pmap);
}
#endif
