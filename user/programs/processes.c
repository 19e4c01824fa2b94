/*
 * processes: checks fork, vfork, execve, wait4, groups, signals, alarms, descriptors, pipes and mmap, one part after
 * the other. processes PART runs one part, processes K/N every N-th from the K-th on, counted from 0. Prints @processes
 * parts=... checks=... failed=...; the exit status is 0 if none failed.
 */
#include <generated/mem.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "user/lib/system.h"

#define MILLISECOND 1000000u
#define PAGE 4096u

static unsigned checks, failed;

#define CHECK(expression)                                          \
    do {                                                           \
        checks++;                                                  \
        if (!(expression)) {                                       \
            failed++;                                              \
            printf("processes.c:%d: " #expression "\n", __LINE__); \
        }                                                          \
    } while (0)

#define call(number, ...) call_of(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define call_of(number, a, b, c, d, e, f, ...) \
    system_call6(number, (uint32_t)(a), (uint32_t)(b), (uint32_t)(c), (uint32_t)(d), (uint32_t)(e), (uint32_t)(f))

/* Handlers return to here, with sp on their frame. */
extern char trampoline[];
__asm__(".pushsection .text\n"
        "trampoline:\n"
        "    mv a0, sp\n"
        "    li a7, 103\n"
        "    ecall\n"
        ".popsection\n");
_Static_assert(SYS_SIGRETURN == 103, "trampoline");

static int handle(int signal, void (*handler)(int, struct user_siginfo *, struct user_sigframe *), uint32_t flags,
                  uint32_t mask)
{
    struct user_sigaction action = {(uint32_t)handler, mask, flags};
    return call(SYS_SIGACTION, signal, &action, 0, trampoline);
}

#define DEFAULT ((void (*)(int, struct user_siginfo *, struct user_sigframe *))USER_SIG_DFL)
#define IGNORE ((void (*)(int, struct user_siginfo *, struct user_sigframe *))USER_SIG_IGN)

static int mask(int how, uint32_t set)
{
    uint32_t old = 0;
    call(SYS_SIGPROCMASK, how, &set, &old);
    return (int)old;
}

static int wait_for(int id)
{
    int status = -1;
    return call(SYS_WAIT4, id, &status, 0, 0) == id ? status : -1;
}

static _Noreturn void leave(int status)
{
    for (;;)
        call(SYS_EXIT, status, 0);
}

/* A child is a copy, with its own memory, and the registers of its parent. */
static void forks(void)
{
    static volatile int mine = 1;
    volatile int on_stack = 2;
    uint32_t saved[6];
    for (unsigned i = 0; i < 6; i++)
        saved[i] = 0x1111u * (i + 1);
    int parent = call(SYS_GETPID, 0), id = call(SYS_FORK, 0);
    if (!id) {
        uint32_t sum = 0;
        for (unsigned i = 0; i < 6; i++)
            sum += saved[i];
        bool ok = mine == 1 && on_stack == 2 && sum == 0x1111u * 21 && call(SYS_GETPPID, 0) == parent &&
                  call(SYS_GETPID, 0) != parent && call(SYS_GETTID, 0) == call(SYS_GETPID, 0);
        mine = on_stack = 5;
        leave(ok ? 7 : 1);
    }
    CHECK(id > 0 && wait_for(id) == 7 << 8);
    CHECK(mine == 1 && on_stack == 2);
    CHECK(call(SYS_WAIT4, -1, 0, 0, 0) == -ECHILD);
    id = call(SYS_VFORK, 0);
    if (!id) {
        mine = 9; /* the parent's memory */
        leave(3);
    }
    CHECK(mine == 9 && id > 0 && wait_for(id) == 3 << 8);
}

static void executes(void)
{
    static const char *const argv[] = {"status", "5", 0}, *const envp[] = {"A=1", 0};
    int id = call(SYS_FORK, 0);
    if (!id) {
        call(SYS_EXECVE, "/bin/status", argv, envp);
        leave(1);
    }
    CHECK(wait_for(id) == 5 << 8);
    id = call(SYS_VFORK, 0);
    if (!id) {
        call(SYS_EXECVE, "status", argv, 0);
        leave(1);
    }
    CHECK(wait_for(id) == 5 << 8);
    CHECK(call(SYS_EXECVE, "nonsense", argv, 0) == -ENOENT);
    CHECK(call(SYS_EXECVE, 4, argv, 0) == -EFAULT);
    CHECK(call(SYS_EXECVE, "status", 4, 0) == -EFAULT);
    id = call(SYS_SPAWN, "status", argv, 0);
    CHECK(wait_for(id) == 5 << 8);
    static const char *const sleeps_on[] = {"processes", "sleep", 0}; /* with its parent's mask */
    mask(USER_SIG_BLOCK, 1u << USER_SIGTERM);
    id = call(SYS_SPAWN, "processes", sleeps_on, 0);
    mask(USER_SIG_UNBLOCK, 1u << USER_SIGTERM);
    call(SYS_KILL, id, USER_SIGTERM);
    sleep_for(0, 3 * MILLISECOND);
    CHECK(call(SYS_WAIT4, id, 0, USER_WNOHANG, 0) == 0);
    call(SYS_KILL, id, USER_SIGKILL);
    CHECK(wait_for(id) == USER_SIGKILL);
}

static uint8_t stacks[4][1024] __attribute__((aligned(16)));

static void spins(void *arg)
{
    (void)arg;
    for (;;)
        ;
}

static void sleeps(void *arg)
{
    static uint32_t word;
    (void)arg;
    for (;;)
        futex_wait(&word, 0, 0);
}

static void executes_in_thread(void *arg)
{
    static const char *const argv[] = {"status", "6", 0};
    (void)arg;
    call(SYS_EXECVE, "status", argv, 0);
    leave(1);
}

/* execve of a process with several threads: only the caller continues, with the process's id. */
static void executes_alone(void)
{
    for (int which = 0; which < 2; which++) {
        int id = call(SYS_FORK, 0);
        if (!id) {
            thread_start(spins, 0, stacks[0], sizeof stacks[0]);
            thread_start(sleeps, 0, stacks[1], sizeof stacks[1]);
            if (which)
                thread_start(executes_in_thread, 0, stacks[2], sizeof stacks[2]);
            executes_in_thread(0);
        }
        CHECK(wait_for(id) == 6 << 8);
    }
}

static volatile uint32_t second_taken, first_left;

static void takes_second(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)signal, (void)info, (void)frame;
    second_taken = 1;
}

/* While this runs, its thread masks the second signal. */
static void awaits_second(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)signal, (void)info, (void)frame;
    for (unsigned turn = 0; turn < 200 && !second_taken; turn++)
        call(SYS_SCHED_YIELD, 0);
    first_left = 1 + second_taken;
}

static void lends(void *arg)
{
    (void)arg;
    int parent = call(SYS_GETPID, 0), id = call(SYS_VFORK, 0);
    if (!id) { /* both are for the thread that waits for this */
        call(SYS_KILL, parent, USER_SIGUSR1);
        call(SYS_KILL, parent, USER_SIGUSR2);
        leave(0);
    }
    wait_for(id);
    while (!first_left)
        call(SYS_SCHED_YIELD, 0);
    call(SYS_FUTEX_WAKE, &first_left, 1);
    call(SYS_THREAD_EXIT, 0);
}

/* A signal for a thread that then masks it goes to another one, which sleeps. */
static void passes_on(void)
{
    handle(USER_SIGUSR1, awaits_second, USER_SA_RESTART, 1u << USER_SIGUSR2);
    handle(USER_SIGUSR2, takes_second, USER_SA_RESTART, 0);
    CHECK(call(SYS_THREAD_SPAWN, lends, 0, stacks[2] + sizeof stacks[2]) > 0);
    while (!first_left)
        call(SYS_FUTEX_WAIT, &first_left, 0, 0);
    CHECK(first_left == 2 && second_taken);
    handle(USER_SIGUSR1, DEFAULT, 0, 0);
    handle(USER_SIGUSR2, DEFAULT, 0, 0);
}

