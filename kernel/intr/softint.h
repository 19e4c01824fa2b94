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

/*
 * For the schemes, interrupts off on chip before and after: run what is posted above `level`, highest first, the
 * logical level raised meanwhile (spl schemes); or all that is posted, unless one runs already (cli schemes).
 */
void softint_dispatch_above(unsigned level);
void softint_dispatch(void);
#endif
