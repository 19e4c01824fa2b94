/*
 * The console: the first serial port. Written from any level; interrupts send it, except before console_start and in a
 * panic, when it is polled. Every line feed is sent as carriage return and line feed.
 */
#ifndef DEV_CONSOLE_H
#define DEV_CONSOLE_H

struct terminal;

void console_init(void);  /* bit rate from the boot argument console.baud */
void console_start(void); /* interrupts are ready */
void console_polled(void);
void console_flush(void);
void console_write(const char *text, unsigned n);

/* Wait for a line, as it is typed on the terminal; without its end, cut to `size` - 1 characters. From a thread. */
void console_read_line(char *line, unsigned size);

/*
 * The console as a terminal for people and programs; from a thread. Nothing listens to it before the first call: until
 * then a few characters are kept by the port. 0: there is no memory for the thread that listens.
 */
struct terminal *console_terminal(void);
#endif
