/*
 * Checks of how locks are used, in images with LOCK_DEBUG (paper `mach`, section 5: one build option decides whether
 * the lock routines check). Each violation panics, with the places where the lock was last locked and unlocked, a
 * backtrace, and all held locks. Caught at the attempt, so before a deadlock:
 *
 *   - acquiring again what the hart or thread holds, for reading too
 *   - releasing, upgrading or downgrading what it does not hold
 *   - a simple lock outside a section of its class's level (sync/sync.h)
 *   - a blocking lock while the hart holds a simple lock; a thread switch with one held; a thread exit with a lock held
 *   - lock order: acquiring class A with B held, if B was acquired before with A held, directly or through others; both
 *     call paths are printed the first time. Two locks of one class are ordered by address (lock/lock_pair.h) or by a
 *     tree. A conditional attempt cannot deadlock and may violate the order.
 *
 * Assertions, for the beginning of functions that expect a lock; without LOCK_DEBUG they do nothing.
 *
 *   simple_lock_assert_held(l)  simple_lock_assert_not_held(l)    by this hart
 *   lock_assert_held(l)         lock_assert_not_held(l)           by this thread, for reading or exclusively
 *   lock_assert_write_held(l)                                     by this thread, exclusively
 */
#ifndef LOCK_LOCK_DEBUG_H
#define LOCK_LOCK_DEBUG_H

#include <stdbool.h>

#include "lock/lock_hooks.h"

struct simple_lock;

#if LOCK_DEBUG
struct lock_held;

/* `masked`: interrupts were off on chip. `fp`: the frame where a backtrace starts at the caller. */
void lock_check_attempt(const struct lock_object *o, unsigned how, bool masked, uint32_t fp);
void lock_check_held(const struct lock_object *o, const struct lock_held *held, const char *what);
void lock_assert_object(const struct lock_object *o, bool held, bool alone);

/*
 * The hart switches threads: it holds only `held` and locks of the scheduler's class. The thread ends: it holds
 * none.
 */
void lock_check_switch(const struct lock_class *scheduler, const struct simple_lock *held);
void lock_check_exit(void);

/* The hart is about to wait for other harts, which may wait for what it holds: it must hold no simple lock. */
void lock_check_waits_for_harts(void);

/* " (locked at ..., unlocked at ...)", for a panic's message. */
const char *lock_places(const struct lock_object *o);

#define LOCK_ASSERT_OBJECT_HELD(object) lock_assert_object(object, true, false)
#define lock_assert_write_held(l) lock_assert_object(&(l)->object, true, true)
#define lock_assert_not_held(l) lock_assert_object(&(l)->object, false, false)
#else
static inline void lock_check_switch(const struct lock_class *scheduler, const struct simple_lock *held)
{
    (void)scheduler, (void)held;
}

static inline void lock_check_exit(void) {}

static inline void lock_check_waits_for_harts(void) {}

static inline const char *lock_places(const struct lock_object *o)
{
    (void)o;
    return "";
}

#define LOCK_ASSERT_OBJECT_HELD(object) ((void)(object))
#define lock_assert_write_held(l) ((void)(l))
#define lock_assert_not_held(l) ((void)(l))
#endif

#define lock_assert_held(l) LOCK_ASSERT_OBJECT_HELD(&(l)->object)
#define simple_lock_assert_held(l) lock_assert_held(l)
#define simple_lock_assert_not_held(l) lock_assert_not_held(l)
#endif
