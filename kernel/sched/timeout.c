/* Timeouts (timeout.h). */
#include "sched/timeout.h"

#include "intr/softint.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lock/simple_lock.h"
#include "sched/sched.h"

DEFINE_SIMPLE_LOCK(timeout_lock, "timeout", SPL_CLOCK);
static TAILQ_HEAD(, timeout) timeouts = TAILQ_HEAD_INITIALIZER(timeouts);
static struct timeout *calling; /* whose function runs; its memory is not accessed any more: it may be freed */
static volatile uint32_t now;

uint32_t clock_ticks(void)
{
    return now;
}

/*
 * Ticks until it is due; 0 or less: it is. Two are ordered by this, not by the difference of their due times,
 * which may exceed 31 bits: if one is overdue, as the soft interrupt is late, and the other is due in
 * TIMEOUT_MOST.
 */
static int32_t timeout_ticks_left(const struct timeout *t)
{
    return (int32_t)(t->due - now);
}

static bool is_due(const struct timeout *t)
{
    return timeout_ticks_left(t) <= 0;
}

void timeout_set(struct timeout *t, uint32_t ticks, timeout_fn *fn, void *arg)
{
    crit_t s = simple_lock_enter(&timeout_lock);
    if (t->pending)
        panic("timeout_set: the timeout is pending already");
    t->fn = fn;
    t->arg = arg;
    t->due = now + (!ticks ? 1 : MIN(ticks, TIMEOUT_MOST));
    t->pending = true;
    struct timeout *later;
    TAILQ_FOREACH(later, &timeouts, link)
        if (timeout_ticks_left(later) > timeout_ticks_left(t))
            break;
    if (later)
        TAILQ_INSERT_BEFORE(later, t, link);
    else
        TAILQ_INSERT_TAIL(&timeouts, t, link);
    simple_lock_leave(&timeout_lock, s);
}

/* The caller holds the lock. */
static bool timeout_take_off(struct timeout *t)
{
    bool was = t->pending;
    if (was)
        TAILQ_REMOVE(&timeouts, t, link);
    t->pending = false;
    return was;
}

bool timeout_cancel(struct timeout *t)
{
    crit_t s = simple_lock_enter(&timeout_lock);
    bool was = timeout_take_off(t);
    simple_lock_leave(&timeout_lock, s);
    return was;
}

/* Its function may set it again while this waits: so it is taken off in the same section that finds its function
 * not running. */
static bool drained(struct timeout *t)
{
    crit_t s = simple_lock_enter(&timeout_lock);
    timeout_take_off(t);
    bool runs = __atomic_load_n(&calling, __ATOMIC_ACQUIRE) == t;
    simple_lock_leave(&timeout_lock, s);
    return !runs;
}

void timeout_drain(struct timeout *t)
{
    if (sync_hart()->intr_depth || sync_hart()->in_softint)
        panic("timeout_drain at interrupt level: it might wait for its own caller");
    while (!drained(t))
        thread_yield();
}

void timeout_tick(uint32_t ticks)
{
    crit_t s = simple_lock_enter(&timeout_lock);
    now += ticks;
    struct timeout *first = TAILQ_FIRST(&timeouts);
    bool due = first && is_due(first);
    simple_lock_leave(&timeout_lock, s);
    if (due)
        softint_schedule(SPL_SOFTCLOCK);
}

static void softclock(void *arg)
{
    (void)arg;
    for (;;) {
        crit_t s = simple_lock_enter(&timeout_lock);
        struct timeout *t = TAILQ_FIRST(&timeouts);
        if (!t || !is_due(t)) {
            simple_lock_leave(&timeout_lock, s);
            return;
        }
        TAILQ_REMOVE(&timeouts, t, link);
        t->pending = false;
        calling = t;
        timeout_fn *fn = t->fn;
        void *arg = t->arg;
        simple_lock_leave(&timeout_lock, s);
        fn(arg);
        __atomic_store_n(&calling, 0, __ATOMIC_RELEASE); /* timeout_drain sees all that the function has done */
    }
}

void timeout_init(void)
{
    softint_establish(SPL_SOFTCLOCK, softclock, 0);
}
