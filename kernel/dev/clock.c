/* The clock interrupt (clock.h). Locking: each hart writes its own `next`, `lateness` and `merged` only. */
#include "dev/clock.h"

#include "arch/clint.h"
#include "arch/hart.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/printf.h"
#include "lib/random.h"
#include "sched/sched.h"
#include "sched/timeout.h"
#include "sync/pic.h"
#include "sync/spl.h"

#define RANDOM_STREAM 1000 /* of hart 0's lateness; tests have the streams below */

static uint64_t next[MAX_HARTS]; /* when the tick is due */
static struct random lateness[MAX_HARTS];
static uint32_t merged[MAX_HARTS];
static uint32_t period, rate, most_late;

/* Lateness is not carried on to the next tick: on the average the clock keeps its rate. */
static void set_timer(unsigned hart)
{
    clint_set_timer(hart, next[hart] + (most_late ? random_below(&lateness[hart], most_late + 1) : 0));
}

static void tick(void *arg)
{
    (void)arg;
    unsigned hart = curhart->id;
    uint64_t now = clint_time64();
    uint32_t ticks = 0;
    do {
        next[hart] += period;
        ticks++;
    } while (next[hart] <= now);
    set_timer(hart);
    dev_hart()->ticks += ticks;
    merged[hart] += ticks - 1;
    if (hart == 0)
        timeout_tick(ticks);
    sched_tick(ticks);
}

void clock_init_hart(void)
{
    clint_set_timer(curhart->id, UINT64_MAX); /* it is not reset by hardware */
}

void clock_start_hart(uint32_t hz, uint32_t jitter)
{
    unsigned hart = curhart->id;
    if (!hz)
        return;
    rate = hz;
    period = CLOCK_HZ / hz;
    most_late = jitter;
    lateness[hart] = random_from(run_seed, RANDOM_STREAM + hart);
    next[hart] = clint_time64() + period + (uint64_t)period * hart / hart_count;
    set_timer(hart);
    intr_establish(PIC_SOURCE_TIMER(hart), SPL_CLOCK, INTR_LEVEL, hart, tick, 0, "clock");
}

uint32_t clock_hz(void)
{
    return rate;
}

uint32_t clock_merged(unsigned hart)
{
    return merged[hart];
}

void clock_print_results(void)
{
    for (unsigned h = 0; h < hart_count; h++)
        if (merged[h])
            kprintf("@clock hart=%u ticks=%lu merged=%lu\n", h, (unsigned long)dev_hart_of(&harts[h])->ticks, (unsigned long)merged[h]);
}
