/*
 * Interrupt dispatch: which handler belongs to which PIC source. A handler runs with the source claimed; its
 * service ends (EOI) when it returns, so a level-triggered device must have been made to drop its wire by then.
 *
 * Locking: a source's entries are written by intr_establish before it is enabled, and only read afterwards. The way
 * from the trap to the handler, which the schemes share, is in dispatch.h.
 */
#ifndef INTR_INTR_H
#define INTR_INTR_H

#include <stdint.h>

#include "sync/dispatch.h"

#define MASTER_HART 0 /* whose are the interrupts of devices with intr.master=1 */

#define INTR_EDGE 1
#define INTR_LEVEL 0

/*
 * Route `source` to `hart` (or PIC_ANY_HART) at `level` (above SPL_SOFT_MAX) and enable it there. Panics on a bad
 * argument.
 */
void intr_establish(unsigned source, unsigned level, int edge, unsigned hart, intr_fn *fn, void *arg, const char *name);
void intr_disestablish(unsigned source);

uint32_t intr_count(unsigned source);    /* handled, on all harts */
const char *intr_name(unsigned source); /* 0: it has no handler */
void intr_init(void); /* hart 0, before any other is here */
void intr_init_hart(void);
#endif
