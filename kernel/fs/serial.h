/*
 * What replaces locks in the serial kernel (fs/unix_lock.h): Mach/0.2's own means, which are 4.3BSD's.
 *
 * Locking: all of it runs on the master hart, in the thread that holds the master, or in a handler there. With
 * SERIAL_CHECKS, as in images with LOCK_DEBUG, any other use panics; otherwise nothing is checked, as in 4.3BSD, so
 * that the kernel that others are measured against pays for no more than it needs.
 */
#ifndef FS_SERIAL_H
#define FS_SERIAL_H

#include <stdbool.h>

#include "lib/panic.h"
#include "lock/simple_lock.h"

#ifndef SERIAL_CHECKS
#define SERIAL_CHECKS LOCK_DEBUG
#endif

#if UNIX_SERIAL
/* splbio and splx: they nest, and no thread sleeps in between. */
struct serial_section {
    unsigned depth; /* of serial_spl_enter; 0 whenever a handler begins, as handlers are masked otherwise */
    crit_t outside;
    bool handlers; /* a handler holds it, if depth is not 0; with SERIAL_CHECKS */
};
extern struct serial_section serial_section;

/*
 * Panic if the caller is off the master or does not hold it; is in no section; is in another's section.
 */
void serial_check(void);
void serial_check_inside(void);
void serial_check_entered(bool outermost);

/* The slow paths of serial_busy and serial_idle. */
void serial_wait(volatile bool *busy, volatile bool *wanted);
void serial_wake(volatile bool *busy, volatile bool *wanted);

static inline void serial_assert(void)
{
    if (SERIAL_CHECKS)
        serial_check();
}

static inline void serial_assert_spl(void)
{
    if (SERIAL_CHECKS)
        serial_check_inside();
}

static inline void serial_spl_enter(void)
{
    serial_assert();
    bool outermost = !serial_section.depth;
    if (outermost) /* a handler between this test and the next line leaves it 0 */
        serial_section.outside = crit_sec_enter(SPL_BIO);
    serial_section.depth++;
    if (SERIAL_CHECKS)
        serial_check_entered(outermost);
}

static inline void serial_spl_leave(void)
{
    serial_assert_spl();
    crit_t s = serial_section.outside;
    if (!--serial_section.depth)
        crit_sec_leave(s);
}

/* Mark an idle object busy, or wait until it is idle; `serial_idle` wakes all waiters. */
static inline bool serial_try_busy(volatile bool *busy)
{
    serial_spl_enter();
    bool taken = !*busy;
    *busy = true;
    serial_spl_leave();
    return taken;
}

static inline void serial_busy(volatile bool *busy, volatile bool *wanted)
{
    if (!serial_try_busy(busy))
        serial_wait(busy, wanted);
}

static inline void serial_idle(volatile bool *busy, volatile bool *wanted)
{
    serial_spl_enter();
    if (SERIAL_CHECKS)
        assert(*busy);
    *busy = false;
    if (unlikely(*wanted))
        serial_wake(busy, wanted);
    serial_spl_leave();
}
#endif
#endif
