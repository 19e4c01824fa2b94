/* Jobs: process groups, sessions, stops and what reports them, orphans; and what reports children. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "say.h"

static int up[2];
static volatile sig_atomic_t got[32];

static void note(int number)
{
    got[number]++;
}

/* A child that waits until it is ended. */
static pid_t waiter(void (*first)(void))
{
    char c;
    pid_t id = fork();
    if (!id) {
        if (first)
            first();
        write(up[1], "", 1);
        for (;;)
            pause();
    }
    read(up[0], &c, 1);
    return id;
}

static void end(pid_t id)
{
    kill(id, SIGKILL);
    say_wait("ended", id, 0);
}

static void groups(void)
{
    pid_t own = getpid(), a = waiter(0), b = waiter(0);
    say("in its parent's group: %d", getpgid(a) == getpgrp());
    say("in its parent's session: %d", getsid(a) == getsid(0));
    SAID(setpgid(a, 0));
    say("leads one: %d", getpgid(a) == a);
    SAID(setpgid(b, a));
    say("is in it: %d", getpgid(b) == a);
    SAID(setpgid(b, 1));
    SAID(setpgid(b, -1));
    SAID(setpgid(b, getpgrp()));
    say("is back: %d", getpgid(b) == getpgrp());
    SAID(setpgid(b, a));
    SAID(setpgid(1, 0));
    SAID(setpgid(own, a)); /* it leads a session */
    SAID(setsid());
    SAID(getpgid(-1));
    SAID(getsid(-1));
    SAID(kill(-a, 0));
    SAID(killpg(a, SIGTERM));
    say_wait("a", a, 0);
    say_wait("b", b, 0);
    SAID(killpg(a, 0));
    SAID(kill(-a, SIGTERM));
    SAID(setpgid(a, 0));
    /* A group lives as long as any member. */
    a = waiter(0);
    setpgid(a, 0);
    b = waiter(0);
    setpgid(b, a);
    end(a);
    SAID(killpg(a, 0));
    pid_t c = waiter(0);
    SAID(setpgid(c, a));
    SAID(killpg(a, SIGKILL));
    say_wait("b", b, 0);
    say_wait("c", c, 0);
    SAID(killpg(a, 0));
}

static void new_session(void)
{
    setsid();
}

static void sessions(void)
{
    pid_t a = waiter(new_session);
    say("a session of its own: %d", getsid(a) == a && getpgid(a) == a);
    SAID(setpgid(a, getpgrp()));
    SAID(setpgid(a, 0));
    pid_t b = waiter(0);
    SAID(setpgid(b, a));
    end(b);
    end(a);
    pid_t id = fork();
    if (!id) {
        setpgid(0, 0);
        _exit(setsid() < 0 && errno == EPERM ? 4 : 5);
    }
    say_wait("a group's leader", id, 0);
}

static void told(const char *what, int options)
{
    int status = 0;
    errno = 0;
    pid_t id = waitpid(-1, &status, options);
    if (id > 0)
        say_status(what, status);
    else
        say("%s: %s", what, id ? judge_error(errno) : "nothing");
}

static void stops(void)
{
    static const int how[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
    for (unsigned i = 0; i < 4; i++) {
        if (!TAKEN)
            continue;
        pid_t id = waiter(0);
        setpgid(id, 0);
        SAID(kill(id, how[i]));
        told("stopped", WUNTRACED);
        told("once", WUNTRACED | WNOHANG);
        SAID(kill(id, how[i]));
        told("again", WUNTRACED | WNOHANG);
        SAID(kill(id, SIGTERM)); /* for when it continues */
        told("still", WUNTRACED | WNOHANG);
        SAID(kill(id, SIGCONT));
        told("ended", 0);
        id = waiter(0);
        setpgid(id, 0); /* its own group is orphaned: only SIGSTOP stops that */
        kill(id, how[i]);
        told("stopped", WUNTRACED);
        kill(id, SIGCONT);
        told("goes on", WCONTINUED);
        told("once", WCONTINUED | WNOHANG);
        kill(id, how[i]);
        kill(id, SIGCONT);
        kill(id, SIGKILL);
        int status;
        while (waitpid(id, &status, WUNTRACED | WCONTINUED) == id && !WIFSIGNALED(status))
            ;
        say_status("at last", status);
    }
    /* A stop discards a pending SIGCONT, and the other way round. */
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCONT);
    sigprocmask(SIG_BLOCK, &set, &old);
    SAID(raise(SIGTSTP));
    sigpending(&set);
    say("pending %d %d", sigismember(&set, SIGTSTP), sigismember(&set, SIGCONT));
    SAID(raise(SIGCONT));
    sigpending(&set);
    say("pending %d %d", sigismember(&set, SIGTSTP), sigismember(&set, SIGCONT));
    SAID(raise(SIGTSTP));
    sigpending(&set);
    say("pending %d %d", sigismember(&set, SIGTSTP), sigismember(&set, SIGCONT));
    SAID(raise(SIGCONT));
    sigprocmask(SIG_SETMASK, &old, 0);
}

