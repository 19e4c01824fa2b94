/* Events (event.h). */
#include "lock/event.h"

#include "lib/compiler.h"
#include "lock/threads.h"

/* A waiter; it lies on the waiting thread's stack. */
struct event_waiter {
    SLIST_ENTRY(event_waiter) link;
    struct thread *thread;
    bool takes; /* clears the event, too */
};

/* The waiters that a posting wakes, in order, taken off the list: all that only wait, and the first that takes it. */
static COLD struct event_waiters served(struct event *e)
{
    e->posted = true;
    struct event_waiters wake = SLIST_HEAD_INITIALIZER(wake);
    struct event_waiter *w, *next, **at = &SLIST_FIRST(&e->waiting), *last = 0;
    SLIST_FOREACH_SAFE(w, &e->waiting, link, next) {
        if (w->takes && !e->posted) {
            at = &SLIST_NEXT(w, link);
            continue;
        }
        if (w->takes)
            e->posted = false;
        SLIST_REMOVE_PREVPTR(at, w, link);
        if (last)
            SLIST_INSERT_AFTER(last, w, link);
        else
            SLIST_INSERT_HEAD(&wake, w, link);
        last = w;
    }
    return wake;
}

void event_post(struct event *e)
{
    crit_t s = simple_lock_enter(&e->lock);
    struct event_waiters wake = e->waiting;
    struct event_waiter *w = SLIST_FIRST(&wake), *next;
    if (!w) {
        e->posted = true;
    } else if (!SLIST_NEXT(w, link)) {
        e->posted = !w->takes;
        SLIST_INIT(&e->waiting);
    } else {
        wake = served(e);
    }
    simple_unlock(&e->lock); /* the event itself may be freed as soon as one of them runs */
    SLIST_FOREACH_SAFE(w, &wake, link, next)
        thread_unblock(w->thread);
    crit_sec_leave(s);
}

void event_clear(struct event *e)
{
    crit_t s = simple_lock_enter(&e->lock);
    e->posted = false;
    simple_lock_leave(&e->lock, s);
}

/* Takes the lock even if the event is posted already: so its poster has released it. */
static inline __attribute__((always_inline)) void wait_or_take(struct event *e, bool takes)
{
    crit_t s = simple_lock_enter(&e->lock);
    if (e->posted) {
        e->posted = !takes;
        simple_lock_leave(&e->lock, s);
        return;
    }
    struct event_waiter w = {.thread = curhart->thread, .takes = takes}, *other, **end;
    SLIST_FOREACH_PREVPTR(other, end, &e->waiting, link)
        ;
    *end = &w;
    thread_block(&e->lock, s);
}

void event_wait(struct event *e)
{
    wait_or_take(e, false);
}

void event_take(struct event *e)
{
    wait_or_take(e, true);
}

bool event_posted(const struct event *e)
{
    return __atomic_load_n(&e->posted, __ATOMIC_ACQUIRE);
}

void event_destroy(struct event *e)
{
    simple_lock_destroy(&e->lock);
}
