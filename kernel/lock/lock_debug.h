/*
 * Checks of how locks are used, in images with LOCK_DEBUG (paper `mach`, section 5: one option of the build says
 * whether the lock routines check). Each breach panics, with the places where the lock was locked and unlocked last, a
 * backtrace, and all locks that are held. Caught at the attempt, so before anything deadlocks:
 *
 *   - taking again what the hart or thread has, for reading too
 *   - letting go of, upgrading or downgrading what it has not
 *   - a simple lock outside a section of its class's level (sync/sync.h)
 *   - a blocking lock while the hart holds a simple lock; giving up the hart with one; a thread that ends with a lock
 *   - lock order: wanting a class of lock that was held before while this one was wanted, directly or over others; both
 *     call paths are shown the first time. Two locks of one class go by address (lock/lock_pair.h), if not by a tree. A
 *     conditional attempt cannot deadlock and may go against the order.
 *
 * Assertions, for the beginning of functions that expect a lock: without LOCK_DEBUG they are nothing.
 *
 *   simple_lock_assert_held(l)  simple_lock_assert_not_held(l)    by this hart
 *   lock_assert_held(l)         lock_assert_not_held(l)           by this thread, for reading or alone
 *   lock_assert_write_held(l)                                     by this thread, alone
 */
#ifndef LOCK_LOCK_DEBUG_H
#define LOCK_LOCK_DEBUG_H

#include <stdbool.h>

#include "lock/lock_hooks.h"

struct simple_lock;

#if LOCK_DEBUG
struct lock_held;

/* `masked`: interrupts were off on chip. `fp`: the frame from which a backtrace begins with whoever wants the lock. */
void lock_check_attempt(const struct lock_object *o, unsigned how, bool masked, uint32_t fp);
void lock_check_held(const struct lock_object *o, const struct lock_held *held, const char *what);
void lock_assert_object(const struct lock_object *o, bool held, bool alone);

/*
 * The hart gives up its thread, and holds locks of the scheduler's class alone, and `held`; the thread ends, and holds
 * none.
 */
void lock_check_switch(const struct lock_class *scheduler, const struct simple_lock *held);
void lock_check_exit(void);

/* The hart is about to wait for other harts, which may want what it holds: it holds no simple lock. */
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
