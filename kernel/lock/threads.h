/*
 * What locks need of threads, and all that lock/ knows of them: put this one to sleep, wake that one. sched/ defines it
 * (sched/sleep.c, sched/thread.c).
 */
#ifndef LOCK_THREADS_H
#define LOCK_THREADS_H

#include <stdbool.h>

#include "lock/simple_lock.h"

struct thread;
struct lock_held_list;

const char *thread_name(const struct thread *t);
bool thread_runs(const struct thread *t); /* on some hart now; a hint, if it is not the caller */

/* The blocking locks that it holds, in images that keep lists (lock/lock_held.h). */
struct lock_held_list *thread_locks(struct thread *t);

/*
 * The thread that runs sleeps until thread_unblock names it. Called in the section that `saved` ends, holding
 * `interlock`, which is released when nobody can miss it any more: so who finds under the interlock that a thread waits
 * may unblock it. Returns with the section left, and without the interlock. Panics at interrupt level.
 */
void thread_block(struct simple_lock *interlock, crit_t saved);

/* Once for each time it blocks; from any level up to SPL_SCHED, in a section, which goes on at SPL_SCHED. */
void thread_unblock(struct thread *t);
#endif
