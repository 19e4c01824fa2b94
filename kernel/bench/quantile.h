/* Quantiles of a bench's measurements. */
#ifndef BENCH_QUANTILE_H
#define BENCH_QUANTILE_H

#include <stdint.h>

/*
 * The value below which `percent` of the `n` values lie (nearest rank, n > 0); sorts them. 0: the minimum, 100: the
 * maximum.
 */
uint32_t quantile(uint32_t *values, uint32_t n, unsigned percent);
#endif
