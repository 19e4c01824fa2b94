/*
 * Interrupt priority levels, as the kernel's code names them. Levels above SPL_SOFT_MAX are also the PIC's priorities:
 * a source interrupts when its priority is greater than the level. Soft interrupts (no wire) are below.
 */
#ifndef SYNC_SPL_H
#define SYNC_SPL_H

#define SPL_NONE 0
#define SPL_SOFTPREEMPT 1 /* calls nothing: the running thread is to be preempted (sched/sched.h) */
#define SPL_SOFTCLOCK 2
#define SPL_SOFTTTY 3
#define SPL_SOFTNET 4
#if BIODONE_SOFTINT /* build option biodone=softint */
#define SPL_SOFTBIO 5
#define SPL_SOFT_MAX 5
#else
#define SPL_SOFT_MAX 4
#endif
#define SPL_BIO 6
#define SPL_NET 7
#define SPL_TTY 8
#define SPL_CLOCK 10
#define SPL_SCHED 12 /* run and sleep queues */
#define SPL_HIGH 15
#endif
