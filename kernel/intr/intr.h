/*
 * Interrupt dispatch: which handler belongs to which PIC source. A handler runs with the source claimed; its
 * service ends (EOI) when it returns, so it must have made a level-triggered device drop its wire by then.
 *
 * Locking: intr_establish writes a source's entries before it is enabled, and intr_disestablish when no hart reads them
 * any more; only the owner of a source calls either. The path
 * from the trap to the handler, which the schemes share, is in dispatch.h.
 */
#ifndef INTR_INTR_H
#define INTR_INTR_H

#include <stdint.h>

#include "sync/dispatch.h"

#define MASTER_HART 0 /* takes the interrupts of devices with intr.master=1 */

#define INTR_EDGE 1
#define INTR_LEVEL 0

/*
 * Route `source` to `hart` (or PIC_ANY_HART) at `level` (above SPL_SOFT_MAX) and enable it there. Panics on a bad
 * argument.
 */
void intr_establish(unsigned source, unsigned level, int edge, unsigned hart, intr_fn *fn, void *arg, const char *name);

/*
 * Remove the handler of `source`: when this returns, no hart runs it, has it queued or calls it again, and what was
 * pending at the PIC is dropped. Waits for handlers that have claimed the source already. From thread level, outside
 * of sections; panics elsewhere, where this hart might itself be keeping the handler from returning, and if there is
 * no handler.
 */
void intr_disestablish(unsigned source);

/*
 * Have `with` called for `source` instead of its handler, which is stored in `was`: for measurements. Interrupts that
 * arrive meanwhile stay pending. As intr_disestablish, from thread level.
 */
void intr_exchange(unsigned source, struct intr_vector with, struct intr_vector *was);

uint32_t intr_count(unsigned source);    /* handled, on all harts */
const char *intr_name(unsigned source); /* 0: it has no handler */
unsigned intr_route(unsigned source);    /* where it is routed to, or PIC_ANY_HART */
void intr_init(void); /* hart 0, before any other is online */
void intr_init_hart(void);
#endif
