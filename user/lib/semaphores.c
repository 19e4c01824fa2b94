/* POSIX semaphores (semaphore.h): a counter, and the number of threads that wait for it to exceed 0. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "user/lib/cancel.h"
#include "user/lib/limits_of_time.h"

static int failed(int error)
{
    errno = error;
    return -1;
}

static int cancellable(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2)
{
    return cancellable6(number, a0, a1, a2, 0, 0, 0);
}

int sem_init(sem_t *sem, int shared, unsigned value)
{
    (void)shared;
    if (value > SEM_VALUE_MAX)
        return failed(EINVAL);
    sem->value = value;
    sem->waiting = 0;
    return 0;
}

int sem_destroy(sem_t *sem)
{
    return sem->waiting ? failed(EBUSY) : 0;
}

int sem_trywait(sem_t *sem)
{
    uint32_t value = sem->value;
    while (value)
        if (__atomic_compare_exchange_n(&sem->value, &value, value - 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return 0;
    return failed(EAGAIN);
}

/* A waiter is counted before it looks again: then the poster sees it, or it sees what was posted. */
int sem_timedwait(sem_t *sem, const struct timespec *until)
{
    int was = errno;
    pthread_testcancel();
    while (sem_trywait(sem)) {
        __atomic_fetch_add(&sem->waiting, 1, __ATOMIC_SEQ_CST);
        int error = futex_wait_by(cancellable, &sem->value, 0, CLOCK_REALTIME, until);
        __atomic_fetch_sub(&sem->waiting, 1, __ATOMIC_SEQ_CST);
        if (error == ECANCELED && cancel_act)
            cancel_act();
        if (error && error != EAGAIN)
            return failed(error);
    }
    errno = was;
    return 0;
}

int sem_wait(sem_t *sem)
{
    return sem_timedwait(sem, 0);
}

int sem_post(sem_t *sem)
{
    uint32_t value = sem->value;
    do
        if (value == SEM_VALUE_MAX)
            return failed(EOVERFLOW);
    while (!__atomic_compare_exchange_n(&sem->value, &value, value + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (__atomic_load_n(&sem->waiting, __ATOMIC_SEQ_CST))
        futex_wake(&sem->value, 1);
    return 0;
}

int sem_getvalue(sem_t *sem, int *value)
{
    *value = (int)sem->value;
    return 0;
}
