/*
 * The clock: each hart's CLINT timer, routed to the PIC as that hart's source, at SPL_CLOCK. It drives time slices on
 * every hart and timeouts on hart 0. The harts' ticks are spread over a period, so that they do not queue for the link.
 */
#ifndef DEV_CLOCK_H
#define DEV_CLOCK_H

#include <generated/soc.h>
#include <stdint.h>

#include "arch/hart.h"

struct dev_hart {
    uint32_t ticks; /* clock interrupts taken */
};

HART_PART_OF(dev)

#define CLOCK_HZ CONFIG_CLOCK_FREQUENCY /* cycles a second */

void clock_init(void); /* boot arguments hz and hz.jitter: hart 0 */
void clock_init_hart(void); /* before the hart takes interrupts */

/* This hart gets `hz` ticks a second, none if that is 0; each is up to `hz.jitter` cycles late, by the run's seed. */
void clock_start_hart(void);
uint32_t clock_hz(void); /* ticks a second; 0: no ticks */

struct user_timespec;

/* The number of ticks from now that last at least `t`. 0; -EINVAL: invalid time, or the clock does not tick. */
int clock_ticks_of(const struct user_timespec *t, uint32_t *ticks);
void clock_since_reset(struct user_timespec *now);

/*
 * A tick that is due before the hart has taken the last one, because a handler or a section is longer than a period,
 * merges with it: one interrupt stands for both. It counts as elapsed all the same; this is the number of these.
 */
uint32_t clock_merged(unsigned hart);

/* `@clock hart=... ticks=... merged=...`, for harts on which ticks merged: at the end of a run. */
void clock_print_results(void);
#endif
