/*
 * For programs that run on the host and on the machine, whose printed lines are compared: names instead of numbers,
 * which differ, and random numbers that are the same.
 */
#ifndef BOTH_H
#define BOTH_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline const char *error_name(int error)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {{0, "ok"},
#define NAMED(e) {e, #e}
                 NAMED(EPERM),     NAMED(ENOENT), NAMED(ESRCH),     NAMED(EINTR),        NAMED(EIO),
                 NAMED(ENXIO),     NAMED(E2BIG),  NAMED(ENOEXEC),   NAMED(EBADF),        NAMED(ECHILD),
                 NAMED(EAGAIN),    NAMED(ENOMEM), NAMED(EACCES),    NAMED(EFAULT),       NAMED(EBUSY),
                 NAMED(EEXIST),    NAMED(ENODEV), NAMED(ENOTDIR),   NAMED(EISDIR),       NAMED(EINVAL),
                 NAMED(EMFILE),    NAMED(ENOTTY), NAMED(EFBIG),     NAMED(ENOSPC),       NAMED(ESPIPE),
                 NAMED(EPIPE),     NAMED(ERANGE), NAMED(EDEADLK),   NAMED(ENAMETOOLONG), NAMED(ENOSYS),
                 NAMED(ENOTEMPTY), NAMED(ELOOP),  NAMED(EOVERFLOW), NAMED(ETIMEDOUT)};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == error)
            return known[i].name;
    return "another error";
}

static inline const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {{0, "no signal"}, NAMED(SIGHUP),    NAMED(SIGINT),  NAMED(SIGQUIT), NAMED(SIGILL),  NAMED(SIGABRT),
                 NAMED(SIGFPE),    NAMED(SIGKILL),   NAMED(SIGBUS),  NAMED(SIGSEGV), NAMED(SIGPIPE), NAMED(SIGALRM),
                 NAMED(SIGTERM),   NAMED(SIGSTOP),   NAMED(SIGTSTP), NAMED(SIGCONT), NAMED(SIGCHLD), NAMED(SIGTTIN),
                 NAMED(SIGTTOU),   NAMED(SIGVTALRM), NAMED(SIGPROF), NAMED(SIGUSR1), NAMED(SIGUSR2), NAMED(SIGURG)};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number)
            return known[i].name;
    return "another signal";
}

static inline unsigned line_number(void)
{
    static unsigned lines;
    return ++lines;
}

/* One line, written at once. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
    char line[256];
    va_list values;
    int n = snprintf(line, sizeof line, "%u ", line_number());
    va_start(values, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, values);
    va_end(values);
    line[n++] = '\n';
    if (write(1, line, (size_t)n) != n)
        _exit(99);
}

/* What a call gave: its result if it is the same everywhere, or the error's name. */
#define SAY(call)                                    \
    do {                                             \
        errno = 0;                                   \
        long result_ = (long)(call);                 \
        if (result_ == -1)                           \
            say("%s: %s", #call, error_name(errno)); \
        else                                         \
            say("%s: %ld", #call, result_);          \
    } while (0)

/* The same of a call whose result differs: whether it is above 0, 0, or an error. */
#define SAY_SIGN(call)                                    \
    do {                                                  \
        errno = 0;                                        \
        long result_ = (long)(call);                      \
        if (result_ == -1)                                \
            say("%s: %s", #call, error_name(errno));      \
        else                                              \
            say("%s: %s", #call, result_ ? "some" : "0"); \
    } while (0)

static inline void say_status(const char *what, int status)
{
    if (WIFEXITED(status))
        say("%s: exit %d", what, WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        say("%s: ended by %s", what, signal_name(WTERMSIG(status)));
    else if (WIFSTOPPED(status))
        say("%s: stopped by %s", what, signal_name(WSTOPSIG(status)));
    else
        say("%s: continued %d", what, WIFCONTINUED(status));
}

static inline void say_wait(const char *what, pid_t id, int options)
{
    int status = 0;
    errno = 0;
    pid_t got = waitpid(id, &status, options);
    if (got > 0 && (id <= 0 || got == id))
        say_status(what, status);
    else
        say("%s: %s", what, got < 0 ? error_name(errno) : got ? "another" : "none");
}

static inline void milliseconds(unsigned n)
{
    struct timespec t = {.tv_sec = n / 1000, .tv_nsec = (long)(n % 1000) * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

static inline uint32_t random_word(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, 0);
}
#endif
