/*
 * System calls (syscall.h): what each does with its arguments. Whatever they are, the worst is an error for the
 * caller.
 */
#include "user/syscall.h"

#include <errno.h>
#include <string.h>

#include "arch/path.h"
#include "dev/clock.h"
#include "dev/console.h"
#include "user/console.h"
#include "user/futex.h"
#include "user/process.h"

#define NANOSECONDS 1000000000
#define MOST_TICKS INT32_MAX /* of a timeout */
#define WRITE_PIECE 128      /* bytes that go to the console at a time */

typedef int system_call_fn(struct process *p, const uint32_t *a);

static int sys_exit(struct process *p, const uint32_t *a)
{
    process_end(p, (int)(a[0] & 0xff) << 8);
    return 0;
}

static int sys_write(struct process *p, const uint32_t *a)
{
    if (a[0] != 1 && a[0] != 2)
        return -EBADF;
    uint32_t done = 0, most = a[2] < INT32_MAX ? a[2] : INT32_MAX;
    while (done < most && !p->ending) {
        char piece[WRITE_PIECE];
        uint32_t n = most - done < sizeof piece ? most - done : sizeof piece;
        if (space_copy_in(&p->space, piece, a[1] + done, n))
            return done ? (int)done : -EFAULT;
        console_write(piece, n);
        done += n;
    }
    return (int)done;
}

static int sys_read(struct process *p, const uint32_t *a)
{
    if (a[0] != 0)
        return -EBADF;
    return user_console_read(p, a[1], a[2]);
}

/* The strings that the vector at user address `vector` points to. 0, -EFAULT or -E2BIG. */
static int copy_in_arguments(struct process *p, uint32_t vector, struct arguments *to)
{
    for (to->count = to->size = 0;; to->count++) {
        uint32_t string;
        if (space_copy_in(&p->space, &string, vector + 4 * to->count, sizeof string))
            return -EFAULT;
        if (!string)
            return 0;
        if (to->count == USER_ARGUMENT_COUNT)
            return -E2BIG;
        char *at = to->text + to->size;
        int error = space_copy_in_string(&p->space, at, string, sizeof to->text - to->size);
        if (error)
            return error;
        to->size += strlen(at) + 1;
    }
}

static int sys_spawn(struct process *p, const uint32_t *a)
{
    char name[USER_NAME_SIZE];
    struct arguments arguments;
    int error = space_copy_in_string(&p->space, name, a[0], sizeof name);
    if (error)
        return error == -E2BIG ? -ENOENT : error;
    error = copy_in_arguments(p, a[1], &arguments);
    return error ? error : process_spawn(p, name, &arguments, p->bound);
}

static int sys_wait(struct process *p, const uint32_t *a)
{
    int status;
    if (a[0] && !space_lookup(&p->space, a[0], PAGE_WRITE)) /* before a child's status is lost */
        return -EFAULT;
    int id = process_wait(p, &status);
    if (id > 0 && a[0] && space_copy_out(&p->space, a[0], &status, sizeof status))
        return -EFAULT;
    return id;
}

static int sys_getpid(struct process *p, const uint32_t *a)
{
    (void)a;
    return p->id;
}

static int sys_gettid(struct process *p, const uint32_t *a)
{
    (void)p, (void)a;
    return user_self()->id;
}

static int sys_sbrk(struct process *p, const uint32_t *a)
{
    return process_raise_break(p, (int32_t)a[0]);
}

static int sys_sched_yield(struct process *p, const uint32_t *a)
{
    (void)p, (void)a;
    thread_yield();
    return 0;
}

/* The clock ticks that last at least as long as the time at user address `from`. 0, -EFAULT or -EINVAL. */
static int copy_in_ticks(struct process *p, uint32_t from, uint32_t *ticks)
{
    struct user_timespec t;
    if (space_copy_in(&p->space, &t, from, sizeof t))
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

static int sys_nanosleep(struct process *p, const uint32_t *a)
{
    uint32_t ticks;
    int error = copy_in_ticks(p, a[0], &ticks);
    return error ? error : user_sleep(ticks);
}

static int sys_clock_gettime(struct process *p, const uint32_t *a)
{
    if (a[0] != USER_CLOCK_REALTIME && a[0] != USER_CLOCK_MONOTONIC)
        return -EINVAL;
    uint64_t now = cycles64();
    struct user_timespec t = {
        .seconds = (int64_t)(now / CLOCK_HZ),
        .nanoseconds = (int32_t)(now % CLOCK_HZ * NANOSECONDS / CLOCK_HZ),
    };
    return space_copy_out(&p->space, a[1], &t, sizeof t);
}

static int sys_futex_wait(struct process *p, const uint32_t *a)
{
    uint32_t ticks = FUTEX_NO_LIMIT;
    int error = a[2] ? copy_in_ticks(p, a[2], &ticks) : 0;
    return error ? error : futex_wait(a[0], a[1], ticks);
}

static int sys_futex_wake(struct process *p, const uint32_t *a)
{
    (void)p;
    return futex_wake(a[0], a[1]);
}

static int sys_thread_spawn(struct process *p, const uint32_t *a)
{
    return process_add_thread(p, a[0], a[2], a[1]);
}

static int sys_thread_exit(struct process *p, const uint32_t *a)
{
    (void)p, (void)a;
    user_thread_end();
}

static system_call_fn *const calls[SYS_CALLS] = {
    [SYS_EXIT] = sys_exit,
    [SYS_WRITE] = sys_write,
    [SYS_READ] = sys_read,
    [SYS_SPAWN] = sys_spawn,
    [SYS_WAIT] = sys_wait,
    [SYS_GETPID] = sys_getpid,
    [SYS_GETTID] = sys_gettid,
    [SYS_SBRK] = sys_sbrk,
    [SYS_SCHED_YIELD] = sys_sched_yield,
    [SYS_NANOSLEEP] = sys_nanosleep,
    [SYS_CLOCK_GETTIME] = sys_clock_gettime,
    [SYS_FUTEX_WAIT] = sys_futex_wait,
    [SYS_FUTEX_WAKE] = sys_futex_wake,
    [SYS_THREAD_SPAWN] = sys_thread_spawn,
    [SYS_THREAD_EXIT] = sys_thread_exit,
};

USER_PATH void system_call(struct frame *frame)
{
    uint32_t number = frame->a[7];
    user_hart()->system_calls++; /* roughly: a thread may be moved to another hart while it counts */
    int result = number < SYS_CALLS ? calls[number](user_self()->process, frame->a) : -ENOSYS;
    frame->a[0] = (uint32_t)result;
}
