/*
 * The interface to threads that locks need: put the running thread to sleep, wake another. lock/ knows nothing else of
 * threads; sched/ defines it (sched/sleep.c, sched/thread.c).
 */
#ifndef LOCK_THREADS_H
#define LOCK_THREADS_H

#include <stdbool.h>

#include "lock/simple_lock.h"

struct thread;
struct lock_held_list;

const char *thread_name(const struct thread *t);
bool thread_runs(const struct thread *t); /* on a hart, at present; a hint, unless it is the caller */

/* The blocking locks that it holds, in images that keep lists (lock/lock_held.h). */
struct lock_held_list *thread_locks(struct thread *t);

/*
 * The running thread sleeps until thread_unblock names it. Called in the section that `saved` ends, with `interlock`
 * held, which is released once thread_unblock can wake the thread: code that holds the interlock and finds a waiting
 * thread may unblock it. Returns with the section left and the interlock released. Panics at interrupt level.
 */
void thread_block(struct simple_lock *interlock, crit_t saved);

/* Once for each time it blocks; from any level up to SPL_SCHED, in a section, which it raises to SPL_SCHED. */
void thread_unblock(struct thread *t);
#endif