static void waits(void)
{
    int status = 0, ids[2];
    struct user_rusage usage;
    for (int i = 0; i < 2; i++)
        if (!(ids[i] = call(SYS_FORK, 0))) {
            sleep_for(0, (2 - (uint32_t)i) * MILLISECOND);
            leave(i + 1);
        }
    CHECK(call(SYS_WAIT4, -1, &status, USER_WNOHANG, 0) == 0);
    CHECK(call(SYS_WAIT4, ids[0], &status, 0, &usage) == ids[0] && status == 1 << 8);
    CHECK(usage.user.seconds == 0 && usage.system.microseconds < 1000000);
    CHECK(call(SYS_WAIT4, ids[0], &status, 0, 0) == -ECHILD);
    CHECK(call(SYS_WAIT4, 0, &status, 0, 0) == ids[1] && status == 2 << 8); /* of its group */
    CHECK(call(SYS_WAIT4, -12345, &status, 0, 0) == -ECHILD);
    CHECK(call(SYS_WAIT4, -1, 4, 0, 0) == -EFAULT);
    CHECK(call(SYS_WAIT4, -1, 0, 64, 0) == -EINVAL);
    /* A grandchild becomes init's. */
    int fd[2];
    CHECK(call(SYS_PIPE, fd) == 0);
    int id = call(SYS_FORK, 0);
    if (!id) {
        if (!call(SYS_FORK, 0)) {
            int parent = call(SYS_GETPPID, 0);
            while (call(SYS_GETPPID, 0) == parent)
                sleep_for(0, MILLISECOND);
            int now = call(SYS_GETPPID, 0);
            call(SYS_WRITE, fd[1], &now, sizeof now);
            leave(0);
        }
        sleep_for(0, 3 * MILLISECOND);
        leave(0);
    }
    CHECK(wait_for(id) == 0);
    CHECK(call(SYS_READ, fd[0], &status, sizeof status) == sizeof status && status == 1);
    CHECK(call(SYS_WAIT4, -1, 0, 0, 0) == -ECHILD);
    call(SYS_CLOSE, fd[0]);
    call(SYS_CLOSE, fd[1]);
}

static void groups(void)
{
    int me = call(SYS_GETPID, 0), group = call(SYS_GETPGRP, 0);
    int id = call(SYS_FORK, 0);
    if (!id) {
        while (call(SYS_GETPGRP, 0) == group)
            sleep_for(0, MILLISECOND);
        for (;;)
            sleep_for(1, 0);
    }
    CHECK(call(SYS_SETPGID, id, id) == 0);
    CHECK(call(SYS_SETPGID, 12345, 0) == -ESRCH);
    CHECK(call(SYS_SETPGID, id, 12345) == -EPERM);
    CHECK(call(SYS_WAIT4, 0, 0, USER_WNOHANG, 0) == -ECHILD); /* none in this group */
    CHECK(call(SYS_KILL, -id, 0) == 0 && call(SYS_KILLPG, id, USER_SIGTERM) == 0);
    int status = 0;
    CHECK(call(SYS_WAIT4, -id, &status, 0, 0) == id && status == USER_SIGTERM);
    CHECK(call(SYS_KILL, id, 0) == -ESRCH && call(SYS_KILL, 1, USER_SIGKILL) == -EPERM);
    CHECK(call(SYS_KILL, me, 99) == -EINVAL);
    id = call(SYS_FORK, 0);
    if (!id) {
        int mine = call(SYS_GETPID, 0);
        bool ok = call(SYS_SETSID, 0) == mine && call(SYS_GETPGRP, 0) == mine && call(SYS_SETSID, 0) == -EPERM;
        leave(ok ? 4 : 1);
    }
    CHECK(wait_for(id) == 4 << 8);
    id = call(SYS_FORK, 0);
    if (!id) { /* not while its group has others: the group would span two sessions */
        int mine = call(SYS_GETPID, 0);
        bool ok = call(SYS_SETPGID, 0, 0) == 0;
        int other = call(SYS_FORK, 0);
        if (!other)
            for (;;)
                sleep_for(1, 0);
        ok = ok && call(SYS_SETPGID, 0, group) == 0 && call(SYS_SETSID, 0) == -EPERM;
        call(SYS_KILL, other, USER_SIGKILL);
        ok = ok && wait_for(other) == USER_SIGKILL && call(SYS_SETSID, 0) == mine;
        leave(ok ? 4 : 1);
    }
    CHECK(wait_for(id) == 4 << 8);
}

static volatile unsigned caught, last, nested, depth, sent, info_ok;
static volatile uint32_t mask_inside;

static void count(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)frame;
    caught++;
    last = (unsigned)signal;
    info_ok += info->signo == signal;
    mask_inside = (uint32_t)mask(USER_SIG_BLOCK, 0);
}

static void nests(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)info, (void)frame;
    depth++;
    if (depth > nested)
        nested = depth;
    if (sent++ < 2)
        call(SYS_KILL, call(SYS_GETPID, 0), signal);
    depth--;
}

/* All registers are preserved, wherever the compiler keeps values. */
static uint32_t registers_stay(void)
{
    uint32_t sum = 0, x = 12345;
    for (unsigned i = 0; i < 50; i++) {
        x = x * 1664525 + 1013904223;
        sum += x >> 7;
        if (i % 10 == 0)
            call(SYS_KILL, call(SYS_GETPID, 0), USER_SIGUSR1);
    }
    return sum;
}

static void signals(void)
{
    int me = call(SYS_GETPID, 0);
    uint32_t usr1 = 1u << USER_SIGUSR1, usr2 = 1u << USER_SIGUSR2, pending = 0;
    CHECK(handle(USER_SIGUSR1, count, 0, usr2) == 0);
    CHECK(call(SYS_KILL, me, USER_SIGUSR1) == 0 && caught == 1 && last == USER_SIGUSR1 && info_ok == 1);
    CHECK(mask_inside == (usr1 | usr2) && mask(USER_SIG_BLOCK, 0) == 0);
    caught = 0;
    uint32_t with = registers_stay();
    CHECK(caught == 5);
    handle(USER_SIGUSR1, IGNORE, 0, 0);
    CHECK(registers_stay() == with);
    handle(USER_SIGUSR1, count, 0, 0);
    caught = 0;
    mask(USER_SIG_BLOCK, usr1);
    call(SYS_KILL, me, USER_SIGUSR1);
    call(SYS_KILL, me, USER_SIGUSR1);
    CHECK(call(SYS_SIGPENDING, &pending) == 0 && pending == usr1 && caught == 0);
    mask(USER_SIG_UNBLOCK, usr1);
    CHECK(caught == 1);
    handle(USER_SIGUSR2, nests, USER_SA_NODEFER, 0);
    call(SYS_KILL, me, USER_SIGUSR2);
    CHECK(nested == 3 && depth == 0);
    nested = sent = 0;
    handle(USER_SIGUSR2, nests, 0, 0);
    call(SYS_KILL, me, USER_SIGUSR2);
    CHECK(nested == 1 && depth == 0);
    handle(USER_SIGUSR2, count, USER_SA_RESETHAND, 0);
    caught = 0;
    call(SYS_KILL, me, USER_SIGUSR2);
    struct user_sigaction action;
    CHECK(caught == 1 && call(SYS_SIGACTION, USER_SIGUSR2, 0, &action) == 0 && action.handler == USER_SIG_DFL);
    CHECK(handle(USER_SIGKILL, count, 0, 0) == -EINVAL && handle(USER_SIGSTOP, IGNORE, 0, 0) == -EINVAL);
    CHECK(handle(0, count, 0, 0) == -EINVAL && handle(32, count, 0, 0) == -EINVAL);
    mask(USER_SIG_SETMASK, 0xffffffff);
    CHECK((uint32_t)mask(USER_SIG_SETMASK, 0) == ~(1u << USER_SIGKILL | 1u << USER_SIGSTOP));
    handle(USER_SIGUSR1, DEFAULT, 0, 0);
}

static void ends_by_signals(void)
{
    static const uint8_t ends[] = {USER_SIGHUP, USER_SIGINT, USER_SIGTERM, USER_SIGKILL, USER_SIGUSR1};
    for (unsigned i = 0; i < sizeof ends; i++) {
        int id = call(SYS_FORK, 0);
        if (!id)
            for (;;) /* half of them run, half of them sleep */
                if (i % 2)
                    sleep_for(1, 0);
        sleep_for(0, MILLISECOND);
        CHECK(call(SYS_KILL, id, ends[i]) == 0 && wait_for(id) == ends[i]);
    }
    int id = call(SYS_FORK, 0);
    if (!id) { /* ignored signals stay so over execve, handled ones do not */
        static const char *const argv[] = {"processes", "sleep", 0};
        handle(USER_SIGHUP, IGNORE, 0, 0);
        handle(USER_SIGTERM, count, 0, 0);
        call(SYS_EXECVE, "processes", argv, 0);
        leave(1);
    }
    sleep_for(0, 10 * MILLISECOND);
    call(SYS_KILL, id, USER_SIGHUP);
    sleep_for(0, MILLISECOND);
    CHECK(call(SYS_WAIT4, id, 0, USER_WNOHANG, 0) == 0);
    call(SYS_KILL, id, USER_SIGTERM);
    CHECK(wait_for(id) == USER_SIGTERM);
}

