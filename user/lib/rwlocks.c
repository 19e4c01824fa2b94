/* Read/write locks, barriers and spin locks of POSIX's threads (include/pthread.h), on futexes. */
#include <errno.h>
#include <pthread.h>

#include "user/lib/limits_of_time.h"
#include "user/lib/system.h"

#define WRITER 0x80000000u /* of `state`: a writer holds it; else the number of readers */

int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *a)
{
    (void)a;
    *l = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    return 0;
}

int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
    return l->state ? EBUSY : 0;
}

int pthread_rwlockattr_init(pthread_rwlockattr_t *a)
{
    *a = 0;
    return 0;
}

int pthread_rwlockattr_destroy(pthread_rwlockattr_t *a)
{
    (void)a;
    return 0;
}

static int try_change(pthread_rwlock_t *l, bool write)
{
    uint32_t was = l->state;
    for (;;) {
        if (write ? was != 0 : was & WRITER || l->writers) /* a waiting writer must not starve */
            return EBUSY;
        if (!write && was == WRITER - 1)
            return EAGAIN;
        if (__atomic_compare_exchange_n(&l->state, &was, write ? WRITER : was + 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            return 0;
    }
}

/* `until` 0: no time-out. */
static int lock(pthread_rwlock_t *l, bool write, const struct timespec *until)
{
    int error;
    if (write && l->owner == (uint32_t)__builtin_thread_pointer())
        return EDEADLK;
    while ((error = try_change(l, write)) == EBUSY) {
        uint32_t turn = l->turns;
        if (write)
            __atomic_fetch_add(&l->writers, 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&l->waiting, 1, __ATOMIC_SEQ_CST);
        bool has_to = l->state & WRITER || (write ? l->state != 0 : l->writers != 0);
        error = has_to ? futex_wait_until(&l->turns, turn, CLOCK_REALTIME, until) : 0;
        __atomic_fetch_sub(&l->waiting, 1, __ATOMIC_SEQ_CST);
        if (write && !__atomic_sub_fetch(&l->writers, 1, __ATOMIC_SEQ_CST) && error == ETIMEDOUT) {
            __atomic_fetch_add(&l->turns, 1, __ATOMIC_SEQ_CST); /* readers have waited for this one */
            futex_wake(&l->turns, INT32_MAX);
        }
        if (error == ETIMEDOUT || error == EINVAL)
            return error;
    }
    if (!error && write)
        l->owner = (uint32_t)__builtin_thread_pointer();
    return error;
}

int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    return lock(l, false, 0);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    return lock(l, true, 0);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
    return lock(l, false, until);
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
    return lock(l, true, until);
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
    return try_change(l, false);
}

int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
    int error = try_change(l, true);
    if (!error)
        l->owner = (uint32_t)__builtin_thread_pointer();
    return error;
}

int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
    bool free = true;
    if (l->state & WRITER) {
        l->owner = 0;
        __atomic_store_n(&l->state, 0, __ATOMIC_SEQ_CST);
    } else {
        free = !__atomic_sub_fetch(&l->state, 1, __ATOMIC_SEQ_CST);
    }
    if (free && l->waiting) {
        __atomic_fetch_add(&l->turns, 1, __ATOMIC_SEQ_CST);
        futex_wake(&l->turns, INT32_MAX);
    }
    return 0;
}

int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned count)
{
    (void)a;
    *b = (pthread_barrier_t){.count = count};
    return count ? 0 : EINVAL;
}

int pthread_barrier_destroy(pthread_barrier_t *b)
{
    while (b->leaving) /* the last round's threads are still leaving it */
        yield();
    return b->here ? EBUSY : 0;
}

int pthread_barrier_wait(pthread_barrier_t *b)
{
    uint32_t round = __atomic_load_n(&b->round, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&b->leaving, 1, __ATOMIC_SEQ_CST);
    bool last = __atomic_add_fetch(&b->here, 1, __ATOMIC_SEQ_CST) == b->count;
    if (last) {
        b->here = 0;
        __atomic_fetch_add(&b->round, 1, __ATOMIC_SEQ_CST);
        futex_wake(&b->round, INT32_MAX);
    }
    while (!last && __atomic_load_n(&b->round, __ATOMIC_SEQ_CST) == round)
        futex_wait(&b->round, round, 0);
    __atomic_fetch_sub(&b->leaving, 1, __ATOMIC_SEQ_CST);
    return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

int pthread_spin_init(pthread_spinlock_t *l, int shared)
{
    (void)shared;
    *l = 0;
    return 0;
}

int pthread_spin_destroy(pthread_spinlock_t *l)
{
    return *l ? EBUSY : 0;
}

int pthread_spin_trylock(pthread_spinlock_t *l)
{
    return __atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE) ? EBUSY : 0;
}

/* The holder may have to run on this hart. */
int pthread_spin_lock(pthread_spinlock_t *l)
{
    while (pthread_spin_trylock(l))
        yield();
    return 0;
}

int pthread_spin_unlock(pthread_spinlock_t *l)
{
    __atomic_store_n(l, 0, __ATOMIC_RELEASE);
    return 0;
}
