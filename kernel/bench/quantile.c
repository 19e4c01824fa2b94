/* Quantiles (quantile.h). */
#include "bench/quantile.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

uint32_t quantile(uint32_t *values, uint32_t n, unsigned percent)
{
    qsort(values, n, sizeof *values, by_value);
    uint32_t rank = (n * percent + 99) / 100;
    return values[rank ? rank - 1 : 0];
}
