/*
 * Input of a terminal on a serial port, as paper `mach`, section 2.1, tells of the Multimax' SCC: the interrupt's
 * handler enqueues the unit's number on scc_pend_intrs and awakens slcintr_thread, which takes the blocking tty_lock
 * and does the processing of characters. The thread is less urgent than other interrupt threads: typed characters can
 * wait.
 */
#ifndef DEV_SLC_H
#define DEV_SLC_H

#include "dev/terminal.h"

#define SLC_UNITS 2 /* each stands in the queue once at most: that is never full */

/*
 * Characters of its port, which is started, go to the terminal from now on; from a thread. False: there is no memory
 * for slcintr_thread. Panics beyond SLC_UNITS.
 */
bool slc_attach(struct terminal *tp);
#endif
