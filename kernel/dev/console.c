/* The console (console.h). */
#include "dev/console.h"

#include <string.h>

#include "arch/panic.h"
#include "dev/slc.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"

static struct terminal console_tty;
static bool console_listens;
DEFINE_MUTEX(first_lock, "console");

void console_init(void)
{
    kprintf_sink = console_write;
    panic_hooks.poll_console = console_polled;
    serial_configure(&serial_console, bootargs_number(BOOT(kernel, console_baud)));
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

struct terminal *console_terminal(void)
{
    mutex_lock(&first_lock);
    if (!console_tty.port)
        terminal_init(&console_tty, &serial_console);
    if (!console_listens && (console_listens = slc_attach(&console_tty)))
        serial_flow(&serial_console, SERIAL_FLOW_BOTH); /* a sender that obeys RTS may type from here on */
    struct terminal *tp = console_listens ? &console_tty : 0;
    mutex_unlock(&first_lock);
    return tp;
}

void console_read_line(char *line, unsigned size)
{
    uint8_t typed[TERMINAL_LINE];
    struct terminal *tp = console_terminal();
    if (!tp)
        panic("there is no memory for the thread that reads the console");
    unsigned n = (unsigned)terminal_read(tp, typed, sizeof typed, true);
    n -= n && typed[n - 1] == '\n';
    if (n > size - 1)
        n = size - 1;
    memcpy(line, typed, n);
    line[n] = 0;
}
