/* The designated hart (designated.h). */
#include "sched/designated.h"

#include "lib/panic.h"

/* Takes all waiting packets off the queue, oldest first; none when the thread is to end. */
static struct krp *take_all(struct designated *d)
{
    crit_t s = simple_lock_enter(&d->lock);
    while (!d->first && !d->stopping) {
        d->idle = true;
        thread_block(&d->lock, s);
        s = simple_lock_enter(&d->lock);
    }
    struct krp *first = d->first;
    d->first = 0;
    simple_lock_leave(&d->lock, s);
    return first;
}

static void designated_serve(void *arg)
{
    struct designated *d = arg;
    for (struct krp *krp; (krp = take_all(d));)
        for (struct krp *next; krp; krp = next) {
            next = krp->next; /* once its action is called, its owner may reuse the packet */
            krp->action(krp);
        }
}

void krp_queue(struct designated *d, struct krp *krp)
{
    krp->next = 0;
    crit_t s = simple_lock_enter(&d->lock);
    if (d->first)
        d->last->next = krp;
    else
        d->first = krp;
    d->last = krp;
    d->queued++;
    bool wake = d->idle;
    d->idle = false;
    d->woken += wake;
    simple_unlock(&d->lock);
    if (wake)
        thread_unblock(d->thread);
    crit_sec_leave(s);
}

void designated_start(struct designated *d, unsigned hart, unsigned priority)
{
    *d = (struct designated){.lock = d->lock};
    d->thread = thread_create(designated_serve, d, priority, (int)hart, d->lock.object.name);
    if (!d->thread)
        panic("designated_start: there is no memory for the thread of %s", d->lock.object.name);
}

void designated_stop(struct designated *d)
{
    crit_t s = simple_lock_enter(&d->lock);
    bool wake = d->idle;
    d->stopping = true;
    d->idle = false;
    simple_unlock(&d->lock);
    if (wake)
        thread_unblock(d->thread);
    crit_sec_leave(s);
    thread_join(d->thread);
}
