/* System calls about processes and threads (process.h, abi.h). */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "dev/clock.h"
#include "file/file.h"
#include "lib/minmax.h"
#include "lib/syscall.h"
#include "proc/arguments.h"
#include "proc/process.h"

static int sys_exit(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    process_end(p, (int)(a[0] & 0xff) << 8);
    return 0;
}
SYSCALL(SYS_EXIT, sys_exit);

/*
 * Appends the strings that the vector at user address `vector` points to. Returns their count, or an
 * error.
 */
static int copy_in_strings(struct vm_map *map, uint32_t vector, struct arguments *to)
{
    for (int count = 0;; count++) {
        uint32_t string;
        if (copyin(map, &string, vector + 4 * (uint32_t)count, sizeof string))
            return -EFAULT;
        if (!string)
            return count;
        int error = arguments_copy_in(to, map, string);
        if (error)
            return error;
    }
}

/* argv and envp, which may be 0. 0, or an error. */
static int copy_in_arguments(struct vm_map *map, const uint32_t *a, struct arguments *to)
{
    int n = copy_in_strings(map, a[1], to);
    if (n >= 0)
        to->count = (unsigned)n;
    if (n >= 0 && a[2] && (n = copy_in_strings(map, a[2], to)) >= 0)
        to->environment = (unsigned)n;
    return n < 0 ? n : 0;
}

/* execve and spawn: path, argv, envp. */
static int with_arguments(struct process *p, struct vm_map *map, const uint32_t *a, bool spawns)
{
    char path[USER_PATH_SIZE];
    int result = copyinstr(map, path, a[0], sizeof path);
    if (result)
        return result == -E2BIG ? -ENAMETOOLONG : result;
    struct arguments *arguments = arguments_create();
    if (!arguments)
        return -ENOMEM;
    result = copy_in_arguments(map, a, arguments);
    if (!result)
        result = spawns ? process_spawn(p, path, arguments, p->bound) : process_exec(path, arguments);
    arguments_destroy(arguments);
    return result;
}

static int sys_spawn(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return with_arguments(p, map, a, true);
}
SYSCALL(SYS_SPAWN, sys_spawn);

static int sys_execve(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return with_arguments(p, map, a, false);
}
SYSCALL(SYS_EXECVE, sys_execve);

static int sys_fork(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return process_fork(false);
}
SYSCALL(SYS_FORK, sys_fork);

static int sys_vfork(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return process_fork(true);
}
SYSCALL(SYS_VFORK, sys_vfork);

/* Whether `n` bytes at `to` can be written now: else a child's status could be lost. */
static bool is_writable(struct vm_map *map, uint32_t to, uint32_t n)
{
    return !vm_fault(map, to, PAGE_WRITE) && to + n - 1 >= to && !vm_fault(map, to + n - 1, PAGE_WRITE);
}

static int sys_wait4(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_rusage usage;
    int status;
    if (a[2] & ~(uint32_t)(USER_WNOHANG | USER_WUNTRACED | USER_WCONTINUED))
        return -EINVAL;
    if ((int)a[0] == INT32_MIN)
        return -ESRCH;
    if ((a[1] && !is_writable(map, a[1], sizeof status)) || (a[3] && !is_writable(map, a[3], sizeof usage)))
        return -EFAULT;
    int id = process_wait(p, (int)a[0], (int)a[2], &status, &usage);
    if (id > 0 &&
        ((a[1] && copyout(map, a[1], &status, sizeof status)) || (a[3] && copyout(map, a[3], &usage, sizeof usage))))
        return -EFAULT;
    return id;
}
SYSCALL(SYS_WAIT4, sys_wait4);

static int sys_waitid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    const uint32_t what = USER_WEXITED | USER_WUNTRACED | USER_WCONTINUED;
    struct user_siginfo to = {0};
    struct user_rusage usage;
    int status, which = a[0] == USER_P_ALL ? -1 : a[0] == USER_P_PID ? (int)a[1] : -(int)a[1];
    if (a[0] > USER_P_PGID || !(a[3] & what) || a[3] & ~(what | USER_WNOHANG | USER_WNOWAIT) ||
        (a[0] != USER_P_ALL && (int)a[1] < (a[0] == USER_P_PID)))
        return -EINVAL;
    if (a[0] == USER_P_PGID && a[1] <= 1) /* 0: the caller's; 1, which wait4 takes for any, is no group */
        which = a[1] ? INT32_MAX : 0;
    if ((a[2] && !is_writable(map, a[2], sizeof to)) || (a[4] && !is_writable(map, a[4], sizeof usage)))
        return -EFAULT;
    int id = process_wait(p, which, (int)(a[3] | (a[3] & USER_WEXITED ? 0 : NOT_ENDED)), &status, &usage);
    if (id > 0) {
        struct signal_info info = process_status_info(id, status);
        to = (struct user_siginfo){
            .signo = USER_SIGCHLD, .code = info.code, .sender = id, .status = (int32_t)info.value};
    }
    if (id >= 0 &&
        ((a[2] && copyout(map, a[2], &to, sizeof to)) || (id && a[4] && copyout(map, a[4], &usage, sizeof usage))))
        return -EFAULT;
    return id < 0 ? id : 0;
}
SYSCALL(SYS_WAITID, sys_waitid);

