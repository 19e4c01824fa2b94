/* Numbers of an exponential distribution, such as the times between the arrivals of a Poisson process. */
#ifndef LIB_EXPONENTIAL_H
#define LIB_EXPONENTIAL_H

#include <stdint.h>

#include "lib/random.h"

#define EXPONENTIAL_MOST 22 /* no number exceeds this many means: the probability would be 2^-32 */

/* -ln(u / 2^32) in units of 2^-16, for u > 0: 0 to 22.18 units. Off by 2^-13 at most. */
uint32_t minus_ln(uint32_t u);

/* A number of mean `mean`, which is at most 2^27; the same for the same generator's state. */
uint32_t exponential(struct random *r, uint32_t mean);
#endif
