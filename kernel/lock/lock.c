/* Blocking locks (lock.h): the slow paths, when another thread holds the lock or waits. */
#define LOCK_FUNCTIONS 1 /* an image without locks has them, too, without a caller */
#include "lock/lock.h"

#include "lib/panic.h"
#include "lock/lock_debug.h"
#include "lock/threads.h"

/* A waiter; it lies on the waiting thread's stack. */
struct lock_waiter {
    STAILQ_ENTRY(lock_waiter) link;
    struct thread *thread;
    bool shared;
};

#define LOCK_SPIN_CYCLES 2000 /* about two thread switches with a wake-up on another hart */

/* SPL_SCHED, because granting the lock wakes threads, and no handler should run in between. */
SIMPLE_LOCK_CLASS(lock_interlock_class, "interlock", SPL_SCHED);

static const char *kind(const struct lock *l)
{
    return l->object.class->kind == LOCK_MUTEX ? "mutex" : "rw lock";
}

/* The owner in the word of a lock that was disowned. */
static const char no_thread[64] __attribute__((aligned(64)));
#define NO_THREAD ((struct thread *)no_thread)

static const char *owner_name(const struct lock *l)
{
    const struct thread *owner = lock_word_owner(l->word);
    if (owner == NO_THREAD)
        return "who adopts it";
    return owner ? thread_name(owner) : lock_word_readers(l->word) ? "readers" : "nobody";
}

void lock_at_interrupt_level(const struct lock *l)
{
    panic("%s %s: used at interrupt level", kind(l), l->object.name);
}

/* From here on only the caller changes the word: no other compare-and-swap succeeds. */
static crit_t interlock_enter(struct lock *l)
{
    crit_t s = simple_lock_enter(&l->interlock);
    atomic_or(&l->word, LOCK_WORD_QUEUED);
    fence_acquire();
    return s;
}

/* If no thread waits, compare-and-swap may change the word again. */
static void lock_settle(struct lock *l)
{
    if (STAILQ_EMPTY(&l->waiting) && !l->upgrader) {
        fence_release();
        l->word &= ~LOCK_WORD_QUEUED;
    }
}

static void interlock_leave(struct lock *l, crit_t s)
{
    lock_settle(l);
    simple_lock_leave(&l->interlock, s);
}

/*
 * The same, and wakes the threads that hand_on has granted the lock: once they run, the last owner does not access the
 * lock any more.
 */
static void interlock_leave_and_wake(struct lock *l, crit_t s, struct lock_waiter *granted)
{
    lock_settle(l);
    simple_unlock(&l->interlock);
    for (struct lock_waiter *next; granted; granted = next) {
        next = STAILQ_NEXT(granted, link);
        thread_unblock(granted->thread);
    }
    crit_sec_leave(s);
}

/* The functions below, up to hand_on, are called with the word's QUEUED set by the caller, and keep it. */

static void set_owner(struct lock *l, struct thread *owner)
{
    l->word = (uint32_t)(uintptr_t)owner | LOCK_WORD_QUEUED;
}

static void set_readers(struct lock *l, uint32_t n)
{
    l->word = n ? n * LOCK_WORD_READER | LOCK_WORD_SHARED | LOCK_WORD_QUEUED : LOCK_WORD_QUEUED;
}

/* Acquires it if its state allows and no earlier thread waits. */
static bool lock_try(struct lock *l, bool shared)
{
    uint32_t readers = lock_word_readers(l->word);
    if (lock_word_owner(l->word) || l->upgrader || !STAILQ_EMPTY(&l->waiting) || (readers && !shared))
        return false;
    if (shared)
        set_readers(l, readers + 1);
    else
        set_owner(l, curhart->thread);
    return true;
}

/* Grants the lock, after a release, to the waiters that may hold it now: returns them, in order. */
static struct lock_waiter *hand_on(struct lock *l)
{
    struct lock_waiter *w = l->upgrader;
    struct lock_waiters granted = STAILQ_HEAD_INITIALIZER(granted);
    if (lock_word_owner(l->word))
        return 0;
    if (w) {
        if (lock_word_readers(l->word) != 1)
            return 0;
        l->upgrader = 0;
        set_owner(l, w->thread);
        return w;
    }
    while ((w = STAILQ_FIRST(&l->waiting)) && !lock_word_owner(l->word) && (w->shared || !lock_word_readers(l->word))) {
        STAILQ_REMOVE_HEAD(&l->waiting, link);
        if (w->shared)
            set_readers(l, lock_word_readers(l->word) + 1);
        else
            set_owner(l, w->thread);
        STAILQ_INSERT_TAIL(&granted, w, link);
    }
    return STAILQ_FIRST(&granted);
}

