/* Timers of processes (timers.h). */
#include "proc/timers.h"

#include <errno.h>
#include <sys/queue.h>

#include "dev/clock.h"
#include "lib/minmax.h"
#include "lib/syscall.h"
#include "mem/zone.h"
#include "proc/signal.h"

#define TIMERS_MOST 32        /* per process, POSIX's minimum */
#define AT_ONCE 0x40000000u   /* ticks of one timeout */
#define OVERRUNS_MOST INT32_MAX
#define MOST_SECONDS (1ll << 40) /* longer times count as this */
#define NANOSECONDS 1000000000
#define ABSOLUTE 1u

struct process_timer {
    LIST_ENTRY(process_timer) link; /* in its process's list */
    struct process *process;
    int id, signal; /* 0: none is sent */
    uint32_t value;
    struct timeout timeout;
    uint32_t due;            /* when the timeout fires */
    bool runs;
    uint64_t more, interval; /* clock ticks: after that timeout; between two signals, 0: only one signal */
    uint32_t overruns, overruns_since; /* of the signal taken last; since the pending one was sent */
};

DEFINE_ZONE(timer_zone, "process-timers", sizeof(struct process_timer), _Alignof(struct process_timer), SPL_SOFTPREEMPT,
            0);

/* With user_lock held, as all that follow except the calls. */
static struct process_timer *timer_find(struct process *p, uint32_t id)
{
    struct process_timer *t;
    LIST_FOREACH(t, &p->timers, link)
        if (t->id == (int)id)
            break;
    return t;
}

static void timer_over(void *arg);

static void timer_set(struct process_timer *t, uint64_t ticks)
{
    timeout_cancel(&t->timeout);
    t->runs = ticks && !t->process->ending;
    if (!t->runs)
        return;
    uint32_t now = ticks < AT_ONCE ? (uint32_t)ticks : AT_ONCE;
    t->more = ticks - now;
    t->due = clock_ticks() + now;
    timeout_set(&t->timeout, now, timer_over, t);
}

static void timer_fire(struct process_timer *t)
{
    struct process *p = t->process;
    const struct signal_info *pending = &p->info[t->signal], info = {USER_SI_TIMER, t->id, t->value};
    if (!t->signal)
        return;
    if (!(p->pending & SIGNAL_BIT(t->signal))) {
        t->overruns_since = 0;
        signal_send(p, t->signal, &info);
    } else if (pending->code == USER_SI_TIMER && pending->sender == t->id && t->overruns_since < OVERRUNS_MOST) {
        t->overruns_since++;
    }
}

static void timer_over(void *arg)
{
    struct process_timer *t = arg;
    crit_t s = simple_lock_enter(&user_lock);
    if (t->runs && (int32_t)(clock_ticks() - t->due) >= 0) { /* else it was set again meanwhile */
        bool over = !t->more;
        timer_set(t, over ? t->interval : t->more);
        if (over)
            timer_fire(t);
    }
    simple_lock_leave(&user_lock, s);
}

void timers_taken(struct process *p, int id)
{
    struct process_timer *t = timer_find(p, (uint32_t)id);
    if (t)
        t->overruns = t->overruns_since;
}

static void timer_free(struct process_timer *t)
{
    timeout_drain(&t->timeout);
    zone_free(&timer_zone, t);
}

void timers_end(struct process *p)
{
    crit_t s = simple_lock_enter(&user_lock);
    for (struct process_timer *t; (t = LIST_FIRST(&p->timers));) {
        LIST_REMOVE(t, link);
        t->runs = false;
        simple_lock_leave(&user_lock, s);
        timer_free(t);
        s = simple_lock_enter(&user_lock);
    }
    simple_lock_leave(&user_lock, s);
}

/* The ticks that last at least as long; 0 for no time. `under_way`: the current tick does not count. */
static int timer_ticks_of(const struct user_timespec *t, bool under_way, uint64_t *ticks)
{
    uint64_t hz = clock_hz();
    *ticks = 0;
    if (t->seconds < 0 || t->nanoseconds < 0 || t->nanoseconds >= NANOSECONDS)
        return -EINVAL;
    if (!t->seconds && !t->nanoseconds)
        return 0;
    uint64_t seconds = (uint64_t)MIN(t->seconds, MOST_SECONDS);
    *ticks = seconds * hz + ((uint32_t)t->nanoseconds * hz + NANOSECONDS - 1) / NANOSECONDS + under_way;
    return hz ? 0 : -EINVAL;
}

static struct user_timespec timer_time_of(uint64_t ticks)
{
    uint32_t hz = clock_hz();
    if (!hz)
        return (struct user_timespec){0};
    return (struct user_timespec){(int64_t)(ticks / hz), (int32_t)(ticks % hz * NANOSECONDS / hz), 0};
}

