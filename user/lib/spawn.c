/*
 * posix_spawn: a vfork whose child carries out the actions and execs; the parent gets its error, as they share memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/lib/system.h"

struct __posix_spawnattr {
    short flags;
    pid_t group;
    sigset_t mask, defaults;
};

enum does { OPENS, DUPLICATES, CLOSES };

struct action {
    struct action *next;
    enum does does;
    int fd, from, flags;
    mode_t mode;
    char path[];
};

struct __posix_spawn_file_actions {
    struct action *first, **end;
};

/* In the child: 0 or an error. It changes no memory that outlives it. */
static int carry_out(const struct action *a)
{
    for (; a; a = a->next) {
        int fd = a->fd;
        if (a->does == CLOSES) {
            close(fd);
        } else if (a->does == OPENS) {
            int made = open(a->path, a->flags, a->mode);
            if (made < 0 || (made != fd && (dup2(made, fd) < 0 || close(made))))
                return errno;
        } else if (a->from == fd) {
            if (fcntl(fd, F_SETFD, 0) < 0)
                return errno;
        } else if (dup2(a->from, fd) < 0) {
            return errno;
        }
    }
    return 0;
}

static int prepare(const struct __posix_spawnattr *a, const struct __posix_spawn_file_actions *actions,
                   const sigset_t *mask)
{
    if (a && a->flags & POSIX_SPAWN_SETPGROUP && setpgid(0, a->group))
        return errno;
    struct sigaction action = {.sa_handler = SIG_DFL}, was;
    for (int n = 1; n < NSIG; n++) { /* the parent's handlers must not run here */
        bool wanted = a && a->flags & POSIX_SPAWN_SETSIGDEF && sigismember(&a->defaults, n);
        if (!sigaction(n, 0, &was) && (wanted || (was.sa_handler != SIG_IGN && was.sa_handler != SIG_DFL)))
            sigaction(n, &action, 0);
    }
    int error = actions ? carry_out(actions->first) : 0;
    sigprocmask(SIG_SETMASK, a && a->flags & POSIX_SPAWN_SETSIGMASK ? &a->mask : mask, 0);
    return error;
}

static int start(pid_t *id, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *a,
                 char *const argv[], char *const envp[], bool by_path)
{
    sigset_t all, mask;
    volatile int error = 0;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t child = vfork();
    if (!child) {
        error = prepare(a ? *a : 0, actions ? *actions : 0, &mask);
        if (!error) {
            if (by_path)
                execvpe(path, argv, envp);
            else
                execve(path, argv, envp);
            error = errno;
        }
        _exit(127);
    }
    if (child < 0)
        error = errno;
    else if (error)
        waitpid(child, 0, 0);
    sigprocmask(SIG_SETMASK, &mask, 0);
    if (!error && id)
        *id = child;
    return error;
}

int posix_spawn(pid_t *restrict id, const char *restrict path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *restrict a, char *const argv[], char *const envp[])
{
    return start(id, path, actions, a, argv, envp, false);
}

int posix_spawnp(pid_t *restrict id, const char *restrict file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *restrict a, char *const argv[], char *const envp[])
{
    return start(id, file, actions, a, argv, envp, true);
}

int posix_spawn_file_actions_init(posix_spawn_file_actions_t *to)
{
    *to = calloc(1, sizeof **to);
    if (!*to)
        return ENOMEM;
    (*to)->end = &(*to)->first;
    return 0;
}

int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *of)
{
    for (struct action *a = (*of)->first, *next; a; a = next) {
        next = a->next;
        free(a);
    }
    free(*of);
    return 0;
}

static int add(posix_spawn_file_actions_t *to, const struct action *model, const char *path)
{
    if (model->fd < 0 || (model->does == DUPLICATES && model->from < 0))
        return EBADF;
    struct action *a = malloc(sizeof *a + strlen(path) + 1);
    if (!a)
        return ENOMEM;
    *a = *model;
    a->next = 0;
    strcpy(a->path, path);
    *(*to)->end = a;
    (*to)->end = &a->next;
    return 0;
}

int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *restrict to, int fd, const char *restrict path,
                                     int flags, mode_t mode)
{
    return add(to, &(struct action){.does = OPENS, .fd = fd, .flags = flags, .mode = mode}, path);
}

int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *to, int from, int fd)
{
    return add(to, &(struct action){.does = DUPLICATES, .fd = fd, .from = from}, "");
}

int posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *to, int fd)
{
    return add(to, &(struct action){.does = CLOSES, .fd = fd}, "");
}

int posix_spawnattr_init(posix_spawnattr_t *a)
{
    *a = calloc(1, sizeof **a);
    return *a ? 0 : ENOMEM;
}

int posix_spawnattr_destroy(posix_spawnattr_t *a)
{
    free(*a);
    return 0;
}

#define ATTRIBUTE(name, field, type)                                                      \
    int posix_spawnattr_get##name(const posix_spawnattr_t *restrict a, type *restrict to) \
    {                                                                                     \
        *to = (*a)->field;                                                                \
        return 0;                                                                         \
    }

ATTRIBUTE(flags, flags, short)
ATTRIBUTE(pgroup, group, pid_t)
ATTRIBUTE(sigmask, mask, sigset_t)
ATTRIBUTE(sigdefault, defaults, sigset_t)

int posix_spawnattr_setflags(posix_spawnattr_t *a, short flags)
{
    if (flags & ~(POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        return EINVAL; /* there are no classes of scheduling */
    (*a)->flags = flags;
    return 0;
}

int posix_spawnattr_setpgroup(posix_spawnattr_t *a, pid_t group)
{
    (*a)->group = group;
    return 0;
}

int posix_spawnattr_setsigmask(posix_spawnattr_t *restrict a, const sigset_t *restrict mask)
{
    (*a)->mask = *mask;
    return 0;
}

int posix_spawnattr_setsigdefault(posix_spawnattr_t *restrict a, const sigset_t *restrict which)
{
    (*a)->defaults = *which;
    return 0;
}
