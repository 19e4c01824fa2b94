/*
 * Test-and-test-and-set with back-off: a waiting hart reads the word in its own cache until it is 0, and only then
 * tries to set it. A hart that tries and fails backs off for a time that doubles with each failure, up to a bound, so
 * that of many that see the lock free few disturb the one that got it (Anderson 1990).
 *
 * The word is the owner, set by compare-and-swap (LR, SC) instead of an AMO: no second store records it.
 */
#define SPIN_TAKEN 0u
#define BACKOFF_LEAST 8 /* iterations of a loop of 2 instructions */
#define BACKOFF_MOST 128

#include "lock/spin_word.h"

static inline bool spin_try(struct spin *s)
{
    if (!atomic_cas(&s->word, 0, (uint32_t)curhart))
        return false;
    fence_acquire();
    return true;
}

static inline void spin_wait(struct spin *s, spin_place_t place)
{
    (void)place;
    for (uint32_t delay = BACKOFF_LEAST;; delay = delay < BACKOFF_MOST ? 2 * delay : delay) {
        while (s->word)
            spin_pause();
        if (spin_try(s))
            return;
        for (uint32_t turns = delay; turns; turns--)
            spin_pause();
    }
}