static void stops_that_end(void)
{
    int status = 0, id = call(SYS_FORK, 0);
    if (!id)
        for (;;)
            sleep_for(1, 0);
    call(SYS_KILL, id, USER_SIGTSTP);
    CHECK(call(SYS_WAIT4, id, &status, USER_WUNTRACED, 0) == id && status == (USER_SIGTSTP << 8 | USER_WSTOPPED));
    call(SYS_KILL, id, USER_SIGKILL);
    CHECK(wait_for(id) == USER_SIGKILL);
    id = call(SYS_FORK, 0);
    if (!id) {
        int me = call(SYS_GETPID, 0);
        mask(USER_SIG_BLOCK, 1u << USER_SIGTSTP);
        call(SYS_KILL, me, USER_SIGTSTP);
        call(SYS_KILL, me, USER_SIGCONT); /* SIGCONT discards pending stops */
        mask(USER_SIG_UNBLOCK, 1u << USER_SIGTSTP);
        leave(7);
    }
    CHECK(call(SYS_WAIT4, id, &status, USER_WUNTRACED, 0) == id && status == 7 << 8);
    id = call(SYS_FORK, 0);
    if (!id) {
        call(SYS_KILL, call(SYS_GETPID, 0), USER_SIGSTOP);
        call(SYS_THREAD_EXIT, 0);
    }
    CHECK(call(SYS_WAIT4, id, &status, USER_WUNTRACED, 0) == id && status == (USER_SIGSTOP << 8 | USER_WSTOPPED));
    call(SYS_KILL, id, USER_SIGCONT);
    CHECK(wait_for(id) == 0); /* the stop is no longer reported */
}

static void stops_while_it_waits(void)
{
    int status = 0, id;
    int fd[2];
    CHECK(call(SYS_PIPE, fd) == 0);
    id = call(SYS_FORK, 0);
    if (!id) {
        struct user_pollfd one = {fd[0], USER_POLLIN, 0};
        leave(call(SYS_POLL, &one, 1, -1) == 1 ? 0 : 1); /* continues to wait */
    }
    sleep_for(0, 2 * MILLISECOND);
    call(SYS_KILL, id, USER_SIGSTOP);
    CHECK(call(SYS_WAIT4, id, &status, USER_WUNTRACED, 0) == id);
    call(SYS_KILL, id, USER_SIGCONT);
    sleep_for(0, 2 * MILLISECOND);
    CHECK(call(SYS_WRITE, fd[1], "x", 1) == 1 && wait_for(id) == 0);
    call(SYS_CLOSE, fd[0]);
    call(SYS_CLOSE, fd[1]);
}

static void stops(void)
{
    static volatile uint32_t *shared;
    shared = (uint32_t *)call(SYS_MMAP, 0, PAGE, USER_PROT_READ | USER_PROT_WRITE, USER_MAP_SHARED | USER_MAP_ANON, -1);
    int status = 0, id = call(SYS_FORK, 0);
    if (!id)
        for (;;)
            ++*shared;
    CHECK(call(SYS_KILL, id, USER_SIGSTOP) == 0);
    CHECK(call(SYS_WAIT4, id, &status, USER_WUNTRACED, 0) == id && status == (USER_SIGSTOP << 8 | USER_WSTOPPED));
    CHECK(call(SYS_WAIT4, id, &status, USER_WUNTRACED | USER_WNOHANG, 0) == 0);
    uint32_t before = *shared;
    sleep_for(0, 2 * MILLISECOND);
    CHECK(*shared == before);
    call(SYS_KILL, id, USER_SIGTERM); /* pending until it continues */
    CHECK(call(SYS_WAIT4, id, &status, USER_WNOHANG, 0) == 0);
    call(SYS_KILL, id, USER_SIGCONT);
    CHECK(wait_for(id) == USER_SIGTERM);
    CHECK(call(SYS_MUNMAP, shared, PAGE) == 0);
    stops_that_end();
    stops_while_it_waits();
}

static void child_signals(void)
{
    handle(USER_SIGCHLD, count, USER_SA_RESTART, 0);
    caught = 0;
    int id = call(SYS_FORK, 0);
    if (!id)
        leave(0);
    CHECK(wait_for(id) == 0 && caught == 1);
    handle(USER_SIGCHLD, DEFAULT, USER_SA_NOCLDWAIT, 0);
    id = call(SYS_FORK, 0);
    if (!id)
        leave(0);
    CHECK(call(SYS_WAIT4, id, 0, 0, 0) == -ECHILD);
    handle(USER_SIGCHLD, DEFAULT, 0, 0);
}

static void set_alarm(uint32_t milliseconds, uint32_t interval)
{
    struct user_itimerval timer = {{0, (int32_t)interval * 1000, 0}, {0, (int32_t)milliseconds * 1000, 0}};
    call(SYS_SETITIMER, USER_ITIMER_REAL, &timer, 0);
}

/* Which calls a signal interrupts, and which restart. */
static void interrupts(void)
{
    int fd[2], status;
    char c = 0;
    handle(USER_SIGALRM, count, 0, 0);
    CHECK(call(SYS_PIPE, fd) == 0);
    caught = 0;
    set_alarm(2, 0);
    CHECK(call(SYS_READ, fd[0], &c, 1) == -EINTR && caught == 1);
    set_alarm(2, 0);
    struct user_timespec long_time = {1, 0, 0}, rest = {0, 0, 0};
    CHECK(call(SYS_NANOSLEEP, &long_time, &rest) == -EINTR && caught == 2);
    CHECK(rest.seconds == 0 && rest.nanoseconds > 900000000);
    for (unsigned i = 0; i < 5; i++) { /* time slept and time left are no more than requested */
        struct user_timespec pause = {0, 9 * MILLISECOND, 0};
        uint64_t begin = nanoseconds_now();
        set_alarm(1 + i, 0);
        CHECK(call(SYS_NANOSLEEP, &pause, &rest) == -EINTR);
        uint64_t all = nanoseconds_now() - begin + (uint64_t)rest.nanoseconds;
        CHECK(all < 9 * MILLISECOND + MILLISECOND / 2 && all > 6 * MILLISECOND);
    }
    caught = 2;
    handle(USER_SIGALRM, count, USER_SA_RESTART, 0);
    int id = call(SYS_FORK, 0);
    if (!id) {
        sleep_for(0, 12 * MILLISECOND);
        call(SYS_WRITE, fd[1], "x", 1);
        leave(0);
    }
    set_alarm(2, 2);
    CHECK(call(SYS_READ, fd[0], &c, 1) == 1 && c == 'x' && caught >= 4);
    CHECK(call(SYS_WAIT4, id, &status, 0, 0) == id && status == 0);
    set_alarm(0, 0);
    unsigned before = caught;
    sleep_for(0, 5 * MILLISECOND);
    CHECK(caught == before);
    set_alarm(3, 0);
    uint32_t none = 0, alarm = 1u << USER_SIGALRM;
    mask(USER_SIG_BLOCK, alarm);
    CHECK(call(SYS_SIGSUSPEND, &none) == -EINTR && caught == before + 1);
    CHECK((uint32_t)mask(USER_SIG_SETMASK, 0) == alarm);
    struct user_itimerval timer;
    set_alarm(500, 0);
    CHECK(call(SYS_GETITIMER, USER_ITIMER_REAL, &timer) == 0 && timer.value.microseconds > 400000);
    set_alarm(0, 0);
    CHECK(call(SYS_SETITIMER, 7, &timer, 0) == -EINVAL);
    call(SYS_CLOSE, fd[0]);
    call(SYS_CLOSE, fd[1]);
    handle(USER_SIGALRM, DEFAULT, 0, 0);
}

/* Waits until `caught` has reached that, or so many milliseconds are over. Returns whether it has. */
static bool spin(unsigned wanted, uint32_t milliseconds, bool in_kernel)
{
    struct user_timespec begin, now;
    call(SYS_CLOCK_GETTIME, USER_CLOCK_MONOTONIC, &begin);
    for (now = begin; caught < wanted;) {
        for (volatile int i = 0; i < 1000 && !in_kernel;)
            i = i + 1;
        call(SYS_CLOCK_GETTIME, USER_CLOCK_MONOTONIC, &now);
        if ((now.seconds - begin.seconds) * 1000 + (now.nanoseconds - begin.nanoseconds) / 1000000 > milliseconds)
            return false;
    }
    return true;
}

static uint32_t microseconds(const struct user_rusage *r)
{
    return (uint32_t)(r->user.seconds + r->system.seconds) * 1000000 +
           (uint32_t)(r->user.microseconds + r->system.microseconds);
}

