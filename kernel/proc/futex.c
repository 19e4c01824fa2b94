/* Sleeping threads of processes (futex.h). */
#include "proc/futex.h"

#include <errno.h>

#include "dev/clock.h"
#include "file/file.h"
#include "lib/syscall.h"
#include "sched/limit.h"

/* Sleeping threads, in order of arrival. A thread that wakes one takes it off. */
static TAILQ_HEAD(, user_thread) sleepers = TAILQ_HEAD_INITIALIZER(sleepers);

/* Sleep until woken or until the limit. Called and returns with user_lock held. */
static int futex_sleep(struct user_thread *self, uint32_t word, const struct limit *limit)
{
    int error = 0;
    self->word = word;
    self->waits_in = self->process->space;
    self->woken = false;
    TAILQ_INSERT_TAIL(&sleepers, self, sleeping);
    while (!error && !self->woken && !limit->over)
        error = limit_sleep(limit);
    if (!self->woken)
        TAILQ_REMOVE(&sleepers, self, sleeping);
    return self->woken ? 0 : limit->over ? -ETIMEDOUT : -ERESTART;
}

/* Reads the word with user_lock held: it may have to be paged in first. */
static int futex_look(struct vm_map *map, uint32_t word, uint32_t *now, crit_t *s)
{
    while (copyin_resident(map, now, word, sizeof *now)) {
        simple_lock_leave(&user_lock, *s);
        int error = copyin(map, now, word, sizeof *now);
        *s = simple_lock_enter(&user_lock);
        if (error)
            return error;
    }
    return 0;
}

/*
 * The calling thread sleeps while the word at `word` is `value`, for at most `ticks`; not at all unless `waits`.
 */
static int futex_wait(struct vm_map *map, uint32_t word, uint32_t value, bool waits, uint32_t ticks)
{
    if (word % sizeof(uint32_t))
        return -EINVAL;
    struct user_thread *self = user_self();
    struct limit limit;
    uint32_t now;
    limit_begin(&limit, ticks, &self->woken, &user_lock);
    crit_t s = simple_lock_enter(&user_lock);
    int error = futex_look(map, word, &now, &s);
    if (!error)
        error = now != value ? -EAGAIN : waits ? futex_sleep(self, word, &limit) : -ETIMEDOUT;
    simple_lock_leave(&user_lock, s);
    limit_end(&limit);
    return error == -ERESTART && ticks ? -EINTR : error; /* restarted, it would wait for the whole time again */
}

int user_sleep(uint32_t ticks, uint32_t *left)
{
    const void *channel = &user_self()->woken;
    struct limit limit;
    int error = 0;
    limit_begin(&limit, ticks, channel, &user_lock);
    crit_t s = simple_lock_enter(&user_lock);
    while (!error && !limit.over)
        error = limit_sleep(&limit);
    simple_lock_leave(&user_lock, s);
    uint32_t rest = limit.timeout.due - clock_ticks();
    limit_end(&limit);
    if (left)
        *left = limit.over || (int32_t)rest <= 0 ? 0 : rest - 1; /* without the current tick */
    return limit.over ? 0 : error;
}

/* The clock ticks that last at least as long as the time at user address `from`; 0: none. 0, -EFAULT or -EINVAL. */
static int copy_in_ticks(struct vm_map *map, uint32_t from, uint32_t *ticks)
{
    struct user_timespec t;
    *ticks = 0;
    if (copyin(map, &t, from, sizeof t))
        return -EFAULT;
    return t.seconds || t.nanoseconds ? clock_ticks_of(&t, ticks) : 0;
}

static int sys_futex_wait(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    uint32_t ticks = NO_LIMIT;
    int error = a[2] ? copy_in_ticks(map, a[2], &ticks) : 0;
    return error ? error : futex_wait(map, a[0], a[1], !a[2] || ticks, ticks);
}
SYSCALL(SYS_FUTEX_WAIT, sys_futex_wait);

static int sys_futex_wake(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    uint32_t word = a[0], most = a[1], n = 0;
    if (word % sizeof(uint32_t))
        return -EINVAL;
    crit_t s = simple_lock_enter(&user_lock);
    struct user_thread *t, *next;
    TAILQ_FOREACH_SAFE(t, &sleepers, sleeping, next) {
        if (n == most)
            break;
        if (t->waits_in != p->space || t->word != word)
            continue;
        TAILQ_REMOVE(&sleepers, t, sleeping);
        t->woken = true;
        thread_wakeup(&t->woken);
        n++;
    }
    simple_lock_leave(&user_lock, s);
    return (int)n;
}
SYSCALL(SYS_FUTEX_WAKE, sys_futex_wake);

/* `rest`: 0, or where the remaining time goes if the sleep is interrupted. */
static int sleep_and_tell(struct vm_map *map, uint32_t ticks, uint32_t rest)
{
    uint32_t left, hz = clock_hz();
    int error = ticks == NO_LIMIT ? 0 : user_sleep(ticks, &left); /* no time at all */
    if (error && rest) {
        struct user_timespec t = {left / hz, (int32_t)((uint64_t)(left % hz) * 1000000000 / hz), 0};
        if (copyout(map, rest, &t, sizeof t))
            return -EFAULT;
    }
    return error;
}

static int sys_clock_nanosleep(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_timespec t, now;
    uint32_t ticks = NO_LIMIT;
    (void)p;
    if (a[0] != USER_CLOCK_REALTIME && a[0] != USER_CLOCK_MONOTONIC)
        return -EINVAL;
    if (!a[1]) {
        int error = copy_in_ticks(map, a[2], &ticks);
        return error ? error : sleep_and_tell(map, ticks, a[3]);
    }
    if (copyin(map, &t, a[2], sizeof t))
        return -EFAULT;
    if (t.nanoseconds < 0 || t.nanoseconds >= 1000000000)
        return -EINVAL;
    clock_since_reset(&now);
    t.seconds -= now.seconds;
    t.nanoseconds -= now.nanoseconds;
    if (t.nanoseconds < 0) {
        t.seconds--;
        t.nanoseconds += 1000000000;
    }
    if (t.seconds < 0 || (!t.seconds && !t.nanoseconds))
        return 0;
    int error = clock_ticks_of(&t, &ticks);
    return error ? error : sleep_and_tell(map, ticks, 0);
}
SYSCALL(SYS_CLOCK_NANOSLEEP, sys_clock_nanosleep);

static int sys_nanosleep(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p;
    uint32_t ticks;
    int error = copy_in_ticks(map, a[0], &ticks);
    return error ? error : sleep_and_tell(map, ticks, a[1]);
}
SYSCALL(SYS_NANOSLEEP, sys_nanosleep);
