/* The clock interrupt (clock.h). Locking: each hart writes its own `next` only. */
#include "dev/clock.h"

#include "arch/hart.h"
#include "dev/clint.h"
#include "intr/intr.h"
#include "intr/pic.h"
#include "sched/sched.h"
#include "sched/timeout.h"
#include "sync/spl.h"

static uint64_t next[MAX_HARTS];
static uint32_t period, rate;

static void tick(void *arg)
{
    (void)arg;
    unsigned hart = curhart->id;
    uint64_t now = clint_time64();
    do
        next[hart] += period;
    while (next[hart] <= now);
    clint_set_timer(hart, next[hart]);
    curhart->ticks++;
    if (hart == 0)
        timeout_tick();
    sched_tick();
}

void clock_init_hart(void)
{
    clint_set_timer(curhart->id, UINT64_MAX); /* it is not reset by hardware */
}

void clock_start_hart(uint32_t hz)
{
    unsigned hart = curhart->id;
    if (!hz)
        return;
    rate = hz;
    period = CLOCK_HZ / hz;
    next[hart] = clint_time64() + period + (uint64_t)period * hart / hart_count;
    clint_set_timer(hart, next[hart]);
    intr_establish(PIC_SOURCE_TIMER(hart), SPL_CLOCK, INTR_LEVEL, hart, tick, 0, "clock");
}

uint32_t clock_hz(void)
{
    return rate;
}
