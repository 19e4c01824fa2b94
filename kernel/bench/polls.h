/*
 * Paper `sync`, section 5.1: somebody polls the kernel once per interval for the number of critical sections and the
 * time spent in them. In images with CRIT_TIMING; in others there is nothing to poll, and nothing happens. Prints
 *
 *   @crit_timing hart=... sections=... cycles=... longest=...            what each hart counted between begin and end
 *   @crit_poll cycles=... sections=... section_cycles=...                all harts, since the poll before
 */
#ifndef BENCH_POLLS_H
#define BENCH_POLLS_H

#include <stdint.h>

#if CRIT_TIMING
void polls_begin(void);
void polls_take(void); /* 200 of them are kept */
void polls_end(void);
void polls_print(void);
#else
static inline void polls_begin(void) {}

static inline void polls_take(void) {}

static inline void polls_end(void) {}

static inline void polls_print(void) {}
#endif
#endif
