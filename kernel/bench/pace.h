/* Shared by benches that run on several harts: delays of a known length, and a common start. */
#ifndef BENCH_PACE_H
#define BENCH_PACE_H

#include "arch/hart.h"

extern uint32_t pace_cycles_of_16_turns;

/* Measure what a turn of the loop below costs; once, before pace() is used. */
void pace_calibrate(void);

static inline void pace_turns(uint32_t turns)
{
    for (; turns; turns--)
        barrier();
}

/* Takes about so many cycles, in registers and in the caller's own cache line of code. */
static inline void pace(uint32_t cycles)
{
    pace_turns(cycles * 16 / pace_cycles_of_16_turns);
}

/* Run fn(hart) in a thread bound to each of the first `count` harts, and wait for all; they start together. */
void pace_on_harts(unsigned count, void (*fn)(unsigned hart));
#endif