static void handles_all(void)
{
    handle(SIGTSTP, note, 0);
    handle(SIGCONT, note, 0);
    handle(SIGHUP, note, 0);
}

/* Handlers of stops; a stopped process runs none before it continues. */
static void handled(void)
{
    pid_t id = fork();
    if (!id) {
        handles_all();
        handle(SIGUSR1, note, 0);
        raise(SIGTSTP);
        write(up[1], "", 1);
        while (!got[SIGUSR1])
            milliseconds(1);
        _exit(got[SIGTSTP] * 10 + got[SIGCONT]);
    }
    char c;
    read(up[0], &c, 1);
    kill(id, SIGSTOP);
    told("stopped", WUNTRACED);
    kill(id, SIGUSR1);
    milliseconds(5);
    told("does not run", WNOHANG | WUNTRACED);
    kill(id, SIGCONT);
    told("handled", 0);
}

static void ignores_hup(void)
{
    signal(SIGHUP, SIG_IGN);
}

/* Processes whose parents end: a stopped one gets SIGHUP, and continues. */
static void orphans(void)
{
    for (int how = 0; how < 3; how++) {
        int ends[2];
        char c;
        pipe(ends);
        pid_t middle = fork();
        if (!middle) {
            pid_t id = fork();
            if (!id) {
                close(ends[0]);
                if (how == 1)
                    ignores_hup();
                if (how == 2)
                    handles_all();
                setpgid(0, 0);
                raise(SIGSTOP);
                while (how == 2 && !got[SIGHUP])
                    milliseconds(1);
                c = (char)('a' + got[SIGHUP] * 2 + (getppid() != 1 && 0));
                write(ends[1], &c, 1);
                _exit(0);
            }
            int status;
            waitpid(id, &status, WUNTRACED);
            _exit(WIFSTOPPED(status) ? 3 : 4);
        }
        close(ends[1]);
        say_wait("middle", middle, 0);
        int n = (int)read(ends[0], &c, 1);
        say("orphan: %d %c", n, n == 1 ? c : '-');
        close(ends[0]);
    }
}

/* SIGCHLD, and parents that do not wait. */
static void children(void)
{
    sigset_t set, old;
    siginfo_t i;
    struct timespec second = {.tv_sec = 2};
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &old);
    pid_t id = waiter(0);
    kill(id, SIGSTOP);
    int number = sigtimedwait(&set, &i, &second);
    say("%s, code %d, its own %d", judge_signal(number), i.si_code == CLD_STOPPED, i.si_pid == id);
    kill(id, SIGCONT);
    number = sigtimedwait(&set, &i, &second);
    say("%s, code %d, its own %d", judge_signal(number), i.si_code == CLD_CONTINUED, i.si_pid == id);
    kill(id, SIGTERM);
    number = sigtimedwait(&set, &i, &second);
    say("%s, code %d, its own %d, status %s", judge_signal(number), i.si_code == CLD_KILLED, i.si_pid == id,
        judge_signal(i.si_status));
    say_wait("ended", id, 0);
    handle(SIGCHLD, note, SA_NOCLDWAIT);
    if (!fork())
        _exit(1);
    told("nobody to wait for", 0);
    signal(SIGCHLD, SIG_IGN);
    if (!fork())
        _exit(1);
    told("nobody to wait for", 0);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, 0);
    /* Each by its number, whatever the order is. */
    pid_t several[4];
    for (int k = 0; k < 4; k++)
        if (!(several[k] = fork()))
            _exit(10 + k);
    for (int k = 3; k >= 0; k--)
        say_wait("one", several[k], 0);
    told("none left", WNOHANG);
    SAID(waitpid(1, 0, 0));
    SAID(waitpid(0, 0, WNOHANG));
    SAID(waitpid(-1, 0, 12345));
    id = fork();
    if (!id)
        _exit(257);
    say_wait("257", id, 0);
    /* Of a group. */
    pid_t a = fork();
    if (!a) {
        setpgid(0, 0);
        _exit(1);
    }
    setpgid(a, a);
    pid_t b = fork();
    if (!b)
        _exit(2);
    SAID(waitpid(-a, 0, 0) == a);
    SAID(waitpid(0, 0, 0) == b);
    SAID(waitpid(-a, 0, 0));
}

int main(int argc, char **argv)
{
    judge_begin(argc, argv);
    pipe(up);
    groups();
    sessions();
    stops();
    handled();
    orphans();
    children();
    return 0;
}
