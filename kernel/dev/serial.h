/*
 * Driver of a 16550-class serial port (hw/serial). Received characters go, at interrupt level, from the port's FIFO
 * into a ring, and from there to the port's line discipline: one at a time in the soft interrupt SPL_SOFTTTY, as in
 * 4.4BSD's com(4), or as the discipline takes them, which the interrupt has told (serial_listen). Characters to send
 * wait in a ring that the interrupt empties into the FIFO.
 *
 * Locking: the port's lock guards registers and rings. Its level is SPL_TTY, or higher for a port that is written at
 * higher levels (the console).
 */
#ifndef DEV_SERIAL_H
#define DEV_SERIAL_H

#include <stdint.h>

#include "lock/simple_lock.h"

#define SERIAL_RX_RING 256 /* powers of two */
#define SERIAL_TX_RING 2048

struct serial {
    volatile uint32_t *regs;
    unsigned source;
    const char *name;
    struct simple_lock lock;
    void (*input)(void *arg, int c); /* the line discipline: called at SPL_SOFTTTY, without the lock ... */
    void (*arrived)(void *arg);      /* ... or told at SPL_TTY that there is something to take */
    void *arg;
    bool started; /* interrupts drive it; else output is polled */
    bool waiting; /* threads sleep on this until the transmit ring holds no more than wake_at */
    bool stopped; /* nothing leaves the transmit ring */
    unsigned urgent; /* of the kernel's own that wait: the port is not stopped meanwhile */
    uint32_t wake_at;
    unsigned hart; /* takes its interrupts, and runs the soft interrupt for it */
    uint32_t ier;
    uint32_t rx_head, rx_tail, tx_head, tx_tail; /* run freely; the difference is the fill */
    uint32_t dropped;                            /* characters that found the receive ring full */
    uint32_t interrupts;
    uint8_t flow; /* MCR while the far end may send; 0 if the driver does not hold it off */
    uint8_t held; /* enum serial_hold: why it does so now */
    uint8_t rx[SERIAL_RX_RING];
    uint8_t tx[SERIAL_TX_RING];
};

#define SERIAL(base, port_source, port_name, class_id) \
    {.regs = (volatile uint32_t *)(base),              \
     .source = (port_source),                          \
     .name = (port_name),                              \
     .lock = SIMPLE_LOCK(port_name, class_id)}

extern struct serial serial_console, serial_data;

/*
 * Eight data bits, no parity, FIFOs on, polled; up to 1,200 bit/s each character interrupts, else each half FIFO.
 * Panics when the clock cannot make `baud` bit/s.
 */
void serial_configure(struct serial *port, uint32_t baud);

/*
 * What tells the far end to wait, by RTS: nobody; the driver, when its ring is three quarters full, until it is empty
 * to one (a driver that is kept from running cannot tell); the port by itself, when its FIFO is half full; or both.
 */
enum serial_flow { SERIAL_FLOW_NONE, SERIAL_FLOW_DRIVER, SERIAL_FLOW_PORT, SERIAL_FLOW_BOTH };
void serial_flow(struct serial *port, enum serial_flow flow); /* when it is configured */

/* Of a port whose driver holds the far end off: also while its reader wants nothing. */
enum serial_hold { SERIAL_HOLD_RING = 1, SERIAL_HOLD_READER = 2 };
void serial_block(struct serial *port, bool on);

/*
 * The characters that the port's FIFOs hold, and to change that, before it is configured; panics if it was built with
 * less.
 */
uint32_t serial_depth(struct serial *port);
void serial_set_depth(struct serial *port, uint32_t depth);

/*
 * From now on interrupts drive the port, on `hart` (not PIC_ANY_HART); `input` may be 0 for a port that is only
 * written.
 */
void serial_start(struct serial *port, unsigned hart, void (*input)(void *arg, int c), void *arg);

/*
 * For a port that is started without `input`: arrived(arg) is called at SPL_TTY when characters have come, which
 * serial_take takes.
 */
void serial_listen(struct serial *port, void (*arrived)(void *arg), void *arg);

/* Up to `n` received characters, as many as there are. */
uint32_t serial_take(struct serial *port, uint8_t *to, uint32_t n);

/* Back to polled operation, for panic: takes no lock and no interrupt any more. */
void serial_stop(struct serial *port);

/*
 * Queue `n` characters, or these and the end of a line. Nothing comes between up to 1000 characters of one call, and
 * none overtakes an earlier one. While the ring is full, a thread outside of sections sleeps; else this polls.
 */
void serial_write(struct serial *port, const char *text, unsigned n);
void serial_write_line(struct serial *port, const char *text, unsigned n);

/*
 * The same for up to SERIAL_AT_ONCE characters: false, and none is queued, if there is no room for all; or from a
 * thread, which sleeps until there is: -EINTR if that is interrupted.
 */
#define SERIAL_AT_ONCE (SERIAL_TX_RING / 2 - 2) /* so that what wakes a writer has room for it */
bool serial_try_write(struct serial *port, const char *text, unsigned n);
int serial_write_interruptibly(struct serial *port, const char *text, unsigned n);

/*
 * What is queued waits until it is released; a thread that writes by the calls above waits with it. What the kernel
 * itself writes does not: where that finds the ring full, or is flushed, the port is released.
 */
void serial_stop_output(struct serial *port, bool stop);

/* Wait until all that was written has left the chip; a thread sleeps for all but the last character. */
void serial_flush(struct serial *port);

/* From a thread: until the FIFO has taken it all and sent all but the last character. 0, or -EINTR. */
int serial_drain_interruptibly(struct serial *port);

/* Characters that wait in the transmit ring. */
uint32_t serial_unsent(const struct serial *port);

/* Characters lost in hardware since reset. */
uint32_t serial_overruns(struct serial *port);

void serial_init(void);
#endif
