/* RISC-V control and status registers used in machine mode (privileged specification 1.12). */
#ifndef ARCH_CSR_H
#define ARCH_CSR_H

#define MSTATUS_MIE (1 << 3)  /* the on-chip interrupt mask: "cli" clears it, "sti" sets it */
#define MSTATUS_MPIE (1 << 7) /* MIE as it was before the trap, and as mret restores it */
#define MSTATUS_MPP (3 << 11) /* the mode before the trap, to which mret returns: 0 user, 3 machine */

#define MIE_MSIE (1u << 3)
#define MIE_MTIE (1u << 7)
#define MIE_MEIE (1u << 11)

/* mcause */
#define CAUSE_INTERRUPT 0x80000000
#define CAUSE_SOFTWARE 0x80000003
#define CAUSE_EXTERNAL 0x8000000b
#define CAUSE_MISALIGNED_FETCH 0
#define CAUSE_ILLEGAL 2
#define CAUSE_BREAKPOINT 3
#define CAUSE_MISALIGNED_LOAD 4
#define CAUSE_MISALIGNED_STORE 6
#define CAUSE_USER_ECALL 8
#define CAUSE_FETCH_PAGE_FAULT 12
#define CAUSE_LOAD_PAGE_FAULT 13
#define CAUSE_STORE_PAGE_FAULT 15

#ifndef __ASSEMBLER__
#include <stdint.h>

#define csr_read(csr)                                            \
    ({                                                           \
        uint32_t v_;                                             \
        __asm__ volatile("csrr %0, " #csr : "=r"(v_)::"memory"); \
        v_;                                                      \
    })
#define csr_write(csr, v) __asm__ volatile("csrw " #csr ", %0" ::"rK"((uint32_t)(v)) : "memory")
#define csr_set(csr, v) __asm__ volatile("csrs " #csr ", %0" ::"rK"((uint32_t)(v)) : "memory")
#define csr_clear(csr, v) __asm__ volatile("csrc " #csr ", %0" ::"rK"((uint32_t)(v)) : "memory")
#define csr_read_clear(csr, v)                                                                  \
    ({                                                                                          \
        uint32_t v_;                                                                            \
        __asm__ volatile("csrrc %0, " #csr ", %1" : "=r"(v_) : "rK"((uint32_t)(v)) : "memory"); \
        v_;                                                                                     \
    })

/* Cycles since reset; the same on every hart. */
static inline uint32_t cycles32(void)
{
    return csr_read(mcycle);
}

static inline uint64_t cycles64(void)
{
    uint32_t hi, lo, again;
    do {
        hi = csr_read(mcycleh);
        lo = csr_read(mcycle);
        again = csr_read(mcycleh);
    } while (hi != again);
    return (uint64_t)hi << 32 | lo;
}

/* The on-chip mask, for the synchronisation schemes and the trap path only: all other code uses sync/sync.h. */
static inline void intr_disable(void)
{
    csr_clear(mstatus, MSTATUS_MIE);
}

static inline void intr_enable(void)
{
    csr_set(mstatus, MSTATUS_MIE);
}
#endif
#endif
