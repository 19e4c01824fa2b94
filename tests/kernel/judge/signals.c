/*
 * What a handler is told (siginfo), waiting for signals, how ends and stops of children are reported, timers,
 * and pipes without readers.
 */
#include <limits.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "say.h"

static volatile sig_atomic_t got;
static siginfo_t info;
static sigjmp_buf back;

static void takes(int number, siginfo_t *i, void *context)
{
    (void)context;
    got = number;
    info = *i;
}

static void escapes(int number, siginfo_t *i, void *context)
{
    takes(number, i, context);
    siglongjmp(back, 1);
}

static void handle_info(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, 0);
}

static const char *code_name(int number, int code)
{
    if (code == SI_USER)
        return "SI_USER";
    if (code == SI_QUEUE)
        return "SI_QUEUE";
    if (code == SI_KERNEL)
        return "SI_KERNEL";
    if (code == SI_TKILL)
        return "SI_TKILL";
    if (number == SIGCHLD)
        return code == CLD_EXITED      ? "CLD_EXITED"
               : code == CLD_KILLED    ? "CLD_KILLED"
               : code == CLD_STOPPED   ? "CLD_STOPPED"
               : code == CLD_CONTINUED ? "CLD_CONTINUED"
                                       : "another";
    if (number == SIGSEGV)
        return code == SEGV_MAPERR ? "SEGV_MAPERR" : code == SEGV_ACCERR ? "SEGV_ACCERR" : "another";
    if (number == SIGBUS)
        return code == BUS_ADRERR ? "BUS_ADRERR" : "another";
    return "another";
}

static pid_t child_of_interest;

static void show(const char *what)
{
    pid_t from = info.si_pid;
    bool sent = info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL || got == SIGCHLD;
    say("%s: %s, %s, from %s, status %d", what, judge_signal(got), code_name(got, info.si_code),
        !sent                       ? "-"
        : from == getpid()          ? "itself"
        : from == child_of_interest ? "the child"
        : from == getppid()         ? "the parent"
                                    : "another",
        got == SIGCHLD ? (info.si_code == CLD_EXITED ? info.si_status : !!info.si_status) : 0);
    got = 0;
    memset(&info, 0, sizeof info);
}

static void wait_for_signal(void)
{
    for (int turn = 0; turn < 2000 && !got; turn++)
        milliseconds(1);
}

static void senders(void)
{
    handle_info(SIGUSR1, takes);
    kill(getpid(), SIGUSR1);
    show("kill");
    raise(SIGUSR1);
    show("raise");
    pthread_kill(pthread_self(), SIGUSR1);
    show("pthread_kill");
    union sigval value = {.sival_int = 4711};
    SAID(sigqueue(getpid(), SIGUSR1, value));
    say("value %d", info.si_value.sival_int);
    show("sigqueue");
    SAID(sigqueue(getpid(), 99, value));
    SAID(sigqueue(0x7ffffff0, 0, value));
    pid_t id = child_of_interest = fork();
    if (!id) {
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    wait_for_signal();
    show("a child's kill");
    say_wait("it", id, 0);
    id = child_of_interest = fork();
    if (!id) {
        killpg(getpgrp(), SIGUSR1);
        _exit(0);
    }
    wait_for_signal();
    show("its killpg");
    say_wait("it", id, 0);
    handle_info(SIGALRM, takes);
    ualarm(1000, 0);
    wait_for_signal();
    show("ualarm");
    int ends[2];
    pipe(ends);
    close(ends[0]);
    handle_info(SIGPIPE, takes);
    SAID(write(ends[1], "x", 1));
    show("write");
    close(ends[1]);
}

/* A child that waits until a signal ends it. */
static pid_t pausing_child(void)
{
    pid_t id = child_of_interest = fork();
    if (!id)
        for (;;)
            pause();
    return id;
}

static void children(void)
{
    handle_info(SIGCHLD, takes);
    static const int ends[] = {0, 1, 77, 255, 256 + 5};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (!TAKEN)
            continue;
        pid_t id = child_of_interest = fork();
        if (!id)
            _exit(ends[i]);
        wait_for_signal();
        show("exit");
        say_wait("it", id, 0);
    }
    static const int kills[] = {SIGKILL, SIGTERM, SIGUSR2, SIGHUP};
    for (unsigned i = 0; i < sizeof kills / sizeof *kills; i++) {
        if (!TAKEN)
            continue;
        pid_t id = pausing_child();
        kill(id, kills[i]);
        wait_for_signal();
        show("killed");
        say_wait("it", id, 0);
    }
    static const int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
    for (unsigned i = 0; i < sizeof stops / sizeof *stops; i++) {
        if (!TAKEN)
            continue;
        pid_t id = pausing_child();
        if (i) /* in a group of its own, with a parent in the session */
            setpgid(id, id);
        kill(id, stops[i]);
        wait_for_signal();
        show("stop");
        say_wait("WCONTINUED", id, WCONTINUED | WNOHANG);
        say_wait("WUNTRACED", id, WUNTRACED);
        say_wait("again", id, WUNTRACED | WNOHANG);
        kill(id, SIGCONT);
        wait_for_signal();
        show("continue");
        say_wait("WUNTRACED", id, WUNTRACED | WNOHANG);
        say_wait("WCONTINUED", id, WCONTINUED);
        say_wait("again", id, WCONTINUED | WNOHANG);
        kill(id, SIGCONT); /* it is not stopped */
        milliseconds(3);
        say_wait("running", id, WCONTINUED | WNOHANG);
        kill(id, SIGSTOP);
        say_wait("WUNTRACED", id, WUNTRACED);
        kill(id, SIGKILL);
        say_wait("it", id, 0);
        got = 0;
    }
    struct sigaction action = {.sa_sigaction = takes, .sa_flags = SA_SIGINFO | SA_NOCLDSTOP};
    sigaction(SIGCHLD, &action, 0);
    pid_t id = child_of_interest = fork();
    if (!id)
        for (;;)
            pause();
    kill(id, SIGSTOP);
    say_wait("SA_NOCLDSTOP", id, WUNTRACED);
    kill(id, SIGCONT);
    say_wait("SA_NOCLDSTOP", id, WCONTINUED);
    say("told of it: %d", got);
    kill(id, SIGKILL);
    say_wait("it", id, 0);
    wait_for_signal();
    show("killed");
    signal(SIGCHLD, SIG_DFL);
}

