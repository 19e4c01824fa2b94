/*
 * The clock interrupt (clock.h), and the system call that returns the time. Locking: each hart writes its own
 * `clock_next`, `lateness` and `merged` only.
 */
#include "dev/clock.h"

#include <errno.h>

#include "arch/clint.h"
#include "arch/hart.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/printf.h"
#include "lib/random.h"
#include "lib/syscall.h"
#include "sched/sched.h"
#include "sched/timeout.h"
#include "sync/pic.h"
#include "sync/spl.h"
#include "user/abi.h"
#include "vm/map.h"

#define NANOSECONDS 1000000000
#define RANDOM_STREAM 1000 /* of hart 0's lateness; tests use the streams below */

static uint64_t clock_next[MAX_HARTS]; /* when the tick is due */
static struct random lateness[MAX_HARTS];
static uint32_t merged[MAX_HARTS];
static uint32_t clock_period, rate, most_late;

/* Lateness is not carried over to the next tick: on average the clock keeps its rate. */
static void clock_set_timer(unsigned hart)
{
    clint_set_timer(hart, clock_next[hart] + (most_late ? random_below(&lateness[hart], most_late + 1) : 0));
}

static void clock_tick(void *arg)
{
    (void)arg;
    unsigned hart = curhart->id;
    uint64_t now = clint_time64();
    uint32_t ticks = 0;
    do {
        clock_next[hart] += clock_period;
        ticks++;
    } while (clock_next[hart] <= now);
    clock_set_timer(hart);
    dev_hart()->ticks += ticks;
    merged[hart] += ticks - 1;
    if (hart == 0)
        timeout_tick(ticks);
    sched_tick(ticks);
}

void clock_init(void)
{
    rate = bootargs_number(BOOT(kernel, hz));
    clock_period = rate ? CLOCK_HZ / rate : 0;
    most_late = bootargs_number(BOOT_WITHIN(kernel, hz_jitter, 0, clock_period));
}

void clock_init_hart(void)
{
    clint_set_timer(curhart->id, UINT64_MAX); /* hardware does not reset it */
}

void clock_start_hart(void)
{
    unsigned hart = curhart->id;
    if (!rate)
        return;
    lateness[hart] = random_from(run_seed, RANDOM_STREAM + hart);
    clock_next[hart] = clint_time64() + clock_period + (uint64_t)clock_period * hart / hart_count;
    clock_set_timer(hart);
    intr_establish(PIC_SOURCE_TIMER(hart), SPL_CLOCK, INTR_LEVEL, hart, clock_tick, 0, "clock");
}

uint32_t clock_hz(void)
{
    return rate;
}

#define MOST_TICKS INT32_MAX /* of a timeout */

int clock_ticks_of(const struct user_timespec *t, uint32_t *ticks)
{
    if (t->seconds < 0 || t->nanoseconds < 0 || t->nanoseconds >= NANOSECONDS || !rate)
        return -EINVAL;
    uint64_t hz = rate;
    if ((uint64_t)t->seconds >= MOST_TICKS / hz)
        *ticks = MOST_TICKS;
    else /* one more, because the current tick is partly over */
        *ticks = (uint32_t)((uint64_t)t->seconds * hz + (t->nanoseconds * hz + NANOSECONDS - 1) / NANOSECONDS + 1);
    return 0;
}

void clock_since_reset(struct user_timespec *now)
{
    uint64_t cycles = cycles64();
    *now = (struct user_timespec){
        .seconds = (int64_t)(cycles / CLOCK_HZ),
        .nanoseconds = (int32_t)(cycles % CLOCK_HZ * NANOSECONDS / CLOCK_HZ),
    };
}

static int sys_clock_gettime(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    if (a[0] != USER_CLOCK_REALTIME && a[0] != USER_CLOCK_MONOTONIC)
        return -EINVAL;
    struct user_timespec t;
    clock_since_reset(&t);
    return copyout(map, a[1], &t, sizeof t);
}
SYSCALL(SYS_CLOCK_GETTIME, sys_clock_gettime);

static int sys_gettimeofday(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    struct user_timespec t;
    clock_since_reset(&t);
    struct user_timeval now = {t.seconds, t.nanoseconds / 1000, 0};
    return a[0] ? copyout(map, a[0], &now, sizeof now) : 0;
}
SYSCALL(SYS_GETTIMEOFDAY, sys_gettimeofday);

uint32_t clock_merged(unsigned hart)
{
    return merged[hart];
}

void clock_print_results(void)
{
    for (unsigned h = 0; h < hart_count; h++)
        if (merged[h])
            kprintf("@clock hart=%u ticks=%lu merged=%lu\n", h, (unsigned long)dev_hart_of(&harts[h])->ticks,
                    (unsigned long)merged[h]);
}
