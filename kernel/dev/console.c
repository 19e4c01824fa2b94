/* The console (console.h). */
#include "dev/console.h"

#include <string.h>

#include "arch/panic.h"
#include "dev/serial.h"
#include "dev/tty.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"

#define CONSOLE_BAUD 115200
#define LOOK_TICKS 10 /* how often a reader looks whether it is to give up */

static struct tty console_tty;

void console_init(void)
{
    kprintf_sink = console_write;
    panic_hooks.poll_console = console_polled;
    serial_configure(&serial_console, bootargs_number("console.baud", CONSOLE_BAUD, 60000000));
}

void console_start(void)
{
    tty_attach(&console_tty, &serial_console, 0);
}

void console_polled(void)
{
    serial_stop(&serial_console);
}

void console_flush(void)
{
    serial_flush(&serial_console);
}

void console_write(const char *text, unsigned n)
{
    panic_stop_if_other();
    while (n) {
        const char *end = memchr(text, '\n', n);
        unsigned line = end ? (unsigned)(end - text) : n;
        if (!end) {
            serial_write(&serial_console, text, line);
            return;
        }
        serial_write_line(&serial_console, text, line);
        text = end + 1;
        n -= line + 1;
    }
}

bool console_read_line_unless(char *line, unsigned size, bool (*gives_up)(void *arg), void *arg)
{
    unsigned n = 0;
    for (;;) {
        uint8_t c;
        while (!ttread(&console_tty, &c, 1, gives_up ? LOOK_TICKS : 0))
            if (gives_up(arg))
                return false;
        if (c == '\r' || c == '\n')
            break;
        if ((c == '\b' || c == 0x7f) && n) {
            n--;
            console_write("\b \b", 3);
        } else if (c >= ' ' && c < 0x7f && n < size - 1) {
            line[n++] = (char)c;
            console_write((const char *)&c, 1);
        }
    }
    line[n] = 0;
    console_write("\n", 1);
    return true;
}

void console_read_line(char *line, unsigned size)
{
    console_read_line_unless(line, size, 0, 0);
}
