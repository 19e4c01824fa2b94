/* The master restriction (master.h). */
#include "sched/master.h"

#include "lib/panic.h"
#include "sched/sched.h"
#include "sched/sleep.h"

static struct thread *inside; /* who has the master */
DEFINE_SIMPLE_LOCK(master_lock, "master", SPL_SCHED);

void master_take(void)
{
    crit_t s = simple_lock_enter(&master_lock);
    while (inside)
        thread_sleep_in_master(&inside, &master_lock);
    inside = curhart->thread;
    simple_lock_leave(&master_lock, s);
}

void master_give_up(void)
{
    crit_t s = simple_lock_enter(&master_lock);
    if (inside != curhart->thread)
        panic("thread %s gives up the master, which it has not", curhart->thread->name);
    inside = 0;
    thread_wakeup_one(&inside);
    simple_lock_leave(&master_lock, s);
}

void unix_master(void)
{
    struct thread *self = curhart->thread;
    if (self->master_depth) {
        self->master_depth++;
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
    if (--self->master_depth)
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
