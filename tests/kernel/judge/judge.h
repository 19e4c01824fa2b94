/*
 * Shared by the programs of this folder (../judge.py). Each is a family of POSIX's calls, and is one file with a main;
 * it prints what each call returned, one per line, "FUNCTION: CALL = RESULT", with errors by their names, so that lines
 * of two systems can be compared:
 *
 *     int fd = SHOW(open("f", O_RDWR));        opens: open("f", O_RDWR) = 3
 *     SHOW_BYTES("what is in it", text, n);    opens: what is in it = "abc\0"
 *
 * FUNCTION is the calling function's name. Show nothing that is a system's own: addresses, process ids, times
 * of day, sizes of directories. Of many combinations, a short run shows one in `judge_part` (TAKEN).
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int judge_folder = -1; /* the family's own */
static unsigned judge_part = 1, judge_count; /* one in so many */
static void *volatile judge_nowhere = (void *)4; /* both volatile: a compiler cannot see their values */
static volatile int judge_one = 1;

#define TAKEN (judge_count++ % judge_part == 0)
#define NOWHERE judge_nowhere

static inline const char *judge_error(int number)
{
    static const struct {
        int number;
        const char *name;
    } all[] = {
#define E(name) {name, #name}
        E(E2BIG),        E(EACCES),       E(EAGAIN),     E(EBADF),       E(EBUSY),     E(ECHILD),      E(EDEADLK),
        E(EDOM),         E(EEXIST),       E(EFAULT),     E(EFBIG),       E(EINTR),     E(EINVAL),      E(EIO),
        E(EISDIR),       E(ELOOP),        E(EMFILE),     E(EMLINK),      E(ENFILE),    E(ENODEV),      E(ENOENT),
        E(ENOEXEC),      E(ENAMETOOLONG), E(ENOLCK),     E(ENOMEM),      E(ENOSPC),    E(ENOSYS),      E(ENOTDIR),
        E(ENOTTY),       E(ENXIO),        E(EPERM),      E(EPIPE),       E(ERANGE),    E(EROFS),       E(ESPIPE),
        E(ESRCH),        E(ETXTBSY),      E(EXDEV),      E(EOPNOTSUPP),  E(EOVERFLOW), E(ETIMEDOUT),   E(ENOTEMPTY),
        E(ECANCELED),    E(EOWNERDEAD),   E(ECONNRESET), E(EADDRINUSE),  E(ENOTCONN),  E(EISCONN),     E(ECONNREFUSED),
        E(EDESTADDRREQ), E(EMSGSIZE),     E(ENOTSOCK),   E(EINPROGRESS), E(EALREADY),  E(ENOPROTOOPT),
#undef E
    };
    static char other[24];
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].number == number)
            return all[i].name;
    snprintf(other, sizeof other, "error %d", number);
    return number ? other : "0";
}

static inline const char *judge_signal(int number)
{
    static const struct {
        int number;
        const char *name;
    } all[] = {
#define S(name) {name, #name}
        S(SIGHUP),  S(SIGINT),  S(SIGQUIT),   S(SIGILL),  S(SIGTRAP),  S(SIGABRT), S(SIGFPE),
        S(SIGKILL), S(SIGBUS),  S(SIGSEGV),   S(SIGSYS),  S(SIGPIPE),  S(SIGALRM), S(SIGTERM),
        S(SIGURG),  S(SIGSTOP), S(SIGTSTP),   S(SIGCONT), S(SIGCHLD),  S(SIGTTIN), S(SIGTTOU),
        S(SIGXCPU), S(SIGXFSZ), S(SIGVTALRM), S(SIGPROF), S(SIGWINCH), S(SIGUSR1), S(SIGUSR2),
#undef S
    };
    static char other[24];
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].number == number)
            return all[i].name;
    snprintf(other, sizeof other, "signal %d", number);
    return other;
}

/* -1 with the error from errno; anything else as a number. Returns it. */
static inline long judge_show(const char *function, const char *what, long result)
{
    int error = errno;
    if (result == -1)
        printf("%s: %s = -1 %s\n", function, what, judge_error(error));
    else
        printf("%s: %s = %ld\n", function, what, result);
    errno = error;
    return result;
}

static inline void judge_bytes(const char *function, const char *what, const void *bytes, long n)
{
    printf("%s: %s = \"", function, what);
    for (long i = 0; i < n; i++) {
        unsigned char c = ((const unsigned char *)bytes)[i];
        if (c < ' ' || c > '~' || c == '"' || c == '\\')
            printf("\\%o", c);
        else
            putchar(c);
    }
    printf("\"\n");
}

static inline void judge_say(const char *function, const char *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s: %s = ", function, what);
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

#define SHOW(call) (errno = 0, judge_show(__func__, #call, (long)(call)))
/* The same under another name: for a call whose text does not show its arguments. */
#define SHOW_AS(name, call) (errno = 0, judge_show(__func__, name, (long)(call)))
/* Whether it is true: shows no number of the system's own. */
#define SHOW_IF(condition) judge_say(__func__, #condition, "%s", (condition) ? "yes" : "no")
/* A call that returns a pointer. */
#define SHOW_POINTER(call) (errno = 0, judge_say(__func__, #call, "%s", (call) ? "there" : judge_error(errno)))
#define SHOW_BYTES(name, bytes, n) judge_bytes(__func__, name, bytes, n)
#define SAY(name, ...) judge_say(__func__, name, __VA_ARGS__)

/* How a child ended. */
#define SHOW_STATUS(name, status)                                  \
    (WIFEXITED(status) ? SAY(name, "exit %d", WEXITSTATUS(status)) \
     : WIFSIGNALED(status)                                         \
         ? SAY(name, "%s", judge_signal(WTERMSIG(status)))         \
         : SAY(name, "stopped or continued, %s", WIFSTOPPED(status) ? judge_signal(WSTOPSIG(status)) : "?"))

/* The runner's argument (run.c): the part of a short run. Flush output before fork. */
static inline void judge_begin(int argc, char **argv)
{
    judge_part = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    setvbuf(stdout, 0, _IOFBF, 4096);
    umask(022);
    judge_folder = fcntl(open(".", O_RDONLY), F_DUPFD_CLOEXEC, 60); /* above the descriptors that are shown */
    close(3);
    if (judge_folder < 0) {
        perror("the family's folder");
        exit(98);
    }
}

/* Returns to the family's own folder, from wherever a call that should have failed has led. */
static inline void judge_home(void)
{
    if (fchdir(judge_folder)) {
        perror("the family's folder");
        exit(98);
    }
}
#endif
