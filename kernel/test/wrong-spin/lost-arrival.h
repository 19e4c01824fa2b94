/*
 * An algorithm that is wrong on purpose, to test the tests: MCS whose release, when it sees no waiter behind it, clears
 * the tail without checking whether one has come.
 */
#define atomic_cas_release careless_cas

static inline bool careless_cas(volatile uint32_t *word, uint32_t expected, uint32_t v)
{
    if (expected)
        *word = v;
    return expected || atomic_cas(word, expected, v);
}

#include "lock/spin/mcs.h"
#undef atomic_cas_release
