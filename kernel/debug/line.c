/* The serial line to GDB (line.h). */
#include "debug/line.h"

#include <generated/serial_regs.h>

#include "dev/serial.h"

#define REG_OF(port, name) ((port).regs[SERIAL_##name / 4])
#define REG(name) REG_OF(serial_data, name)
#define RING 4096 /* a power of two, more than a packet */

static uint8_t ring[RING];
static uint32_t head, tail; /* run freely */

void line_open(uint32_t baud)
{
    serial_configure(&serial_data, baud);
    line_interrupts(false);
}

void line_interrupts(bool on)
{
    REG(IER) = on ? SERIAL_IER_RX_MASK : 0;
}

void line_fill(void)
{
    for (uint32_t n = REG(RXCOUNT); n && head - tail < RING; n--)
        ring[head++ % RING] = (uint8_t)REG(RBR);
}

int line_get(void)
{
    line_fill(); /* each time: the line may be faster than the consumer of the bytes, but not than this */
    return head == tail ? -1 : ring[tail++ % RING];
}

void line_put(uint8_t c)
{
    static uint32_t room; /* in the FIFO, which is empty when THRE is set */
    if (!room) {
        while (!(REG(LSR) & SERIAL_LSR_THRE_MASK))
            line_fill();
        room = REG(DEPTH);
    }
    room--;
    REG(THR) = c;
}

static void console_put(char c)
{
    while (!(REG_OF(serial_console, LSR) & SERIAL_LSR_THRE_MASK))
        ;
    REG_OF(serial_console, THR) = (uint8_t)c;
}

void line_tell_console(const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            console_put('\r');
        console_put(*text);
    }
}
