/* The console line, polled: uart0 with its FIFOs on, 8N1. Input during other work is buffered. */
#ifndef LINE_H
#define LINE_H

#include <stdint.h>

#define LINE_RESET_BAUD 115200

/* Takes over the port at its bit rate, once its FIFO has been sent. */
void line_open(void);

/* The number of received characters, and the next of them: to be called at most so often. */
uint32_t line_waiting(void);
uint8_t line_take(void);

/* Buffers received characters. Long work calls it every few thousand cycles, or characters are lost. */
void line_poll(void);

/* Sends a character, and waits while there is no room for it. */
void line_put(uint8_t c);

/* Waits until the last character has left. */
void line_flush(void);

/* The actual bit rate, in bit/s; 0 if the clock cannot make it, or it is too fast for the loader. */
uint32_t line_made_baud(uint32_t baud);

/* Sets a bit rate that can be made. */
void line_set_baud(uint32_t baud);

/* Received characters that are kept until they are read. */
uint32_t line_room(void);

/* Cycles since reset, modulo 2^32. */
uint32_t line_cycles(void);
#endif
