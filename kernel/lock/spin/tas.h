/*
 * Test-and-set: every attempt is an atomic operation on the word, also while another hart has it, so that harts that
 * wait keep memory busy for all others.
 *
 * Bit 0 says that it is taken; AMOs set it, which take turns on this core. The owner's address stands above it.
 */
#define SPIN_TAKEN 1u

#include "lock/spin_word.h"

static inline bool spin_try(struct spin *s)
{
    if (atomic_or(&s->word, SPIN_TAKEN))
        return false;
    fence_acquire();
    s->word = (uint32_t)curhart | SPIN_TAKEN;
    return true;
}

static inline void spin_wait(struct spin *s, spin_place_t place)
{
    (void)place;
    while (!spin_try(s))
        spin_pause();
}
