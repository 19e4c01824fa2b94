/*
 * POSIX's threads: locks that exclude other threads, waits that end at a time, what fork does with handlers.
 */
#include <poll.h>
#include <semaphore.h>
#include <sys/time.h>

#include "say.h"

#define THREADS 4

static struct timespec in(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static volatile int a, b, wrong, serial, sum;

static void *reads_and_writes(void *number)
{
    for (int i = 0; i < 40; i++) {
        if ((i + (int)(intptr_t)number) % 4) {
            pthread_rwlock_rdlock(&rw);
            wrong += a != b;
            pthread_rwlock_unlock(&rw);
        } else {
            pthread_rwlock_wrlock(&rw);
            a++;
            if (i % 8 == 0)
                sched_yield();
            b++;
            pthread_rwlock_unlock(&rw);
        }
        pthread_spin_lock(&spin);
        sum++;
        pthread_spin_unlock(&spin);
    }
    return 0;
}

static volatile int rounds[THREADS];

static void *meets(void *number)
{
    for (int i = 0; i < 10; i++) {
        rounds[(intptr_t)number] = i;
        int r = pthread_barrier_wait(&barrier);
        if (r == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST);
        else if (r)
            wrong++;
        for (int k = 0; k < THREADS; k++)
            wrong += rounds[k] < i;
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

static void all(void *(*fn)(void *))
{
    pthread_t thread[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], 0, fn, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], 0);
}

/* What a second thread gets, in turn. */
static void *tries(void *held)
{
    struct timespec soon = in(10), past = {0}, wrong_time = {.tv_nsec = -1};
    (void)held;
    say("tryrdlock %s", judge_error(pthread_rwlock_tryrdlock(&rw)));
    say("trywrlock %s", judge_error(pthread_rwlock_trywrlock(&rw)));
    say("timedwrlock %s", judge_error(pthread_rwlock_timedwrlock(&rw, &soon)));
    say("timedwrlock of the past %s", judge_error(pthread_rwlock_timedwrlock(&rw, &past)));
    say("trylock %s", judge_error(pthread_mutex_trylock(&mutex)));
    soon = in(10);
    say("timedlock %s", judge_error(pthread_mutex_timedlock(&mutex, &soon)));
    say("timedlock of the past %s", judge_error(pthread_mutex_timedlock(&mutex, &past)));
    say("timedlock of no time %s", judge_error(pthread_mutex_timedlock(&mutex, &wrong_time)));
    return 0;
}

static void excluded(void)
{
    pthread_t thread;
    for (int write = 0; write < 2; write++) {
        say("held: %s", judge_error(write ? pthread_rwlock_wrlock(&rw) : pthread_rwlock_rdlock(&rw)));
        pthread_mutex_lock(&mutex);
        pthread_create(&thread, 0, tries, 0);
        pthread_join(thread, 0);
        pthread_mutex_unlock(&mutex);
        if (!write) /* the lock that it tried */
            pthread_rwlock_unlock(&rw);
        say("unlock: %s", judge_error(pthread_rwlock_unlock(&rw)));
    }
    say("free again: %s", judge_error(pthread_rwlock_trywrlock(&rw)));
    pthread_rwlock_unlock(&rw);
    struct timespec past = {0};
    say("timedlock of one that is free: %s", judge_error(pthread_mutex_timedlock(&mutex, &past)));
    pthread_mutex_unlock(&mutex);
    say("a barrier of none: %s", judge_error(pthread_barrier_init(&barrier, 0, 0)));
}

static void semaphores(void)
{
    sem_t sem;
    struct timespec past = {0}, soon = in(10), wrong_time = {.tv_nsec = 1000000000};
    sem_init(&sem, 0, 1);
    SAID(sem_timedwait(&sem, &past));
    SAID(sem_timedwait(&sem, &past));
    SAID(sem_timedwait(&sem, &soon));
    SAID(sem_timedwait(&sem, &wrong_time));
    sem_post(&sem);
    SAID(sem_timedwait(&sem, &soon));
    SAID(sem_trywait(&sem));
    int value;
    sem_getvalue(&sem, &value);
    say("value %d", value);
}

static char order[32];

static void note(char c)
{
    order[strlen(order)] = c;
}

static void before_1(void)
{
    note('a');
}
static void before_2(void)
{
    note('b');
}
static void parent_1(void)
{
    note('p');
}
static void parent_2(void)
{
    note('q');
}
static void child_1(void)
{
    note('c');
}
static void child_2(void)
{
    note('d');
}

static void at_fork(void)
{
    SAID(pthread_atfork(before_1, parent_1, child_1));
    SAID(pthread_atfork(before_2, parent_2, child_2));
    SAID(pthread_atfork(0, 0, 0));
    pid_t id = fork();
    if (!id) {
        say("child: %s", order);
        _exit(0);
    }
    say_wait("it", id, 0);
    say("parent: %s", order);
}

static volatile int handled;

static void count(int number)
{
    (void)number;
    handled++;
}

/* Sleeping until a time, and waits with their own signal mask. */
static void times(void)
{
    struct timespec t, now;
    clock_gettime(CLOCK_MONOTONIC, &t);
    say("in the past: %s", judge_error(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0)));
    t.tv_nsec += 10000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    say("until then: %s", judge_error(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0)));
    clock_gettime(CLOCK_MONOTONIC, &now);
    say("it is: %d", now.tv_sec > t.tv_sec || (now.tv_sec == t.tv_sec && now.tv_nsec >= t.tv_nsec));
    t = (struct timespec){.tv_nsec = 2000000};
    say("for a time: %s", judge_error(clock_nanosleep(CLOCK_REALTIME, 0, &t, &now)));
    t.tv_nsec = -1;
    say("no time: %s", judge_error(clock_nanosleep(CLOCK_REALTIME, 0, &t, 0)));
    t = (struct timespec){.tv_sec = 5};
    handle(SIGALRM, count, 0);
    ualarm(3000, 0);
    say("interrupted: %s", judge_error(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &now)));
    say("left %d", (int)now.tv_sec);

    sigset_t alarm, none;
    sigemptyset(&none);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, 0);
    int ends[2];
    pipe(ends);
    struct pollfd p = {ends[0], POLLIN, 0};
    for (int how = 0; how < 4; how++) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        handled = 0;
        kill(getpid(), SIGALRM);
        say("masked: %d", handled);
        t = (struct timespec){.tv_nsec = 3000000};
        if (how == 0)
            SAID(ppoll(&p, 1, &t, &none));
        else if (how == 1)
            SAID(ppoll(&p, 1, &t, &alarm));
        else if (how == 2)
            SAID(pselect(ends[0] + 1, &set, 0, 0, &t, &none));
        else
            SAID(pselect(ends[0] + 1, &set, 0, 0, &t, 0));
        sigset_t now_masked;
        sigprocmask(SIG_BLOCK, 0, &now_masked);
        say("handled %d, masked again %d", handled, sigismember(&now_masked, SIGALRM));
        sigprocmask(SIG_UNBLOCK, &alarm, 0);
        sigprocmask(SIG_BLOCK, &alarm, 0);
    }
    handled = 0;
    write(ends[1], "x", 1);
    SAID(ppoll(&p, 1, 0, &none));
    t.tv_nsec = 1000000000;
    SAID(ppoll(&p, 1, &t, &none));
    SAID(pselect(ends[0] + 1, 0, 0, 0, &t, &none));
}

