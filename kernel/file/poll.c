/*
 * poll and select. A waiting thread checks its files, and again each time that any file reports a change: a
 * count of changes, read before the check, shows whether one was missed. Locking: poll_lock guards the count.
 */
#include <errno.h>

#include "dev/clock.h"
#include "file/descriptors.h"
#include "lib/minmax.h"
#include "mem/page.h"
#include "sched/limit.h"
#include "sched/sched.h"

#define MILLISECONDS 1000
#define OF_A_PAGE (PAGE_SIZE / sizeof(struct user_pollfd))
#define PAGES_MOST ((DESCRIPTORS_MOST + OF_A_PAGE - 1) / OF_A_PAGE)

/* The descriptors that a call waits for, in pages. */
struct polled {
    uint32_t count, page[PAGES_MOST];
};

DEFINE_SIMPLE_LOCK(poll_lock, "poll", SPL_SOFTCLOCK);
static volatile uint32_t changes;

void poll_wakeup(void)
{
    crit_t s = simple_lock_enter(&poll_lock);
    changes++;
    thread_wakeup((const void *)&changes);
    simple_lock_leave(&poll_lock, s);
}

static void polled_end(struct polled *all)
{
    for (uint32_t i = 0; i < PAGES_MOST; i++)
        if (all->page[i])
            page_free(all->page[i]);
}

/* Allocates room for `count`, at most DESCRIPTORS_MOST. */
static int polled_begin(struct polled *all, uint32_t count)
{
    *all = (struct polled){.count = count};
    for (uint32_t i = 0; i < (count + OF_A_PAGE - 1) / OF_A_PAGE; i++)
        if (!(all->page[i] = page_alloc_raw())) {
            polled_end(all);
            return -ENOMEM;
        }
    return 0;
}

static struct user_pollfd *polled_at(const struct polled *all, uint32_t i)
{
    return (struct user_pollfd *)page_pointer(all->page[i / OF_A_PAGE]) + i % OF_A_PAGE;
}

static int copy_polled(struct vm_map *map, const struct polled *all, uint32_t address, bool out)
{
    int error = 0;
    for (uint32_t i = 0; i < all->count && !error; i += OF_A_PAGE) {
        uint32_t n = MIN(all->count - i, OF_A_PAGE), size = n * sizeof(struct user_pollfd);
        void *at = polled_at(all, i);
        error = out ? copyout(map, address + i * sizeof(struct user_pollfd), at, size)
                    : copyin(map, at, address + i * sizeof(struct user_pollfd), size);
    }
    return error;
}

static int look_at(struct descriptors *d, const struct user_pollfd *one)
{
    if (one->fd < 0)
        return 0;
    struct file *f = descriptor_file(d, (uint32_t)one->fd);
    if (!f)
        return USER_POLLNVAL;
    int now = f->ops->poll ? f->ops->poll(f, one->events) : one->events & (USER_POLLIN | USER_POLLOUT);
    file_release(f);
    return now;
}

static int poll_look(struct descriptors *d, const struct polled *all)
{
    int n = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        struct user_pollfd *one = polled_at(all, i);
        one->revents = (int16_t)look_at(d, one);
        n += one->revents != 0;
    }
    return n;
}

/* How many of them have events; 0 when the time is over; -EINTR. `ticks` 0: for ever, if `waits`. */
static int wait_for_any(struct descriptors *d, const struct polled *all, bool waits, uint32_t ticks)
{
    struct limit limit;
    int n, error = 0;
    limit_begin(&limit, waits ? ticks : NO_LIMIT, (const void *)&changes, &poll_lock);
    for (;;) {
        uint32_t seen = changes;
        if ((n = poll_look(d, all)) || !waits || error || limit.over)
            break;
        crit_t s = simple_lock_enter(&poll_lock);
        while (!error && seen == changes && !limit.over)
            error = limit_sleep(&limit);
        simple_lock_leave(&poll_lock, s);
    }
    limit_end(&limit);
    if (error && !ticks)
        error = -ERESTART_UNLESS_HANDLED; /* a stop and continue does not end a wait without a limit */
    return n ? n : error;
}

static int poll_ticks_of(int64_t seconds, int32_t nanoseconds, bool *waits, uint32_t *ticks)
{
    *waits = seconds || nanoseconds;
    struct user_timespec t = {seconds, nanoseconds, 0};
    return *waits ? clock_ticks_of(&t, ticks) : 0;
}