static void waitids(void)
{
    siginfo_t i;
    static const int options[] = {WEXITED, WEXITED | WNOWAIT, WEXITED | WNOHANG, WSTOPPED | WNOHANG, 0, WNOHANG};
    for (unsigned k = 0; k < sizeof options / sizeof *options; k++) {
        if (!TAKEN)
            continue;
        pid_t id = fork();
        if (!id)
            _exit(9);
        waitid(P_PID, (id_t)id, &i, WEXITED | WNOWAIT); /* it has ended, and can be waited for */
        memset(&i, 0, sizeof i);
        errno = 0;
        int r = waitid(P_PID, (id_t)id, &i, options[k]);
        say("waitid %u: %d %s, %s %s status %d", k, r, judge_error(errno),
            r || !i.si_pid ? "none" : judge_signal(i.si_signo), r || !i.si_pid ? "" : code_name(SIGCHLD, i.si_code),
            r ? 0 : i.si_status);
        say_wait("left", id, 0);
    }
    SAID(waitid(P_ALL, 0, &i, WEXITED));
    SAID(waitid(P_PID, 0x7ffffff0, &i, WEXITED));
    SAID(waitid((idtype_t)17, 0, &i, WEXITED));
    SAID(waitid(P_ALL, 0, &i, WEXITED | 0x100));
    SAID(waitpid(-1, 0, 0x100));
    pid_t id = fork();
    if (!id)
        for (;;)
            pause();
    kill(id, SIGSTOP);
    for (int k = 0; k < 2; k++) {
        memset(&i, 0, sizeof i);
        SAID(waitid(P_PID, (id_t)id, &i, WSTOPPED | (k ? 0 : WNOWAIT)));
        say("%s, status %s", code_name(SIGCHLD, i.si_code), judge_signal(i.si_status));
    }
    kill(id, SIGCONT);
    memset(&i, 0, sizeof i);
    SAID(waitid(P_PGID, (id_t)getpgrp(), &i, WCONTINUED));
    say("%s, status %s", code_name(SIGCHLD, i.si_code), judge_signal(i.si_status));
    kill(id, SIGKILL);
    memset(&i, 0, sizeof i);
    SAID(waitid(P_ALL, 0, &i, WEXITED));
    say("%s, status %s", code_name(SIGCHLD, i.si_code), judge_signal(i.si_status));
}

/* Traps, with their address. */
static void traps(void)
{
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle_info(SIGSEGV, escapes);
    handle_info(SIGBUS, escapes);
    mprotect(page, 4096, PROT_READ);
    munmap(page + 4096, 4096);
    for (int i = 0; i < 3; i++) {
        char *at = i == 0 ? page + 5 : i == 1 ? page + 4096 + 7 : (char *)8;
        if (!sigsetjmp(back, 1))
            *(volatile char *)at = 1;
        say("at the address: %d", info.si_addr == at);
        show("a trap");
    }
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    munmap(page, 4096);
}