/* Of many, each is listed once, however many the kernel copies at a time; and no more than requested. */
static void shows_processes(void)
{
    enum { MANY = 10 };
    static struct user_process all[MANY + 9];
    int ids[MANY], status, n;
    int before = call(SYS_PROCESSES, 0, 0);
    for (int i = 0; i < MANY; i++)
        if (!(ids[i] = call(SYS_FORK, 0)))
            leave(0); /* and is a zombie */
    CHECK(before >= 1 && call(SYS_PROCESSES, 0, 0) == before + MANY);
    n = call(SYS_PROCESSES, all, MANY + 8);
    CHECK(n == before + MANY && all[n - 1].id && !all[n].id);
    for (int i = 0; i < MANY; i++) {
        int seen = 0;
        for (int k = 0; k < n; k++)
            seen += all[k].id == ids[i] && all[k].parent == call(SYS_GETPID, 0);
        CHECK(seen == 1);
    }
    for (int some = 7; some <= 9; some++) {
        memset(all, 0, sizeof all);
        CHECK(call(SYS_PROCESSES, all, some) == n && all[some - 1].id && !all[some].id);
    }
    CHECK(call(SYS_PROCESSES, 4, 9) == -EFAULT && call(SYS_PROCESSES, 4, 0) == n);
    for (int i = 0; i < MANY; i++)
        CHECK(call(SYS_WAIT4, ids[i], &status, 0, 0) == ids[i] && status == 0);
}

/* A child's times come with its end, are added to its parent's children's, and equal what it ran, to a tick or two. */
static void usage(void)
{
    struct user_rusage before, child, after, self;
    struct user_tms t;
    int status = 0, id;
    CHECK(call(SYS_GETRUSAGE, USER_RUSAGE_CHILDREN, &before) == 0);
    if (!(id = call(SYS_FORK, 0))) {
        spin(caught + 1, 5, false);
        leave(0);
    }
    CHECK(call(SYS_WAIT4, id, &status, 0, &child) == id && status == 0);
    CHECK(microseconds(&child) >= 3000 && microseconds(&child) <= 9000 && child.user.microseconds >= 1000);
    CHECK(call(SYS_GETRUSAGE, USER_RUSAGE_CHILDREN, &after) == 0);
    CHECK(microseconds(&after) == microseconds(&before) + microseconds(&child));
    CHECK(call(SYS_GETRUSAGE, USER_RUSAGE_SELF, &before) == 0);
    spin(caught + 1, 4, false);
    CHECK(call(SYS_GETRUSAGE, USER_RUSAGE_SELF, &self) == 0);
    CHECK(microseconds(&self) >= microseconds(&before) + 2000 && microseconds(&self) <= microseconds(&before) + 8000);
    CHECK(call(SYS_TIMES, &t) >= 0 && call(SYS_TIMES, 4) == -EFAULT && call(SYS_GETRUSAGE, 5, &self) == -EINVAL);
    uint32_t all = (t.children_user + t.children_system) * (1000000 / USER_CLK_TCK);
    CHECK(all <= microseconds(&after) && all + 2 * (1000000 / USER_CLK_TCK) > microseconds(&after));
}

/* A child's time includes its waited-for descendants', but not that of a child it left behind. */
static void descendants(void)
{
    struct user_rusage before, child, after;
    struct user_tms begin, end;
    int status = 0, id;
    CHECK(call(SYS_GETRUSAGE, USER_RUSAGE_CHILDREN, &before) == 0 && call(SYS_TIMES, &begin) >= 0);
    for (int generations = 1; generations <= 3; generations++) {
        if (!(id = call(SYS_FORK, 0))) {
            for (int left = generations; left > 1 && !call(SYS_FORK, 0); left--)
                ;
            spin(caught + 1, 4, false); /* each of them does */
            while (call(SYS_WAIT4, -1, 0, 0, 0) > 0)
                ;
            leave(0);
        }
        CHECK(call(SYS_WAIT4, id, &status, 0, &child) == id && status == 0);
        CHECK(microseconds(&child) >= 2000u * generations && microseconds(&child) <= 8000u * generations);
        CHECK(call(SYS_GETRUSAGE, USER_RUSAGE_CHILDREN, &after) == 0);
        CHECK(microseconds(&after) == microseconds(&before) + microseconds(&child));
        before = after;
    }
    CHECK(call(SYS_TIMES, &end) >= 0);
    CHECK(end.children_user + end.children_system > begin.children_user + begin.children_system);
    if (!(id = call(SYS_FORK, 0))) {
        if (!call(SYS_FORK, 0))
            spin(caught + 1, 6, false);
        leave(0);
    }
    CHECK(call(SYS_WAIT4, id, &status, 0, &child) == id && microseconds(&child) < 4000);
}

/* Timers of the process's own time: in user mode, and in all. */
static void own_timers(void)
{
    struct user_itimerval timer = {{0, 1000, 0}, {0, 2000, 0}}, now, off = {{0}, {0}};
    int status;
    for (unsigned which = USER_ITIMER_VIRTUAL; which <= USER_ITIMER_PROF; which++) {
        handle(which == USER_ITIMER_PROF ? USER_SIGPROF : USER_SIGVTALRM, count, USER_SA_RESTART, 0);
        caught = 0;
        CHECK(call(SYS_SETITIMER, which, &timer, 0) == 0);
        CHECK(call(SYS_GETITIMER, which, &now) == 0 && now.interval.microseconds == 1000);
        CHECK(now.value.microseconds > 0 && now.value.microseconds <= 2000);
        sleep_for(0, 5 * MILLISECOND); /* its own time does not advance meanwhile */
        CHECK(caught <= 1);
        CHECK(spin(3, 60, false));
        int id = call(SYS_FORK, 0);
        if (!id) /* the child has none */
            leave(call(SYS_GETITIMER, which, &now) || now.value.microseconds || now.interval.microseconds);
        CHECK(call(SYS_WAIT4, id, &status, 0, 0) == id && status == 0);
        CHECK(call(SYS_SETITIMER, which, &off, &now) == 0 && now.interval.microseconds == 1000);
        caught = 0;
        CHECK(!spin(1, 3, false));
    }
    CHECK(call(SYS_SETITIMER, USER_ITIMER_PROF, &timer, 0) == 0 &&
          spin(2, 60, true)); /* in the kernel for the most part */
    CHECK(call(SYS_SETITIMER, USER_ITIMER_PROF, &off, 0) == 0);
    handle(USER_SIGPROF, DEFAULT, 0, 0);
    handle(USER_SIGVTALRM, DEFAULT, 0, 0);
}

static volatile uint32_t faults, fault_at, fault_code, passed;
static uint8_t *guarded;

static void mends(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)frame;
    faults += signal == USER_SIGSEGV;
    fault_at = info->address;
    call(SYS_MPROTECT, guarded, PAGE, USER_PROT_READ | USER_PROT_WRITE);
}

static void skips(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)signal;
    fault_code = (uint32_t)info->code;
    faults++;
    frame->pc += 4;
}

static void notes(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    skips(signal, info, frame);
    fault_at = info->address;
}

static void passes(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)signal, (void)frame;
    passed += info->address == 0;
}

/* A trap's handler gets the trap's address and registers, whatever other signal comes at that moment. */
static void traps_among_signals(void)
{
    int id = call(SYS_FORK, 0), status, parent = call(SYS_GETPPID, 0);
    if (!id) {
        for (unsigned n = 0; n < 300; n++) {
            call(SYS_KILL, parent, USER_SIGINT);
            for (volatile unsigned k = n * 7 % 61; k; k--)
                ;
        }
        leave(0);
    }
    unsigned wrong = 0, before = faults, n = 0;
    while (call(SYS_WAIT4, id, &status, USER_WNOHANG, 0) == 0) {
        for (unsigned i = 0; i < 8; i++, n++) {
            uint8_t *at = guarded + PAGE + i;
            __asm__ volatile(".option push\n.option norvc\nsb zero, 0(%0)\n.option pop" ::"r"(at) : "memory");
            wrong += fault_at != (uint32_t)at;
        }
        call(SYS_SCHED_YIELD, 0);
    }
    CHECK(status == 0 && !wrong && faults - before == n && passed);
}

static void traps_without_a_handler(void)
{
    int id = call(SYS_FORK, 0);
    if (!id) { /* masked: it ends anyway */
        mask(USER_SIG_BLOCK, 1u << USER_SIGSEGV);
        __asm__ volatile("sb zero, 4(zero)" ::: "memory");
        leave(0);
    }
    CHECK(wait_for(id) == USER_SIGSEGV);
    handle(USER_SIGSEGV, DEFAULT, 0, 0);
    id = call(SYS_FORK, 0);
    if (!id) { /* no stack for a handler */
        handle(USER_SIGUSR1, count, 0, 0);
        __asm__ volatile("mv a0, %0\n li sp, 64\n li a1, %1\n li a7, 37\n ecall\n li a0, 0\n li a7, 1\n ecall" ::"r"(
                             call(SYS_GETPID, 0)),
                         "i"(USER_SIGUSR1)
                         : "memory");
    }
    CHECK(wait_for(id) == USER_SIGSEGV);
    id = call(SYS_FORK, 0);
    if (!id) {
        struct user_stack stack = {(uint32_t)stacks[3], 0, sizeof stacks[3]};
        call(SYS_SIGALTSTACK, &stack, 0);
        handle(USER_SIGUSR1, count, USER_SA_ONSTACK, 0);
        __asm__ volatile(
            "mv a0, %0\n mv s1, sp\n li sp, 64\n li a1, %1\n li a7, 37\n ecall\n mv sp, s1" ::"r"(call(SYS_GETPID, 0)),
            "i"(USER_SIGUSR1)
            : "memory", "s1", "a0", "a1", "a7");
        leave(caught ? 8 : 9);
    }
    caught = 0;
    CHECK(wait_for(id) == 8 << 8);
}

