/* Waits until an absolute time, as in POSIX's timed functions, by the kernel's relative time-outs. */
#ifndef USER_LIB_LIMITS_OF_TIME_H
#define USER_LIB_LIMITS_OF_TIME_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "user/lib/system.h"

/* The time left until then: 0, ETIMEDOUT: it is past; EINVAL: no valid time. */
static inline int span_until(clockid_t clock, const struct timespec *until, struct timespec *span)
{
    struct timespec now;
    if (until->tv_nsec < 0 || until->tv_nsec >= 1000000000 || clock_gettime(clock, &now))
        return EINVAL;
    *span = (struct timespec){.tv_sec = until->tv_sec - now.tv_sec, .tv_nsec = until->tv_nsec - now.tv_nsec};
    if (span->tv_nsec < 0) {
        span->tv_sec--;
        span->tv_nsec += 1000000000;
    }
    return span->tv_sec < 0 || (!span->tv_sec && !span->tv_nsec) ? ETIMEDOUT : 0;
}

typedef int futex_call(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2);

/* As futex_wait, by `call`; `until` 0: no time-out. 0, EAGAIN, EINTR, ETIMEDOUT, EINVAL. */
static inline int futex_wait_by(futex_call *call, volatile uint32_t *word, uint32_t value, clockid_t clock,
                                const struct timespec *until)
{
    struct timespec span;
    int error = until ? span_until(clock, until, &span) : 0;
    return error ? error : -call(SYS_FUTEX_WAIT, (uint32_t)word, value, until ? (uint32_t)&span : 0);
}

static inline int futex_wait_until(volatile uint32_t *word, uint32_t value, clockid_t clock,
                                   const struct timespec *until)
{
    return futex_wait_by(system_call, word, value, clock, until);
}
#endif
