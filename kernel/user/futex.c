/* Sleeping threads of processes (futex.h). */
#include "user/futex.h"

#include <errno.h>

#include "dev/clock.h"
#include "lib/syscall.h"

#define NANOSECONDS 1000000000
#define MOST_TICKS INT32_MAX /* of a timeout */
#define NO_LIMIT 0           /* ticks */
#define NO_WORD 1u /* of one that waits for time alone: no address of a word */

static struct user_thread *first, **end = &first;

static void timed_out(void *arg)
{
    struct user_thread *t = arg;
    crit_t s = simple_lock_enter(&user_lock);
    t->timed_out = true;
    thread_wakeup(t);
    simple_lock_leave(&user_lock, s);
}

static void append(struct user_thread *t)
{
    t->next = 0;
    *end = t;
    end = &t->next;
}

static void take_out(struct user_thread *t)
{
    struct user_thread **at = &first;
    while (*at && *at != t)
        at = &(*at)->next;
    if (!*at)
        return; /* who woke it took it out */
    *at = t->next;
    if (end == &t->next)
        end = at;
}

/* Sleep until woken or the end of `ticks`. Called and returns with user_lock held. */
static int wait(struct user_thread *self, uint32_t word, uint32_t ticks)
{
    self->word = word;
    self->woken = self->timed_out = false;
    append(self);
    if (ticks)
        timeout_set(&self->limit, ticks, timed_out, self);
    while (!self->woken && !self->timed_out && !self->process->ending)
        thread_sleep(self, &user_lock);
    take_out(self);
    return self->woken ? 0 : self->timed_out ? -ETIMEDOUT : -EINTR;
}

/* The timeout is a member of the thread, so it must be over before the thread goes on. */
static void end_limit(struct user_thread *self, uint32_t ticks)
{
    if (!ticks)
        return;
    timeout_cancel(&self->limit);
    timeout_drain(&self->limit);
}

/* The calling thread sleeps while the word at `word` is `value`, for at most `ticks`. */
static int futex_wait(const struct space *space, uint32_t word, uint32_t value, uint32_t ticks)
{
    if (word % sizeof(uint32_t))
        return -EINVAL;
    struct user_thread *self = user_self();
    uint32_t now;
    crit_t s = simple_lock_enter(&user_lock);
    int error = 0;
    while (!error && copyin_resident(space->map, &now, word, sizeof now)) {
        simple_lock_leave(&user_lock, s);
        error = space_copy_in(space, &now, word, sizeof now);
        s = simple_lock_enter(&user_lock);
    }
    if (!error)
        error = now == value ? wait(self, word, ticks) : -EAGAIN;
    simple_lock_leave(&user_lock, s);
    end_limit(self, ticks);
    return error;
}

int user_sleep(uint32_t ticks)
{
    struct user_thread *self = user_self();
    crit_t s = simple_lock_enter(&user_lock);
    int error = wait(self, NO_WORD, ticks);
    simple_lock_leave(&user_lock, s);
    end_limit(self, ticks);
    return error == -ETIMEDOUT ? 0 : error;
}

/* The clock ticks that last at least as long as the time at user address `from`. 0, -EFAULT or -EINVAL. */
static int copy_in_ticks(const struct space *space, uint32_t from, uint32_t *ticks)
{
    struct user_timespec t;
    if (space_copy_in(space, &t, from, sizeof t))
        return -EFAULT;
    if (t.seconds < 0 || t.nanoseconds < 0 || t.nanoseconds >= NANOSECONDS || !clock_hz())
        return -EINVAL;
    uint64_t hz = clock_hz();
    if ((uint64_t)t.seconds >= MOST_TICKS / hz)
        *ticks = MOST_TICKS;
    else /* one more, because the first is under way already */
        *ticks = (uint32_t)((uint64_t)t.seconds * hz + (t.nanoseconds * hz + NANOSECONDS - 1) / NANOSECONDS + 1);
    return 0;
}

static int sys_futex_wait(struct process *p, struct space *space, const uint32_t *a)
{
    (void)p;
    uint32_t ticks = NO_LIMIT;
    int error = a[2] ? copy_in_ticks(space, a[2], &ticks) : 0;
    return error ? error : futex_wait(space, a[0], a[1], ticks);
}
SYSCALL(SYS_FUTEX_WAIT, sys_futex_wait);

static int sys_futex_wake(struct process *p, struct space *space, const uint32_t *a)
{
    (void)space;
    uint32_t word = a[0], most = a[1], n = 0;
    if (word % sizeof(uint32_t))
        return -EINVAL;
    crit_t s = simple_lock_enter(&user_lock);
    for (struct user_thread *t = first, *next; t && n < most; t = next) {
        next = t->next;
        if (t->process != p || t->word != word)
            continue;
        take_out(t);
        t->woken = true;
        thread_wakeup(t);
        n++;
    }
    simple_lock_leave(&user_lock, s);
    return (int)n;
}
SYSCALL(SYS_FUTEX_WAKE, sys_futex_wake);

static int sys_nanosleep(struct process *p, struct space *space, const uint32_t *a)
{
    (void)p;
    uint32_t ticks;
    int error = copy_in_ticks(space, a[0], &ticks);
    return error ? error : user_sleep(ticks);
}
SYSCALL(SYS_NANOSLEEP, sys_nanosleep);
