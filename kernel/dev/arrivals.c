/* The arrival player's lists (arrivals.h). */
#include "dev/arrivals.h"

void arrivals_enter_poisson(struct random *r, unsigned entries, uint32_t mean, unsigned wires)
{
    for (unsigned i = 0; i < entries; i++) {
        uint32_t interval = exponential(r, mean / wires);
        arrivals_enter(interval, random_below(r, wires));
    }
}