/* Replaces a time by the time until then; 0 if it has passed. (0 stays 0.) */
static void timer_from_now(struct user_timespec *t)
{
    struct user_timespec now;
    clock_since_reset(&now);
    t->seconds -= now.seconds;
    t->nanoseconds -= now.nanoseconds;
    if (t->nanoseconds < 0) {
        t->seconds--;
        t->nanoseconds += NANOSECONDS;
    }
    if (t->seconds < 0)
        *t = (struct user_timespec){0};
}

static struct user_itimerspec timer_now_of(const struct process_timer *t)
{
    uint64_t left = 0;
    if (t->runs) {
        int32_t now = (int32_t)(t->due - clock_ticks());
        left = t->more + (now > 1 ? (uint32_t)now - 1 : 0); /* without the current tick */
        left += !left;
    }
    return (struct user_itimerspec){timer_time_of(t->interval), timer_time_of(left)};
}

static int sys_timer_create(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_sigevent event = {.notify = USER_SIGEV_SIGNAL, .signal = USER_SIGALRM};
    if (a[0] != USER_CLOCK_REALTIME && a[0] != USER_CLOCK_MONOTONIC)
        return -EINVAL;
    if (a[1] && copyin(map, &event, a[1], sizeof event))
        return -EFAULT;
    bool sends = event.notify == USER_SIGEV_SIGNAL;
    if ((!sends && event.notify != USER_SIGEV_NONE) || (sends && event.signal - 1u >= USER_SIGNALS - 1))
        return -EINVAL;
    struct process_timer *t = zone_alloc(&timer_zone);
    if (!t)
        return -EAGAIN;
    *t = (struct process_timer){.process = p, .signal = sends ? event.signal : 0, .value = event.value};
    unsigned count = 0;
    crit_t s = simple_lock_enter(&user_lock);
    const struct process_timer *other;
    LIST_FOREACH(other, &p->timers, link)
        count++;
    while (timer_find(p, (uint32_t)t->id))
        t->id++;
    int id = t->id;
    if (!a[1])
        t->value = (uint32_t)id;
    if (count < TIMERS_MOST)
        LIST_INSERT_HEAD(&p->timers, t, link);
    simple_lock_leave(&user_lock, s);
    if (count < TIMERS_MOST)
        return id;
    zone_free(&timer_zone, t);
    return -EAGAIN;
}
SYSCALL(SYS_TIMER_CREATE, sys_timer_create);

static int sys_timer_delete(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    crit_t s = simple_lock_enter(&user_lock);
    struct process_timer *t = timer_find(p, a[0]);
    if (t) {
        LIST_REMOVE(t, link);
        t->runs = false;
    }
    simple_lock_leave(&user_lock, s);
    if (t)
        timer_free(t);
    return t ? 0 : -EINVAL;
}
SYSCALL(SYS_TIMER_DELETE, sys_timer_delete);

static int sys_timer_settime(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_itimerspec new, old;
    uint64_t interval, ticks;
    if (copyin(map, &new, a[2], sizeof new))
        return -EFAULT;
    bool stops = !new.value.seconds && !new.value.nanoseconds;
    int error = timer_ticks_of(&new.interval, false, &interval);
    if (!error)
        error = timer_ticks_of(&new.value, true, &ticks);
    if (!error && a[1] & ABSOLUTE && !stops) {
        timer_from_now(&new.value);
        error = timer_ticks_of(&new.value, true, &ticks);
        ticks += !ticks; /* it has expired already */
    }
    if (error)
        return error;
    crit_t s = simple_lock_enter(&user_lock);
    struct process_timer *t = timer_find(p, a[0]);
    if (t) {
        old = timer_now_of(t);
        t->interval = ticks ? interval : 0;
        t->overruns = t->overruns_since = 0;
        timer_set(t, ticks);
    }
    simple_lock_leave(&user_lock, s);
    return !t ? -EINVAL : a[3] ? copyout(map, a[3], &old, sizeof old) : 0;
}
SYSCALL(SYS_TIMER_SETTIME, sys_timer_settime);

static int sys_timer_gettime(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_itimerspec now;
    crit_t s = simple_lock_enter(&user_lock);
    const struct process_timer *t = timer_find(p, a[0]);
    if (t)
        now = timer_now_of(t);
    simple_lock_leave(&user_lock, s);
    return t ? copyout(map, a[1], &now, sizeof now) : -EINVAL;
}
SYSCALL(SYS_TIMER_GETTIME, sys_timer_gettime);

static int sys_timer_getoverrun(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    crit_t s = simple_lock_enter(&user_lock);
    const struct process_timer *t = timer_find(p, a[0]);
    int result = t ? (int)t->overruns : -EINVAL;
    simple_lock_leave(&user_lock, s);
    return result;
}
SYSCALL(SYS_TIMER_GETOVERRUN, sys_timer_getoverrun);
