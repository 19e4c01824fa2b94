/*
 * Input of a terminal on a serial port, as paper `mach`, section 2.1, describes the Multimax' SCC: the interrupt's
 * handler enqueues the unit's number on scc_pend_intrs and wakes slcintr_thread, which acquires the blocking tty_lock
 * and processes the characters. The thread has a lower priority than other interrupt threads: typed characters can
 * wait.
 */
#ifndef DEV_SLC_H
#define DEV_SLC_H

#include "dev/terminal.h"

#define SLC_UNITS 2 /* each is in the queue at most once, so that is never full */

/*
 * Characters of its port, which is started, go to the terminal from now on; from a thread. False: no memory
 * for slcintr_thread. Panics beyond SLC_UNITS.
 */
bool slc_attach(struct terminal *tp);
#endif