static int sys_poll(struct process *p, struct vm_map *map, const uint32_t *a)
{
    uint32_t ticks = 0;
    int limit = (int)a[2];
    bool waits = true;
    struct polled all;
    if (a[1] > descriptors_most(descriptors_of(p)))
        return -EINVAL;
    int error = limit < 0 ? 0 : poll_ticks_of(limit / MILLISECONDS, limit % MILLISECONDS * 1000000, &waits, &ticks);
    if (error || (error = polled_begin(&all, a[1])))
        return error;
    int n = copy_polled(map, &all, a[0], false);
    if (!n)
        n = wait_for_any(descriptors_of(p), &all, waits, ticks);
    if (n >= 0 && copy_polled(map, &all, a[0], true))
        n = -EFAULT;
    polled_end(&all);
    return n;
}
SYSCALL(SYS_POLL, sys_poll);

/* in, out, exceptional */
static const int select_events[3] = {USER_POLLIN, USER_POLLOUT, USER_POLLPRI};
static const int select_shows[3] = {USER_POLLIN | USER_POLLHUP | USER_POLLERR, USER_POLLOUT | USER_POLLERR,
                                    USER_POLLPRI};

struct sets {
    uint32_t bits[3][DESCRIPTORS_MOST / 32];
};

static int copy_sets_in(struct vm_map *map, const uint32_t *a, uint32_t size, struct sets *sets)
{
    *sets = (struct sets){0};
    for (unsigned k = 0; k < 3; k++)
        if (a[1 + k] && copyin(map, sets->bits[k], a[1 + k], size))
            return -EFAULT;
    return 0;
}

static int copy_sets_out(struct vm_map *map, const uint32_t *a, uint32_t size, const struct sets *sets)
{
    for (unsigned k = 0; k < 3; k++)
        if (a[1 + k] && copyout(map, a[1 + k], sets->bits[k], size))
            return -EFAULT;
    return 0;
}

static int select_events_of(const struct sets *sets, uint32_t fd)
{
    int events = 0;
    for (unsigned k = 0; k < 3; k++)
        events |= sets->bits[k][fd / 32] >> fd % 32 & 1 ? select_events[k] : 0;
    return events;
}

/* The descriptors in any of the sets, among the first `n`. */
static int poll_gather(const struct sets *sets, uint32_t n, struct polled *all)
{
    uint32_t count = 0;
    for (uint32_t fd = 0; fd < n; fd++)
        count += select_events_of(sets, fd) != 0;
    int error = polled_begin(all, count);
    for (uint32_t fd = 0, i = 0; fd < n && !error; fd++) {
        int events = select_events_of(sets, fd);
        if (events)
            *polled_at(all, i++) = (struct user_pollfd){(int32_t)fd, (int16_t)events, 0};
    }
    return error;
}

static int scatter(struct sets *sets, const struct polled *all)
{
    int bits = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct user_pollfd *one = polled_at(all, i);
        if (one->revents & USER_POLLNVAL)
            return -EBADF;
        for (unsigned k = 0; k < 3; k++) {
            uint32_t fd = (uint32_t)one->fd, bit = 1u << fd % 32;
            if (!(one->events & select_events[k]))
                continue;
            if (one->revents & select_shows[k])
                bits++;
            else
                sets->bits[k][fd / 32] &= ~bit;
        }
    }
    return bits;
}

static int sys_select(struct process *p, struct vm_map *map, const uint32_t *a)
{
    uint32_t n = a[0], size = (n + 31) / 32 * 4, ticks = 0;
    bool waits = true;
    struct user_timeval limit;
    struct sets sets;
    struct polled all;
    if (n > DESCRIPTORS_MOST)
        return -EINVAL;
    if (copy_sets_in(map, a, size, &sets) || (a[4] && copyin(map, &limit, a[4], sizeof limit)))
        return -EFAULT;
    if (a[4] && (limit.microseconds < 0 || limit.microseconds >= 1000000))
        return -EINVAL;
    int error = a[4] ? poll_ticks_of(limit.seconds, limit.microseconds * 1000, &waits, &ticks) : 0;
    if (error || (error = poll_gather(&sets, n, &all)))
        return error;
    int result = wait_for_any(descriptors_of(p), &all, waits, ticks);
    if (result >= 0)
        result = scatter(&sets, &all);
    polled_end(&all);
    return result >= 0 && copy_sets_out(map, a, size, &sets) ? -EFAULT : result;
}
SYSCALL(SYS_SELECT, sys_select);
