/*
 * POSIX threads (include/pthread.h) on the kernel's threads and futexes. A thread's stack is a mapping of its own with
 * a guard page below it; on top lie its variables of the class __thread and its struct pthread. The thread that joins
 * it unmaps it, once the ended thread says that it has left it; of a detached one, the thread that creates the next.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/queue.h>

#include "user/lib/cancel.h"
#include "user/lib/futex_lock.h"
#include "user/lib/limits_of_time.h"
#include "user/lib/thread_local.h"

#define PAGE 4096u
#define STACK_SIZE 65536u

enum fate { JOINABLE, ENDED, DETACHED };

struct pthread {
    void *mapping;  /* 0: the first thread's stack is the kernel's */
    size_t size;
    volatile int id;
    void *(*fn)(void *);
    void *argument, *result;
    volatile uint32_t fate; /* enum fate */
    volatile uint32_t left; /* 1: it has left its stack for good; pthread_join waits for that */
    SLIST_ENTRY(pthread) link; /* of the list of ended detached threads */
};

static struct pthread first_thread;
static __thread struct pthread *this_thread; /* 0: the first */
static __thread struct {
    void *value;
    uint32_t born; /* of its key when it was stored */
} values[PTHREAD_KEYS_MAX];

static __thread struct __cleanup *cleanups;

static volatile uint32_t guard; /* a futex lock: guards what follows */
static SLIST_HEAD(pthread_list, pthread) leaving;
static struct {
    bool used;
    uint32_t born; /* distinguishes it from earlier keys of the same number */
    void (*destructor)(void *);
} keys[PTHREAD_KEYS_MAX];

pthread_t pthread_self(void)
{
    return this_thread ? this_thread : &first_thread;
}

int pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

static void give_back(struct pthread *t)
{
    if (t->mapping)
        munmap(t->mapping, t->size);
}

static void give_back_detached(void)
{
    struct pthread_list gone = SLIST_HEAD_INITIALIZER(gone);
    futex_lock(&guard);
    struct pthread *t, *next, **at = &SLIST_FIRST(&leaving);
    SLIST_FOREACH_SAFE(t, &leaving, link, next)
        if (__atomic_load_n(&t->left, __ATOMIC_ACQUIRE)) {
            SLIST_REMOVE_PREVPTR(at, t, link);
            SLIST_INSERT_HEAD(&gone, t, link);
        } else {
            at = &SLIST_NEXT(t, link);
        }
    futex_unlock(&guard);
    SLIST_FOREACH_SAFE(t, &gone, link, next)
        give_back(t);
}

/* Marks the stack free and ends, without touching it: `left` may be unmapped before its waiters are woken. */
__attribute__((naked, noreturn)) static void leave(volatile uint32_t *left)
{
    (void)left; /* in a0 */
    __asm__("fence rw, w\n"
            "li t0, 1\n"
            "sw t0, (a0)\n"
            "li a1, 0x7fffffff\n"
            "li a7, %0\n"
            "ecall\n"
            "1: li a7, %1\n"
            "ecall\n"
            "j 1b" ::"i"(SYS_FUTEX_WAKE),
            "i"(SYS_THREAD_EXIT));
}

static void destroy_values(void)
{
    bool again = true;
    for (unsigned round = 0; again && round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
        again = false;
        for (unsigned k = 0; k < PTHREAD_KEYS_MAX; k++) {
            void *value = pthread_getspecific(k);
            if (value && keys[k].destructor) {
                values[k].value = 0;
                keys[k].destructor(value);
                again = true;
            }
        }
    }
}

void __cleanup_push(struct __cleanup *c)
{
    c->next = cleanups;
    cleanups = c;
}

void __cleanup_pop(struct __cleanup *c, int execute)
{
    cleanups = c->next;
    if (execute)
        c->fn(c->argument);
}

_Noreturn void pthread_exit(void *result)
{
    struct pthread *t = pthread_self();
    sigset_t all;
    cancel_state = PTHREAD_CANCEL_DISABLE;
    while (cleanups)
        __cleanup_pop(cleanups, 1);
    destroy_values();
    if (!__atomic_sub_fetch(&thread_count, 1, __ATOMIC_ACQ_REL))
        exit(0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0); /* no handler needs the stack any more */
    t->result = result;
    if (__atomic_exchange_n(&t->fate, ENDED, __ATOMIC_ACQ_REL) == DETACHED && t->mapping) {
        futex_lock(&guard);
        SLIST_INSERT_HEAD(&leaving, t, link);
        futex_unlock(&guard);
    }
    leave(&t->left);
}