/*
 * An owner that runs, on another hart, will probably release the lock before two thread switches are over, so spinning
 * for a while is cheaper, if the queue is empty (in Mach, lock_wait_time). Returns whether the thread acquired it.
 */
static bool spin_and_take(struct lock *l, unsigned how)
{
    uint32_t begin = cycles32(), word;
    while (cycles32() - begin < LOCK_SPIN_CYCLES && !((word = l->word) & LOCK_WORD_QUEUED)) {
        const struct thread *owner = lock_word_owner(word);
        if (!owner) {
            if (lock_take(l, how))
                return true;
            if (lock_word_readers(word))
                return false;
        } else if (owner == NO_THREAD || !thread_runs(owner)) {
            return false;
        }
    }
    return false;
}

/* Called with the interlock held, in its section; returns when the lock has been granted, with both left. */
static void queue_and_sleep(struct lock *l, bool shared, struct lock_attempt *attempt, crit_t s)
{
    struct lock_waiter w = {.thread = curhart->thread, .shared = shared};
    if (STAILQ_EMPTY(&l->waiting))
        STAILQ_INIT(&l->waiting);
    STAILQ_INSERT_TAIL(&l->waiting, &w, link);
    LOCK_HOOK_BLOCK(&l->object, attempt);
    thread_block(&l->interlock, s);
}

static bool is_shared(const struct lock *l, unsigned how)
{
    return (how & LOCK_SHARED) && l->object.class->kind == LOCK_RW;
}

static void check_not_mine(const struct lock *l)
{
    if (lock_write_held(l))
        panic("%s %s: thread %s takes it again%s", kind(l), l->object.name, thread_name(curhart->thread),
              lock_places(&l->object));
}

void lock_acquire_slow(struct lock *l, unsigned how, struct lock_attempt attempt)
{
    bool shared = is_shared(l, how);
    crit_t s = interlock_enter(l);
    bool taken = lock_try(l, shared), awake = taken;
    if (!taken) {
        check_not_mine(l);
        LOCK_HOOK_MISS(&l->object, &attempt);
        if (STAILQ_EMPTY(&l->waiting) && !l->upgrader) {
            interlock_leave(l, s);
            taken = spin_and_take(l, how);
            if (!taken) {
                s = interlock_enter(l);
                taken = awake = lock_try(l, shared);
            }
        }
    }
    if (awake)
        interlock_leave(l, s);
    else if (!taken)
        queue_and_sleep(l, shared, &attempt, s);
    LOCK_HOOK_ACQUIRED(&l->object, &attempt);
}

/* A set QUEUED may only mean that another thread releases the lock, or examines it. */
static __attribute__((noinline)) bool take_if_free(struct lock *l, unsigned how)
{
    crit_t s = interlock_enter(l);
    bool taken = lock_try(l, is_shared(l, how));
    interlock_leave(l, s);
    return taken;
}

bool lock_acquire_if_free(struct lock *l, unsigned how, struct lock_attempt attempt)
{
    lock_check_context(l);
    bool taken = lock_take(l, how) || take_if_free(l, how);
    if (taken)
        LOCK_HOOK_ACQUIRED(&l->object, &attempt);
    else
        LOCK_HOOK_FAILED(&l->object, &attempt);
    return taken;
}

static _Noreturn void not_held(const struct lock *l, const char *what)
{
    panic("%s %s: thread %s %s, but the owner is %s%s", kind(l), l->object.name, thread_name(curhart->thread), what,
          owner_name(l), lock_places(&l->object));
}

/* A mutex is always held exclusively: it is upgraded from the beginning. */
static bool upgraded_already(const struct lock *l)
{
    return l->object.class->kind == LOCK_MUTEX && lock_write_held(l);
}

/* It is the only reader, and no thread waits. */
static bool upgrade_at_once(struct lock *l)
{
    return l->word == (LOCK_WORD_READER | LOCK_WORD_SHARED) &&
           atomic_cas_acquire(&l->word, LOCK_WORD_READER | LOCK_WORD_SHARED, (uint32_t)(uintptr_t)hart_thread());
}

