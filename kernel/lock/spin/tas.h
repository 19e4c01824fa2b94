/*
 * Test-and-set: every attempt is an atomic operation on the word, also while another hart holds it, so that waiting
 * harts keep memory busy for all others.
 *
 * Bit 0 is set while it is held; AMOs set it, which take turns on this core. The owner's address lies above it.
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
