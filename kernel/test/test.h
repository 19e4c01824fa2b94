/*
 * What the kernel's tests share. A test is a run (init/run.h): it panics where a check fails, prints one line
 * `@test name=... ...` with what it did, and returns 0. Loops, levels and delays come from the boot argument seed=.
 *
 * Each hart has three free interrupt sources of its own, at a low, a middle and a high level.
 */
#ifndef TEST_TEST_H
#define TEST_TEST_H

#include "dev/clock.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/random.h"
#include "lock/simple_lock.h"
#include "sched/sched.h"
#include "sync/pic.h"
#include "sync/sync.h"

#define TEST_SOURCES 3
#define TEST_MAX_HARTS ((PIC_SOURCES - PIC_SOURCE_FREE) / TEST_SOURCES)

extern const unsigned test_level[TEST_SOURCES]; /* SPL_BIO, SPL_TTY, above SPL_SCHED */

static inline unsigned test_source(unsigned hart, unsigned n)
{
    return PIC_SOURCE_FREE + TEST_SOURCES * hart + n;
}

/* Harts that a test uses: all, as far as there are sources for them. */
unsigned test_harts(void);

/* Route the three sources of every hart to it, edge-triggered, handled by `fn` with the source as argument. */
void test_establish(intr_fn *fn);

/* The same with the highest level no higher than SPL_SCHED, up to which a handler may wake threads. */
void test_establish_waking(intr_fn *fn);

/* Cycles after which an interrupt raised now has certainly been delivered and `handlers` handlers have run. */
uint32_t test_settle_cycles(unsigned handlers);
void test_spin(uint32_t cycles);
void test_yield(uint32_t cycles); /* yields the hart meanwhile */

/* The thread is at base level on a hart without leftovers: no level, no queue, no service, interrupts on. */
void test_assert_base(void);

/* Run `fn(hart)` in a thread bound to each of test_harts(), all at once, and wait for all. */
void test_on_every_hart(thread_fn *fn);

/* Returns what all zones keep for each hart to the pages (mem/zone.h). */
void test_reclaim(void);
#endif