static bool upgrade(struct lock *l, unsigned how, struct lock_attempt *attempt, uintptr_t site)
{
    if (upgraded_already(l))
        return true;
    crit_t s = interlock_enter(l);
    uint32_t readers = lock_word_readers(l->word);
    if (!readers)
        not_held(l, "upgrades it");
    if (readers == 1) {
        set_owner(l, curhart->thread);
        interlock_leave(l, s);
        return true;
    }
    if (how & LOCK_CONDITIONAL || l->upgrader) {
        LOCK_HOOK_FAILED(&l->object, attempt);
        struct lock_waiter *granted = 0;
        if (!(how & LOCK_CONDITIONAL)) { /* the other waits for this one to leave, so this one must leave */
            LOCK_HOOK_RELEASED(&l->object, site);
            set_readers(l, readers - 1);
            granted = hand_on(l);
        }
        interlock_leave_and_wake(l, s, granted);
        return false;
    }
    struct lock_waiter w = {.thread = curhart->thread};
    l->upgrader = &w;
    LOCK_HOOK_MISS(&l->object, attempt);
    LOCK_HOOK_BLOCK(&l->object, attempt);
    thread_block(&l->interlock, s);
    return true;
}

bool lock_upgrade(struct lock *l, unsigned how, struct lock_attempt attempt)
{
    lock_check_context(l);
    bool upgraded = upgrade_at_once(l) || upgrade(l, how, &attempt, (uintptr_t)__builtin_return_address(0));
    if (upgraded) {
        LOCK_HOOK_RELEASED(&l->object, (uintptr_t)__builtin_return_address(0));
        LOCK_HOOK_ACQUIRED(&l->object, &attempt);
    }
    return upgraded;
}

void lock_write_to_read(struct lock *l)
{
    lock_check_context(l);
    if (!lock_write_held(l))
        not_held(l, "downgrades it");
    if (l->object.class->kind == LOCK_MUTEX)
        return;
    LOCK_HOOK_DOWNGRADED(&l->object);
    if (atomic_cas_release(&l->word, (uint32_t)(uintptr_t)hart_thread(), LOCK_WORD_READER | LOCK_WORD_SHARED))
        return;
    crit_t s = interlock_enter(l);
    set_readers(l, 1);
    interlock_leave_and_wake(l, s, hand_on(l));
}

void lock_done_slow(struct lock *l, bool released)
{
    crit_t s = interlock_enter(l);
    uint32_t readers = lock_word_readers(l->word);
    if (!lock_write_held(l) && !readers)
        not_held(l, "lets go of it");
    if (!released)
        LOCK_HOOK_RELEASED(&l->object, (uintptr_t)__builtin_return_address(0));
    if (readers)
        set_readers(l, readers - 1);
    else
        set_owner(l, 0);
    interlock_leave_and_wake(l, s, hand_on(l));
}

/* From `owner` to `next`; waiters go on waiting. */
static void lock_change_owner(struct lock *l, struct thread *owner, struct thread *next, const char *what)
{
    if (atomic_cas_release(&l->word, (uint32_t)(uintptr_t)owner, (uint32_t)(uintptr_t)next))
        return;
    crit_t s = interlock_enter(l);
    if (lock_word_owner(l->word) != owner)
        not_held(l, what);
    set_owner(l, next);
    interlock_leave(l, s);
}

void lock_disown(struct lock *l)
{
    lock_check_context(l);
    if (!lock_write_held(l))
        not_held(l, "disowns it");
    LOCK_HOOK_RELEASED(&l->object, (uintptr_t)__builtin_return_address(0));
    lock_change_owner(l, hart_thread(), NO_THREAD, "disowns it");
}

void lock_adopt(struct lock *l)
{
    lock_check_context(l);
    struct lock_attempt attempt = LOCK_HOOK_ATTEMPT(&l->object, LOCK_CONDITIONAL);
    lock_change_owner(l, NO_THREAD, hart_thread(), "adopts it");
    fence_acquire();
    LOCK_HOOK_ACQUIRED(&l->object, &attempt);
}

/* Disowning ended the hold: there is no release to report. */
void lock_done_disowned(struct lock *l)
{
    lock_check_context(l);
    if (likely(atomic_cas_release(&l->word, (uint32_t)(uintptr_t)NO_THREAD, 0)))
        return;
    crit_t s = interlock_enter(l);
    if (lock_word_owner(l->word) != NO_THREAD)
        not_held(l, "lets go of it, disowned");
    set_owner(l, 0);
    interlock_leave_and_wake(l, s, hand_on(l));
}

void lock_init(struct lock *l, struct lock_class *class, const char *name)
{
    *l = (struct lock)LOCK(name, *class);
}

/* Its last holder may still be leaving the interlock: the word is free a few instructions earlier. */
void lock_destroy(struct lock *l)
{
    crit_t s = simple_lock_enter(&l->interlock);
    if (l->word || !STAILQ_EMPTY(&l->waiting))
        panic("%s %s: destroyed while %s has it", kind(l), l->object.name, owner_name(l));
    simple_lock_leave(&l->interlock, s);
    simple_lock_destroy(&l->interlock);
}
