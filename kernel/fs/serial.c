/* In the place of locks in the serial kernel (serial.h). */
#include "fs/serial.h"

#if UNIX_SERIAL
#include "lib/panic.h"
#include "lock/simple_lock.h"
#include "sched/master.h"
#include "sched/sched.h"

static unsigned depth; /* of serial_spl_enter; 0 whenever a handler begins, as these are kept out else */
static crit_t outside;
static bool handlers; /* whose it is, if depth is not 0 */
DEFINE_SIMPLE_LOCK(busy_lock, "busy", SPL_BIO); /* to sleep with: nobody contends for it on one hart */

static bool in_handler(void)
{
    return sync_hart()->intr_depth | sync_hart()->in_softint;
}

void serial_assert(void)
{
    if (curhart->id != MASTER_HART || !(in_handler() || unix_is_master()))
        panic("in the file system of the serial kernel without unix_master, on hart %u", (unsigned)curhart->id);
}

void serial_spl_enter(void)
{
    serial_assert();
    if (!depth) { /* a handler between this look and the next line leaves it 0 */
        outside = crit_sec_enter(SPL_BIO);
        handlers = in_handler();
    }
    depth++;
    assert(handlers == in_handler()); /* else it was not kept out */
}

void serial_spl_leave(void)
{
    serial_assert_spl();
    crit_t s = outside;
    if (!--depth)
        crit_sec_leave(s);
}

void serial_assert_spl(void)
{
    serial_assert();
    assert(depth);
}

bool serial_try_busy(volatile bool *busy)
{
    serial_spl_enter();
    bool taken = !*busy;
    *busy = true;
    serial_spl_leave();
    return taken;
}

void serial_busy(volatile bool *busy, volatile bool *wanted)
{
    serial_assert();
    crit_t s = simple_lock_enter(&busy_lock);
    while (*busy) {
        *wanted = true;
        thread_sleep((const void *)busy, &busy_lock);
    }
    *busy = true;
    simple_lock_leave(&busy_lock, s);
}

void serial_idle(volatile bool *busy, volatile bool *wanted)
{
    serial_spl_enter();
    assert(*busy);
    *busy = false;
    if (*wanted) {
        *wanted = false;
        thread_wakeup((const void *)busy);
    }
    serial_spl_leave();
}
#endif
