/* Delays of a known length, and a common start (pace.h). */
#include "bench/pace.h"

#include "sched/sched.h"

#define START_DELAY 20000 /* cycles, in which every thread has come to wait */
#define CALIBRATION_TURNS 1000

static uint32_t cycles_per_16_turns = 16;
static void (*everywhere)(unsigned hart);
static volatile uint32_t start;

static void __attribute__((noinline, aligned(64))) turn(uint32_t turns)
{
    for (; turns; turns--)
        barrier();
}

void pace_calibrate(void)
{
    uint32_t enabled = csr_read_clear(mie, ~0u);
    turn(4); /* the code is in the cache now */
    uint32_t begin = cycles32();
    turn(CALIBRATION_TURNS);
    cycles_per_16_turns = (cycles32() - begin) * 16 / CALIBRATION_TURNS;
    csr_write(mie, enabled);
}

void pace(uint32_t cycles)
{
    turn(cycles * 16 / cycles_per_16_turns);
}

static void call(void *hart)
{
    while ((int32_t)(cycles32() - start) < 0)
        ;
    everywhere((uintptr_t)hart);
}

void pace_on_harts(unsigned count, void (*fn)(unsigned hart))
{
    struct thread *t[MAX_HARTS];
    everywhere = fn;
    start = cycles32() + START_DELAY;
    for (unsigned h = 0; h < count; h++)
        t[h] = thread_create(call, (void *)(uintptr_t)h, PRI_NORMAL, (int)h, "bench");
    for (unsigned h = 0; h < count; h++)
        thread_join(t[h]);
}
