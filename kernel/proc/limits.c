/* Limits of processes (limits.h). */
#include "proc/limits.h"

#include <errno.h>
#include <string.h>

#include "dev/clock.h"
#include "file/descriptors.h"
#include "fs/vfs.h"
#include "lib/minmax.h"
#include "lib/syscall.h"
#include "proc/signal.h"

static const struct user_rlimit at_first[USER_RLIMITS] = {
    [USER_RLIMIT_CPU] = {USER_RLIM_INFINITY, USER_RLIM_INFINITY},
    [USER_RLIMIT_FSIZE] = {USER_RLIM_INFINITY, USER_RLIM_INFINITY},
    [USER_RLIMIT_DATA] = {USER_RLIM_INFINITY, USER_RLIM_INFINITY},
    [USER_RLIMIT_STACK] = {USER_STACK_SIZE, USER_RLIM_INFINITY},
    [USER_RLIMIT_CORE] = {0, USER_RLIM_INFINITY},
    [USER_RLIMIT_RSS] = {USER_RLIM_INFINITY, USER_RLIM_INFINITY},
    [USER_RLIMIT_MEMLOCK] = {USER_RLIM_INFINITY, USER_RLIM_INFINITY},
    [USER_RLIMIT_NPROC] = {USER_RLIM_INFINITY, USER_RLIM_INFINITY},
    [USER_RLIMIT_NOFILE] = {DESCRIPTORS_MOST, DESCRIPTORS_MOST},
    [USER_RLIMIT_AS] = {USER_RLIM_INFINITY, USER_RLIM_INFINITY},
};

void limits_begin(struct process *p, const struct process *parent)
{
    crit_t s = simple_lock_enter(&user_lock);
    memcpy(p->limit, parent ? parent->limit : at_first, sizeof p->limit);
    simple_lock_leave(&user_lock, s);
    limits_charge(p, 0);
}

uint32_t limit_bytes(const struct process *p, unsigned which)
{
    return (uint32_t)MIN(p->limit[which].now, UINT32_MAX);
}

void limits_of_space(struct process *p)
{
    vm_map_limit(p->map, limit_bytes(p, USER_RLIMIT_AS));
    vm_map_limit_stack(p->map, limit_bytes(p, USER_RLIMIT_STACK));
}

/* The size of private writable memory, without stacks. */
static uint32_t data_size(struct vm_map *map)
{
    struct vm_region r;
    uint32_t size = 0;
    for (uint32_t at = VM_BEGIN; !vm_region(map, at, &r) && r.begin < USER_STACK_TOP - USER_STACK_SIZE; at = r.end)
        if (r.rights & PAGE_WRITE && r.inherit == VM_INHERIT_COPY)
            size += r.end - r.begin;
    return size;
}

bool limits_allow_data(const struct process *p, uint32_t bytes)
{
    uint32_t most = limit_bytes(p, USER_RLIMIT_DATA);
    if (most == UINT32_MAX)
        return true;
    uint32_t size = data_size(p->map);
    return size <= most && bytes <= most - size;
}

bool limits_allow_thread(const struct process *p)
{
    uint32_t most = limit_bytes(p, USER_RLIMIT_NPROC), n = 0;
    if (most == UINT32_MAX)
        return true;
    const struct process *it;
    SLIST_FOREACH(it, &processes, all)
        n += it->id ? MAX(it->alive, 1u) : 0; /* zombies, too */
    return n < most;
}

/* The clock ticks until the process has used that many seconds; 0: it has. */
static uint64_t ticks_to(uint64_t seconds, uint32_t had)
{
    uint64_t all = seconds * clock_hz();
    return all > had ? all - had : 0;
}

/*
 * From the soft limit on a signal each second, at the hard limit the end. `cpu_left`: the ticks until the next of
 * these; 0: there is no limit.
 */
void limits_charge(struct process *p, uint32_t ticks)
{
    const struct user_rlimit *l = &p->limit[USER_RLIMIT_CPU];
    uint32_t hz = clock_hz(), user, had;
    if (ticks < p->cpu_left) {
        p->cpu_left -= ticks;
        return;
    }
    if (!p->cpu_left && ticks)
        return;
    bool over = p->cpu_left && ticks;
    p->cpu_left = 0;
    if (!hz || l->now >= USER_RLIM_INFINITY / hz)
        return;
    process_ticks(p, &user, &had);
    uint64_t most = l->most < USER_RLIM_INFINITY / hz ? ticks_to(l->most, had) : UINT64_MAX;
    uint64_t now = ticks_to(l->now, had);
    if (over && !most)
        process_end_locked(p, USER_SIGKILL);
    else if (over && !now)
        signal_send(p, USER_SIGXCPU, 0);
    p->cpu_left = MAX(MIN(now ? now : hz, most), 1u);
}

static int limit_change(struct process *p, unsigned which, const struct user_rlimit *to)
{
    if (to->now > to->most)
        return -EINVAL;
    if (which == USER_RLIMIT_NOFILE && to->most > DESCRIPTORS_MOST)
        return -EPERM;
    if (which == USER_RLIMIT_CPU && to->now < USER_RLIM_INFINITY && !clock_hz())
        return -EINVAL;
    crit_t s = simple_lock_enter(&user_lock);
    p->limit[which] = *to;
    if (which == USER_RLIMIT_CPU) {
        p->cpu_left = 0;
        limits_charge(p, 0);
        signals_time(p);
    }
    bool borrows = p->lender;
    simple_lock_leave(&user_lock, s);
    if (which == USER_RLIMIT_NOFILE)
        descriptors_limit(p->descriptors, (uint32_t)to->now);
    if ((which == USER_RLIMIT_AS || which == USER_RLIMIT_STACK) && !borrows)
        limits_of_space(p);
    return 0;
}

static int sys_getrlimit(struct process *p, struct vm_map *map, const uint32_t *a)
{
    if (a[0] >= USER_RLIMITS)
        return -EINVAL;
    crit_t s = simple_lock_enter(&user_lock);
    struct user_rlimit l = p->limit[a[0]];
    simple_lock_leave(&user_lock, s);
    return copyout(map, a[1], &l, sizeof l);
}
SYSCALL(SYS_GETRLIMIT, sys_getrlimit);

static int sys_setrlimit(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_rlimit to;
    if (copyin(map, &to, a[1], sizeof to))
        return -EFAULT;
    return a[0] >= USER_RLIMITS ? -EINVAL : limit_change(p, a[0], &to);
}
SYSCALL(SYS_SETRLIMIT, sys_setrlimit);

/* The limit of the calling process, if it is one. */
static uint32_t file_size_most(void)
{
    const struct user_thread *self = user_self();
    return self ? limit_bytes(self->process, USER_RLIMIT_FSIZE) : UINT32_MAX;
}

static void file_too_large(void)
{
    crit_t s = simple_lock_enter(&user_lock);
    signal_send_thread(user_self(), USER_SIGXFSZ);
    simple_lock_leave(&user_lock, s);
}

void limits_init(void)
{
    vfs_size_most = file_size_most;
    vfs_too_large = file_too_large;
}
