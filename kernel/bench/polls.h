/*
 * Paper `sync`, section 5.1: the kernel is polled once per interval for the number of critical sections and the
 * time spent in them. In images with CRIT_TIMING; others have nothing to poll, and these calls do nothing. Prints
 *
 *   @crit_timing hart=... sections=... cycles=... longest=...            what each hart counted between begin and end
 *   @crit_poll cycles=... sections=... section_cycles=...                all harts, since the previous poll
 */
#ifndef BENCH_POLLS_H
#define BENCH_POLLS_H

#include <stdint.h>

#if CRIT_TIMING
void polls_begin(void);
void polls_take(void); /* keeps 200 of them */
void polls_end(void);
void polls_print(void);
#else
static inline void polls_begin(void) {}

static inline void polls_take(void) {}

static inline void polls_end(void) {}

static inline void polls_print(void) {}
#endif
#endif
