/* Limits to waits (limit.h). */
#include "sched/limit.h"

#include <errno.h>

#include "lock/simple_lock.h"
#include "sched/sched.h"

bool (*limit_wait_ends)(void);

static void thread_limit_over(void *arg)
{
    struct limit *l = arg;
    crit_t s = simple_lock_enter(l->lock);
    l->over = true;
    thread_wakeup(l->channel);
    simple_lock_leave(l->lock, s);
}

void limit_begin(struct limit *l, uint32_t ticks, const void *channel, struct simple_lock *lock)
{
    *l = (struct limit){.channel = channel, .lock = lock};
    if (ticks)
        timeout_set(&l->timeout, ticks, thread_limit_over, l);
}

/* The limit is on the caller's stack, so its function must have returned. */
void limit_end(struct limit *l)
{
    if (l->timeout.fn)
        timeout_drain(&l->timeout);
}

int limit_sleep(const struct limit *l)
{
    if (!thread_sleep_interruptibly(l->channel, l->lock))
        return 0;
    simple_unlock(l->lock);
    bool ends = limit_wait_ends();
    simple_lock(l->lock);
    return ends ? -EINTR : 0;
}
