/*
 * A terminal as programs of 4.3BSD expect it, with POSIX's modes (struct user_termios of user/abi.h): input by the
 * line, edited and echoed, or unprocessed; characters that send signals, and that stop and restart output. The raw
 * line of tty.h is for measurements; this one is for users.
 *
 * Locking: tty_lock, a blocking lock (paper `mach`, section 2.1), guards modes and the queue of input. No thread holds
 * it while it waits: neither a reader, for input, nor a writer, for room in the port's ring; so ^C and ^Q always
 * get through. Echo never waits: characters without room in the ring are dropped. A thread that waits for input
 * sleeps on `changes`, which wait_lock guards.
 *
 * The hooks call into the layer above, for jobs and signals.
 */
#ifndef DEV_TERMINAL_H
#define DEV_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "dev/serial.h"
#include "lock/lock.h"
#include "user/abi.h"

#define TERMINAL_QUEUE 1024 /* unread characters; a power of two */
#define TERMINAL_LINE 256   /* characters of a line, with its end: the rest is dropped, with a bell */

struct terminal_hooks {
    void (*signal)(int number); /* to the foreground processes; with tty_lock held */
    void (*changed)(void);      /* there is input, or room: for poll */
    int (*may_read)(void);      /* before the calling thread takes input: 0, or what the read returns instead */
};

struct terminal {
    struct lock tty_lock;
    struct user_termios modes;
    uint16_t size[4]; /* rows, columns, 0, 0 */
    uint16_t queue[TERMINAL_QUEUE];
    uint32_t head, line, tail; /* run freely: written, readable up to, read */
    bool literal;              /* the next character means nothing (^V) */
    uint32_t column, start;    /* where the cursor is; where it was when the typed line began */
    uint32_t dropped;          /* characters dropped for lack of room */
    bool full;                 /* the far end is told to wait */
    struct simple_lock wait_lock;
    volatile uint32_t changes;
    struct serial *port;
    struct terminal_hooks hooks;
};

/* Initialises a terminal for slc_attach (slc.h). */
void terminal_init(struct terminal *tp, struct serial *port);
void terminal_reset(struct terminal *tp); /* initial modes, no input, output not stopped */

/* `n` characters have arrived. From a thread. */
void terminal_input(struct terminal *tp, const uint8_t *c, uint32_t n);

/*
 * Reads up to `n` characters: of one line, or by VMIN and VTIME. Returns their number, at most TERMINAL_LINE; 0: the
 * end (^D); -EAGAIN: no input, and `waits` is false; -ERESTART: interrupted; or may_read's result.
 */
int terminal_read(struct terminal *tp, uint8_t *to, uint32_t n, bool waits);

/* Send `n` characters, at most TERMINAL_WRITE. 0, or -ERESTART and nothing is sent. */
#define TERMINAL_WRITE 128
int terminal_write(struct terminal *tp, const char *text, uint32_t n);

uint32_t terminal_readable(struct terminal *tp); /* characters that a read would return without waiting */
bool terminal_is_readable(struct terminal *tp); /* characters or the end */

void terminal_modes(struct terminal *tp, struct user_termios *to);

/* `when`: USER_TIOCSETA, -AW, -AF. 0, or -ERESTART if the wait for output is interrupted. */
int terminal_set_modes(struct terminal *tp, const struct user_termios *from, uint32_t when);
void terminal_flush_input(struct terminal *tp);
void terminal_stop(struct terminal *tp, bool stop); /* output */
#endif
