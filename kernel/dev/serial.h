/*
 * Driver of a 16550-class serial port (hw/serial). Received characters go, at interrupt level, from the port's FIFO
 * into a ring, and from there to the port's line discipline: one at a time in the soft interrupt SPL_SOFTTTY, as in
 * 4.4BSD's com(4), or in batches by the discipline, which the interrupt notifies (serial_listen). Characters to send
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
    void (*arrived)(void *arg);      /* ... or notified at SPL_TTY that there are characters to take */
    void *arg;
    bool started; /* interrupts drive it; else output is polled */
    bool waiting; /* threads sleep on this until the transmit ring holds no more than wake_at */
    bool stopped; /* nothing leaves the transmit ring */
    unsigned urgent; /* waiting kernel writers: the port is not stopped meanwhile */
    uint32_t wake_at;
    unsigned hart; /* takes its interrupts, and runs their soft interrupt */
    uint32_t ier;
    uint32_t rx_head, rx_tail, tx_head, tx_tail; /* run freely; the difference is the fill */
    uint32_t dropped;                            /* characters that found the receive ring full */
    uint32_t interrupts;
    uint8_t flow; /* MCR while the far end may send; 0 without flow control by the driver */
    uint8_t held; /* enum serial_hold: why the far end is held off now */
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
 * What tells the far end to wait, by RTS: nothing; the driver, when its ring is three quarters full, until only one
 * quarter is (but not while the driver is kept from running); the port itself, when its FIFO is half full; or both.
 */
enum serial_flow { SERIAL_FLOW_NONE, SERIAL_FLOW_DRIVER, SERIAL_FLOW_PORT, SERIAL_FLOW_BOTH };
void serial_flow(struct serial *port, enum serial_flow flow); /* when it is configured */

/* For a port whose driver holds the far end off: also while its reader accepts no input. */
enum serial_hold { SERIAL_HOLD_RING = 1, SERIAL_HOLD_READER = 2 };
void serial_block(struct serial *port, bool on);

/*
 * The characters that the port's FIFOs hold, and to change that, before it is configured; panics if the port was built
 * with fewer.
 */
uint32_t serial_depth(struct serial *port);
void serial_set_depth(struct serial *port, uint32_t depth);

/*
 * From now on interrupts drive the port, on `hart` (not PIC_ANY_HART); `input` may be 0 for a port that is only
 * written.
 */
void serial_start(struct serial *port, unsigned hart, void (*input)(void *arg, int c), void *arg);

/*
 * For a port that is started without `input`: arrived(arg) is called at SPL_TTY when there are characters for
 * serial_take.
 */
void serial_listen(struct serial *port, void (*arrived)(void *arg), void *arg);

/* Takes up to `n` received characters; returns how many. */
uint32_t serial_take(struct serial *port, uint8_t *to, uint32_t n);

/* Back to polled operation, for panic: no lock and no interrupt from here on. */
void serial_stop(struct serial *port);

/*
 * Queue `n` characters, or these and the end of a line. Up to 1000 characters of one call stay contiguous, and calls
 * keep their order. While the ring is full, a thread outside of sections sleeps; any other caller polls.
 */
void serial_write(struct serial *port, const char *text, unsigned n);
void serial_write_line(struct serial *port, const char *text, unsigned n);

/*
 * The same for up to SERIAL_AT_ONCE characters: false, and none is queued, if there is no room for all; or from a
 * thread, which sleeps until there is: -EINTR if the sleep is interrupted.
 */
#define SERIAL_AT_ONCE (SERIAL_TX_RING / 2 - 2) /* so that there is room for it when a writer is woken */
bool serial_try_write(struct serial *port, const char *text, unsigned n);
int serial_write_interruptibly(struct serial *port, const char *text, unsigned n);

/*
 * Queued output waits until it is released; a thread that writes by the calls above waits with it. The kernel's own
 * output does not: when it finds the ring full, or is flushed, the port is released.
 */
void serial_stop_output(struct serial *port, bool stop);

/* Wait until all written characters have left the chip; a thread sleeps for all but the last character. */
void serial_flush(struct serial *port);

/* From a thread: until the FIFO has taken all characters and sent all but the last. 0, or -EINTR. */
int serial_drain_interruptibly(struct serial *port);

/* Characters that wait in the transmit ring. */
uint32_t serial_unsent(const struct serial *port);

/* Characters lost in hardware since reset. */
uint32_t serial_overruns(struct serial *port);

void serial_init(void);
#endif
