/*
 * Blocking locks: a thread that finds one held sleeps until it gets it. They are for thread context only and may be
 * held while the thread sleeps for another reason, across an I/O for example. Paper `mach`, sections 1, 3 and 5: mutual
 * exclusion locks are read/write locks, and a lock's class alone says which it is, so a definition can begin as a
 * mutex, which is easier to debug, and become a read/write lock without a change to the code that uses it:
 *
 *   DEFINE_MUTEX(mount_table_lock, "mount table");      or DEFINE_RW_LOCK(...)
 *   lock_read(&mount_table_lock); ... lock_done(&mount_table_lock);     a mutex is exclusive here too
 *
 * Order: waiting threads get the lock in order of arrival, handed over by the thread that releases it. (A thread that
 * finds the owner running on another hart first spins for LOCK_SPIN_CYCLES, and has no place in the queue until then.)
 * Adjacent readers in the queue get it together; a reader does not pass a waiting writer, so neither starves. Only a
 * reader that upgrades passes all waiters: they wait for it.
 *
 * Locking: a lock that is free, or that has no waiters, is acquired and released by one compare-and-swap of its word
 * (lock_word.h), outside any section, so at the same cost under every scheme. Else the interlock, a simple lock, guards
 * the word and the members that follow the interlock; it is held for a few instructions at a time, never while a thread
 * sleeps. It is taken below every simple lock but the scheduler's.
 *
 * Errors, always caught, by panic: use at interrupt level; acquiring again what the thread holds exclusively; releasing
 * what is not held. An image with LOCK_DEBUG catches more (lock/lock_debug.h).
 */
#ifndef LOCK_LOCK_H
#define LOCK_LOCK_H

#include <stdbool.h>
#include <sys/queue.h>

#include "lock/lock_class.h"
#include "lock/lock_hooks.h"
#include "lock/lock_word.h"
#include "lock/simple_lock.h"

struct thread;
struct lock_waiter;
STAILQ_HEAD(lock_waiters, lock_waiter);

struct lock {
    struct lock_object object;
    volatile uint32_t word;           /* its holder (lock_word.h) */
    struct simple_lock interlock;
    struct lock_waiter *upgrader;     /* the reader that waits for the others to leave, or 0 */
    struct lock_waiters waiting;      /* the others, in order of arrival; all 0 until one has waited */
};

extern struct lock_class lock_interlock_class;

#define MUTEX_CLASS(id, class_name) LOCK_CLASS(id, class_name, LOCK_MUTEX, SPL_NONE)
#define RW_LOCK_CLASS(id, class_name) LOCK_CLASS(id, class_name, LOCK_RW, SPL_NONE)
#define LOCK(lock_name, class_id) \
    {.object = {.class = &(class_id), .name = (lock_name)}, .interlock = SIMPLE_LOCK(lock_name, lock_interlock_class)}

