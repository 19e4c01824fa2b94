/*
 * POSIX threads, the part that programs use most: threads, mutexes, conditions, read/write locks, barriers, spin locks,
 * once, keys, deferred cancellation; on the kernel's threads and futexes. Missing: attributes but the stack's size and
 * detached, scheduling, sharing with another process. A function that fails returns an error number, as in POSIX.
 */
#ifndef _PTHREAD_H
#define _PTHREAD_H

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef struct pthread *pthread_t;
typedef unsigned pthread_key_t;

typedef struct {
    size_t stack_size;
    int detached;
} pthread_attr_t;

typedef struct {
    int type;
} pthread_mutexattr_t;

typedef struct {
    volatile uint32_t word;
    volatile uint32_t owner; /* tp of the holder; of recursive and error-checking ones */
    uint32_t depth;
    int type;
} pthread_mutex_t;

typedef struct {
    int clock;
} pthread_condattr_t;

typedef struct {
    volatile uint32_t sequence; /* of the last signal */
    volatile uint32_t waiting;
    int clock;
} pthread_cond_t;

typedef struct {
    volatile uint32_t word;
} pthread_once_t;

#define PTHREAD_CREATE_JOINABLE 0
#define PTHREAD_CREATE_DETACHED 1
#define PTHREAD_STACK_MIN 8192
#define PTHREAD_KEYS_MAX 128 /* of a process: the least that POSIX allows */
#define PTHREAD_DESTRUCTOR_ITERATIONS 4
#define PTHREAD_MUTEX_NORMAL 0
#define PTHREAD_MUTEX_RECURSIVE 1
#define PTHREAD_MUTEX_ERRORCHECK 2
#define PTHREAD_MUTEX_DEFAULT PTHREAD_MUTEX_NORMAL
#define PTHREAD_MUTEX_INITIALIZER {0, 0, 0, PTHREAD_MUTEX_NORMAL}
#define PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP {0, 0, 0, PTHREAD_MUTEX_RECURSIVE}
#define PTHREAD_COND_INITIALIZER {0, 0, 0}
#define PTHREAD_ONCE_INIT {0}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *argument);
int pthread_join(pthread_t thread, void **result);
int pthread_detach(pthread_t thread);
_Noreturn void pthread_exit(void *result);
pthread_t pthread_self(void);
int pthread_equal(pthread_t a, pthread_t b);
int pthread_kill(pthread_t thread, int number);

#define PTHREAD_CANCEL_ENABLE 0
#define PTHREAD_CANCEL_DISABLE 1
#define PTHREAD_CANCEL_DEFERRED 0
#define PTHREAD_CANCEL_ASYNCHRONOUS 1 /* ENOTSUP */
#define PTHREAD_CANCELED ((void *)-1)

/* At cancellation points: POSIX's blocking calls, except those of <stdio.h>. */
int pthread_cancel(pthread_t thread);
int pthread_setcancelstate(int state, int *old);
int pthread_setcanceltype(int type, int *old);
void pthread_testcancel(void);

struct __cleanup {
    void (*fn)(void *);
    void *argument;
    struct __cleanup *next;
};

void __cleanup_push(struct __cleanup *c);
void __cleanup_pop(struct __cleanup *c, int execute);

#define pthread_cleanup_push(fn, argument)                       \
    do {                                                         \
        struct __cleanup __cleanup_here = {(fn), (argument), 0}; \
    __cleanup_push(&__cleanup_here)
#define pthread_cleanup_pop(execute)           \
    __cleanup_pop(&__cleanup_here, (execute)); \
    }                                          \
    while (0)

int pthread_kernel_id(pthread_t thread); /* for thread_kill and its like (user/abi.h) */

int pthread_attr_init(pthread_attr_t *a);
int pthread_attr_destroy(pthread_attr_t *a);
int pthread_attr_setdetachstate(pthread_attr_t *a, int state);
int pthread_attr_getdetachstate(const pthread_attr_t *a, int *state);
int pthread_attr_setstacksize(pthread_attr_t *a, size_t size);
int pthread_attr_getstacksize(const pthread_attr_t *a, size_t *size);

int pthread_mutexattr_init(pthread_mutexattr_t *a);
int pthread_mutexattr_destroy(pthread_mutexattr_t *a);
int pthread_mutexattr_settype(pthread_mutexattr_t *a, int type);
int pthread_mutexattr_gettype(const pthread_mutexattr_t *a, int *type);
int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a);
int pthread_mutex_destroy(pthread_mutex_t *m);
int pthread_mutex_lock(pthread_mutex_t *m);
int pthread_mutex_trylock(pthread_mutex_t *m);
int pthread_mutex_unlock(pthread_mutex_t *m);

int pthread_condattr_init(pthread_condattr_t *a);
int pthread_condattr_destroy(pthread_condattr_t *a);
int pthread_condattr_setclock(pthread_condattr_t *a, clockid_t clock);
int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *a);
int pthread_cond_destroy(pthread_cond_t *c);
int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int pthread_cond_signal(pthread_cond_t *c);
int pthread_cond_broadcast(pthread_cond_t *c);

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until);
int pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* A waiting writer blocks new readers. */
typedef struct {
    volatile uint32_t state, writers, waiting, turns;
    volatile uint32_t owner;
} pthread_rwlock_t;
typedef int pthread_rwlockattr_t;

#define PTHREAD_RWLOCK_INITIALIZER {0, 0, 0, 0, 0}

int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *a);
int pthread_rwlock_destroy(pthread_rwlock_t *l);
int pthread_rwlockattr_init(pthread_rwlockattr_t *a);
int pthread_rwlockattr_destroy(pthread_rwlockattr_t *a);
int pthread_rwlock_rdlock(pthread_rwlock_t *l);
int pthread_rwlock_wrlock(pthread_rwlock_t *l);
int pthread_rwlock_tryrdlock(pthread_rwlock_t *l);
int pthread_rwlock_trywrlock(pthread_rwlock_t *l);
int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until);
int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until);
int pthread_rwlock_unlock(pthread_rwlock_t *l);

typedef struct {
    uint32_t count;
    volatile uint32_t here, round, leaving;
} pthread_barrier_t;
typedef int pthread_barrierattr_t;

#define PTHREAD_BARRIER_SERIAL_THREAD -1

int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned count);
int pthread_barrier_destroy(pthread_barrier_t *b);
int pthread_barrier_wait(pthread_barrier_t *b);

typedef volatile uint32_t pthread_spinlock_t;

#define PTHREAD_PROCESS_PRIVATE 0
#define PTHREAD_PROCESS_SHARED 1

int pthread_spin_init(pthread_spinlock_t *l, int shared);
int pthread_spin_destroy(pthread_spinlock_t *l);
int pthread_spin_lock(pthread_spinlock_t *l);
int pthread_spin_trylock(pthread_spinlock_t *l);
int pthread_spin_unlock(pthread_spinlock_t *l);

int pthread_once(pthread_once_t *once, void (*fn)(void));

int pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int pthread_key_delete(pthread_key_t key);
void *pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *value);
#endif
