/*
 * The serial line to GDB: the data port, polled. While GDB is not listened to, what comes is kept in a ring, so that
 * the port's FIFO does not overflow. Uses no library. Locking: the server lock of stop.c.
 */
#ifndef DEBUG_LINE_H
#define DEBUG_LINE_H

#include <stdbool.h>
#include <stdint.h>

void line_open(uint32_t baud); /* bit/s; panics when the clock cannot make it */
void line_fill(void);          /* from the port into the ring */
int line_get(void);            /* the next byte, or -1 */
void line_interrupts(bool on); /* at what comes */
void line_put(uint8_t c);      /* waits for room in the port's FIFO */

/* On the console, where nobody listens on the line; all other harts are stopped. */
void line_tell_console(const char *text);
#endif