static void frames_that_are_made_up(void)
{
    /* A forged frame: the kernel restores user registers from it, and nothing else. */
    int id = call(SYS_FORK, 0);
    if (!id) {
        static struct user_sigframe frame;
        memset(&frame, 0xff, sizeof frame);
        frame.pc = 0x40000000; /* the kernel */
        call(SYS_SIGRETURN, &frame);
        leave(1);
    }
    CHECK(wait_for(id) == USER_SIGSEGV);
    CHECK(call(SYS_SIGRETURN, 4) == -EFAULT);
    /* Addresses at the ends of memory, and not at an instruction. */
    static const uint32_t ends[] = {0, 2, 0x3fffffff, 0x40000000, 0xffffffff};
    for (unsigned i = 0; i < 3 * sizeof ends / sizeof ends[0]; i++) {
        uint32_t at = ends[i / 3];
        id = call(SYS_FORK, 0);
        if (!id) {
            static struct user_sigframe frame;
            struct user_stack stack = {at, 0, i & 1 ? 4096 : 0xffffffff};
            frame = (struct user_sigframe){.pc = at, .sp = at, .s0 = at, .mask = 0xffffffff};
            if (i % 3 == 0)
                call(SYS_SIGRETURN, &frame);
            if (i % 3 == 1)
                handle(USER_SIGUSR1, at > 1 ? (void (*)(int, struct user_siginfo *, struct user_sigframe *))at : count,
                       0, 0);
            else {
                call(SYS_SIGALTSTACK, &stack, 0);
                handle(USER_SIGUSR1, count, USER_SA_ONSTACK, 0);
            }
            call(SYS_KILL, call(SYS_GETPID, 0), USER_SIGUSR1);
            leave(7);
        }
        int status = wait_for(id);
        bool trapped = status == USER_SIGSEGV || status == USER_SIGBUS || status == USER_SIGILL;
        bool handled = i % 3 && status == 7 << 8;
        CHECK(trapped || handled);
    }
}

/* Handlers of traps; on an alternate stack when the stack is the cause. */
static void traps(void)
{
    guarded = (uint8_t *)call(SYS_MMAP, 0, 2 * PAGE, USER_PROT_READ, USER_MAP_PRIVATE | USER_MAP_ANON, -1);
    handle(USER_SIGSEGV, mends, 0, 0);
    *(volatile uint8_t *)(guarded + 5) = 1;
    CHECK(faults == 1 && fault_at == (uint32_t)guarded + 5 && guarded[5] == 1);
    handle(USER_SIGILL, skips, 0, 0);
    __asm__ volatile(".4byte 0" ::: "memory");
    CHECK(faults == 2 && fault_code == USER_ILL_ILLOPC);
    handle(USER_SIGILL, DEFAULT, 0, 0);
    handle(USER_SIGSEGV, notes, 0, 0);
    handle(USER_SIGINT, passes, 0, 0);
    traps_among_signals();
    handle(USER_SIGINT, DEFAULT, 0, 0);
    traps_without_a_handler();
    frames_that_are_made_up();
    CHECK(call(SYS_MUNMAP, guarded, 2 * PAGE) == 0);
}

static void descriptors(void)
{
    int fd[2];
    char text[8];
    CHECK(call(SYS_PIPE, fd) == 0 && fd[0] == 3 && fd[1] == 4);
    CHECK(call(SYS_DUP, fd[1]) == 5 && call(SYS_DUP2, fd[1], 9) == 9 && call(SYS_DUP2, fd[1], fd[1]) == fd[1]);
    CHECK(call(SYS_DUP2, 77, 9) == -EBADF && call(SYS_DUP2, fd[1], 1 << 20) == -EBADF && call(SYS_DUP, 77) == -EBADF);
    CHECK(call(SYS_WRITE, 9, "nine", 4) == 4 && call(SYS_READ, fd[0], text, sizeof text) == 4 &&
          !memcmp(text, "nine", 4));
    CHECK(call(SYS_CLOSE, fd[1]) == 0 && call(SYS_CLOSE, 5) == 0);
    CHECK(call(SYS_FCNTL, 9, F_GETFD) == 0 && call(SYS_FCNTL, 9, F_SETFD, FD_CLOEXEC) == 0);
    CHECK(call(SYS_FCNTL, 9, F_GETFD) == FD_CLOEXEC && call(SYS_FCNTL, 9, F_DUPFD, 20) == 20);
    CHECK(call(SYS_FCNTL, 20, F_GETFD) == 0 && (call(SYS_FCNTL, 20, F_GETFL) & O_ACCMODE) == O_WRONLY);
    CHECK(call(SYS_CLOSE, 20) == 0 && call(SYS_CLOSE, 20) == -EBADF);
    CHECK(call(SYS_WRITE, fd[0], "x", 1) == -EBADF && call(SYS_READ, 9, text, 1) == -EBADF);
    CHECK(call(SYS_FCNTL, fd[0], F_SETFL, O_NONBLOCK) == 0 && call(SYS_READ, fd[0], text, 1) == -EAGAIN);
    CHECK(call(SYS_CLOSE, 9) == 0 && call(SYS_READ, fd[0], text, 1) == 0); /* no writer is left */
    CHECK(call(SYS_CLOSE, fd[0]) == 0);
    unsigned most = (unsigned)call(SYS_GETDTABLESIZE, 0), n = 0;
    int id;
    while ((id = call(SYS_FCNTL, 0, F_DUPFD, most - 20)) >= 0)
        n++;
    CHECK(id == -EMFILE && n == 20 && call(SYS_DUP, 0) == 3 && call(SYS_FCNTL, 0, F_DUPFD, most) == -EINVAL);
    CHECK(call(SYS_CLOSE, most - 7) == 0 && call(SYS_FCNTL, 0, F_DUPFD, most - 20) == (int)most - 7);
    CHECK(call(SYS_DUP, 0) == 4 && call(SYS_CLOSE, 3) == 0 && call(SYS_DUP, 0) == 3 && call(SYS_DUP, 0) == 5);
    for (unsigned i = 3; i < most; i += i == 5 ? most - 25 : 1)
        call(SYS_CLOSE, i);
    CHECK(call(SYS_LSEEK, 0, 0, SEEK_SET) == -ESPIPE);
    static struct user_pollfd all[1024 + 1]; /* as many as there can be at once */
    static uint32_t in[1024 / 32];
    CHECK(most == 1024 && call(SYS_PIPE, fd) == 0 && call(SYS_FCNTL, fd[0], F_DUPFD, most - 1) == (int)most - 1);
    for (unsigned i = 0; i < most; i++)
        all[i] = (struct user_pollfd){i == most - 1 ? (int)i : -1, USER_POLLIN, 0};
    in[most / 32 - 1] = 1u << 31;
    CHECK(call(SYS_POLL, all, most, 0) == 0 && call(SYS_POLL, all, most + 1, 0) == -EINVAL);
    CHECK(call(SYS_WRITE, fd[1], "x", 1) == 1 && call(SYS_POLL, all, most, -1) == 1);
    CHECK(all[most - 1].revents == USER_POLLIN && !all[0].revents && call(SYS_POLL, 0x3fffe000, most, 0) == -EFAULT);
    CHECK(call(SYS_SELECT, most, in, 0, 0, 0) == 1 && in[most / 32 - 1] == 1u << 31);
    CHECK(call(SYS_SELECT, most + 1, in, 0, 0, 0) == -EINVAL);
    CHECK(call(SYS_CLOSE, fd[0]) == 0 && call(SYS_CLOSE, fd[1]) == 0 && call(SYS_CLOSE, most - 1) == 0);
}

static void pipes_are_polled(int fd[2])
{
    struct user_pollfd poll[2] = {{fd[0], USER_POLLIN, 0}, {fd[1], USER_POLLOUT, 0}};
    CHECK(call(SYS_POLL, poll, 2, 0) == 1 && poll[0].revents == 0 && poll[1].revents == USER_POLLOUT);
    CHECK(call(SYS_POLL, poll, 1, 2) == 0);
    int id = call(SYS_FORK, 0);
    if (!id) {
        sleep_for(0, 3 * MILLISECOND);
        call(SYS_WRITE, fd[1], "y", 1);
        leave(0);
    }
    CHECK(call(SYS_POLL, poll, 1, -1) == 1 && poll[0].revents == USER_POLLIN);
    uint32_t in = 1u << fd[0] | 1u << fd[1], out = in;
    CHECK(call(SYS_SELECT, 32, &in, &out, 0, 0) == 2 && in == 1u << fd[0] && out == 1u << fd[1]);
    CHECK(wait_for(id) == 0);
    poll[0].fd = 99;
    CHECK(call(SYS_POLL, poll, 1, -1) == 1 && poll[0].revents == USER_POLLNVAL);
}

