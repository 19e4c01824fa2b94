/*
 * Run queues: the threads that could run, by priority and, among equals, by the time they were queued. The image has one for
 * all harts (make RUNQUEUE=global) or one for each (RUNQUEUE=per-hart), from which other harts steal:
 *
 *   a thread waits in the queue of the hart it last ran on (affinity), in a part of its own if it is bound there;
 *   a hart takes the most urgent thread of its own queue, unless another queue has a more urgent one that is not bound, or
 *   an equal one and more threads waiting than its own: then it steals the first of those.
 *
 * Locking: each queue has its lock (level SPL_SCHED). A hart that holds its own only tries another's: two that steal from
 * each other never wait for each other. `levels` and `count` are also read without the lock, as a hint, which
 * run_queue_most_urgent makes safe. A thread is queued under the lock of the queue of `hart`, its last one, and that
 * hart keeps this lock until the thread's registers are saved: so who takes it from the queue finds them.
 */
#ifndef SCHED_RUNQUEUE_H
#define SCHED_RUNQUEUE_H

#include "lock/simple_lock.h"
#include "sched/sched.h"

#define RUN_QUEUES (RUNQUEUE_PER_HART ? MAX_HARTS : 1)

extern struct lock_class run_queue_class;

/* The lock of this hart's queue, which the functions below need. */
struct simple_lock *run_queue_lock(unsigned hart);

void run_queue_append(struct thread *t);  /* behind its equals */
void run_queue_prepend(struct thread *t); /* before them: its turn is not over */

/* The thread that this hart is to run next, taken off its queue or stolen; 0: none. */
struct thread *run_queue_take(void);

/* A thread that waits and is not bound: its priority (PRIORITIES: there is none) and the hart in whose queue it stands. */
struct waiting {
    unsigned priority;
    int hart;
};

/*
 * The most urgent of them in all queues, as a hint. Called after sched_hart()->priority has said to all what this hart runs
 * now: who queues a thread and looks at the priorities later sees it, or else this hart sees the thread.
 */
struct waiting run_queue_most_urgent(void);
#endif
