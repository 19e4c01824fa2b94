/*
 * Sleep queues: the sleeping threads, found by their channel's address. For the files of sched/; all others use
 * thread_sleep and thread_wakeup (sched.h). All functions are called in a section at SPL_SCHED.
 *
 * Locking: each queue's own lock (level SPL_SCHED), taken before a run queue's. A thread that goes to sleep holds it
 * until it has its hart's run queue lock, which it keeps until its registers are saved.
 */
#ifndef SCHED_SLEEP_H
#define SCHED_SLEEP_H

#include <stdint.h>

struct simple_lock;
struct sleep_queue;

void sleep_init(void);

/* thread_sleep, for a thread that is inside the master and keeps it. */
void thread_sleep_in_master(const void *channel, struct simple_lock *interlock);

struct sleep_queue *sleep_queue_lock(const void *channel);
void sleep_queue_unlock(struct sleep_queue *q);
struct simple_lock *sleep_queue_lock_of(struct sleep_queue *q);

/* The running thread sleeps on `channel`. Called with the queue's lock held, which it releases. */
void sleep_queue_sleep(struct sleep_queue *q, const void *channel);

/* Wake at most `most` threads that sleep on `channel`, with the queue's lock held: harts for sched_tell. */
uint32_t sleep_queue_wake(struct sleep_queue *q, const void *channel, unsigned most);
#endif
