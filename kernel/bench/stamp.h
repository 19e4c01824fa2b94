/*
 * An interrupt handler whose first instruction reads the cycle counter: it measures an interrupt's path to its
 * driver.
 */
#ifndef BENCH_STAMP_H
#define BENCH_STAMP_H

#include <stdint.h>

struct stamp {
    void (*fn)(struct stamp *stamp, uint32_t cycle); /* the rest; `cycle` is that of the first instruction */
};

/* Established with a struct stamp as its argument. */
void stamp_handler(void *stamp);
#endif
