/*
 * How long a call on a socket waits: for ever, not at all, or as long as the socket's option says (SO_RCVTIMEO,
 * SO_SNDTIMEO); and those options that sockets of all kinds have.
 *
 *   waiting_begin(&w, waits, ticks, channel, &lock);
 *   ... with the lock held: while (!there && !error) error = waiting_sleep(&w);
 *   waiting_end(&w);
 *
 * `lock`, of a level of SPL_SOFTCLOCK or above, guards what the call waits for (sched/limit.h).
 */
#ifndef NET_WAITING_H
#define NET_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/simple_lock.h"
#include "sched/limit.h"
#include "user/abi.h"

#define NO_TIME UINT32_MAX /* ticks: a limit that is over at once */

/* Options; the object's lock guards them. */
struct so_limits {
    uint32_t receive, send; /* clock ticks, NO_LIMIT or NO_TIME */
    uint32_t least;         /* SO_RCVLOWAT: bytes that a stream's receiver waits for, 0 as 1 */
    struct user_linger linger;
};

struct waiting {
    bool waits, limited;
    struct limit limit;
};

void waiting_begin(struct waiting *w, bool waits, uint32_t ticks, const void *channel, struct simple_lock *lock);
void waiting_end(struct waiting *w); /* with no simple lock held */
/*
 * Until the channel is woken; the lock is held, and released meanwhile. 0; -EAGAIN: it does not wait, or the time is
 * over; -ERESTART, or with a limit -EINTR: it was interrupted.
 */
int waiting_sleep(struct waiting *w);

/* Bytes of an option's value. */
uint32_t so_option_bytes(uint32_t level, uint32_t name);
/* Of SOL_SOCKET: sets or returns it, with so many bytes at `value`. -ENOPROTOOPT, -EDOM. */
int so_limits_option(struct so_limits *l, uint32_t name, void *value, bool set);
#endif
