/*
 * An algorithm that is wrong on purpose, to test the tests: ttas that tests and sets in two steps.
 */
#define atomic_cas torn_cas

static inline bool torn_cas(volatile uint32_t *word, uint32_t expected, uint32_t v)
{
    if (*word != expected)
        return false;
    *word = v;
    return true;
}

#include "lock/spin/ttas.h"
#undef atomic_cas
