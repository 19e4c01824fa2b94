/*
 * How long the handlers of some sources take, for benches: of each interrupt, from the handler's first instruction to
 * its last, with everything that interrupts it (paper `sync`, Table 7). The PIC's own figures of those sources count
 * from the first of these calls. Prints, for each name,
 *
 *   @handler name=... count=... total=... squares=... min=... p50=... max=...   cycles; squares: the sum of their
 *                                                                               squares
 *   @waits name=... interrupts=... merged=... max_wait=...                      cycles from the wire to the claim
 */
#ifndef BENCH_HANDLERS_H
#define BENCH_HANDLERS_H

#include <stdint.h>

/* Starts timing; `source` has its handler already. Several sources may have one name. From a thread. */
void handlers_time(unsigned source, const char *name);

/* Restores the handlers; prints. From a thread. */
void handlers_end(void);
#endif
