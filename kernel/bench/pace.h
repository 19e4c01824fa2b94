/* What benches that run on several harts share: delays of a known length, and a common start. */
#ifndef BENCH_PACE_H
#define BENCH_PACE_H

#include "arch/csr.h"
#include "arch/hart.h"

/* Measure what a turn of the loop below costs; once, before pace() is used. */
void pace_calibrate(void);

/* Passes about so many cycles, in registers alone. */
void pace(uint32_t cycles);

/* Run fn(hart) in a thread bound to each of the first `count` harts, and wait for all; they start in the same cycle or so. */
void pace_on_harts(unsigned count, void (*fn)(unsigned hart));
#endif
