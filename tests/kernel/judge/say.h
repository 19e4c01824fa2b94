/*
 * For families whose processes and threads print beside each other: each line is numbered by its process, and written
 * at once.
 */
#ifndef JUDGE_SAY_H
#define JUDGE_SAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

#include "judge.h"

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

/* What a call returned: its result if that is the same everywhere, or the error's name. */
#define SAID(call)                                    \
    do {                                              \
        errno = 0;                                    \
        long result_ = (long)(call);                  \
        if (result_ == -1)                            \
            say("%s: %s", #call, judge_error(errno)); \
        else                                          \
            say("%s: %ld", #call, result_);           \
    } while (0)

/* The same for a call whose result differs: whether it is above 0, 0, or an error. */
#define SAID_SIGN(call)                                   \
    do {                                                  \
        errno = 0;                                        \
        long result_ = (long)(call);                      \
        if (result_ == -1)                                \
            say("%s: %s", #call, judge_error(errno));     \
        else                                              \
            say("%s: %s", #call, result_ ? "some" : "0"); \
    } while (0)

static inline void say_status(const char *what, int status)
{
    if (WIFEXITED(status))
        say("%s: exit %d", what, WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        say("%s: ended by %s", what, judge_signal(WTERMSIG(status)));
    else if (WIFSTOPPED(status))
        say("%s: stopped by %s", what, judge_signal(WSTOPSIG(status)));
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
        say("%s: %s", what, got < 0 ? judge_error(errno) : got ? "another" : "none");
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
