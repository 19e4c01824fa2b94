/*
 * Reference counts: an object is not freed while its count of users is above 0. A count has no lock of its own: it is
 * taken and dropped under the lock that guards the lookup of the object (paper `mach`, section 4.4: the global lock of
 * the list is held while an inpcb is looked up and its count raised). The caller that drops the last reference makes
 * the object unreachable before it releases the lock, and frees it.
 *
 * Errors: panics when it overflows or falls below 0; with LOCK_DEBUG also when `guard` is not held.
 */
#ifndef LOCK_REFCOUNT_H
#define LOCK_REFCOUNT_H

#include "lib/panic.h"
#include "lock/lock_debug.h"

struct refcount {
    uint32_t n;
};

/* `guard` is the address of the object of a simple or a blocking lock. */
static inline void refcount_take(struct refcount *r, const struct lock_object *guard)
{
    LOCK_ASSERT_OBJECT_HELD(guard);
    if (!++r->n)
        panic("reference count overflows under lock %s", guard->name);
}

/* Returns whether it was the last. */
static inline bool refcount_drop(struct refcount *r, const struct lock_object *guard)
{
    LOCK_ASSERT_OBJECT_HELD(guard);
    if (!r->n)
        panic("reference count falls below 0 under lock %s", guard->name);
    return !--r->n;
}
#endif
