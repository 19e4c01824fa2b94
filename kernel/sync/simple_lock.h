/*
 * Simple locks: a hart that finds one taken spins. They are what makes a critical section hold between harts: a scheme
 * masks only the hart it runs on (sync/sync.h). A lock is declared with its name and its level, the highest level at
 * which any handler takes it, and is held only inside a section of at least that level, so that no interrupt
 * on the same hart can want it. The owner is recorded always (its hart + 1; 0: free).
 *
 *   crit_t s = lock_enter(&lock); ... lock_leave(&lock, s);     section and lock together
 *
 * Errors: taking a lock that this hart holds, or releasing one that it does not, panics with the lock's name.
 */
#ifndef SYNC_SIMPLE_LOCK_H
#define SYNC_SIMPLE_LOCK_H

#include "sync/sync.h"

struct simple_lock {
    volatile uint32_t owner;
    uint32_t level;
    const char *name;
};

#define SIMPLE_LOCK(lock_name, lock_level) {.owner = 0, .level = (lock_level), .name = (lock_name)}

void simple_lock_contended(struct simple_lock *l);
_Noreturn void simple_lock_not_held(struct simple_lock *l);

static inline bool simple_lock_held(const struct simple_lock *l)
{
    return l->owner == curhart->id + 1;
}

/* Whether the lock could be taken at once. */
static inline bool simple_lock_try(struct simple_lock *l)
{
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(&l->owner, &expected, curhart->id + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void simple_lock(struct simple_lock *l)
{
    if (unlikely(!simple_lock_try(l)))
        simple_lock_contended(l);
}

static inline void simple_unlock(struct simple_lock *l)
{
    if (unlikely(!simple_lock_held(l)))
        simple_lock_not_held(l);
    __atomic_store_n(&l->owner, 0, __ATOMIC_RELEASE);
}

static inline crit_t lock_enter(struct simple_lock *l)
{
    crit_t s = crit_sec_enter(l->level);
    simple_lock(l);
    return s;
}

static inline void lock_leave(struct simple_lock *l, crit_t s)
{
    simple_unlock(l);
    crit_sec_leave(s);
}
#endif
