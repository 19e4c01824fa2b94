/*
 * Data of a hart's interrupt path and its sections (arch/hart.h). Fields marked (i) are written with interrupts
 * disabled on chip or by one store.
 */
#ifndef SYNC_HART_PART_H
#define SYNC_HART_PART_H

#include "arch/hart.h"

#define HART_SOURCES 32 /* of the PIC */

/* A source's handler; for a source without one, a function that panics. */
struct intr_vector {
    void (*fn)(void *arg);
    void *arg;
};

struct sync_hart {
    volatile uint32_t level;   /* logical interrupt level now (sync/sync.h) */
    volatile uint32_t pending; /* (i) bit n: a queued interrupt or a soft interrupt is pending at level n */
    volatile uint32_t resched; /* preempt the running thread at the next opportunity; also set by other harts */
    uint32_t hw_level; /* (i) level last written to the PIC, where it may differ from `level` */
    uint32_t intr_depth; /* (i) interrupt handlers active on this hart's stack */
    uint32_t in_softint; /* (i) soft interrupts active on this hart's stack */
    uint32_t interrupts; /* interrupts handled */
    uint32_t spurious; /* claims that found nothing */
    uint32_t deferred; /* interrupts queued by an optimistic scheme */
    uint32_t queued[16]; /* (i) by level: bit s set: interrupt of source s claimed, not yet handled */
    /*
     * The same on every hart, written by intr_establish before the source is enabled; here, because one load through tp
     * reaches it.
     */
    struct intr_vector vector[HART_SOURCES];
    uint32_t handled[HART_SOURCES]; /* interrupts, by source */
#if CRIT_TIMING
    struct crit_timing { /* sync/crit_timing.h */
        uint32_t depth, since; /* open sections; when the outermost began */
        uint32_t sections, longest;
        uint64_t cycles;
    } crit_timing;
#endif
};

HART_PART_OF(sync)

#ifdef __riscv
/* Set the level of this hart, by one store through tp (arch/hart.h). */
static inline void hart_set_level(uint32_t level)
{
    __asm__ volatile("sw %0, %1(tp)" ::"r"(level),
                     "i"(offsetof(struct hart, sync_part) + offsetof(struct sync_hart, level))
                     : "memory");
}
#endif
#endif
