/*
 * Interrupt threads: the part of an interrupt's work that is done in a thread, where blocking locks can be taken (paper
 * `mach`, section 2: slcintr_thread, biodone_thread, netisr_thread). The handler saves what it must, drops the device's
 * wire and calls ithread_wake with one word that describes the work, such as a unit's number or the address of what it
 * saved. The words wait in a queue that one or several threads process, oldest first; with several, words are handled
 * in parallel and may overtake each other.
 *
 * Locking: the interrupt thread's own simple lock guards queue and counters. Its class has at least the level of
 * every handler that wakes it, and at most SPL_SCHED, because it wakes threads.
 */
#ifndef SCHED_ITHREAD_H
#define SCHED_ITHREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lock/simple_lock.h"

#define ITHREAD_QUEUE 64 /* words; a power of two */
#define ITHREAD_MOST 4u   /* threads of one source */

struct thread;

typedef void ithread_fn(void *arg, uint32_t saved);

struct ithread {
    struct simple_lock lock;
    ithread_fn *fn;
    void *arg;
    unsigned source;   /* of the PIC: for the probe */
    unsigned threads, priority;
    struct thread *asleep; /* sleeping threads that have not been woken yet */
    bool stopping;
    uint32_t head, tail; /* run freely; the difference is the fill */
    uint32_t woken;    /* words that had to wake a thread: for the others one was awake */
    uint32_t dropped;  /* words lost because the queue was full */
    uint32_t queue[ITHREAD_QUEUE];
    struct thread *thread[ITHREAD_MOST];
    SLIST_ENTRY(ithread) link; /* of all that are started */
};

#define ITHREAD(ithread_name, class_id) {.lock = SIMPLE_LOCK(ithread_name, class_id)}

/* An interrupt thread that is the only one of its class, both static. */
#define DEFINE_ITHREAD(id, ithread_name, level)                                             \
    _Static_assert((level) <= SPL_SCHED, "a handler above SPL_SCHED cannot wake a thread"); \
    static SIMPLE_LOCK_CLASS(id##_class, ithread_name, level);                              \
    static struct ithread id = ITHREAD(ithread_name, id##_class)

/*
 * Start `threads` threads (1 to ITHREAD_MOST) at `priority` (sched/sched.h), on hart `bound` or ANY_HART, that call
 * fn(arg, word) for each word. Panics on a bad number of threads.
 */
void ithread_start(struct ithread *it, unsigned source, ithread_fn *fn, void *arg, unsigned priority, unsigned threads,
                   int bound);

/* The same with one thread, on any hart; false if no thread can be created. */
bool ithread_start_one(struct ithread *it, unsigned source, ithread_fn *fn, void *arg, unsigned priority);

/* Let the threads process what is queued and end; from a thread. No code calls ithread_wake any more. */
void ithread_stop(struct ithread *it);

/* From a handler, or any level up to the class's: false if the queue was full; the word is then lost and counted. */
bool ithread_wake(struct ithread *it, uint32_t saved);

/* A table of all interrupt threads, for the monitor. */
void ithread_dump(void);
#endif
