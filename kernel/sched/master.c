/* The master restriction (master.h). */
#include "sched/master.h"

#include "lib/panic.h"
#include "sched/sched.h"

void unix_master(void)
{
    struct thread *self = curhart->thread;
    if (self->master_depth++)
        return;
    crit_t s = crit_sec_enter(SPL_SCHED);
    self->master_home = (int)curhart->id;
    self->master_bound = thread_bind(MASTER_HART);
    crit_sec_leave(s);
}

void unix_release(void)
{
    struct thread *self = curhart->thread;
    if (!self->master_depth)
        panic("thread %s: unix_release without unix_master", self->name);
    if (--self->master_depth)
        return;
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
