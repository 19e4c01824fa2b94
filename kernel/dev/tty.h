/*
 * The terminal line discipline on a serial port, in raw mode: characters are put into a queue one at a time (ttyinput,
 * at SPL_SOFTTTY) and taken out one at a time by the reading thread (ttread), each in a critical section of its own,
 * as in 4.4BSD's tty(4) over clists. Paper `sync`, section 5.1: its test Serial 115.2 is this path.
 *
 * Locking: the tty's lock, level SPL_TTY, guards the queue.
 */
#ifndef DEV_TTY_H
#define DEV_TTY_H

#include <stdint.h>

#include "dev/serial.h"
#include "lock/simple_lock.h"
#include "sched/timeout.h"

#define TTY_QUEUE 1024 /* a power of two */

struct tty {
    struct simple_lock lock;
    struct serial *port;
    uint32_t head, tail; /* run freely */
    uint32_t dropped;    /* characters that found the queue full */
    bool waiting;        /* a thread sleeps on the tty */
    bool expired;        /* it has waited too long */
    struct timeout limit;
    uint8_t queue[TTY_QUEUE];
};

/* Take the input of `port`, by interrupts on `hart`; the port is configured already. */
void tty_attach(struct tty *tp, struct serial *port, unsigned hart);

/* Configure the port for `baud` bit/s and attach the tty. */
void tty_open(struct tty *tp, struct serial *port, uint32_t baud, unsigned hart);

/*
 * Read up to `n` characters. Returns how many came: fewer than `n` only if none came for `ticks` clock ticks (0: waits
 * for ever).
 */
uint32_t ttread(struct tty *tp, uint8_t *to, uint32_t n, uint32_t ticks);
#endif
