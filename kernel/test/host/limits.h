/* Limits to waits (sched/limit.h), for tests with a thread_sleep_interruptibly of their own: it ends them. */
#ifndef TEST_HOST_LIMITS_H
#define TEST_HOST_LIMITS_H

#include "dev/clock.h"
#include "sched/limit.h"
#include "sched/sched.h"

static struct limit *limited; /* the wait that has a limit, or 0 */
static uint32_t limited_to; /* ticks */

void limit_begin(struct limit *l, uint32_t ticks, const void *channel, struct simple_lock *lock)
{
    *l = (struct limit){.channel = channel, .lock = lock};
    if (ticks) {
        limited = l;
        limited_to = ticks;
    }
}

void limit_end(struct limit *l)
{
    CHECK_EQUAL(host_locks_held, 0);
    CHECK(limited == l);
    limited = 0;
}

int limit_sleep(const struct limit *l)
{
    CHECK(l == limited);
    return thread_sleep_interruptibly(l->channel, l->lock) ? -EINTR : 0;
}

static bool no_wait_ends(void)
{
    return false;
}

bool (*limit_wait_ends)(void) = no_wait_ends;

int clock_ticks_of(const struct user_timespec *t, uint32_t *ticks)
{
    *ticks = (uint32_t)t->seconds * clock_hz() + (uint32_t)t->nanoseconds / (1000000000u / clock_hz()) + 1;
    return 0;
}
#endif