static void awaited(void)
{
    sigset_t set, old;
    siginfo_t i;
    struct timespec none = {0}, some = {.tv_nsec = 20000000}, wrong = {.tv_nsec = -1};
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &old);
    SAID(sigtimedwait(&set, &i, &none));
    SAID(sigtimedwait(&set, &i, &some));
    SAID(sigtimedwait(&set, &i, &wrong));
    kill(getpid(), SIGUSR1);
    number = sigtimedwait(&set, &i, &none);
    say("sigtimedwait: %s %s", judge_signal(number), code_name(number, i.si_code));
    SAID(sigtimedwait(&set, &i, &none));
    pid_t id = child_of_interest = fork(); /* a signal that is ignored by default stays pending while masked */
    if (!id) {
        milliseconds(3);
        _exit(3);
    }
    number = sigwaitinfo(&set, &i);
    say("sigwaitinfo: %s %s %d", judge_signal(number), code_name(number, i.si_code), i.si_status);
    say_wait("it", id, 0);
    id = fork();
    if (!id) {
        milliseconds(3);
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    sigdelset(&set, SIGCHLD);
    SAID(sigwait(&set, &number));
    say("sigwait: %s", judge_signal(number));
    say_wait("it", id, 0);
    handle_info(SIGUSR2, takes);
    id = fork(); /* another signal's handler ends the wait */
    if (!id) {
        milliseconds(5);
        kill(getppid(), SIGUSR2);
        _exit(0);
    }
    SAID(sigwaitinfo(&set, &i));
    say("handled: %s", judge_signal(got));
    say_wait("it", id, 0);
    sigprocmask(SIG_SETMASK, &old, 0);
    got = 0;
}

static void timers(void)
{
    static const struct itimerval set[] = {
        {{0, 0}, {5, 0}},       {{1, 500000}, {100, 0}},   {{0, 0}, {100000000, 0}}, {{400000000, 0}, {2000000000, 5}},
        {{0, 0}, {0, 1000000}}, {{0, 0}, {0, -1}},         {{0, 0}, {-1, 0}},        {{-1, 0}, {1, 0}},
        {{0, 1000000}, {1, 0}}, {{0, 500000}, {1, 999999}}};
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++)
        for (unsigned i = 0; i < sizeof set / sizeof *set; i++) {
            struct itimerval now;
            struct itimerval zero = {{0, 0}, {0, 0}};
            SAID(setitimer(which, &set[i], 0));
            SAID(getitimer(which, &now));
            say("timer %d, %u: it has %ld s, again each %ld.%03ld", which, i,
                (long)(now.it_value.tv_sec + (now.it_value.tv_usec > 500000)), (long)now.it_interval.tv_sec,
                (long)(now.it_interval.tv_usec + 999) / 1000);
            setitimer(which, &zero, 0);
        }
    SAID(setitimer(7, &set[0], 0));
    SAID(alarm(1000));
    SAID(alarm(0));
    SAID(alarm(0));
}

static void *reads_some(void *arg)
{
    char c[100];
    int *ends = arg;
    read(ends[0], c, sizeof c);
    milliseconds(3);
    close(ends[0]);
    return 0;
}

static void broken_pipes(void)
{
    static char much[300000];
    handle_info(SIGPIPE, takes);
    int ends[2];
    pthread_t thread;
    pipe(ends);
    pthread_create(&thread, 0, reads_some, ends);
    long n = write(ends[1], much, sizeof much); /* some of it has been written by then */
    pthread_join(thread, 0);
    say("a write of more than there is room for: %s", n > 0 && n < (long)sizeof much ? "some"
                                                      : n < 0                        ? judge_error(errno)
                                                                                     : "all");
    show("and");
    close(ends[1]);
    struct iovec v[2] = {{much, 10}};
    pipe(ends);
    SAID(writev(ends[1], v, 0));
    SAID(writev(ends[1], v, 1));
    SAID(writev(ends[1], v, -1));
    SAID(writev(ends[1], v, 1025));
    v[1].iov_len = (size_t)-1;
    SAID(writev(ends[1], v, 2));
    SAID(readv(ends[0], v, 2));
    SAID(readv(ends[0], v, 1));
    SAID(writev(99, v, 1));
    close(ends[0]);
    close(ends[1]);
}

static void memory(void)
{
    char *p = mmap(0, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SAID(mprotect(p, 0, PROT_READ));
    SAID(mprotect(p + 1, 0, PROT_READ));
    SAID(mprotect(p + 1, 4096, PROT_READ));
    SAID(munmap(p, 0));
    SAID(msync(p, 0, MS_SYNC));
    SAID(msync(p + 1, 4096, MS_SYNC));
    SAID(msync(p, 5 * 4096, MS_SYNC));
    SAID(munmap(p + 2 * 4096, 4096));
    SAID(msync(p, 5 * 4096, MS_SYNC));
    SAID(msync(p, 5 * 4096, MS_ASYNC));
    SAID(msync(p, 2 * 4096, MS_SYNC));
    SAID(msync(p, 2 * 4096 + 1, MS_SYNC));
    SAID(msync(p + 3 * 4096, 2 * 4096, MS_SYNC));
    SAID(msync(p, 4096, MS_SYNC | MS_ASYNC));
    SAID(msync(p, 4096, 0x100));
    SAID(mprotect(p, 5 * 4096, PROT_READ));
    SAID(mprotect(p, 2 * 4096, PROT_READ));
    SAID(mprotect(p, 1, PROT_READ | PROT_WRITE));
    p[0] = 1;
    SAID(munmap(p, 2 * 4096));
    SAID(munmap(p, 2 * 4096));
    SAID(munmap(p + 1, 4096));
    SAID(munmap(p + 3 * 4096, 2 * 4096));
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    senders();
    children();
    waitids();
    traps();
    awaited();
    timers();
    broken_pipes();
    memory();
    return 0;
}
