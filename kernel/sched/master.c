/* The master restriction (master.h). */
#include "sched/master.h"

#include "lib/panic.h"
#include "sched/sched.h"
#include "sched/sleep.h"

static struct thread *master_inside; /* the thread that holds the master */
DEFINE_SIMPLE_LOCK(master_lock, "master", SPL_SCHED);

/*
 * In the serial kernel this is on the path of each system call: a thread that finds the master free, on its hart,
 * takes it in one section, releases it in one, and wakes nothing if no thread waits. Other kernels do not need the
 * code.
 */
static unsigned waiting; /* serial kernel: upper bound of waiting threads; of master_lock */

static bool take_here(struct thread *self)
{
    crit_t s = simple_lock_enter(&master_lock);
    bool taken = curhart->id == MASTER_HART && !master_inside && !(sync_hart()->intr_depth | sync_hart()->in_softint);
    if (taken) {
        self->master_home = MASTER_HART;
        self->master_bound = self->bound;
        self->bound = MASTER_HART;
        master_inside = self;
    }
    simple_lock_leave(&master_lock, s);
    return taken;
}

/* Called with the lock held. */
static inline __attribute__((always_inline)) void master_let_go(void)
{
    if (master_inside != curhart->thread)
        panic("thread %s gives up the master, which it has not", curhart->thread->name);
    master_inside = 0;
    if (!UNIX_SERIAL || waiting)
        thread_wakeup_one(&master_inside);
}

static bool release_here(struct thread *self)
{
    if (self->master_home != MASTER_HART || (self->master_bound != ANY_HART && self->master_bound != MASTER_HART))
        return false;
    crit_t s = simple_lock_enter(&master_lock);
    master_let_go();
    self->bound = self->master_bound;
    simple_lock_leave(&master_lock, s);
    return true;
}

void master_take(void)
{
    crit_t s = simple_lock_enter(&master_lock);
    while (master_inside) {
        waiting += UNIX_SERIAL;
        thread_sleep_in_master(&master_inside, &master_lock);
        waiting -= UNIX_SERIAL;
    }
    master_inside = curhart->thread;
    simple_lock_leave(&master_lock, s);
}

void master_give_up(void)
{
    crit_t s = simple_lock_enter(&master_lock);
    master_let_go();
    simple_lock_leave(&master_lock, s);
}

void unix_master(void)
{
    struct thread *self = curhart->thread;
    if (self->master_depth) {
        self->master_depth++;
        return;
    }
    if (UNIX_SERIAL && take_here(self)) {
        self->master_depth = 1;
        return;
    }
    crit_t s = crit_sec_enter(SPL_SCHED);
    self->master_home = (int)curhart->id;
    self->master_bound = thread_bind(MASTER_HART);
    crit_sec_leave(s);
    master_take();
    self->master_depth = 1;
}

void unix_release(void)
{
    struct thread *self = curhart->thread;
    if (!self->master_depth)
        panic("thread %s: unix_release without unix_master", self->name);
    if (--self->master_depth || (UNIX_SERIAL && release_here(self)))
        return;
    master_give_up();
    crit_t s = crit_sec_enter(SPL_SCHED);
    thread_bind(self->master_bound);
    if (self->master_bound == ANY_HART)
        thread_move((unsigned)self->master_home);
    crit_sec_leave(s);
}

bool unix_is_master(void)
{
    return curhart->thread->master_depth != 0;
}
