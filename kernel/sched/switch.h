/*
 * Switching a hart to another thread: for the files of sched/ only. All functions are called in a section at SPL_SCHED.
 *
 * The hart's run queue lock is held across the switch: taken by the thread that gives up the hart (sched_give_up),
 * released by the one that gets it (sched_switched), both on that hart.
 */
#ifndef SCHED_SWITCH_H
#define SCHED_SWITCH_H

#include "arch/hart.h"
#include "arch/trace.h"
#include "sched/sched.h"

/* arch/switch.S */
static inline void context_switch(struct context *from, struct context *to)
{
    register struct context *a0 __asm__("a0") = from, *a1 __asm__("a1") = to;
    __asm__ volatile("call context_switch"
                     : "+r"(a0), "+r"(a1)
                     :
                     : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a2", "a3", "a4", "a5", "a6", "a7", "memory");
}

/* A switch, once it is decided: run=switch-floor compares it with saving and restoring registers. */
static inline void thread_switch(struct thread *from, struct thread *to)
{
    trace(TRACE_THREAD_SWITCH, to->id);
    curhart->thread = to;
    crit_timing_switch(from, to);
    context_switch(&from->context, &to->context);
}

/*
 * The running thread gives up the hart: it is queued, if its state is still THREAD_RUNNING; else its state says where
 * it is. `held`, if not 0, of a thread that sleeps or ends, is released as soon as the hart's run queue lock is held:
 * the next holder then finds the thread asleep. Returns when the thread runs again.
 */
void sched_give_up(struct simple_lock *held);
void sched_switched(void); /* called first by a thread that was switched to */

/* Queue `t`, which no hart runs, for its last hart, and choose the hart to run it: harts for sched_tell, as bits. */
uint32_t sched_make_runnable(struct thread *t);
void sched_tell(uint32_t harts_to_tell); /* after the locks, before the section ends */

struct thread *thread_allocate(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name);
#endif
