/*
 * A terminal as programs of 4.3BSD expect it, with POSIX's modes (struct user_termios of user/abi.h): input by the
 * line, edited and echoed, or as it comes; characters that send signals, that stop and go on with output. What the raw
 * line of tty.h is for measurements, this is for people.
 *
 * Locking: tty_lock, a blocking lock (paper `mach`, section 2.1), guards modes and the queue of input. It is not held
 * while anybody waits: not by a reader, for input, and not by a writer, for room in the port's ring; so ^C and ^Q
 * always get through. Echo never waits: what the ring has no room for is dropped. A thread that waits for input
 * sleeps on `changes`, which wait_lock guards.
 *
 * What is known above only, jobs and signals, comes by the hooks.
 */
#ifndef DEV_TERMINAL_H
#define DEV_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "dev/serial.h"
#include "lock/lock.h"
#include "user/abi.h"

#define TERMINAL_QUEUE 1024 /* characters that nobody has read; a power of two */
#define TERMINAL_LINE 256   /* of a line, with its end: the rest is dropped, with a bell */

struct terminal_hooks {
    void (*signal)(int number); /* to whoever is in the foreground; with tty_lock */
    void (*changed)(void);      /* there is input, or room: for poll */
    int (*may_read)(void);      /* before the calling thread takes input: 0, or what the read gives instead */
};

struct terminal {
    struct lock tty_lock;
    struct user_termios modes;
    uint16_t size[4]; /* rows, columns, 0, 0 */
    uint16_t queue[TERMINAL_QUEUE];
    uint32_t head, line, tail; /* run freely: written, what may be read, read */
    bool literal;              /* the next character means nothing (^V) */
    uint32_t column, start;    /* where the cursor is; where it was when the line that is typed began */
    uint32_t dropped;          /* characters there was no room for */
    bool full;                 /* the far end is told to wait */
    struct simple_lock wait_lock;
    volatile uint32_t changes;
    struct serial *port;
    struct terminal_hooks hooks;
};

/* Ready to be attached (slc.h). */
void terminal_init(struct terminal *tp, struct serial *port);
void terminal_reset(struct terminal *tp); /* modes as they were at first, nothing typed, output goes on */

/* `n` characters have come. From a thread. */
void terminal_input(struct terminal *tp, const uint8_t *c, uint32_t n);

/*
 * Up to `n` characters: of one line, or as VMIN and VTIME say. Their number, at most TERMINAL_LINE at a time; 0: the
 * end (^D); -EAGAIN: there are none, and `waits` is false; -ERESTART: interrupted; or what may_read says.
 */
int terminal_read(struct terminal *tp, uint8_t *to, uint32_t n, bool waits);

/* Send `n` characters, at most TERMINAL_WRITE. 0, or -ERESTART and nothing is sent. */
#define TERMINAL_WRITE 128
int terminal_write(struct terminal *tp, const char *text, uint32_t n);

uint32_t terminal_readable(struct terminal *tp); /* characters that a read would not wait for */
bool terminal_is_readable(struct terminal *tp); /* or the end */

void terminal_modes(struct terminal *tp, struct user_termios *to);

/* `when`: USER_TIOCSETA, -AW, -AF. 0, or -ERESTART while it waits for output. */
int terminal_set_modes(struct terminal *tp, const struct user_termios *from, uint32_t when);
void terminal_flush_input(struct terminal *tp);
void terminal_stop(struct terminal *tp, bool stop); /* output */
#endif
