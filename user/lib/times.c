/* Time: POSIX's calls on the kernel's clock, which counts from reset. */
#include <errno.h>
#include <sched.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "user/lib/cancel.h"

#define MICROSECONDS 1000000u

_Static_assert(sizeof(struct timespec) == sizeof(struct user_timespec), "the kernel reads struct timespec");
_Static_assert(sizeof(struct timeval) == sizeof(struct user_timeval), "the kernel reads struct timeval");

int clock_gettime(clockid_t clock, struct timespec *to)
{
    uint32_t known = clock == CLOCK_MONOTONIC  ? USER_CLOCK_MONOTONIC
                     : clock == CLOCK_REALTIME ? USER_CLOCK_REALTIME
                                               : ~0u;
    return with_errno(system_call(SYS_CLOCK_GETTIME, known, (uint32_t)to, 0));
}

int gettimeofday(struct timeval *to, void *zone)
{
    (void)zone;
    return with_errno(system_call(SYS_GETTIMEOFDAY, (uint32_t)to, 0, 0));
}

int nanosleep(const struct timespec *how_long, struct timespec *rest)
{
    return with_errno(cancel_point(SYS_NANOSLEEP, (uint32_t)how_long, (uint32_t)rest, 0));
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *rest)
{
    uint32_t known = clock == CLOCK_MONOTONIC  ? USER_CLOCK_MONOTONIC
                     : clock == CLOCK_REALTIME ? USER_CLOCK_REALTIME
                                               : ~0u;
    return -cancel_point6(SYS_CLOCK_NANOSLEEP, known, flags == TIMER_ABSTIME, (uint32_t)until, (uint32_t)rest, 0, 0);
}

int clock_getres(clockid_t clock, struct timespec *to)
{
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) {
        errno = EINVAL;
        return -1;
    }
    if (to)
        *to = (struct timespec){.tv_nsec = 1};
    return 0;
}

unsigned sleep(unsigned seconds)
{
    struct timespec t = {.tv_sec = seconds};
    return nanosleep(&t, &t) ? (unsigned)t.tv_sec + !!t.tv_nsec : 0;
}

int usleep(useconds_t microseconds)
{
    struct timespec t = {.tv_sec = microseconds / MICROSECONDS, .tv_nsec = (long)(microseconds % MICROSECONDS) * 1000};
    return nanosleep(&t, 0);
}

int setitimer(int which, const struct itimerval *new, struct itimerval *old)
{
    return with_errno(system_call(SYS_SETITIMER, (uint32_t)which, (uint32_t)new, (uint32_t)old));
}

int getitimer(int which, struct itimerval *to)
{
    return with_errno(system_call(SYS_GETITIMER, (uint32_t)which, (uint32_t)to, 0));
}

unsigned alarm(unsigned seconds)
{
    struct itimerval new = {.it_value.tv_sec = seconds}, old = {0};
    setitimer(ITIMER_REAL, &new, &old);
    return (unsigned)old.it_value.tv_sec + !!old.it_value.tv_usec;
}

/* In microseconds, like the result. */
useconds_t ualarm(useconds_t value, useconds_t interval)
{
    struct itimerval new = {.it_value = {.tv_sec = value / MICROSECONDS, .tv_usec = (long)(value % MICROSECONDS)},
                            .it_interval = {.tv_sec = interval / MICROSECONDS,
                                            .tv_usec = (long)(interval % MICROSECONDS)}},
                     old = {0};
    setitimer(ITIMER_REAL, &new, &old);
    return (useconds_t)(old.it_value.tv_sec * MICROSECONDS + old.it_value.tv_usec);
}

clock_t times(struct tms *to)
{
    return (clock_t)with_errno(system_call(SYS_TIMES, (uint32_t)to, 0, 0));
}

/* Of this process, in CLOCKS_PER_SEC. */
clock_t clock(void)
{
    struct tms t;
    if (system_call(SYS_TIMES, (uint32_t)&t, 0, 0) < 0)
        return (clock_t)-1;
    return (t.tms_utime + t.tms_stime) * (CLOCKS_PER_SEC / USER_CLK_TCK);
}

int sched_yield(void)
{
    yield();
    return 0;
}