static void pipes_take_pieces(int fd[2])
{
    static uint8_t bytes[PAGE];
    char word[8];
    const struct user_iovec pieces[2] = {{(uint32_t)word, 3}, {(uint32_t)word + 3, 5}};
    CHECK(call(SYS_READ, fd[0], word, 1) == 1 && call(SYS_WRITE, fd[1], "abc", 3) == 3);
    CHECK(call(SYS_READV, fd[0], pieces, 2) == 3); /* what is available: it does not wait for the second */
    CHECK(call(SYS_WRITE, fd[1], "abcde", 5) == 5 && call(SYS_READV, fd[0], pieces, 2) == 5 &&
          !memcmp(word, "abcde", 5));
    const struct user_iovec halves[2] = {{(uint32_t)bytes, 80}, {(uint32_t)bytes, 80}};
    CHECK(call(SYS_FCNTL, fd[1], F_SETFL, O_NONBLOCK) == 0);
    CHECK(call(SYS_WRITE, fd[1], bytes, PAGE - 159) == PAGE - 159);
    CHECK(call(SYS_WRITEV, fd[1], halves, 2) == -EAGAIN); /* both or neither */
    CHECK(call(SYS_READ, fd[0], word, 1) == 1 && call(SYS_WRITEV, fd[1], halves, 2) == 160);
}

static void pipes(void)
{
    enum { SIZE = 20000 };
    static uint8_t bytes[SIZE];
    int fd[2], status = 0;
    CHECK(call(SYS_PIPE, fd) == 0);
    int id = call(SYS_FORK, 0);
    if (!id) {
        for (unsigned i = 0; i < SIZE; i++)
            bytes[i] = (uint8_t)(i * 7 + i / 256);
        call(SYS_CLOSE, fd[0]);
        leave(call(SYS_WRITE, fd[1], bytes, SIZE) == SIZE ? 0 : 1);
    }
    call(SYS_CLOSE, fd[1]);
    unsigned n = 0, wrong = 0;
    int got;
    while ((got = call(SYS_READ, fd[0], bytes + n, MIN(SIZE - n, 777))) > 0)
        n += (unsigned)got;
    for (unsigned i = 0; i < SIZE; i++)
        wrong += bytes[i] != (uint8_t)(i * 7 + i / 256);
    CHECK(n == SIZE && wrong == 0 && got == 0);
    CHECK(call(SYS_WAIT4, id, &status, 0, 0) == id && status == 0);
    call(SYS_CLOSE, fd[0]);
    CHECK(call(SYS_PIPE, fd) == 0);
    call(SYS_CLOSE, fd[0]);
    id = call(SYS_FORK, 0);
    if (!id) {
        call(SYS_WRITE, fd[1], "x", 1);
        leave(1);
    }
    CHECK(wait_for(id) == USER_SIGPIPE);
    handle(USER_SIGPIPE, IGNORE, 0, 0);
    CHECK(call(SYS_WRITE, fd[1], "x", 1) == -EPIPE);
    handle(USER_SIGPIPE, DEFAULT, 0, 0);
    call(SYS_CLOSE, fd[1]);
    CHECK(call(SYS_PIPE, 4) == -EFAULT);
    CHECK(call(SYS_PIPE, fd) == 0);
    CHECK(call(SYS_READ, fd[0], 4, 0) == 0 && call(SYS_WRITE, fd[1], 4, 4) == -EFAULT);
    pipes_are_polled(fd);
    pipes_take_pieces(fd);
    call(SYS_CLOSE, fd[0]);
    call(SYS_CLOSE, fd[1]);
}

#define TURNS 200

static volatile uint32_t dup_done, dup_wrong;

static void dups(void *arg)
{
    int x = arg ? 10 : 11, y = arg ? 11 : 10;
    for (unsigned i = 0; i < TURNS; i++) {
        dup_wrong += call(SYS_DUP2, x, y) != y;
        if (i % 16 == 0)
            yield();
    }
    __atomic_fetch_add(&dup_done, 1, __ATOMIC_RELEASE);
    futex_wake(&dup_done, 1);
}

/* Paper `mach`, section 3.2: two threads that do dup2(X, Y) and dup2(Y, X) must not deadlock. */
static void dup2_both_ways(void)
{
    CHECK(call(SYS_DUP2, 0, 10) == 10 && call(SYS_DUP2, 1, 11) == 11);
    for (uintptr_t i = 0; i < 2; i++)
        thread_start(dups, (void *)i, stacks[i], sizeof stacks[i]);
    uint32_t done;
    while ((done = dup_done) < 2)
        futex_wait(&dup_done, done, 0);
    CHECK(dup_wrong == 0);
    sleep_for(0, MILLISECOND);
    call(SYS_CLOSE, 10);
    call(SYS_CLOSE, 11);
}

static void memory(void)
{
    uint8_t *before = (uint8_t *)call(SYS_SBRK, 0);
    CHECK(call(SYS_SBRK, 3 * PAGE) == (int)before);
    memset(before, 0x5a, 3 * PAGE);
    CHECK(call(SYS_SBRK, -2 * (int)PAGE) == (int)(before + 3 * PAGE));
    CHECK(call(SYS_SBRK, 2 * PAGE) == (int)(before + PAGE) && before[0] == 0x5a);
    unsigned sum = 0;
    for (unsigned i = PAGE + PAGE; i < 3 * PAGE; i++)
        sum += before[i];
    CHECK(sum == 0); /* unmapped memory has lost its content */
    CHECK(call(SYS_SBRK, -3 * (int)PAGE) > 0 && call(SYS_SBRK, -(int)(64 * PAGE)) == -EINVAL);
    int at = call(SYS_MMAP, 0, PAGE, USER_PROT_READ | USER_PROT_WRITE, USER_MAP_SHARED | USER_MAP_ANON, -1);
    volatile uint32_t *shared = (uint32_t *)at;
    CHECK(at > 0 && *shared == 0);
    int id = call(SYS_FORK, 0);
    if (!id) {
        *shared = 77;
        leave(0);
    }
    CHECK(wait_for(id) == 0 && *shared == 77);
    CHECK(call(SYS_MMAP, 0, PAGE, USER_PROT_WRITE | USER_PROT_EXEC, USER_MAP_PRIVATE | USER_MAP_ANON, -1) == -EACCES);
    CHECK(call(SYS_MMAP, 0, 0, USER_PROT_READ, USER_MAP_PRIVATE | USER_MAP_ANON, -1) == -EINVAL);
    CHECK(call(SYS_MMAP, 0, PAGE, USER_PROT_READ, USER_MAP_ANON, -1) == -EINVAL);
    CHECK(call(SYS_MMAP, 0x40000000, PAGE, USER_PROT_READ, USER_MAP_PRIVATE | USER_MAP_ANON | USER_MAP_FIXED, -1) ==
          -EINVAL);
    CHECK(call(SYS_MMAP, 0, PAGE, USER_PROT_READ, USER_MAP_PRIVATE, 99) == -EBADF);
    CHECK(call(SYS_MMAP, 0, PAGE, USER_PROT_READ, USER_MAP_SHARED | USER_MAP_PRIVATE | USER_MAP_ANON, -1) == -EINVAL);
    volatile uint32_t *end = (uint32_t *)0x40000000;
    CHECK(call(SYS_MMAP, end - PAGE / 4, PAGE, USER_PROT_READ | USER_PROT_WRITE,
               USER_MAP_PRIVATE | USER_MAP_ANON | USER_MAP_FIXED, -1) == (int)(end - PAGE / 4));
    end[-1] = 5; /* user space's last word */
    CHECK(end[-1] == 5 && call(SYS_MUNMAP, end - PAGE / 4, 2 * PAGE) == -EINVAL);
    CHECK(call(SYS_MUNMAP, end - PAGE / 4, PAGE) == 0);
    for (unsigned pages = 1; pages <= 2; pages++) { /* a hint's mapping must not reach the page next to the stack */
        int guard = USER_STACK_TOP - USER_STACK_SIZE - PAGE, hint = guard - (int)((pages - 1) * PAGE);
        int got = call(SYS_MMAP, hint, pages * PAGE, USER_PROT_READ, USER_MAP_PRIVATE | USER_MAP_ANON, -1);
        CHECK(got > 0 && got + (int)(pages * PAGE) <= guard);
        int other = call(SYS_MMAP, hint, pages * PAGE, USER_PROT_READ, USER_MAP_PRIVATE | USER_MAP_ANON, -1);
        CHECK(other >= 0x20000000 && other + (int)(pages * PAGE) <= hint); /* if it is occupied, another place is */
        CHECK(call(SYS_MUNMAP, got, pages * PAGE) == 0 && call(SYS_MUNMAP, other, pages * PAGE) == 0);
    }
    CHECK(call(SYS_MUNMAP, at + 1, PAGE) == -EINVAL && call(SYS_MUNMAP, at, PAGE) == 0);
    CHECK(call(SYS_MPROTECT, at, PAGE, USER_PROT_READ) == -ENOMEM);
    id = call(SYS_FORK, 0);
    if (!id) {
        *shared = 1;
        leave(0);
    }
    CHECK(wait_for(id) == USER_SIGSEGV);
}

