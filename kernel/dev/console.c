/* The console (console.h). */
#include "dev/console.h"

#include <string.h>

#include "dev/serial.h"
#include "lib/bootargs.h"

#define CONSOLE_BAUD 115200

void console_init(void)
{
    serial_configure(&serial_console, bootargs_number("console.baud", CONSOLE_BAUD, 60000000));
}

void console_start(void)
{
    serial_start(&serial_console, 0, 0, 0);
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
    while (n) {
        const char *end = memchr(text, '\n', n);
        unsigned line = end ? (unsigned)(end - text) : n;
        serial_write(&serial_console, text, line);
        if (!end)
            return;
        serial_write(&serial_console, "\r\n", 2);
        text = end + 1;
        n -= line + 1;
    }
}
