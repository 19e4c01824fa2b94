/* Blocking locks (lock.h). */
#include "lock/lock.h"

#include "lib/panic.h"
#include "lock/lock_debug.h"
#include "lock/threads.h"

/* One that waits; it lies on the waiting thread's stack. */
struct lock_waiter {
    struct lock_waiter *next;
    struct thread *thread;
    bool shared, granted;
};

#define LOCK_SPIN_CYCLES 2000 /* about two thread switches with a wake-up on another hart */

/* SPL_SCHED, because whoever grants the lock wakes threads, and no handler should come between. */
SIMPLE_LOCK_CLASS(lock_interlock_class, "interlock", SPL_SCHED);

static const char *kind(const struct lock *l)
{
    return l->object.class->kind == LOCK_MUTEX ? "mutex" : "rw lock";
}

static const char *owner_name(const struct lock *l)
{
    return l->owner ? thread_name(l->owner) : l->readers ? "readers" : "nobody";
}

static void check_context(const struct lock *l)
{
    if (unlikely(sync_hart()->intr_depth || sync_hart()->in_softint))
        panic("%s %s: used at interrupt level", kind(l), l->object.name);
}

static bool is_shared(const struct lock *l, unsigned how)
{
    return (how & LOCK_SHARED) && l->object.class->kind == LOCK_RW;
}

/* Takes it if nobody is in the way, and nobody who asked before waits. */
static bool take(struct lock *l, bool shared)
{
    if (l->owner || l->upgrader || l->first)
        return false;
    if (shared)
        l->readers++;
    else if (l->readers)
        return false;
    else
        l->owner = curhart->thread;
    return true;
}

static bool runs(const struct thread *owner)
{
    return owner && thread_runs(owner);
}

/*
 * An owner that runs, on another hart, will probably let go before two thread switches are over, so it is cheaper to
 * stay awake for a while if nobody waits in the queue (in Mach, lock_wait_time). Whether the thread has the lock then.
 */
static bool spin_and_take(struct lock *l, bool shared, crit_t *s)
{
    uint32_t begin = cycles32();
    bool taken = false, late = false;
    while (!taken && !late && !l->first && runs(l->owner)) {
        const struct thread *owner = l->owner;
        simple_lock_leave(&l->interlock, *s);
        do
            late = cycles32() - begin >= LOCK_SPIN_CYCLES;
        while (!late && *(struct thread *volatile *)&l->owner == owner && runs(owner));
        *s = simple_lock_enter(&l->interlock);
        taken = take(l, shared);
    }
    return taken;
}

static void sleep_until_granted(struct lock *l, struct lock_waiter *w, struct lock_attempt *attempt)
{
    LOCK_HOOK_BLOCK(&l->object, attempt);
    while (!w->granted)
        thread_sleep(w, &l->interlock);
}

static void grant(struct lock_waiter *w)
{
    w->granted = true;
    thread_wakeup_one(w);
}

static void queue_and_sleep(struct lock *l, bool shared, struct lock_attempt *attempt)
{
    struct lock_waiter w = {.thread = curhart->thread, .shared = shared};
    if (l->first)
        l->last->next = &w;
    else
        l->first = &w;
    l->last = &w;
    sleep_until_granted(l, &w, attempt);
}

/* Hands the lock, which has become freer, to those who may have it now. */
static void hand_on(struct lock *l)
{
    struct lock_waiter *w = l->upgrader;
    if (l->owner)
        return;
    if (w) {
        if (l->readers == 1) {
            l->upgrader = 0;
            l->readers = 0;
            l->owner = w->thread;
            grant(w);
        }
        return;
    }
    while ((w = l->first) && (w->shared || !l->readers)) {
        l->first = w->next;
        if (w->shared)
            l->readers++;
        else
            l->owner = w->thread;
        bool alone = !w->shared;
        grant(w);
        if (alone)
            return;
    }
}

