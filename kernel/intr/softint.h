/*
 * Soft interrupts: work that a handler puts off until no hardware interrupt is being handled on its hart (levels
 * up to SPL_SOFT_MAX). A posted one runs on the hart that posted it, with hardware interrupts on, once the
 * hart's level falls below it; posting twice before it runs runs it once. It must not sleep.
 */
#ifndef INTR_SOFTINT_H
#define INTR_SOFTINT_H

#include <stdint.h>

typedef void softint_fn(void *arg);

void softint_establish(unsigned level, softint_fn *fn, void *arg);
void softint_schedule(unsigned level);
void softint_post(unsigned level); /* the same, from inside a section or a handler */
void softint_mark(unsigned level); /* the same, where the caller sees to it that what waits is looked for */

#endif
