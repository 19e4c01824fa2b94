/* Processes: fork, exec, wait and the functions of the C library on them. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <paths.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/lock.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "user/lib/cancel.h"
#include "user/lib/thread_local.h"

#define PATH_DEFAULT "/bin:/"

/* The handlers of pthread_atfork, the last first. */
static struct at_fork {
    struct at_fork *next, *before_it;
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
} *last_at_fork, *first_at_fork;

int pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    struct at_fork *f = malloc(sizeof *f);
    if (!f)
        return ENOMEM;
    __LIBC_LOCK();
    *f = (struct at_fork){last_at_fork, 0, before, in_parent, in_child};
    *(last_at_fork ? &last_at_fork->before_it : &first_at_fork) = f;
    last_at_fork = f;
    __LIBC_UNLOCK();
    return 0;
}

/* The child has this thread alone: no other thread may be within malloc then. */
pid_t fork(void)
{
    for (struct at_fork *f = last_at_fork; f; f = f->next)
        if (f->before)
            f->before();
    __LIBC_LOCK();
    int id = with_errno(system_call(SYS_FORK, 0, 0, 0));
    if (!id)
        thread_count = 1;
    __LIBC_UNLOCK();
    for (struct at_fork *f = first_at_fork; f; f = f->before_it) {
        void (*then)(void) = id ? f->in_parent : f->in_child;
        if (then)
            then();
    }
    return id;
}

/* The child runs on its parent's stack until execve or _exit: it must not return to vfork's caller. */
__attribute__((naked)) pid_t vfork(void)
{
    __asm__("li a7, %0\n ecall\n bltz a0, 1f\n ret\n1: tail with_errno" ::"i"(SYS_VFORK));
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    return with_errno(system_call(SYS_EXECVE, (uint32_t)path, (uint32_t)argv, (uint32_t)envp));
}

int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

/* A file that is no program is a script for the shell. */
static void execute_script(const char *path, char *const argv[], char *const envp[])
{
    unsigned n = 0;
    while (argv[n])
        n++;
    const char *words[n + 3];
    words[0] = "sh";
    words[1] = path;
    for (unsigned i = 1; i <= n; i++)
        words[i + 1] = argv[i];
    words[n + !n + 1] = 0;
    execve(_PATH_BSHELL, (char *const *)words, envp);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    if (strchr(file, '/')) {
        execve(file, argv, envp);
        if (errno == ENOEXEC)
            execute_script(file, argv, envp);
        return -1;
    }
    const char *at = getenv("PATH"), *end;
    size_t length = strlen(file);
    int error = ENOENT;
    for (at = at ? at : PATH_DEFAULT;; at = end + 1) {
        end = strchrnul(at, ':');
        char path[PATH_MAX];
        size_t folder = (size_t)(end - at);
        if (folder + 1 + length < sizeof path) {
            memcpy(path, at, folder);
            path[folder] = '/';
            memcpy(path + folder + !!folder, file, length + 1);
            execve(path, argv, envp);
            if (errno == ENOEXEC) {
                execute_script(path, argv, envp);
                return -1;
            }
            if (errno != ENOENT && errno != ENOTDIR)
                error = errno;
        } else {
            error = ENAMETOOLONG;
        }
        if (!*end)
            break;
    }
    errno = error;
    return -1;
}

int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* The words from `first` on, with their final 0; `last` points past it then. */
#define GATHER(argv, first, last)                 \
    unsigned words = 1;                           \
    va_start(last, first);                        \
    for (const char *word = first; word; words++) \
        word = va_arg(last, const char *);        \
    va_end(last);                                 \
    char *argv[words];                            \
    argv[0] = (char *)(first);                    \
    va_start(last, first);                        \
    for (unsigned i = 1; i < words; i++)          \
    argv[i] = va_arg(last, char *)

int execl(const char *path, const char *first, ...)
{
    va_list rest;
    GATHER(argv, first, rest);
    va_end(rest);
    return execv(path, argv);
}

int execlp(const char *file, const char *first, ...)
{
    va_list rest;
    GATHER(argv, first, rest);
    va_end(rest);
    return execvp(file, argv);
}

int execle(const char *path, const char *first, ...)
{
    va_list rest;
    GATHER(argv, first, rest);
    char *const *envp = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, argv, envp);
}

