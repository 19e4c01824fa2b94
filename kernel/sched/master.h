/*
 * The master restriction (paper `mach`, section 1): code between unix_master and unix_release runs on hart 0 only, so
 * that code written for one processor keeps its own mutual exclusion. It is the paper's baseline for parallelising. The
 * boot argument intr.master=1, and the serial kernel always, confines device interrupts to the master as well (section
 * 2); clocks and calls between harts stay with their harts.
 *
 *   unix_master();             the thread moves to hart 0, at once
 *   unix_release();            it returns to the hart it came from, or to another that takes it sooner
 *
 * They nest: only the outermost pair moves the thread. A bound thread is moved, too, and back to its hart. As in
 * 4.3BSD, whose kernel is not preempted, one thread at a time is inside, until it releases or sleeps: then others get
 * in, and it waits for its turn before it returns from the sleep. More urgent threads outside may preempt it.
 *
 * Locking: a thread changes its own fields only. Errors: both panic at interrupt level, unix_release without
 * unix_master.
 */
#ifndef SCHED_MASTER_H
#define SCHED_MASTER_H

#include <stdbool.h>

#include "intr/intr.h"

void unix_master(void);
void unix_release(void);

/*
 * For sched/: without a change of hart. A thread that sleeps or ends inside releases the master; it takes it again
 * after it wakes.
 */
void master_take(void);
void master_give_up(void);

/*
 * Around code that only the serial kernel confines to the master (build option `unix`): system calls, and threads of
 * the file system.
 */
static inline void unix_enter(void)
{
#if UNIX_SERIAL
    unix_master();
#endif
}

static inline void unix_leave(void)
{
#if UNIX_SERIAL
    unix_release();
#endif
}

/* The value of `operation`, executed as a system call would be. */
#define UNIX_CALL(operation)   \
    ({                         \
        unix_enter();          \
        int gave_ = operation; \
        unix_leave();          \
        gave_;                 \
    })

/* For assertions at the beginning of functions that need the master. */
bool unix_is_master(void);
#endif