/* A lock that is the only one of its class, both static. */
#define DEFINE_MUTEX(id, lock_name)            \
    static MUTEX_CLASS(id##_class, lock_name); \
    static struct lock id = LOCK(lock_name, id##_class)
#define DEFINE_RW_LOCK(id, lock_name)            \
    static RW_LOCK_CLASS(id##_class, lock_name); \
    static struct lock id = LOCK(lock_name, id##_class)

void lock_init(struct lock *l, struct lock_class *class, const char *name);
void lock_destroy(struct lock *l); /* before its memory is freed; panics if it has a holder or waiters */

/*
 * For a lock that another thread than its owner releases, as that of a buffer whose I/O goes on without its thread:
 * the owner disowns it, and it stays held; the thread that releases it adopts it first. Panics if another thread owns
 * it.
 */
void lock_disown(struct lock *l);
void lock_adopt(struct lock *l);
void lock_done_disowned(struct lock *l); /* adopts and releases it, by one compare-and-swap */

/* The slow paths of the inline functions below. `released`: the hook RELEASED has been called. */
void lock_acquire_slow(struct lock *l, unsigned how, struct lock_attempt attempt);
bool lock_acquire_if_free(struct lock *l, unsigned how, struct lock_attempt attempt);
bool lock_upgrade(struct lock *l, unsigned how, struct lock_attempt attempt);
void lock_done_slow(struct lock *l, bool released);
_Noreturn __attribute__((cold)) void lock_at_interrupt_level(const struct lock *l);

static inline void lock_check_context(const struct lock *l)
{
    if (unlikely(sync_hart()->intr_depth | sync_hart()->in_softint))
        lock_at_interrupt_level(l);
}

/* Tries to acquire it by one compare-and-swap; returns whether it did. */
static inline __attribute__((always_inline)) bool lock_take(struct lock *l, unsigned how)
{
    if (how & LOCK_SHARED && l->object.class->kind == LOCK_RW)
        return lock_word_add_reader(&l->word);
    return atomic_cas_acquire(&l->word, 0, (uint32_t)(uintptr_t)hart_thread());
}

static inline __attribute__((always_inline)) void lock_acquire(struct lock *l, unsigned how,
                                                               struct lock_attempt attempt)
{
    lock_check_context(l);
    if (likely(lock_take(l, how)))
        LOCK_HOOK_ACQUIRED(&l->object, &attempt);
    else
        lock_acquire_slow(l, how, attempt);
}

static inline void lock_read(struct lock *l)
{
    lock_acquire(l, LOCK_SHARED, LOCK_HOOK_ATTEMPT(&l->object, LOCK_SHARED));
}

static inline void lock_write(struct lock *l)
{
    lock_acquire(l, 0, LOCK_HOOK_ATTEMPT(&l->object, 0));
}

/* Conditional acquisition: false where it would block (paper `mach`, section 3.2). */
static inline bool lock_try_read(struct lock *l)
{
    return lock_acquire_if_free(l, LOCK_SHARED, LOCK_HOOK_ATTEMPT(&l->object, LOCK_SHARED | LOCK_CONDITIONAL));
}

static inline bool lock_try_write(struct lock *l)
{
    return lock_acquire_if_free(l, 0, LOCK_HOOK_ATTEMPT(&l->object, LOCK_CONDITIONAL));
}

/*
 * Upgrades a reader. False: another reader's upgrade was already waiting; this one has released the lock, as each would
 * wait for the other, and what it read may have changed. (Mach does the same, with true for false.)
 */
static inline bool lock_read_to_write(struct lock *l)
{
    return lock_upgrade(l, LOCK_UPGRADE, LOCK_HOOK_ATTEMPT(&l->object, LOCK_UPGRADE));
}

/* Upgrades it if it is the only reader; false: it is still a reader. */
static inline bool lock_try_read_to_write(struct lock *l)
{
    return lock_upgrade(l, LOCK_UPGRADE | LOCK_CONDITIONAL,
                        LOCK_HOOK_ATTEMPT(&l->object, LOCK_UPGRADE | LOCK_CONDITIONAL));
}

/* The owner becomes a reader; the waiting readers at the head of the queue get the lock. */
void lock_write_to_read(struct lock *l);

/* Releases it, whether held for reading or exclusively. */
static inline void lock_done(struct lock *l)
{
    lock_check_context(l);
    uint32_t word = l->word;
    bool shared = word & LOCK_WORD_SHARED, mine = shared || word == (uint32_t)(uintptr_t)hart_thread();
    if (likely(mine)) {
        LOCK_HOOK_RELEASED(&l->object, LOCK_HERE());
        if (likely(shared ? lock_word_drop_reader(&l->word) : atomic_cas_release(&l->word, word, 0)))
            return;
    }
    lock_done_slow(l, mine);
}

/* The same for a mutex, which is always held exclusively: without that check it is half the code at each call. */
static inline void mutex_unlock(struct lock *l)
{
#if LOCK_HOOKS
    lock_done(l); /* so that the hooks report what is not held, too */
#else
    lock_check_context(l);
    LOCK_HOOK_RELEASED(&l->object, LOCK_HERE());
    if (unlikely(!atomic_cas_release(&l->word, (uint32_t)(uintptr_t)hart_thread(), 0)))
        lock_done_slow(l, true);
#endif
}

/* lock_read of a read/write lock, without a check of its class. */
static inline void rw_lock_read(struct lock *l)
{
    struct lock_attempt attempt = LOCK_HOOK_ATTEMPT(&l->object, LOCK_SHARED);
    lock_check_context(l);
    if (likely(lock_word_add_reader(&l->word)))
        LOCK_HOOK_ACQUIRED(&l->object, &attempt);
    else
        lock_acquire_slow(l, LOCK_SHARED, attempt);
}

#define mutex_lock(l) lock_write(l)
#define mutex_try(l) lock_try_write(l)

/* Whether this thread holds the lock exclusively. */
static inline bool lock_write_held(const struct lock *l)
{
    struct thread *owner = lock_word_owner(l->word);
    return owner && owner == hart_thread();
}

/*
 * Build option locks=none: a lower bound, for one thread on one hart that shares nothing (run=file-cost). Operations on
 * blocking locks do nothing.
 */
#if LOCKS_NONE && !defined LOCK_FUNCTIONS
#define lock_read(l) ((void)(l))
#define lock_write(l) ((void)(l))
#define lock_try_read(l) ((void)(l), true)
#define lock_try_write(l) ((void)(l), true)
#define lock_read_to_write(l) ((void)(l), true)
#define lock_try_read_to_write(l) ((void)(l), true)
#define lock_write_to_read(l) ((void)(l))
#define lock_done(l) ((void)(l))
#define mutex_unlock(l) ((void)(l))
#define rw_lock_read(l) ((void)(l))
#define lock_disown(l) ((void)(l))
#define lock_adopt(l) ((void)(l))
#define lock_done_disowned(l) ((void)(l))
#define lock_write_held(l) ((void)(l), true)
#endif
#endif
