/*
 * Timers of a process (POSIX's timer_create): each sends a signal when its time has come, once or again and again. A
 * signal that is pending still stands for those that would have come since: they are counted. They are of the process,
 * and neither fork nor execve hands them on.
 *
 * Locking: user_lock.
 */
#ifndef USER_TIMERS_H
#define USER_TIMERS_H

#include "proc/process.h"

/* With user_lock: a timer's signal is taken; `id` is the sender of its struct signal_info. */
void timers_taken(struct process *p, int id);

/* All of them are gone. From a thread, without locks. */
void timers_end(struct process *p);
#endif