void lock_acquire(struct lock *l, unsigned how, struct lock_attempt attempt)
{
    check_context(l);
    bool shared = is_shared(l, how);
    crit_t s = simple_lock_enter(&l->interlock);
    if (!take(l, shared)) {
        if (lock_write_held(l))
            panic("%s %s: thread %s takes it again%s", kind(l), l->object.name, thread_name(l->owner),
                  lock_places(&l->object));
        LOCK_HOOK_MISS(&l->object, &attempt);
        if (!spin_and_take(l, shared, &s))
            queue_and_sleep(l, shared, &attempt);
    }
    simple_lock_leave(&l->interlock, s);
    LOCK_HOOK_ACQUIRED(&l->object, &attempt);
}

bool lock_acquire_if_free(struct lock *l, unsigned how, struct lock_attempt attempt)
{
    check_context(l);
    crit_t s = simple_lock_enter(&l->interlock);
    bool taken = take(l, is_shared(l, how));
    simple_lock_leave(&l->interlock, s);
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

/* A mutex has one holder at all times: it is upgraded from the beginning. */
static bool upgraded_already(const struct lock *l)
{
    return l->object.class->kind == LOCK_MUTEX && lock_write_held(l);
}

/* Another reader waits for this one to leave, which is the one thing it can do. */
static void give_way(struct lock *l, struct lock_attempt *attempt, uintptr_t site)
{
    LOCK_HOOK_FAILED(&l->object, attempt);
    LOCK_HOOK_RELEASED(&l->object, site);
    (void)site;
    l->readers--;
    hand_on(l);
}

bool lock_upgrade(struct lock *l, unsigned how, struct lock_attempt attempt)
{
    check_context(l);
    bool upgraded = true;
    crit_t s = simple_lock_enter(&l->interlock);
    if (!upgraded_already(l)) {
        if (l->owner || !l->readers)
            not_held(l, "upgrades it");
        struct lock_waiter w = {.thread = curhart->thread};
        if (l->readers == 1) {
            l->readers = 0;
            l->owner = w.thread;
        } else if (how & LOCK_CONDITIONAL) {
            upgraded = false;
            LOCK_HOOK_FAILED(&l->object, &attempt);
        } else if (l->upgrader) {
            upgraded = false;
            give_way(l, &attempt, (uintptr_t)__builtin_return_address(0));
        } else {
            l->upgrader = &w;
            LOCK_HOOK_MISS(&l->object, &attempt);
            sleep_until_granted(l, &w, &attempt);
        }
    }
    simple_lock_leave(&l->interlock, s);
    if (upgraded) {
        LOCK_HOOK_RELEASED(&l->object, (uintptr_t)__builtin_return_address(0));
        LOCK_HOOK_ACQUIRED(&l->object, &attempt);
    }
    return upgraded;
}

void lock_write_to_read(struct lock *l)
{
    check_context(l);
    if (!lock_write_held(l))
        not_held(l, "downgrades it");
    if (l->object.class->kind == LOCK_MUTEX)
        return;
    LOCK_HOOK_DOWNGRADED(&l->object);
    crit_t s = simple_lock_enter(&l->interlock);
    l->owner = 0;
    l->readers = 1;
    hand_on(l);
    simple_lock_leave(&l->interlock, s);
}

void lock_done(struct lock *l)
{
    check_context(l);
    crit_t s = simple_lock_enter(&l->interlock);
    if (!lock_write_held(l) && (l->owner || !l->readers))
        not_held(l, "lets go of it");
    LOCK_HOOK_RELEASED(&l->object, (uintptr_t)__builtin_return_address(0));
    if (l->owner)
        l->owner = 0;
    else
        l->readers--;
    hand_on(l);
    simple_lock_leave(&l->interlock, s);
}

bool lock_write_held(const struct lock *l)
{
    return l->owner && l->owner == curhart->thread;
}

void lock_init(struct lock *l, struct lock_class *class, const char *name)
{
    *l = (struct lock)LOCK(name, *class);
}

void lock_destroy(struct lock *l)
{
    if (l->owner || l->readers || l->first)
        panic("%s %s: destroyed while %s has it", kind(l), l->object.name, owner_name(l));
    simple_lock_destroy(&l->interlock);
}
