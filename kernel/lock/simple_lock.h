/*
 * Simple locks: a hart that finds one held spins. They make a critical section exclusive between harts: a scheme masks
 * only the hart it runs on (sync/sync.h). A lock is declared with its name and a class, whose level is the highest at
 * which any handler takes it, and is held only inside a section of at least that level, so that no interrupt on the
 * same hart can take it. How harts wait is the image's algorithm (lock/spin/spin.h); the owner, a hart, is always
 * recorded.
 *
 *   crit_t s = simple_lock_enter(&lock); ... simple_lock_leave(&lock, s);     section and lock together
 *
 * A lock is free when all of it but the object is 0. Before its memory is reused, it is given to simple_lock_destroy.
 *
 * Errors: taking a lock that this hart holds, or releasing one that it does not, panics with the lock's name.
 */
#ifndef LOCK_SIMPLE_LOCK_H
#define LOCK_SIMPLE_LOCK_H

#include "lock/lock_class.h"
#include "lock/lock_hooks.h"
#include "lock/spin/spin.h"
#include "sync/sync.h"

struct simple_lock {
    struct lock_object object;
    struct spin spin;
};

#define SIMPLE_LOCK_CLASS(id, class_name, level) LOCK_CLASS(id, class_name, LOCK_SIMPLE, level)
#define SIMPLE_LOCK(lock_name, class_id)                       \
    {                                                          \
        .object = {.class = &(class_id), .name = (lock_name) } \
    }

/* A lock that is the only one of its class, both static. */
#define DEFINE_SIMPLE_LOCK(id, lock_name, level)            \
    static SIMPLE_LOCK_CLASS(id##_class, lock_name, level); \
    static struct simple_lock id = SIMPLE_LOCK(lock_name, id##_class)

void simple_lock_contended(struct simple_lock *l, spin_place_t place, struct lock_attempt *attempt);
_Noreturn __attribute__((cold)) void simple_lock_not_held(struct simple_lock *l);

static inline bool simple_lock_held(const struct simple_lock *l)
{
    return spin_is_held(&l->spin);
}

/* Takes the lock if it is free; returns whether it did. */
static inline bool simple_lock_try(struct simple_lock *l)
{
    struct lock_attempt attempt = LOCK_HOOK_ATTEMPT(&l->object, LOCK_CONDITIONAL);
    bool taken = spin_try(&l->spin);
    if (taken)
        LOCK_HOOK_ACQUIRED(&l->object, &attempt);
    else
        LOCK_HOOK_FAILED(&l->object, &attempt);
    return taken;
}

static inline void simple_lock(struct simple_lock *l)
{
    spin_place_t place;
    struct lock_attempt attempt = LOCK_HOOK_ATTEMPT(&l->object, 0);
    if (unlikely(!spin_take(&l->spin, &place)))
        simple_lock_contended(l, place, &attempt);
    LOCK_HOOK_ACQUIRED(&l->object, &attempt);
}

static inline void simple_unlock(struct simple_lock *l)
{
    LOCK_HOOK_RELEASED(&l->object, LOCK_HERE());
    if (unlikely(!spin_release(&l->spin)))
        simple_lock_not_held(l);
}

void simple_lock_destroy(struct simple_lock *l);

static inline crit_t simple_lock_enter(struct simple_lock *l)
{
    crit_t s = crit_sec_enter(l->object.class->level);
    simple_lock(l);
    return s;
}

static inline void simple_lock_leave(struct simple_lock *l, crit_t s)
{
    simple_unlock(l);
    crit_sec_leave(s);
}
#endif
