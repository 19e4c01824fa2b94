/*
 * Giving a hart to another thread: for the files of sched/ only. All of it is called in a section at SPL_SCHED.
 *
 * The hart's run queue lock is held across the switch: taken by the thread that gives up the hart (sched_lock_hart),
 * released by the one that gets it (sched_switched), both on that hart.
 */
#ifndef SCHED_SWITCH_H
#define SCHED_SWITCH_H

#include "arch/hart.h"
#include "dev/trace.h"
#include "sched/sched.h"

void context_switch(struct context *from, struct context *to);

/* What a switch consists of once it is decided: run=switch-floor compares it with saving and restoring registers. */
static inline void thread_switch(struct thread *from, struct thread *to)
{
    to->hart = (int)curhart->id;
    curhart->thread = to;
    curhart->switches++;
    trace(TRACE_THREAD_SWITCH, to->id);
    context_switch(&from->context, &to->context);
}

void sched_lock_hart(void);
void sched_switch(void);   /* to the next thread; the running one has been queued somewhere, or dies */
void sched_switched(void); /* the first thing a thread does that was switched to */

/* Queue `t`, which no hart runs, for its last hart, and choose who is to run it: harts for sched_tell, as bits. */
uint32_t sched_make_runnable(struct thread *t);
void sched_tell(uint32_t harts_to_tell); /* after the locks, before the section ends */

struct thread *thread_allocate(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name);
#endif
