/* A small pseudo-random generator (xorshift32, Marsaglia 2003): the same seed gives the same numbers, always. */
#ifndef LIB_RANDOM_H
#define LIB_RANDOM_H

#include <stdint.h>

struct random {
    uint32_t state;
};

static inline struct random random_from(uint32_t seed, uint32_t stream)
{
    uint32_t s = seed * 2654435761u ^ (stream + 1) * 40503u * 65599u;
    return (struct random){s ? s : 1};
}

static inline uint32_t random_next(struct random *r)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 17;
    r->state ^= r->state << 5;
    return r->state;
}

/* 0 .. below - 1 */
static inline uint32_t random_below(struct random *r, uint32_t below)
{
    return (uint32_t)((uint64_t)random_next(r) * below >> 32);
}
#endif
