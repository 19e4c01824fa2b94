/* What replaces locks in the serial kernel (serial.h): slow paths and checks. */
#include "fs/serial.h"

#if UNIX_SERIAL
#include "lib/panic.h"
#include "sched/master.h"
#include "sched/sched.h"

struct serial_section serial_section;
DEFINE_SIMPLE_LOCK(busy_lock, "busy", SPL_BIO); /* for the sleep: there is no contention on one hart */

static bool fs_serial_in_handler(void)
{
    return sync_hart()->intr_depth | sync_hart()->in_softint;
}

void serial_check(void)
{
    if (curhart->id != MASTER_HART || !(fs_serial_in_handler() || unix_is_master()))
        panic("in the file system of the serial kernel without unix_master, on hart %u", (unsigned)curhart->id);
}

void serial_check_inside(void)
{
    serial_check();
    assert(serial_section.depth);
}

void serial_check_entered(bool outermost)
{
    if (outermost)
        serial_section.handlers = fs_serial_in_handler();
    assert(serial_section.handlers == fs_serial_in_handler()); /* else it was not masked */
}

void serial_wait(volatile bool *busy, volatile bool *wanted)
{
    crit_t s = simple_lock_enter(&busy_lock);
    while (*busy) {
        *wanted = true;
        thread_sleep((const void *)busy, &busy_lock);
    }
    *busy = true;
    simple_lock_leave(&busy_lock, s);
}

void serial_wake(volatile bool *busy, volatile bool *wanted)
{
    *wanted = false;
    thread_wakeup((const void *)busy);
}
#endif