static int sys_getpid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    return p->id;
}
SYSCALL(SYS_GETPID, sys_getpid);

static int sys_gettid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return user_self()->id;
}
SYSCALL(SYS_GETTID, sys_gettid);

static int sys_sched_yield(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    thread_yield();
    return 0;
}
SYSCALL(SYS_SCHED_YIELD, sys_sched_yield);

static int sys_getppid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    crit_t s = simple_lock_enter(&user_lock);
    int id = p->parent ? p->parent->id : INIT_ID;
    simple_lock_leave(&user_lock, s);
    return id;
}
SYSCALL(SYS_GETPPID, sys_getppid);

/* The only user. */
static int root(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    return 0;
}

static int sys_getuid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return root(p, map, a);
}
SYSCALL(SYS_GETUID, sys_getuid);

static int sys_geteuid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return root(p, map, a);
}
SYSCALL(SYS_GETEUID, sys_geteuid);

static int sys_getgid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return root(p, map, a);
}
SYSCALL(SYS_GETGID, sys_getgid);

static int sys_getegid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return root(p, map, a);
}
SYSCALL(SYS_GETEGID, sys_getegid);

static int sys_getpgrp(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    return p->group;
}
SYSCALL(SYS_GETPGRP, sys_getpgrp);

/* The group or session of process `id`, 0: the caller. */
static int of_process(const struct process *p, int id, bool session)
{
    crit_t s = simple_lock_enter(&user_lock);
    const struct process *of = id ? process_find(id) : p;
    int result = !of ? -ESRCH : session ? of->session : of->group;
    simple_lock_leave(&user_lock, s);
    return result;
}

static int sys_getpgid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    return of_process(p, (int)a[0], false);
}
SYSCALL(SYS_GETPGID, sys_getpgid);

static int sys_getsid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    return of_process(p, (int)a[0], true);
}
SYSCALL(SYS_GETSID, sys_getsid);

/* With user_lock held. */
static int set_group(const struct process *caller, int id, int group)
{
    struct process *p = process_find(id);
    if (!p || (p != caller && p->parent != caller))
        return -ESRCH;
    if (p != caller && p->has_execed)
        return -EACCES;
    if (p->session == p->id || p->session != caller->session ||
        (group != p->id && !process_group_exists(group, caller->session)))
        return -EPERM;
    p->group = group;
    return 0;
}

static int sys_setpgid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    int id = a[0] ? (int)a[0] : p->id, group = a[1] ? (int)a[1] : id;
    if (group < 0)
        return -EINVAL;
    crit_t s = simple_lock_enter(&user_lock);
    int error = set_group(p, id, group);
    simple_lock_leave(&user_lock, s);
    return error;
}
SYSCALL(SYS_SETPGID, sys_setpgid);

static int sys_setsid(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    crit_t s = simple_lock_enter(&user_lock);
    int result = -EPERM;
    if (!process_group_exists(p->id, p->session)) /* else its group would be in two sessions */
        result = p->group = p->session = p->id;
    simple_lock_leave(&user_lock, s);
    return result;
}
SYSCALL(SYS_SETSID, sys_setsid);

static struct user_timeval rusage_time_of(uint32_t ticks)
{
    uint32_t hz = clock_hz();
    if (!hz)
        return (struct user_timeval){0};
    return (struct user_timeval){ticks / hz, (int32_t)((uint64_t)(ticks % hz) * 1000000 / hz), 0};
}

void usage_of(uint32_t user, uint32_t all, struct user_rusage *usage)
{
    *usage = (struct user_rusage){.user = rusage_time_of(user), .system = rusage_time_of(all > user ? all - user : 0)};
}

static int sys_getrusage(struct process *p, struct vm_map *map, const uint32_t *a)
{
    uint32_t user = p->children_user_ticks, all = p->children_ticks;
    struct user_rusage usage;
    if ((int)a[0] != USER_RUSAGE_SELF && (int)a[0] != USER_RUSAGE_CHILDREN)
        return -EINVAL;
    if (a[0] == USER_RUSAGE_SELF) {
        crit_t s = simple_lock_enter(&user_lock);
        process_ticks(p, &user, &all);
        simple_lock_leave(&user_lock, s);
    }
    usage_of(user, all, &usage);
    return copyout(map, a[1], &usage, sizeof usage);
}
SYSCALL(SYS_GETRUSAGE, sys_getrusage);

