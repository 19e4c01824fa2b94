/* The scheduler's data of each hart (arch/hart.h); other harts read `priority`. */
#ifndef SCHED_HART_PART_H
#define SCHED_HART_PART_H

#include "arch/hart.h"

struct run_queue;
struct ready;

struct sched_hart {
    struct run_queue *queue;    /* this hart's, */
    struct ready *bound;        /* and of the threads bound to it (sched/runqueue.h); written once */
    volatile uint32_t priority; /* of the running thread: other harts compare it with their threads' */
    struct thread *idle;        /* the thread that runs when no other is runnable */
    struct thread *leaving;     /* a thread that migrates to another hart, until its registers are saved */
    int leaving_to;             /* the hart that it migrates to */
    uint32_t switches;          /* thread switches */
    uint32_t stolen;            /* threads taken from another hart's run queue */
};

HART_PART_OF(sched)
#endif