static void thread_main(struct pthread *t)
{
    /* t is behind the thread's variables. */
    __asm__ volatile("mv tp, %0" ::"r"((char *)t - thread_local_size()));
    this_thread = t;
    t->id = system_call(SYS_GETTID, 0, 0, 0); /* its creator may not have it yet */
    pthread_exit(t->fn(t->argument));
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *argument)
{
    give_back_detached();
    size_t stack = attributes ? attributes->stack_size : STACK_SIZE;
    size_t size =
        (PAGE + stack + thread_local_size() + sizeof(struct pthread) + 2 * THREAD_LOCAL_ALIGNMENT + PAGE - 1) &
        ~(PAGE - 1);
    char *mapping = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (mapping == MAP_FAILED)
        return EAGAIN;
    mprotect(mapping, PAGE, PROT_NONE);
    uint32_t end = (uint32_t)mapping + size;
    struct pthread *t = (struct pthread *)((end - sizeof *t) & ~(THREAD_LOCAL_ALIGNMENT - 1));
    *t = (struct pthread){.mapping = mapping,
                          .size = size,
                          .fn = fn,
                          .argument = argument,
                          .fate = attributes && attributes->detached ? DETACHED : JOINABLE};
    char *own = (char *)t - thread_local_size();
    thread_local_init(own);
    *thread = t; /* before it runs: it may be detached and gone when the call returns */
    __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED);
    int id = system_call(SYS_THREAD_SPAWN, (uint32_t)thread_main, (uint32_t)t, (uint32_t)own);
    if (id < 0) {
        __atomic_fetch_sub(&thread_count, 1, __ATOMIC_RELAXED);
        munmap(mapping, size);
        return EAGAIN;
    }
    return 0;
}

int pthread_join(pthread_t t, void **result)
{
    if (t == pthread_self())
        return EDEADLK;
    if (t->fate == DETACHED)
        return EINVAL;
    pthread_testcancel();
    while (!__atomic_load_n(&t->left, __ATOMIC_ACQUIRE))
        cancel_point(SYS_FUTEX_WAIT, (uint32_t)&t->left, 0, 0);
    if (result)
        *result = t->result;
    give_back(t);
    return 0;
}

int pthread_detach(pthread_t t)
{
    uint32_t fate = __atomic_exchange_n(&t->fate, DETACHED, __ATOMIC_ACQ_REL);
    if (fate == DETACHED)
        return EINVAL;
    if (fate == ENDED) { /* it will not see the change */
        while (!__atomic_load_n(&t->left, __ATOMIC_ACQUIRE))
            futex_wait(&t->left, 0, 0);
        give_back(t);
    }
    return 0;
}

int pthread_kernel_id(pthread_t t)
{
    if (t == &first_thread)
        return getpid();
    while (!t->id) /* it has not begun */
        yield();
    return t->id;
}

int pthread_kill(pthread_t t, int number)
{
    return -system_call(SYS_THREAD_KILL, (uint32_t)pthread_kernel_id(t), (uint32_t)number, 0);
}

int pthread_attr_init(pthread_attr_t *a)
{
    *a = (pthread_attr_t){STACK_SIZE, PTHREAD_CREATE_JOINABLE};
    return 0;
}

int pthread_attr_destroy(pthread_attr_t *a)
{
    (void)a;
    return 0;
}

int pthread_attr_setdetachstate(pthread_attr_t *a, int state)
{
    a->detached = state;
    return 0;
}

int pthread_attr_getdetachstate(const pthread_attr_t *a, int *state)
{
    *state = a->detached;
    return 0;
}

int pthread_attr_setstacksize(pthread_attr_t *a, size_t size)
{
    if (size < PTHREAD_STACK_MIN)
        return EINVAL;
    a->stack_size = size;
    return 0;
}

int pthread_attr_getstacksize(const pthread_attr_t *a, size_t *size)
{
    *size = a->stack_size;
    return 0;
}

int pthread_mutexattr_init(pthread_mutexattr_t *a)
{
    a->type = PTHREAD_MUTEX_DEFAULT;
    return 0;
}

int pthread_mutexattr_destroy(pthread_mutexattr_t *a)
{
    (void)a;
    return 0;
}

int pthread_mutexattr_settype(pthread_mutexattr_t *a, int type)
{
    if (type < PTHREAD_MUTEX_NORMAL || type > PTHREAD_MUTEX_ERRORCHECK)
        return EINVAL;
    a->type = type;
    return 0;
}

int pthread_mutexattr_gettype(const pthread_mutexattr_t *a, int *type)
{
    *type = a->type;
    return 0;
}

int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
    *m = (pthread_mutex_t){.type = a ? a->type : PTHREAD_MUTEX_DEFAULT};
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *m)
{
    return m->word ? EBUSY : 0;
}

static uint32_t self_tp(void)
{
    return (uint32_t)__builtin_thread_pointer();
}