/* What a child sees of memory with this inheritance: 0x80 and its value, or the signal. */
static int inherited(volatile uint8_t *at)
{
    int id = call(SYS_FORK, 0);
    if (!id) {
        uint8_t got = (*at)++;
        leave(0x80 | got);
    }
    return wait_for(id);
}

static void inherits(void)
{
    uint32_t at =
        (uint32_t)call(SYS_MMAP, 0, 2 * PAGE, USER_PROT_READ | USER_PROT_WRITE, USER_MAP_PRIVATE | USER_MAP_ANON, -1);
    volatile uint8_t *first = (uint8_t *)at, *second = first + PAGE;
    *first = *second = 5;
    CHECK(inherited(first) == 0x85 << 8 && *first == 5);
    CHECK(call(SYS_MINHERIT, at, PAGE, USER_INHERIT_SHARE) == 0);
    CHECK(inherited(first) == 0x85 << 8 && *first == 6 && inherited(first) == 0x86 << 8 && *first == 7);
    CHECK(inherited(second) == 0x85 << 8 && *second == 5); /* the adjacent page is not affected */
    CHECK(call(SYS_MINHERIT, at, PAGE, USER_INHERIT_COPY) == 0);
    CHECK(inherited(first) == 0x87 << 8 && *first == 7);
    CHECK(call(SYS_MINHERIT, at, PAGE, USER_INHERIT_NONE) == 0);
    CHECK(inherited(first) == USER_SIGSEGV && inherited(second) == 0x85 << 8 && *first == 7);
    CHECK(call(SYS_MINHERIT, at, PAGE, USER_INHERIT_NONE + 1) == -EINVAL);
    CHECK(call(SYS_MINHERIT, at, PAGE, -1) == -EINVAL);
    CHECK(call(SYS_MSYNC, at, PAGE, USER_MS_INVALIDATE) == 0 && *first == 7);
    CHECK(call(SYS_MSYNC, at, PAGE, USER_MS_INVALIDATE | USER_MS_SYNC) == 0);
    CHECK(call(SYS_MSYNC, at, PAGE, USER_MS_ASYNC | USER_MS_SYNC) == -EINVAL);
    CHECK(call(SYS_MSYNC, at, PAGE, 2 * USER_MS_SYNC) == -EINVAL);
    CHECK(call(SYS_MUNMAP, at, 2 * PAGE) == 0);
}

static uint8_t other_stack[2048] __attribute__((aligned(16)));
static struct user_stack stack_in_handler;
static int change_in_handler;

static void looks_at_stack(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)signal, (void)info, (void)frame;
    struct user_stack none = {0, USER_SS_DISABLE, 0};
    call(SYS_SIGALTSTACK, 0, &stack_in_handler);
    change_in_handler = call(SYS_SIGALTSTACK, &none, 0);
}

/* A handler's own stack, and the process's user: the superuser, always. */
static void own_stack(void)
{
    struct user_stack stack = {(uint32_t)other_stack, 0, sizeof other_stack}, now, bad = stack;
    struct user_stack none = {0, USER_SS_DISABLE, 0};
    CHECK(call(SYS_SIGALTSTACK, 0, &now) == 0 && now.flags == USER_SS_DISABLE && !now.size);
    CHECK(call(SYS_SIGALTSTACK, &stack, &now) == 0 && now.flags == USER_SS_DISABLE);
    CHECK(call(SYS_SIGALTSTACK, 0, &now) == 0 && !now.flags && now.sp == stack.sp && now.size == stack.size);
    for (int on = 0; on < 2; on++) {
        handle(USER_SIGUSR1, looks_at_stack, on ? USER_SA_ONSTACK : 0, 0);
        CHECK(call(SYS_KILL, call(SYS_GETPID, 0), USER_SIGUSR1) == 0);
        CHECK(stack_in_handler.flags == (on ? USER_SS_ONSTACK : 0) && change_in_handler == (on ? -EPERM : 0));
        CHECK(call(SYS_SIGALTSTACK, 0, &now) == 0 && now.flags == (on ? 0 : USER_SS_DISABLE));
        CHECK(call(SYS_SIGALTSTACK, &stack, 0) == 0);
    }
    bad.flags = USER_SS_ONSTACK;
    CHECK(call(SYS_SIGALTSTACK, &bad, 0) == -EINVAL);
    bad = (struct user_stack){stack.sp, 0, 64};
    CHECK(call(SYS_SIGALTSTACK, &bad, 0) == -ENOMEM && call(SYS_SIGALTSTACK, &none, 0) == 0);
    CHECK(call(SYS_SIGALTSTACK, 0, &now) == 0 && now.flags == USER_SS_DISABLE);
    handle(USER_SIGUSR1, DEFAULT, 0, 0);
    CHECK(!call(SYS_GETUID, 0) && !call(SYS_GETEUID, 0) && !call(SYS_GETGID, 0) && !call(SYS_GETEGID, 0));
}

/* The status of a child that reads a byte. */
static int reads(uint32_t at)
{
    int id = call(SYS_FORK, 0);
    if (!id) {
        uint8_t got = *(volatile uint8_t *)at;
        leave(got);
    }
    return wait_for(id);
}

/* It grows when accessed beyond its end, also by the kernel, up to its limit or to the next mapping. */
static void stack(void)
{
    uint32_t lowest = USER_STACK_TOP - USER_STACK_SIZE, edge = USER_STACK_TOP - USER_STACK_STEP;
    CHECK(reads(lowest - 1) == USER_SIGSEGV && reads(lowest) == 0 && reads(edge - 1) == 0);
    int id = call(SYS_FORK, 0);
    if (!id) {
        uint8_t *crossing = (uint8_t *)edge - 2, *far = (uint8_t *)edge - 3 * USER_STACK_STEP;
        int fd = call(SYS_OPEN, "/bin/hello", O_RDONLY);
        CHECK(call(SYS_READ, fd, crossing, 4) == 4 && !memcmp(crossing, "\177ELF", 4));
        CHECK(call(SYS_LSEEK, fd, 0, SEEK_SET) == 0 && call(SYS_READ, fd, far, 4) == 4 && far[1] == 'E');
        CHECK(call(SYS_READ, fd, lowest - 1, 4) == -EFAULT);
        CHECK(reads((uint32_t)far + 1) == 'E' << 8 && reads(lowest) == 0); /* the child's own, from there on */
        uint32_t in_the_way = lowest + USER_STACK_STEP + PAGE;
        CHECK(call(SYS_MMAP, in_the_way, PAGE, USER_PROT_READ, USER_MAP_PRIVATE | USER_MAP_ANON | USER_MAP_FIXED, -1) ==
              (int)in_the_way);
        CHECK(reads(in_the_way - 1) == USER_SIGSEGV && *(volatile uint8_t *)(in_the_way + PAGE) == 0);
        CHECK(reads(in_the_way - 1) == USER_SIGSEGV); /* it reaches the page now, and ends there */
        CHECK(call(SYS_MUNMAP, in_the_way + PAGE, PAGE) == 0 && reads(in_the_way + PAGE) == USER_SIGSEGV);
        leave(0);
    }
    CHECK(wait_for(id) == 0);
}

/* Padding of structures is 0, too: no content of the kernel's stack. */
static bool is_clear_between(const struct user_stat *st)
{
    const uint8_t *bytes = (const uint8_t *)st;
    for (unsigned i = offsetof(struct user_stat, size) + sizeof st->size; i < offsetof(struct user_stat, atime); i++)
        if (bytes[i])
            return false;
    return true;
}

