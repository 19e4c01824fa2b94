/* Events (event.h). */
#include "lock/event.h"

#include "lib/compiler.h"
#include "lock/threads.h"

/* One that waits; it lies on the waiting thread's stack. */
struct event_waiter {
    struct event_waiter *next;
    struct thread *thread;
    bool takes; /* and leaves the event cleared */
};

/* Those whom a posting wakes, in their order, taken off the list: all that only wait, and the first that takes it. */
static COLD struct event_waiter *served(struct event *e)
{
    e->posted = true;
    struct event_waiter *wake = 0, **end = &wake, **at = &e->waiting;
    for (struct event_waiter *w; (w = *at);) {
        if (w->takes && !e->posted) {
            at = &w->next;
            continue;
        }
        if (w->takes)
            e->posted = false;
        *at = w->next;
        w->next = 0;
        *end = w;
        end = &w->next;
    }
    return wake;
}

void event_post(struct event *e)
{
    crit_t s = simple_lock_enter(&e->lock);
    struct event_waiter *wake = e->waiting;
    if (!wake) {
        e->posted = true;
    } else if (!wake->next) {
        e->posted = !wake->takes;
        e->waiting = 0;
    } else {
        wake = served(e);
    }
    simple_unlock(&e->lock); /* the event itself may be gone as soon as one of them goes on */
    for (struct event_waiter *next; wake; wake = next) {
        next = wake->next;
        thread_unblock(wake->thread);
    }
    crit_sec_leave(s);
}

void event_clear(struct event *e)
{
    crit_t s = simple_lock_enter(&e->lock);
    e->posted = false;
    simple_lock_leave(&e->lock, s);
}

/* The lock is taken even if the event is posted already: its poster has let go of it then. */
static inline __attribute__((always_inline)) void wait_or_take(struct event *e, bool takes)
{
    crit_t s = simple_lock_enter(&e->lock);
    if (e->posted) {
        e->posted = !takes;
        simple_lock_leave(&e->lock, s);
        return;
    }
    struct event_waiter w = {.thread = curhart->thread, .takes = takes}, **end = &e->waiting;
    while (*end)
        end = &(*end)->next;
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
