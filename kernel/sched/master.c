/* The master restriction (master.h). */
#include "sched/master.h"

#include "lib/panic.h"
#include "sched/sched.h"
#include "sched/sleep.h"

static struct thread *inside; /* who has the master */
static unsigned waiting; /* for it; both of master_lock */
DEFINE_SIMPLE_LOCK(master_lock, "master", SPL_SCHED);

void master_take(void)
{
    crit_t s = simple_lock_enter(&master_lock);
    while (inside) {
        waiting++;
        thread_sleep_in_master(&inside, &master_lock);
        waiting--;
    }
    inside = curhart->thread;
    simple_lock_leave(&master_lock, s);
}

/* With the lock held. */
static void let_go(struct thread *self)
{
    if (inside != self)
        panic("thread %s gives up the master, which it has not", self->name);
    inside = 0;
    if (waiting)
        thread_wakeup_one(&inside);
}

void master_give_up(void)
{
    crit_t s = simple_lock_enter(&master_lock);
    let_go(curhart->thread);
    simple_lock_leave(&master_lock, s);
}

void unix_master(void)
{
    struct thread *self = curhart->thread;
    if (self->master_depth) {
        self->master_depth++;
        return;
    }
    crit_t s = simple_lock_enter(&master_lock);
    self->master_home = (int)curhart->id;
    self->master_bound = self->bound;
    bool taken = curhart->id == MASTER_HART && !inside && !(sync_hart()->intr_depth | sync_hart()->in_softint);
    if (taken) {
        self->bound = MASTER_HART;
        inside = self;
    }
    simple_lock_leave(&master_lock, s);
    if (!taken) {
        thread_bind(MASTER_HART);
        master_take();
    }
    self->master_depth = 1;
}

/* Back to where `self` came from. */
static void go_home(struct thread *self)
{
    crit_t s = crit_sec_enter(SPL_SCHED);
    thread_bind(self->master_bound);
    if (self->master_bound == ANY_HART)
        thread_move((unsigned)self->master_home);
    crit_sec_leave(s);
}

void unix_release(void)
{
    struct thread *self = curhart->thread;
    if (!self->master_depth)
        panic("thread %s: unix_release without unix_master", self->name);
    if (--self->master_depth)
        return;
    bool at_home =
        self->master_bound == MASTER_HART || (self->master_bound == ANY_HART && self->master_home == MASTER_HART);
    crit_t s = simple_lock_enter(&master_lock);
    let_go(self);
    if (at_home)
        self->bound = self->master_bound;
    simple_lock_leave(&master_lock, s);
    if (!at_home)
        go_home(self);
}

bool unix_is_master(void)
{
    return curhart->thread->master_depth != 0;
}
