/* Limits to the waits of calls on sockets (waiting.h). */
#include "net/waiting.h"

#include <errno.h>

#include "dev/clock.h"
#include "file/file.h"
#include "lib/minmax.h"
#include "sched/sched.h"

#define MICROSECONDS 1000000

void waiting_begin(struct waiting *w, bool waits, uint32_t ticks, const void *channel, struct simple_lock *lock)
{
    w->waits = waits && ticks != NO_TIME;
    w->limited = w->waits && ticks != NO_LIMIT;
    limit_begin(&w->limit, w->limited ? ticks : NO_LIMIT, channel, lock);
}

void waiting_end(struct waiting *w)
{
    if (w->limited)
        limit_end(&w->limit);
}

int waiting_sleep(struct waiting *w)
{
    if (!w->waits || w->limit.over)
        return -EAGAIN;
    if (w->limited)
        return limit_sleep(&w->limit);
    return thread_sleep_interruptibly(w->limit.channel, w->limit.lock) ? -ERESTART : 0;
}

uint32_t so_option_bytes(uint32_t level, uint32_t name)
{
    if (level == USER_SOL_SOCKET && (name == USER_SO_RCVTIMEO || name == USER_SO_SNDTIMEO))
        return sizeof(struct user_timeval);
    return level == USER_SOL_SOCKET && name == USER_SO_LINGER ? sizeof(struct user_linger) : sizeof(int);
}

static int option_time_set(uint32_t *ticks, const struct user_timeval *t)
{
    if (t->microseconds < 0 || t->microseconds >= MICROSECONDS)
        return -EDOM;
    *ticks = NO_TIME;
    if (!t->seconds && !t->microseconds)
        *ticks = NO_LIMIT;
    else if (t->seconds >= 0)
        return clock_ticks_of(&(struct user_timespec){t->seconds, t->microseconds * 1000, 0}, ticks);
    return 0;
}

static int option_time(uint32_t *ticks, struct user_timeval *t, bool set)
{
    if (set)
        return option_time_set(ticks, t);
    uint32_t whole = *ticks == NO_LIMIT || *ticks == NO_TIME ? 0 : *ticks - 1; /* clock_ticks_of adds one */
    *t = (struct user_timeval){.seconds = whole / clock_hz(),
                               .microseconds = (int32_t)((uint64_t)(whole % clock_hz()) * MICROSECONDS / clock_hz())};
    return 0;
}

static int option_least(uint32_t *least, int *value, bool set)
{
    if (set)
        *least = *value < 0 ? INT32_MAX : (uint32_t)*value;
    else
        *value = (int)MAX(*least, 1u);
    return 0;
}

/* Switched off, its time stays, as in Linux. */
static int option_linger(struct user_linger *kept, struct user_linger *value, bool set)
{
    if (!set)
        *value = *kept;
    else if ((kept->on = !!value->on))
        kept->seconds = MIN((uint32_t)value->seconds, (uint32_t)INT32_MAX);
    return 0;
}

int so_limits_option(struct so_limits *l, uint32_t name, void *value, bool set)
{
    switch (name) {
    case USER_SO_RCVTIMEO: return option_time(&l->receive, value, set);
    case USER_SO_SNDTIMEO: return option_time(&l->send, value, set);
    case USER_SO_RCVLOWAT: return option_least(&l->least, value, set);
    case USER_SO_LINGER: return option_linger(&l->linger, value, set);
    case USER_SO_SNDLOWAT:
        if (set)
            return -ENOPROTOOPT;
        *(int *)value = 1;
        return 0;
    default: return -ENOPROTOOPT;
    }
}
