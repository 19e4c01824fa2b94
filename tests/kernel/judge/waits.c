/*
 * Waits that are interrupted: each kind of wait, with a limit and without, gets a stop and a continue, an ignored
 * signal, a handler with SA_RESTART and one without. Prints what the wait returns, and how often the handler ran.
 */
#include <limits.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>

#include "say.h"

static volatile sig_atomic_t handled;

static void count(int number)
{
    (void)number;
    handled++;
}

enum wait { NANOSLEEP, POLL, POLL_LIMIT, SELECT, SELECT_LIMIT, READ, WAITPID, SIGSUSPEND, SEM, WAITS };
static const char *const wait_names[] = {"nanosleep", "poll",    "poll with a limit", "select",  "select with a limit",
                                         "read",      "waitpid", "sigsuspend",        "sem_wait"};
enum event { STOP, IGNORED, RESTARTED, PLAIN, STOP_AND_PLAIN, EVENTS };
static const char *const event_names[] = {"stop and continue", "an ignored signal", "a handler, SA_RESTART",
                                          "a handler", "a handler while it was stopped"};

static int pipe_of[2];

/* In the child. It ends after LIMIT ms, or when a byte comes. */
#define LIMIT 60
static int waits(enum wait which)
{
    struct timespec t = {.tv_nsec = LIMIT * 1000000};
    struct timeval v = {.tv_usec = LIMIT * 1000};
    struct pollfd p = {pipe_of[0], POLLIN, 0};
    fd_set set;
    char c;
    sigset_t none;
    static sem_t sem;
    FD_ZERO(&set);
    FD_SET(pipe_of[0], &set);
    sigemptyset(&none);
    switch (which) {
    case NANOSLEEP: return nanosleep(&t, &t);
    case POLL: return poll(&p, 1, -1);
    case POLL_LIMIT: return poll(&p, 1, LIMIT);
    case SELECT: return select(pipe_of[0] + 1, &set, 0, 0, 0);
    case SELECT_LIMIT: return select(pipe_of[0] + 1, &set, 0, 0, &v);
    case READ: return (int)read(pipe_of[0], &c, 1);
    case WAITPID: return waitpid(-1, 0, 0) > 0 ? 1 : -1;
    case SIGSUSPEND: return sigsuspend(&none);
    default: sem_init(&sem, 0, 0); return sem_wait(&sem);
    }
}

static void one(enum wait which, enum event event)
{
    int out[2];
    struct {
        int result, error, handled;
        long took;
    } r = {0};
    pipe(out);
    pipe(pipe_of);
    pid_t id = fork();
    if (!id) {
        struct timespec begin, end;
        struct sigaction action = {.sa_handler = event == IGNORED ? SIG_IGN : count,
                                   .sa_flags = event == RESTARTED ? SA_RESTART : 0};
        sigaction(SIGUSR1, &action, 0);
        if (which == WAITPID && !fork()) {
            milliseconds(80);
            _exit(0);
        }
        clock_gettime(CLOCK_MONOTONIC, &begin);
        write(out[1], "b", 1);
        r.result = waits(which);
        r.error = errno;
        clock_gettime(CLOCK_MONOTONIC, &end);
        r.handled = handled;
        r.took = (long)(end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
        write(out[1], &r, sizeof r);
        _exit(0);
    }
    char c;
    read(out[0], &c, 1);
    milliseconds(5);
    if (event == STOP || event == STOP_AND_PLAIN) {
        int status;
        kill(id, SIGSTOP);
        waitpid(id, &status, WUNTRACED);
        milliseconds(5);
        if (event == STOP_AND_PLAIN)
            kill(id, SIGUSR1);
        kill(id, SIGCONT);
    } else {
        kill(id, SIGUSR1);
    }
    milliseconds(20);
    struct pollfd p = {out[0], POLLIN, 0};
    int soon = poll(&p, 1, 0);
    if (!soon && which != NANOSLEEP && which != POLL_LIMIT && which != SELECT_LIMIT && which != SIGSUSPEND &&
        which != SEM)
        write(pipe_of[1], "x", 1);
    if (!soon && (which == SIGSUSPEND || which == SEM)) { /* nothing else ends the wait */
        kill(id, SIGKILL);
        waitpid(id, 0, 0);
        say("%s, %s: waits on", wait_names[which], event_names[event]);
    } else {
        read(out[0], &r, sizeof r);
        waitpid(id, 0, 0);
        say("%s, %s: %d %s, handled %d, %s", wait_names[which], event_names[event], r.result,
            r.result < 0 ? judge_error(r.error) : "", r.handled,
            which == NANOSLEEP || which == POLL_LIMIT || which == SELECT_LIMIT
                ? r.took >= LIMIT ? "full time" : "sooner"
                : "");
    }
    for (int i = 0; i < 2; i++) {
        close(out[i]);
        close(pipe_of[i]);
    }
}

/* No limit, and invalid limits. */
static void limits(void)
{
    struct timespec t = {0};
    SAID(nanosleep(&t, 0));
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 100; i++)
        nanosleep(&t, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    say("a hundred of no time take less than 50 ms: %d",
        (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 < 50);
    static const long wrong[] = {-1, 1000000000, LONG_MAX, LONG_MIN};
    for (unsigned i = 0; i < 4; i++) {
        t = (struct timespec){.tv_nsec = wrong[i]};
        SAID(nanosleep(&t, 0));
    }
    t = (struct timespec){.tv_sec = -1};
    SAID(nanosleep(&t, 0));
    SAID(poll(0, 0, 0));
    SAID(poll(0, 0, 1));
    struct timeval v = {0};
    SAID(select(0, 0, 0, 0, &v));
    v.tv_usec = -1;
    SAID(select(0, 0, 0, 0, &v));
    v = (struct timeval){.tv_sec = -1};
    SAID(select(0, 0, 0, 0, &v));
    SAID(select(-1, 0, 0, 0, 0));
}

int main(int argc, char **argv)
{
    unsigned part = argc > 1 ? (unsigned)atoi(argv[1]) : 1, n = 0;
    signal(SIGPIPE, SIG_IGN);
    limits();
    for (int which = 0; which < WAITS; which++)
        for (int event = 0; event < EVENTS; event++)
            if (n++ % part == 0)
                one((enum wait)which, (enum event)event);
    return 0;
}
