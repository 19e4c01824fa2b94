/*
 * Timeouts: a function called once after a number of clock ticks, from the soft clock interrupt (SPL_SOFTCLOCK) of
 * hart 0. Ticks are those of hart 0's clock; a timeout of n fires between n-1 and n ticks' time after it is set,
 * plus the delay of the soft interrupt. More than TIMEOUT_MOST ticks count as TIMEOUT_MOST.
 *
 * Locking: timeout_lock (level SPL_CLOCK) guards the list, which is sorted by due time.
 */
#ifndef SCHED_TIMEOUT_H
#define SCHED_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define TIMEOUT_MOST INT32_MAX /* ticks */

typedef void timeout_fn(void *arg);

struct timeout {
    TAILQ_ENTRY(timeout) link;
    timeout_fn *fn;
    void *arg;
    uint32_t due;
    bool pending;
};

void timeout_set(struct timeout *t, uint32_t ticks, timeout_fn *fn, void *arg);
bool timeout_cancel(struct timeout *t); /* whether it was still pending */

/*
 * Cancel it, also if its function sets it again, and wait until the function does not run any more: the memory may then
 * be reused. From a thread; panics at interrupt level. The function itself need not call it: the memory may be freed
 * while it runs.
 */
void timeout_drain(struct timeout *t);
void timeout_tick(uint32_t ticks); /* hart 0's clock interrupt: ticks since the last call */
void timeout_init(void);
uint32_t clock_ticks(void);
#endif
