/* The clock, for units that need only its rate, which a test defines. */
#ifndef DEV_CLOCK_H
#define DEV_CLOCK_H

#include <stdint.h>

#define CLOCK_HZ 75000000 /* cycles a second */

struct user_timespec;

int clock_ticks_of(const struct user_timespec *t, uint32_t *ticks);
uint32_t clock_hz(void); /* ticks a second; 0: there are none */
#endif
