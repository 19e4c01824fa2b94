/*
 * Simple locks: a hart that finds one taken spins. They are what makes a critical section hold between harts: a scheme
 * masks only the hart it runs on (sync/sync.h). A lock is declared with its name and a class, whose level is the highest
 * at which any handler takes it, and is held only inside a section of at least that level, so that no interrupt
 * on the same hart can want it. The owner is recorded always (its hart + 1; 0: free).
 *
 *   crit_t s = lock_enter(&lock); ... lock_leave(&lock, s);     section and lock together
 *
 * Errors: taking a lock that this hart holds, or releasing one that it does not, panics with the lock's name.
 */
#ifndef SYNC_SIMPLE_LOCK_H
#define SYNC_SIMPLE_LOCK_H

#include "sync/lock_class.h"
#include "sync/lock_hooks.h"
#include "sync/sync.h"

struct simple_lock {
    struct lock_object object;
    volatile uint32_t owner;
};

#define SIMPLE_LOCK_CLASS(id, class_name, level) LOCK_CLASS(id, class_name, LOCK_SIMPLE, level)
#define SIMPLE_LOCK(lock_name, class_id) {.object = {.class = &(class_id), .name = (lock_name)}}

/* A lock that is the only one of its class, both static. */
#define DEFINE_SIMPLE_LOCK(id, lock_name, level)              \
    static SIMPLE_LOCK_CLASS(id##_class, lock_name, level); \
    static struct simple_lock id = SIMPLE_LOCK(lock_name, id##_class)

void simple_lock_contended(struct simple_lock *l);
_Noreturn void simple_lock_not_held(struct simple_lock *l);

static inline bool simple_lock_held(const struct simple_lock *l)
{
    return l->owner == curhart->id + 1;
}

static inline bool simple_lock_take(struct simple_lock *l)
{
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(&l->owner, &expected, curhart->id + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Whether the lock could be taken at once. */
static inline bool simple_lock_try(struct simple_lock *l)
{
    LOCK_HOOK_ATTEMPT(&l->object);
    bool taken = simple_lock_take(l);
    if (taken)
        LOCK_HOOK_ACQUIRED(&l->object);
    else
        LOCK_HOOK_FAILED(&l->object);
    return taken;
}

static inline void simple_lock(struct simple_lock *l)
{
    LOCK_HOOK_ATTEMPT(&l->object);
    if (unlikely(!simple_lock_take(l)))
        simple_lock_contended(l);
    LOCK_HOOK_ACQUIRED(&l->object);
}

static inline void simple_unlock(struct simple_lock *l)
{
    if (unlikely(!simple_lock_held(l)))
        simple_lock_not_held(l);
    LOCK_HOOK_RELEASED(&l->object);
    __atomic_store_n(&l->owner, 0, __ATOMIC_RELEASE);
}

static inline crit_t lock_enter(struct simple_lock *l)
{
    crit_t s = crit_sec_enter(l->object.class->level);
    simple_lock(l);
    return s;
}

static inline void lock_leave(struct simple_lock *l, crit_t s)
{
    simple_unlock(l);
    crit_sec_leave(s);
}
#endif
