/*
 * The serial line to GDB: the data port, polled. Bytes received while GDB is ignored are kept in a ring, so that
 * the port's FIFO does not overflow. Uses no library. Locking: the server lock of stop.c.
 */
#ifndef DEBUG_LINE_H
#define DEBUG_LINE_H

#include <stdbool.h>
#include <stdint.h>

void line_open(uint32_t baud); /* bit/s; panics when the clock cannot make it */
void line_fill(void);          /* from the port into the ring */
int line_get(void);            /* the next byte, or -1 */
void line_interrupts(bool on); /* when bytes arrive */
void line_put(uint8_t c);      /* waits for room in the port's FIFO */

/* On the console, when no debugger is on the line; all other harts are stopped. */
void line_tell_console(const char *text);
#endif
