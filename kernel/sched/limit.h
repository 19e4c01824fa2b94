/*
 * A limit to a wait. Between limit_begin and limit_end `over` becomes true after `ticks` clock ticks, and `channel` is
 * woken, both under `lock`, of a level of SPL_SOFTCLOCK or above:
 *
 *   limit_begin(&l, ticks, channel, &lock);
 *   s = simple_lock_enter(&lock);
 *   while (!there && !l.over && !error) error = limit_sleep(&l);
 *   simple_lock_leave(&lock, s);
 *   limit_end(&l);
 */
#ifndef SCHED_LIMIT_H
#define SCHED_LIMIT_H

#include "sched/timeout.h"

struct simple_lock;

#define NO_LIMIT 0 /* ticks */

struct limit {
    struct timeout timeout;
    const void *channel;
    struct simple_lock *lock;
    volatile bool over;
};

void limit_begin(struct limit *l, uint32_t ticks, const void *channel, struct simple_lock *lock);
void limit_end(struct limit *l); /* from a thread, with no simple lock held */

/*
 * Sleep, in the section of the lock, which is held; wakes may be spurious. 0, or -EINTR: it was interrupted
 * (thread_interrupt), and limit_wait_ends, called with the lock released, says that the wait ends. Until then the time
 * runs on.
 */
int limit_sleep(const struct limit *l);
extern bool (*limit_wait_ends)(void); /* set by the code that interrupts */
#endif
