/* Timeouts (timeout.h). */
#include "sched/timeout.h"

#include "intr/softint.h"
#include "lib/panic.h"
#include "lock/simple_lock.h"
#include "sched/sched.h"

DEFINE_SIMPLE_LOCK(timeout_lock, "timeout", SPL_CLOCK);
static struct timeout *first;
static volatile uint32_t now;

uint32_t clock_ticks(void)
{
    return now;
}

static bool is_due(const struct timeout *t)
{
    return (int32_t)(now - t->due) >= 0;
}

void timeout_set(struct timeout *t, uint32_t ticks, timeout_fn *fn, void *arg)
{
    crit_t s = simple_lock_enter(&timeout_lock);
    if (t->pending)
        panic("timeout set twice");
    t->fn = fn;
    t->arg = arg;
    t->due = now + (ticks ? ticks : 1);
    t->pending = true;
    struct timeout **at = &first;
    while (*at && (int32_t)((*at)->due - t->due) <= 0)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    simple_lock_leave(&timeout_lock, s);
}

bool timeout_cancel(struct timeout *t)
{
    crit_t s = simple_lock_enter(&timeout_lock);
    bool was = t->pending;
    for (struct timeout **at = &first; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    t->pending = false;
    simple_lock_leave(&timeout_lock, s);
    return was;
}

void timeout_drain(struct timeout *t)
{
    while (t->running)
        thread_yield();
}

void timeout_tick(void)
{
    crit_t s = simple_lock_enter(&timeout_lock);
    now++;
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
        struct timeout *t = first;
        if (!t || !is_due(t)) {
            simple_lock_leave(&timeout_lock, s);
            return;
        }
        first = t->next;
        t->pending = false;
        t->running = true;
        simple_lock_leave(&timeout_lock, s);
        t->fn(t->arg);
        t->running = false;
    }
}

void timeout_init(void)
{
    softint_establish(SPL_SOFTCLOCK, softclock, 0);
}
