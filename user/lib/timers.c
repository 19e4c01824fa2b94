/*
 * Timers (timer_create and its like): the kernel's, which send signals, and those that call a function, each of which
 * is a thread here that sleeps until it expires.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "user/lib/futex_lock.h"

#define NANOSECONDS 1000000000ull
#define IDS_MOST 0x10000u /* of the kernel's timers: below all addresses of structs */

struct thread_timer {
    volatile uint32_t lock;    /* a futex lock: guards what follows */
    volatile uint32_t changes; /* what its thread sleeps on */
    clockid_t clock;
    uint64_t due, interval; /* nanoseconds; due 0: disarmed */
    int overruns;
    bool deleted;
    void (*fn)(union sigval value);
    union sigval value;
    pthread_attr_t attributes;
};

static int failed(int error)
{
    errno = error;
    return -1;
}

static struct thread_timer *of_thread(timer_t timer)
{
    return timer >= IDS_MOST ? (struct thread_timer *)timer : 0;
}

static uint64_t nanoseconds_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * NANOSECONDS + (uint64_t)t->tv_nsec;
}

static struct timespec time_of(uint64_t nanoseconds)
{
    return (struct timespec){.tv_sec = (time_t)(nanoseconds / NANOSECONDS),
                             .tv_nsec = (long)(nanoseconds % NANOSECONDS)};
}

static uint64_t now_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return nanoseconds_of(&now);
}

static void *notify(void *arg)
{
    struct thread_timer call = *(struct thread_timer *)arg;
    free(arg);
    call.fn(call.value);
    return 0;
}

/* A separate thread for each call, as in POSIX. */
static void call_function(const struct thread_timer *t)
{
    pthread_t thread;
    struct thread_timer *copy = malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = *t;
    copy->attributes.detached = PTHREAD_CREATE_DETACHED;
    if (pthread_create(&thread, &copy->attributes, notify, copy))
        free(copy);
}

static void *runs(void *arg)
{
    struct thread_timer *t = arg;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    for (;;) {
        futex_lock(&t->lock);
        uint32_t changes = t->changes;
        uint64_t due = t->due, now = now_of(t->clock);
        bool over = due && now >= due;
        if (t->deleted)
            break;
        if (over) {
            uint64_t missed = t->interval ? (now - due) / t->interval : 0;
            t->overruns = missed < INT32_MAX ? (int)missed : INT32_MAX;
            t->due = t->interval ? due + (missed + 1) * t->interval : 0;
        }
        futex_unlock(&t->lock);
        if (over) {
            call_function(t);
        } else {
            struct timespec left = time_of(due - now);
            system_call(SYS_FUTEX_WAIT, (uint32_t)&t->changes, changes, due ? (uint32_t)&left : 0);
        }
    }
    free(t);
    return 0;
}

static int create_thread_timer(clockid_t clock, const struct sigevent *event, timer_t *timer)
{
    struct thread_timer *t = calloc(1, sizeof *t);
    pthread_attr_t detached;
    pthread_t thread;
    if (!t)
        return failed(EAGAIN);
    t->clock = clock;
    t->fn = event->sigev_notify_function;
    t->value = event->sigev_value;
    if (event->sigev_notify_attributes)
        t->attributes = *(const pthread_attr_t *)event->sigev_notify_attributes;
    else
        pthread_attr_init(&t->attributes);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, runs, t)) {
        free(t);
        return failed(EAGAIN);
    }
    *timer = (timer_t)t;
    return 0;
}

int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return failed(EINVAL);
    if (event && event->sigev_notify == SIGEV_THREAD)
        return create_thread_timer(clock, event, timer);
    struct user_sigevent of_kernel = {0};
    if (event)
        of_kernel =
            (struct user_sigevent){event->sigev_notify, event->sigev_signo, (uint32_t)event->sigev_value.sival_ptr};
    int id =
        with_errno(system_call(SYS_TIMER_CREATE, clock == CLOCK_MONOTONIC ? USER_CLOCK_MONOTONIC : USER_CLOCK_REALTIME,
                               event ? (uint32_t)&of_kernel : 0, 0));
    if (id < 0)
        return id;
    *timer = (timer_t)id;
    return 0;
}

/* Its thread wakes and frees it. */
static int changed(struct thread_timer *t)
{
    t->changes++;
    futex_unlock(&t->lock);
    futex_wake(&t->changes, 1);
    return 0;
}

int timer_delete(timer_t timer)
{
    struct thread_timer *t = of_thread(timer);
    if (!t)
        return with_errno(system_call(SYS_TIMER_DELETE, timer, 0, 0));
    futex_lock(&t->lock);
    t->deleted = true;
    return changed(t);
}

/* With its lock held. */
static struct itimerspec shown(const struct thread_timer *t)
{
    uint64_t now = now_of(t->clock);
    return (struct itimerspec){time_of(t->interval), time_of(t->due > now ? t->due - now : !!t->due)};
}

static bool is_time(const struct timespec *t)
{
    return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < (long)NANOSECONDS;
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *restrict to, struct itimerspec *restrict old)
{
    struct thread_timer *t = of_thread(timer);
    bool absolute = flags & TIMER_ABSTIME;
    if (!t)
        return with_errno(system_call6(SYS_TIMER_SETTIME, timer, absolute, (uint32_t)to, (uint32_t)old, 0, 0));
    if (!is_time(&to->it_value) || !is_time(&to->it_interval))
        return failed(EINVAL);
    futex_lock(&t->lock);
    if (old)
        *old = shown(t);
    uint64_t value = nanoseconds_of(&to->it_value);
    t->due = value && !absolute ? now_of(t->clock) + value : value;
    t->interval = value ? nanoseconds_of(&to->it_interval) : 0;
    t->overruns = 0;
    return changed(t);
}

int timer_gettime(timer_t timer, struct itimerspec *to)
{
    struct thread_timer *t = of_thread(timer);
    if (!t)
        return with_errno(system_call(SYS_TIMER_GETTIME, timer, (uint32_t)to, 0));
    futex_lock(&t->lock);
    *to = shown(t);
    futex_unlock(&t->lock);
    return 0;
}

int timer_getoverrun(timer_t timer)
{
    struct thread_timer *t = of_thread(timer);
    return t ? t->overruns : with_errno(system_call(SYS_TIMER_GETOVERRUN, timer, 0, 0));
}
