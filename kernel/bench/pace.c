/* Delays of a known length, and a common start (pace.h). */
#include "bench/pace.h"

#include "arch/atomic.h"
#include "arch/csr.h"
#include "dev/console.h"
#include "sched/sched.h"

#define START_DELAY 500 /* cycles in which all harts see that the last one has arrived */
#define CALIBRATION_TURNS 1000

uint32_t pace_cycles_of_16_turns = 16;
static void (*everywhere)(unsigned hart);
static unsigned bench_pace_expected;
static volatile uint32_t arrived, go, start; /* go: `start`, a cycle, is set */

void __attribute__((aligned(64))) pace_calibrate(void)
{
    uint32_t enabled = csr_read_clear(mie, ~0u), cycles = 0;
    for (unsigned i = 0; i < 2; i++) { /* the first time loads the code into the cache */
        uint32_t begin = cycles32();
        pace_turns(CALIBRATION_TURNS);
        cycles = cycles32() - begin;
    }
    pace_cycles_of_16_turns = cycles * 16 / CALIBRATION_TURNS;
    csr_write(mie, enabled);
}

static void pace_call(void *hart)
{
    if (atomic_add(&arrived, 1) + 1 == bench_pace_expected) {
        start = cycles32() + START_DELAY;
        fence_release();
        go = 1;
    }
    while (!go)
        ;
    fence_acquire();
    while ((int32_t)(cycles32() - start) < 0)
        ;
    everywhere((uintptr_t)hart);
}

void pace_on_harts(unsigned count, void (*fn)(unsigned hart))
{
    struct thread *t[MAX_HARTS];
    console_flush(); /* so that the output of the previous run does not interrupt this one */
    everywhere = fn;
    bench_pace_expected = count;
    arrived = go = 0;
    for (unsigned h = 0; h < count; h++)
        t[h] = thread_create(pace_call, (void *)(uintptr_t)h, PRI_NORMAL, (int)h, "bench");
    for (unsigned h = 0; h < count; h++)
        thread_join(t[h]);
}