pid_t wait4(pid_t id, int *status, int options, struct rusage *usage)
{
    return with_errno(
        cancel_point6(SYS_WAIT4, (uint32_t)id, (uint32_t)status, (uint32_t)options, (uint32_t)usage, 0, 0));
}

pid_t wait3(int *status, int options, struct rusage *usage)
{
    return wait4(-1, status, options, usage);
}

pid_t waitpid(pid_t id, int *status, int options)
{
    return wait4(id, status, options, 0);
}

pid_t wait(int *status)
{
    return wait4(-1, status, 0, 0);
}

int waitid(idtype_t which, id_t id, siginfo_t *to, int options)
{
    return with_errno(cancel_point6(SYS_WAITID, (uint32_t)which, (uint32_t)id, (uint32_t)to, (uint32_t)options, 0, 0));
}

int getrlimit(int which, struct rlimit *to)
{
    return with_errno(system_call(SYS_GETRLIMIT, (uint32_t)which, (uint32_t)to, 0));
}

int setrlimit(int which, const struct rlimit *to)
{
    return with_errno(system_call(SYS_SETRLIMIT, (uint32_t)which, (uint32_t)to, 0));
}

int getrusage(int who, struct rusage *to)
{
    return with_errno(system_call(SYS_GETRUSAGE, (uint32_t)who, (uint32_t)to, 0));
}

int system(const char *command)
{
    if (!command)
        return 1;
    struct sigaction ignored = {.sa_handler = SIG_IGN}, interrupt, quit;
    sigset_t child, mask;
    int status = -1;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    fflush(0);
    sigaction(SIGINT, &ignored, &interrupt);
    sigaction(SIGQUIT, &ignored, &quit);
    sigprocmask(SIG_BLOCK, &child, &mask);
    pid_t id = fork();
    if (!id) {
        sigaction(SIGINT, &interrupt, 0);
        sigaction(SIGQUIT, &quit, 0);
        sigprocmask(SIG_SETMASK, &mask, 0);
        execl(_PATH_BSHELL, "sh", "-c", command, (char *)0);
        _exit(127);
    }
    while (id > 0 && waitpid(id, &status, 0) < 0)
        if (errno != EINTR) {
            status = -1;
            break;
        }
    sigaction(SIGINT, &interrupt, 0);
    sigaction(SIGQUIT, &quit, 0);
    sigprocmask(SIG_SETMASK, &mask, 0);
    return status;
}

/* The child of a stream from popen. */
struct piped {
    FILE *stream;
    pid_t id;
    SLIST_ENTRY(piped) link;
};

static SLIST_HEAD(, piped) piped;

FILE *popen(const char *command, const char *mode)
{
    int ends[2], reads = *mode == 'r';
    if ((!reads && *mode != 'w') || mode[1]) {
        errno = EINVAL;
        return 0;
    }
    struct piped *p = malloc(sizeof *p);
    if (!p || pipe(ends)) {
        free(p);
        return 0;
    }
    fflush(0);
    p->stream = fdopen(ends[!reads], mode);
    p->id = -1;
    if (p->stream) {
        p->id = fork();
        if (!p->id) {
            struct piped *other;
            SLIST_FOREACH(other, &piped, link)
                close(fileno(other->stream));
            close(ends[!reads]);
            if (ends[reads] != reads) {
                dup2(ends[reads], reads);
                close(ends[reads]);
            }
            execl(_PATH_BSHELL, "sh", "-c", command, (char *)0);
            _exit(127);
        }
    }
    close(ends[reads]);
    if (p->id < 0) {
        if (p->stream)
            fclose(p->stream);
        else
            close(ends[!reads]);
        free(p);
        return 0;
    }
    __LIBC_LOCK();
    SLIST_INSERT_HEAD(&piped, p, link);
    __LIBC_UNLOCK();
    return p->stream;
}

int pclose(FILE *stream)
{
    __LIBC_LOCK();
    struct piped *p, **at;
    SLIST_FOREACH_PREVPTR(p, at, &piped, link)
        if (p->stream == stream)
            break;
    if (p)
        SLIST_REMOVE_PREVPTR(at, p, link);
    __LIBC_UNLOCK();
    if (!p) {
        errno = ECHILD;
        return -1;
    }
    int status = -1;
    pid_t id = p->id;
    free(p);
    fclose(stream);
    while (waitpid(id, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}
