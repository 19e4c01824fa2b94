/* Serial lines of terminals (slc.h). */
#include "dev/slc.h"

#include "lib/panic.h"
#include "sched/ithread.h"
#include "sched/sched.h"

#define PRI_SLC (PRI_NORMAL - 4) /* above programs, so that ^C reaches one that never yields the processor */
#define PIECE 64

DEFINE_ITHREAD(scc_pend_intrs, "slcintr_thread", SPL_TTY);

static struct unit {
    struct terminal *terminal;
    uint32_t pending; /* its number is in the queue */
} slc_units[SLC_UNITS];

static void slcintr(void *arg)
{
    struct unit *unit = arg;
    if (!__atomic_exchange_n(&unit->pending, 1, __ATOMIC_ACQ_REL))
        ithread_wake(&scc_pend_intrs, (uint32_t)(unit - slc_units));
}

static void slcintr_work(void *arg, uint32_t number)
{
    struct unit *unit = &slc_units[number];
    uint8_t typed[PIECE];
    (void)arg;
    __atomic_exchange_n(&unit->pending, 0, __ATOMIC_ACQ_REL); /* input from here on wakes the thread again */
    for (uint32_t n; (n = serial_take(unit->terminal->port, typed, sizeof typed));)
        terminal_input(unit->terminal, typed, n);
}

bool slc_attach(struct terminal *tp)
{
    struct unit *unit = slc_units;
    while (unit < slc_units + SLC_UNITS && unit->terminal)
        unit++;
    if (unit == slc_units + SLC_UNITS)
        panic("slc_attach: there are %u terminals already", SLC_UNITS);
    if (unit == slc_units && !ithread_start_one(&scc_pend_intrs, tp->port->source, slcintr_work, 0, PRI_SLC))
        return false;
    unit->terminal = tp;
    serial_listen(tp->port, slcintr, unit);
    return true;
}
