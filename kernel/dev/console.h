/*
 * The console: the first serial port. Written from any level; interrupts send it, except before console_start and in a
 * panic, when it is polled. Every line feed is sent as carriage return and line feed.
 */
#ifndef DEV_CONSOLE_H
#define DEV_CONSOLE_H

#include <stdbool.h>

void console_init(void);  /* bit rate from the boot argument console.baud */
void console_start(void); /* interrupts are ready */
void console_polled(void);
void console_flush(void);
void console_write(const char *text, unsigned n);

/* Wait for a line, echoed and edited with backspace; without its end, cut to `size` - 1 characters. From a thread. */
void console_read_line(char *line, unsigned size);

/* The same; false as soon as gives_up(arg) is seen to be true, a few clock ticks later at most. */
bool console_read_line_unless(char *line, unsigned size, bool (*gives_up)(void *arg), void *arg);
#endif