/* `until` 0: no time-out. */
static int lock_until(pthread_mutex_t *m, const struct timespec *until)
{
    if (m->type != PTHREAD_MUTEX_NORMAL && m->owner == self_tp()) {
        if (m->type == PTHREAD_MUTEX_ERRORCHECK)
            return EDEADLK;
        m->depth++;
        return 0;
    }
    if (!until)
        futex_lock(&m->word);
    else if (!futex_lock_try(&m->word))
        while (__atomic_exchange_n(&m->word, 2, __ATOMIC_ACQUIRE)) {
            int error = futex_wait_until(&m->word, 2, CLOCK_REALTIME, until);
            if (error == ETIMEDOUT || error == EINVAL)
                return error;
        }
    m->owner = self_tp();
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
    return lock_until(m, 0);
}

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
    return lock_until(m, until);
}

int pthread_mutex_trylock(pthread_mutex_t *m)
{
    if (m->type == PTHREAD_MUTEX_RECURSIVE && m->owner == self_tp()) {
        m->depth++;
        return 0;
    }
    if (!futex_lock_try(&m->word))
        return EBUSY;
    m->owner = self_tp();
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
    if (m->type != PTHREAD_MUTEX_NORMAL && m->owner != self_tp())
        return EPERM;
    if (m->depth) {
        m->depth--;
        return 0;
    }
    m->owner = 0;
    futex_unlock(&m->word);
    return 0;
}

int pthread_condattr_init(pthread_condattr_t *a)
{
    a->clock = CLOCK_REALTIME;
    return 0;
}

int pthread_condattr_destroy(pthread_condattr_t *a)
{
    (void)a;
    return 0;
}

int pthread_condattr_setclock(pthread_condattr_t *a, clockid_t clock)
{
    a->clock = (int)clock;
    return 0;
}

int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *a)
{
    *c = (pthread_cond_t){.clock = a ? a->clock : 0};
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *c)
{
    (void)c;
    return 0;
}

/* `limit`: a relative time, or 0 for no time-out. */
static int wait_for(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *limit)
{
    uint32_t sequence = __atomic_load_n(&c->sequence, __ATOMIC_SEQ_CST), depth = m->depth;
    __atomic_fetch_add(&c->waiting, 1, __ATOMIC_SEQ_CST);
    m->depth = 0;
    pthread_mutex_unlock(m);
    int result = cancellable6(SYS_FUTEX_WAIT, (uint32_t)&c->sequence, sequence, (uint32_t)limit, 0, 0, 0);
    __atomic_fetch_sub(&c->waiting, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(m);
    m->depth = depth;
    if (result == -ECANCELED && cancel_act)
        cancel_act();
    return result == -ETIMEDOUT ? ETIMEDOUT : 0;
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return wait_for(c, m, 0);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    struct timespec span;
    int error = span_until(c->clock ? (clockid_t)c->clock : CLOCK_REALTIME, until, &span);
    if (error)
        return error;
    return wait_for(c, m, &span);
}

static int wake(pthread_cond_t *c, uint32_t most)
{
    if (__atomic_load_n(&c->waiting, __ATOMIC_SEQ_CST)) {
        __atomic_fetch_add(&c->sequence, 1, __ATOMIC_SEQ_CST);
        futex_wake(&c->sequence, most);
    }
    return 0;
}

int pthread_cond_signal(pthread_cond_t *c)
{
    return wake(c, 1);
}

int pthread_cond_broadcast(pthread_cond_t *c)
{
    return wake(c, INT32_MAX);
}

enum once { TO_DO, DOING, DONE };

int pthread_once(pthread_once_t *once, void (*fn)(void))
{
    uint32_t seen = TO_DO;
    if (__atomic_compare_exchange_n(&once->word, &seen, DOING, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        fn();
        __atomic_store_n(&once->word, DONE, __ATOMIC_RELEASE);
        futex_wake(&once->word, INT32_MAX);
        return 0;
    }
    while (__atomic_load_n(&once->word, __ATOMIC_ACQUIRE) == DOING)
        futex_wait(&once->word, DOING, 0);
    return 0;
}

int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    int error = EAGAIN;
    futex_lock(&guard);
    for (unsigned k = 0; k < PTHREAD_KEYS_MAX && error; k++)
        if (!keys[k].used) {
            keys[k].used = true;
            keys[k].born++;
            keys[k].destructor = destructor;
            *key = k;
            error = 0;
        }
    futex_unlock(&guard);
    return error;
}

int pthread_key_delete(pthread_key_t key)
{
    if (key >= PTHREAD_KEYS_MAX || !keys[key].used)
        return EINVAL;
    keys[key].used = false;
    return 0;
}

void *pthread_getspecific(pthread_key_t key)
{
    return key < PTHREAD_KEYS_MAX && keys[key].used && values[key].born == keys[key].born ? values[key].value : 0;
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
    if (key >= PTHREAD_KEYS_MAX || !keys[key].used)
        return EINVAL;
    values[key].value = (void *)value;
    values[key].born = keys[key].born;
    return 0;
}
