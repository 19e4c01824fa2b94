/*
 * Timers of a process (POSIX's timer_create): each sends a signal when it expires, once or periodically. A signal that
 * is still pending stands for the later ones, which are counted. They belong to the process: neither fork nor execve
 * passes them on.
 *
 * Locking: user_lock.
 */
#ifndef USER_TIMERS_H
#define USER_TIMERS_H

#include "proc/process.h"

/* With user_lock held: a timer's signal is taken; `id` is the sender of its struct signal_info. */
void timers_taken(struct process *p, int id);

/* Deletes all of them. From a thread, without locks. */
void timers_end(struct process *p);
#endif
