/*
 * The method by which paper `sync` (section 5.1) measured its Table 3, in images with CRIT_TIMING: the hart's cycle
 * counter is read after a critical section is entered and when it is left, and the sums are polled. What the simulator
 * sees from outside at no cost (arch/probe.h) must agree; docs/measuring.md says how much this disturbs.
 *
 * A nested section counts as part of its outermost one. As in the simulator, nesting belongs to the thread, also in the
 * interrupts that it takes, and moves with it; a section lasts through a thread switch, until the next thread leaves
 * it.
 *
 * The counter is read right at the marks CRIT_ENTERED and CRIT_LEAVE, so that the two methods time the same interval:
 * updating the sums is part of leaving, not of the body.
 *
 * Locking: a hart writes its own counters, inside the section. An interrupt in between finds `depth` nonzero, counts
 * nothing and leaves `depth` as it was.
 */
#ifndef SYNC_CRIT_TIMING_H
#define SYNC_CRIT_TIMING_H

#include <stdint.h>

#if CRIT_TIMING
#include "arch/csr.h"
#include "arch/hart.h"

static inline void crit_timing_entered(void)
{
    uint32_t now = cycles32();
    struct crit_timing *t = &sync_hart()->crit_timing;
    if (t->depth++ == 0)
        t->since = now;
}

static inline void crit_timing_left(void)
{
    uint32_t now = cycles32();
    struct crit_timing *t = &sync_hart()->crit_timing;
    if (t->depth == 1) {
        uint32_t cycles = now - t->since;
        t->sections++;
        t->cycles += cycles;
        if (cycles > t->longest)
            t->longest = cycles;
    }
    t->depth--;
}

/* A thread begins inside the section in which it is switched to. */
#define crit_timing_new_thread(t) ((t)->crit_depth = 1)

#define crit_timing_switch(from, to) \
    ((from)->crit_depth = sync_hart()->crit_timing.depth, sync_hart()->crit_timing.depth = (to)->crit_depth)
#else
static inline void crit_timing_entered(void) {}

static inline void crit_timing_left(void) {}

#define crit_timing_new_thread(t) ((void)(t))
#define crit_timing_switch(from, to) ((void)(from), (void)(to))
#endif
#endif