static void files(void)
{
    static const char *const paths[] = {"/bin/hello", "/bin", "/dev/null", "/dev/console"};
    char text[16];
    struct user_stat st;
    for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        memset(&st, 0xff, sizeof st);
        CHECK(call(SYS_STAT, paths[i], &st) == 0 && is_clear_between(&st));
        int fd = call(SYS_OPEN, paths[i], O_RDONLY);
        memset(&st, 0xff, sizeof st);
        CHECK(call(SYS_FSTAT, fd, &st) == 0 && is_clear_between(&st) && call(SYS_CLOSE, fd) == 0);
    }
    int fd = call(SYS_OPEN, "/bin/hello", O_RDONLY);
    CHECK(fd >= 3 && call(SYS_READ, fd, text, 4) == 4 && !memcmp(text, "\177ELF", 4));
    CHECK(call(SYS_LSEEK, fd, 1, SEEK_SET) == 1 && call(SYS_READ, fd, text, 3) == 3 && !memcmp(text, "ELF", 3));
    CHECK(call(SYS_FSTAT, fd, &st) == 0 && (st.mode & 0170000) == 0100000 && st.size > 1000);
    CHECK(call(SYS_LSEEK, fd, 0, SEEK_END) == st.size && call(SYS_READ, fd, text, 4) == 0);
    CHECK(call(SYS_LSEEK, fd, -1, SEEK_SET) == -EINVAL && call(SYS_LSEEK, fd, 0, 9) == -EINVAL);
    CHECK(call(SYS_WRITE, fd, text, 1) == -EBADF && call(SYS_CLOSE, fd) == 0);
    CHECK(call(SYS_OPEN, "/bin/nonsense", O_RDONLY) == -ENOENT && call(SYS_OPEN, "/bin/hello", O_WRONLY) == -EROFS);
    CHECK(call(SYS_OPEN, 4, O_RDONLY) == -EFAULT && call(SYS_ACCESS, "/bin/hello", 1) == 0);
    CHECK(call(SYS_STAT, "/bin", &st) == 0 && (st.mode & 0170000) == 0040000);
    static uint32_t entries[1024];
    unsigned most = 0;
    for (int size = sizeof entries; size >= 64; size = size > 200 ? 200 : size - 20) { /* in pieces of any size */
        unsigned hello = 0, all = 0, folders = 0;
        int n;
        fd = call(SYS_OPEN, "/bin", O_RDONLY);
        while ((n = call(SYS_GETDIRENTRIES, fd, entries, size)) > 0)
            for (struct user_dirent *e = (struct user_dirent *)entries; (uint8_t *)e < (uint8_t *)entries + n;
                 e = (struct user_dirent *)((uint8_t *)e + e->reclen), all++) {
                hello += !strcmp(e->name, "hello") && e->namlen == 5;
                folders += !strcmp(e->name, "dev") || !strcmp(e->name, "mnt");
            }
        most = all > most ? all : most;
        CHECK(n == 0 && hello == 1 && folders == 2 && all == most && call(SYS_CLOSE, fd) == 0);
    }
    CHECK(call(SYS_STAT, "/bin/hello", &st) == 0 && st.blocks == (st.size + 511) / 512);
    static uint8_t zeros[600];
    memset(zeros, 0xff, sizeof zeros);
    fd = call(SYS_OPEN, "/dev/zero", O_RDWR);
    CHECK(call(SYS_READ, fd, zeros, 513) == 513 && !zeros[0] && !zeros[512] && zeros[513] == 0xff);
    CHECK(call(SYS_WRITE, fd, zeros, 600) == 600 && call(SYS_CLOSE, fd) == 0);
    fd = call(SYS_OPEN, "/dev/null", O_RDWR);
    CHECK(call(SYS_WRITE, fd, text, 9) == 9 && call(SYS_READ, fd, text, 9) == 0 && call(SYS_CLOSE, fd) == 0);
}

/* t0 to t6 and a1 to a7 after a call of `number` without arguments. */
static void registers_after(uint32_t number, uint32_t *at)
{
    register uint32_t a7 __asm__("a7") = number, s1 __asm__("s1") = (uint32_t)at;
    __asm__ volatile("ecall\n"
                     "sw t0, 0(s1)\n sw t1, 4(s1)\n sw t2, 8(s1)\n sw t3, 12(s1)\n sw t4, 16(s1)\n"
                     "sw t5, 20(s1)\n sw t6, 24(s1)\n sw a1, 28(s1)\n sw a2, 32(s1)\n sw a3, 36(s1)\n"
                     "sw a4, 40(s1)\n sw a5, 44(s1)\n sw a6, 48(s1)\n sw a7, 52(s1)"
                     : "+r"(a7)
                     : "r"(s1)
                     : "memory", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a0", "a1", "a2", "a3", "a4", "a5", "a6");
}

static uint32_t shown[256];

/* No word may be an address of the kernel: a program has none of its own. */
static bool shows_none(void)
{
    for (unsigned i = 0; i < sizeof shown / sizeof *shown; i++)
        if (shown[i] - MAIN_RAM_BASE < MAIN_RAM_SIZE)
            return false;
    memset(shown, 0x5a, sizeof shown);
    return true;
}

static void copies_frame(int signal, struct user_siginfo *info, struct user_sigframe *frame)
{
    (void)signal, (void)info;
    memcpy(shown, frame, sizeof *frame);
}

/* What the kernel writes to a program, or leaves in its registers, holds no address of the kernel. */
static void shows_no_address(void)
{
    static const struct {
        uint8_t number, to;
        int a[4];
    } calls[] = {{SYS_FSTAT, 1, {0}},
                 {SYS_FSTAT, 1, {3}},
                 {SYS_FSTATFS, 1, {3}},
                 {SYS_GETDIRENTRIES, 1, {3, 0, 800}},
                 {SYS_GETRUSAGE, 1, {0}},
                 {SYS_SIGACTION, 2, {USER_SIGALRM}},
                 {SYS_SIGPROCMASK, 2, {1}},
                 {SYS_SIGPENDING, 0, {0}},
                 {SYS_SIGALTSTACK, 1, {0}},
                 {SYS_GETITIMER, 1, {0}},
                 {SYS_GETTIMEOFDAY, 0, {0}},
                 {SYS_TIMES, 0, {0}},
                 {SYS_CLOCK_GETTIME, 1, {0}},
                 {SYS_PROCESSES, 0, {0, 9}},
                 {SYS_GETCWD, 0, {0, 64}},
                 {SYS_PIPE, 0, {0}},
                 {SYS_IOCTL, 2, {0, USER_TIOCGETA}}};
    CHECK(call(SYS_OPEN, "/bin", O_RDONLY) == 3);
    shows_none();
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        uint32_t a[4];
        memcpy(a, calls[i].a, sizeof a);
        a[calls[i].to] = (uint32_t)shown;
        CHECK(call(calls[i].number, a[0], a[1], a[2], a[3]) >= 0);
        CHECK(shows_none());
    }
    for (unsigned i = 3; i < 6; i++) /* with the pipe */
        call(SYS_CLOSE, i);
    static const uint32_t numbers[] = {SYS_GETPID, SYS_SBRK, SYS_SCHED_YIELD, SYS_SIGPENDING, SYS_CALLS, SYS_CLOSE};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        registers_after(numbers[i], shown);
        CHECK(shows_none());
    }
    handle(USER_SIGUSR1, copies_frame, 0, 0);
    CHECK(call(SYS_KILL, call(SYS_GETPID, 0), USER_SIGUSR1) == 0);
    CHECK(shown[0] != 0x5a5a5a5a && shows_none());
    handle(USER_SIGUSR1, DEFAULT, 0, 0);
}

static const struct {
    const char *name;
    void (*part)(void);
    bool needs_clock;
} parts[] = {
    {"forks", forks, false},
    {"executes", executes, false},
    {"executes_alone", executes_alone, true},
    {"waits", waits, true},
    {"groups", groups, true},
    {"signals", signals, false},
    {"ends", ends_by_signals, true},
    {"stops", stops, true},
    {"children", child_signals, false},
    {"interrupts", interrupts, true},
    {"own-timers", own_timers, true},
    {"usage", usage, true},
    {"shows-processes", shows_processes, false},
    {"traps", traps, false},
    {"descriptors", descriptors, false},
    {"pipes", pipes, true},
    {"dup2", dup2_both_ways, true},
    {"memory", memory, false},
    {"stack", stack, false},
    {"files", files, false},
    {"passes_on", passes_on, false},
    {"shows", shows_no_address, true},
    {"descendants", descendants, true},
    {"inherits", inherits, false},
    {"own_stack", own_stack, false},
};

int main(int argc, char **argv)
{
    unsigned n = 0;
    if (argc > 1 && !strcmp(argv[1], "sleep"))
        return sleep_for(5, 0);
    bool no_clock = argc > 1 && !strcmp(argv[1], "noclock");
    const char *every_nth = argc > 1 ? strchr(argv[1], '/') : 0;
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (argc > 1 && (no_clock    ? parts[i].needs_clock
                         : every_nth ? i % strtoul(every_nth + 1, 0, 10) != strtoul(argv[1], 0, 10)
                                     : strcmp(argv[1], parts[i].name) != 0))
            continue;
        parts[i].part();
        n++;
    }
    printf("@processes parts=%u checks=%u failed=%u\n", n, checks, failed);
    return failed != 0;
}
