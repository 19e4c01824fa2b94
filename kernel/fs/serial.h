/*
 * What stands for locks in the serial kernel (fs/unix_lock.h): Mach/0.2's own means, which are 4.3BSD's.
 *
 * Locking: all of it is for the master hart, by the thread that has the master, or by a handler there; anything else panics.
 */
#ifndef FS_SERIAL_H
#define FS_SERIAL_H

#include <stdbool.h>

#if UNIX_SERIAL
/* Panics if the caller may not be in the file system: off the master, or a thread that has not taken it. */
void serial_assert(void);

/* splbio and splx: they nest, and nobody sleeps in between. */
void serial_spl_enter(void);
void serial_spl_leave(void);
void serial_assert_spl(void);

/* Make busy what is not, or wait until it is not; `idle` wakes all who wait. */
void serial_busy(volatile bool *busy, volatile bool *wanted);
bool serial_try_busy(volatile bool *busy);
void serial_idle(volatile bool *busy, volatile bool *wanted);
#endif
#endif
