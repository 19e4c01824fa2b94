/* Locks of whole files (flock.h). */
#include "file/flock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/queue.h>

#include "lock/simple_lock.h"
#include "sched/sched.h"

DEFINE_SIMPLE_LOCK(flock_lock, "file locks", SPL_SOFTPREEMPT);
static LIST_HEAD(, file) holders; /* files that have one; waiting threads sleep on it */

/* The following with flock_lock held. */
static bool flock_in_the_way(const struct file *f, int how)
{
    const struct file *h;
    LIST_FOREACH(h, &holders, flock_link)
        if (h != f && h->ops == f->ops && h->data == f->data && (how == LOCK_EX || h->flock == LOCK_EX))
            return true;
    return false;
}

static void flock_give_up(struct file *f)
{
    if (!f->flock)
        return;
    LIST_REMOVE(f, flock_link);
    f->flock = 0;
    thread_wakeup(&holders);
}

int flock_set(struct file *f, int how, bool wait)
{
    int error = 0;
    crit_t s = simple_lock_enter(&flock_lock);
    if (f->flock != how)
        flock_give_up(f);
    while (how != LOCK_UN && !error && flock_in_the_way(f, how))
        error = !wait ? -EAGAIN : thread_sleep_interruptibly(&holders, &flock_lock) ? -ERESTART : 0;
    if (how != LOCK_UN && !error) {
        if (!f->flock) /* otherwise another thread has set it, for the same open file */
            LIST_INSERT_HEAD(&holders, f, flock_link);
        bool less = f->flock == LOCK_EX && how == LOCK_SH;
        f->flock = (uint8_t)how;
        if (less)
            thread_wakeup(&holders);
    }
    simple_lock_leave(&flock_lock, s);
    return error;
}

void flock_end(struct file *f)
{
    crit_t s = simple_lock_enter(&flock_lock);
    flock_give_up(f);
    simple_lock_leave(&flock_lock, s);
}
