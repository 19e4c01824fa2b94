/* Events (event.h). */
#include "lock/event.h"

#include "lock/threads.h"

void event_post(struct event *e)
{
    crit_t s = simple_lock_enter(&e->lock);
    bool wake = e->waiting;
    e->posted = true;
    e->waiting = false;
    simple_lock_leave(&e->lock, s);
    if (wake)
        thread_wakeup(e); /* only the address: the event itself may be gone by now */
}

void event_clear(struct event *e)
{
    crit_t s = simple_lock_enter(&e->lock);
    e->posted = false;
    simple_lock_leave(&e->lock, s);
}

/* The lock is taken even if the event is posted already: its poster has let go of it then. */
static void wait_and_leave(struct event *e, bool posted_after)
{
    crit_t s = simple_lock_enter(&e->lock);
    while (!e->posted) {
        e->waiting = true;
        thread_sleep(e, &e->lock);
    }
    e->posted = posted_after;
    simple_lock_leave(&e->lock, s);
}

void event_wait(struct event *e)
{
    wait_and_leave(e, true);
}

void event_take(struct event *e)
{
    wait_and_leave(e, false);
}

bool event_posted(const struct event *e)
{
    return __atomic_load_n(&e->posted, __ATOMIC_ACQUIRE);
}

void event_destroy(struct event *e)
{
    simple_lock_destroy(&e->lock);
}
