/*
 * An algorithm that is wrong on purpose, to test the tests: ticket whose draw reads and adds in two steps.
 */
#define atomic_add torn_add

static inline uint32_t torn_add(volatile uint32_t *word, uint32_t v)
{
    uint32_t old = *word;
    *word = old + v;
    return old;
}

#include "lock/spin/ticket.h"
#undef atomic_add
