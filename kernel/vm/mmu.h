/*
 * What a hart translates user addresses with. Machine mode does not translate, so the space of a process may stay in
 * satp while kernel threads run, even past its end: a hart compares its `space` with the serial number of the space
 * that the thread needs each time it is about to enter user mode, and changes satp if they differ.
 */
#ifndef VM_MMU_H
#define VM_MMU_H

#include "arch/csr.h"
#include "arch/hart.h"
#include "vm/space.h"

struct vm_hart {
    uint32_t space; /* serial number of the address space in satp; written with interrupts off on chip */
};

HART_PART_OF(vm)

#define SATP_SV32 (1u << 31)

/* Drop this hart's cached translations: the core does not tell spaces apart by their ASID. */
static inline void mmu_flush(void)
{
    __asm__ volatile("sfence.vma" ::: "memory");
}

/* This hart is about to run user mode in `space`; interrupts are off on chip, so that it stays on this hart. */
static inline void mmu_use(struct space *space)
{
    if (vm_hart()->space == space->serial)
        return;
    vm_hart()->space = space->serial;
    csr_write(satp, SATP_SV32 | space->root >> 12);
    mmu_flush();
    if (!(space->fetched & 1u << curhart->id)) { /* instruction caches are not coherent, and pages are used again */
        __asm__ volatile("fence.i" ::: "memory");
        __atomic_fetch_or(&space->fetched, 1u << curhart->id, __ATOMIC_RELAXED);
    }
}
#endif
