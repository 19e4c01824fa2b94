/*
 * Events: threads wait for them; code at any level up to that of the event's class, also an interrupt handler,
 * posts them. A posted event stays posted until it is cleared; event_wait does not sleep meanwhile. Paper `mach`,
 * section 2.2: the completion of a synchronous I/O is posted straight from interrupt level to the thread that waits
 * for it.
 *
 *   DEFINE_EVENT(done, "disk done", SPL_BIO);
 *   event_clear(&done); start_the_disk(); event_wait(&done);          the handler calls event_post(&done)
 *
 * Locking: the event's own simple lock, of the event's class, guards it. Its level is at most SPL_SCHED, because
 * posting wakes threads. An event may lie on the waiting thread's stack: once event_wait has returned, no poster
 * accesses it any more, and event_destroy returns what its lock keeps (a node of a queue lock).
 *
 * Errors: waiting at interrupt level panics.
 */
#ifndef LOCK_EVENT_H
#define LOCK_EVENT_H

#include <stdbool.h>
#include <sys/queue.h>

#include "lock/simple_lock.h"

struct event {
    struct simple_lock lock;
    bool posted;
    SLIST_HEAD(event_waiters, event_waiter) waiting; /* sleeping threads, in order of arrival */
};

#define EVENT(event_name, class_id) {.lock = SIMPLE_LOCK(event_name, class_id)}

/* An event that is the only one of its class, both static. */
#define DEFINE_EVENT(id, event_name, level)                                                 \
    _Static_assert((level) <= SPL_SCHED, "a handler above SPL_SCHED cannot wake a thread"); \
    static SIMPLE_LOCK_CLASS(id##_class, event_name, level);                                \
    static struct event id = EVENT(event_name, id##_class)

void event_destroy(struct event *e); /* before its memory is reused; no thread waits, no code posts any more */
void event_post(struct event *e); /* wakes all waiting threads */
void event_clear(struct event *e);
void event_wait(struct event *e); /* until it is posted; it stays posted */
void event_take(struct event *e); /* the same, and clears it: each posting serves one of several takers */
bool event_posted(const struct event *e);
#endif
