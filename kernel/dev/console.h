/*
 * The console: the first serial port. Written from any level; sent by interrupts, except before console_start and in a
 * panic, when it is polled. Every line feed is sent as carriage return and line feed.
 */
#ifndef DEV_CONSOLE_H
#define DEV_CONSOLE_H

struct terminal;

void console_init(void);  /* bit rate from the boot argument console.baud */
void console_start(void); /* interrupts work from here on */
void console_polled(void);
void console_flush(void);
void console_write(const char *text, unsigned n);

/* Wait for a line typed on the terminal; its end is removed, and it is cut to `size` - 1 characters. From a thread. */
void console_read_line(char *line, unsigned size);

/*
 * The console as a terminal for users and programs; from a thread. No thread reads it before the first call: until
 * then the port keeps a few characters. 0: no memory for the thread that reads.
 */
struct terminal *console_terminal(void);
#endif
