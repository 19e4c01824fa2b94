/* Numbers of an exponential distribution (exponential.h), by inversion: no floating point in the kernel. */
#include "lib/exponential.h"

#define FRACTION_BITS 16
#define LN2 45426 /* in 2^-16 */
#define STEP_BITS 6
#define STEPS (1 << STEP_BITS)

static uint32_t log2_of_step[STEPS + 1]; /* log2(1 + i / STEPS) in 2^-16, computed at the first use */

/* The fraction of log2 x for 1 <= x < 2, x in 2^-31: squaring x gives it bit by bit. */
static uint32_t slow_log2(uint32_t x)
{
    uint32_t fraction = 0;
    for (unsigned i = 0; i < FRACTION_BITS; i++) {
        uint64_t square = (uint64_t)x * x;
        fraction = fraction << 1 | (uint32_t)(square >> 63);
        x = (uint32_t)(square >> (square >> 63 ? 32 : 31));
    }
    return fraction;
}

/* The last entry marks the table complete: a caller that finds it missing computes the same entries again. */
static void make_steps(void)
{
    for (uint32_t i = 0; i < STEPS; i++)
        log2_of_step[i] = slow_log2(1u << 31 | i << (31 - STEP_BITS));
    __atomic_store_n(&log2_of_step[STEPS], 1u << FRACTION_BITS, __ATOMIC_RELEASE);
}

uint32_t minus_ln(uint32_t u)
{
    if (!__atomic_load_n(&log2_of_step[STEPS], __ATOMIC_ACQUIRE))
        make_steps();
    unsigned zeros = (unsigned)__builtin_clz(u);
    uint32_t rest = u << zeros << 1; /* of log2 u = 31 - zeros + log2(1 + rest / 2^32); between two steps, a line */
    uint32_t step = rest >> (32 - STEP_BITS), part = (rest << STEP_BITS) >> FRACTION_BITS;
    uint32_t low = log2_of_step[step], high = log2_of_step[step + 1];
    uint32_t fraction = low + ((high - low) * part >> FRACTION_BITS);
    uint32_t minus_log2 = ((zeros + 1) << FRACTION_BITS) - fraction;
    return (uint32_t)((uint64_t)minus_log2 * LN2 >> FRACTION_BITS);
}

uint32_t exponential(struct random *r, uint32_t mean)
{
    return (uint32_t)((uint64_t)minus_ln(random_next(r)) * mean >> FRACTION_BITS);
}