static uint32_t in_units(uint32_t ticks)
{
    return clock_hz() ? (uint32_t)((uint64_t)ticks * USER_CLK_TCK / clock_hz()) : 0;
}

static int sys_times(struct process *p, struct vm_map *map, const uint32_t *a)
{
    uint32_t user, all;
    crit_t s = simple_lock_enter(&user_lock);
    process_ticks(p, &user, &all);
    struct user_tms t = {
        in_units(user), in_units(all > user ? all - user : 0), in_units(p->children_user_ticks),
        in_units(p->children_ticks > p->children_user_ticks ? p->children_ticks - p->children_user_ticks : 0)};
    simple_lock_leave(&user_lock, s);
    struct user_timespec now;
    clock_since_reset(&now);
    if (a[0] && copyout(map, a[0], &t, sizeof t))
        return -EFAULT;
    return (int)((uint64_t)(now.seconds * USER_CLK_TCK + now.nanoseconds / (1000000000 / USER_CLK_TCK)) & INT32_MAX);
}
SYSCALL(SYS_TIMES, sys_times);

static int sys_thread_spawn(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    return process_add_thread(p, a[0], a[2], a[1]);
}
SYSCALL(SYS_THREAD_SPAWN, sys_thread_spawn);

static int sys_thread_exit(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    user_thread_end();
}
SYSCALL(SYS_THREAD_EXIT, sys_thread_exit);

static int sys_system_info(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct vm_statistics s;
    (void)p;
    vm_statistics(&s);
    struct user_system_info to = {hart_count, s.pages, s.free};
    return copyout(map, a[0], &to, sizeof to);
}
SYSCALL(SYS_SYSTEM_INFO, sys_system_info);

#define PROCESSES_AT_ONCE 8 /* on the stack, and read with the lock held */

/* With user_lock held. */
static struct user_process process_shown(const struct process *p)
{
    uint32_t user, all;
    process_ticks(p, &user, &all);
    struct user_process it = {.id = p->id,
                              .parent = p->parent ? p->parent->id : INIT_ID,
                              .group = p->group,
                              .session = p->session,
                              .threads = p->alive,
                              .milliseconds = clock_hz() ? (uint32_t)((uint64_t)all * 1000 / clock_hz()) : 0,
                              .state = p->ended     ? 'Z'
                                       : p->stopped ? 'T'
                                                    : 'S'};
    const struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling)
        if (!p->stopped && (thread_runs(t->thread) || t->thread->state == THREAD_RUNNABLE))
            it.state = 'R';
    strlcpy(it.name, p->name, sizeof it.name);
    return it;
}

/*
 * Up to `most` processes whose id is below `below`, highest ids first; *count: their number in all. So a list that
 * changes between two calls shows each remaining process once.
 */
static uint32_t some_processes(uint32_t below, uint32_t most, struct user_process *to, uint32_t *count)
{
    const struct process *chosen[PROCESSES_AT_ONCE];
    uint32_t n = 0;
    *count = 0;
    crit_t s = simple_lock_enter(&user_lock);
    const struct process *it;
    SLIST_FOREACH(it, &processes, all) {
        *count += it->id != 0; /* else it has no thread yet */
        if (!it->id || (uint32_t)it->id >= below)
            continue;
        uint32_t i = n;
        for (; i && chosen[i - 1]->id < it->id; i--)
            if (i < most)
                chosen[i] = chosen[i - 1];
        if (i < most)
            chosen[i] = it;
        n += n < most;
    }
    for (uint32_t i = 0; i < n; i++)
        to[i] = process_shown(chosen[i]);
    simple_lock_leave(&user_lock, s);
    return n;
}

static int sys_processes(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_process some[PROCESSES_AT_ONCE];
    uint32_t given = 0, below = (uint32_t)INT_MAX + 1, count, n, wanted;
    (void)p;
    do {
        wanted = MIN(a[1] - given, PROCESSES_AT_ONCE);
        n = some_processes(below, wanted, some, &count);
        int error = copyout(map, a[0] + given * sizeof *some, some, n * sizeof *some);
        if (error)
            return error;
        given += n;
        below = n ? (uint32_t)some[n - 1].id : 0;
    } while (wanted && n == wanted);
    return (int)(given < a[1] || given > count ? given : count);
}
SYSCALL(SYS_PROCESSES, sys_processes);
