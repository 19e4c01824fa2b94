/*
 * The lock behind pthread mutexes and the C library's own locks: one word, which is 0, 1 (held) or 2 (held, and perhaps
 * waited for), after Drepper, "Futexes Are Tricky" (2011), section 6. Without a contender no system call is made.
 */
#ifndef USER_LIB_FUTEX_LOCK_H
#define USER_LIB_FUTEX_LOCK_H

#include <stdbool.h>

#include "user/lib/system.h"

static inline bool futex_lock_try(volatile uint32_t *word)
{
    uint32_t unlocked = 0;
    return __atomic_compare_exchange_n(word, &unlocked, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void futex_lock(volatile uint32_t *word)
{
    if (futex_lock_try(word))
        return;
    while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE))
        futex_wait(word, 2, 0);
}

static inline void futex_unlock(volatile uint32_t *word)
{
    if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
        futex_wake(word, 1);
}
#endif