static void descriptors(void)
{
    int ends[2];
    char c;
    SAID(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    SAID(fcntl(ends[0], F_GETFD));
    SAID(fcntl(ends[1], F_GETFD));
    say("does not wait: %d", (fcntl(ends[0], F_GETFL) & O_NONBLOCK) != 0);
    SAID(read(ends[0], &c, 1));
    SAID(dup3(ends[0], 20, O_CLOEXEC));
    SAID(fcntl(20, F_GETFD));
    SAID(dup3(ends[0], 20, 0));
    SAID(fcntl(20, F_GETFD));
    SAID(dup3(20, 20, 0));
    SAID(dup3(99, 21, 0));
    SAID(dup3(20, -1, 0));
    SAID(dup3(20, 21, 0x7));
    SAID(pipe2(ends, 0x7));
    SAID(getpgid(0x7ffffff0));
    SAID(getsid(0x7ffffff0));
    say("its own: %d %d", getpgid(0) == getpgrp(), getpgid(getpid()) == getpgrp());
}

int main(void)
{
    pthread_spin_init(&spin, 0);
    all(reads_and_writes);
    say("%d %d, %d wrong, %d", a, b, wrong, sum);
    SAID(pthread_barrier_init(&barrier, 0, THREADS));
    all(meets);
    say("%d wrong, %d serial", wrong, serial);
    SAID(pthread_barrier_destroy(&barrier));
    excluded();
    semaphores();
    at_fork();
    times();
    descriptors();
    return 0;
}
