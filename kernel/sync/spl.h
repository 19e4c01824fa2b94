/*
 * Interrupt priority levels, as the kernel's code names them. Levels 4..15 are also the PIC's priorities: a source
 * interrupts when its priority is greater than the level. Levels 1..3 belong to soft interrupts, which have no wire.
 */
#ifndef SYNC_SPL_H
#define SYNC_SPL_H

#define SPL_NONE 0
#define SPL_SOFTCLOCK 1
#define SPL_SOFTTTY 2
#define SPL_SOFTNET 3
#define SPL_SOFT_MAX 3
#define SPL_BIO 5
#define SPL_NET 6
#define SPL_TTY 8
#define SPL_CLOCK 10
#define SPL_SCHED 12 /* run and sleep queues */
#define SPL_IPI 13
#define SPL_HIGH 15
#endif
