/*
 * Soft interrupts: work that a handler defers until no hardware interrupt is being handled on its hart (levels
 * up to SPL_SOFT_MAX). A posted one runs on the hart that posted it, with hardware interrupts on, once the
 * hart's level falls below its own; posting twice before it runs runs it once. It must not sleep.
 */
#ifndef INTR_SOFTINT_H
#define INTR_SOFTINT_H

#include <stdint.h>

#include "arch/csr.h"
#include "sync/hart_part.h"

typedef void softint_fn(void *arg);

void softint_establish(unsigned level, softint_fn *fn, void *arg);
void softint_schedule(unsigned level);
void softint_post(unsigned level); /* the same, from inside a section or a handler */

/* The same, where the caller, or the return path of the calling handler, makes sure that posted levels are checked. */
static inline __attribute__((always_inline)) void softint_mark(unsigned level)
{
    uint32_t was = csr_read_clear(mstatus, MSTATUS_MIE); /* its own interrupts post too; quicker than an AMO */
    sync_hart()->pending |= 1u << level;
    csr_set(mstatus, was & MSTATUS_MIE);
}

#endif
