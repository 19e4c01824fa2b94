/* What the boot ROM prints on the console before it ends the run. */
#include <stdint.h>

#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/serial_regs.h>

#include "image.h"

#define EXIT_NO_IMAGE 0xb007
#define EXIT_TRAP 0xb008

static volatile uint32_t *serial(unsigned offset)
{
    return (volatile uint32_t *)(UART0_BASE + offset);
}

static void put(char c)
{
    while (!(*serial(SERIAL_LSR) & SERIAL_LSR_THRE_MASK))
        ;
    *serial(SERIAL_THR) = (uint8_t)c;
}

/* Eight data bits, no parity, one stop bit; the bit rate is 115,200 from reset. */
static void open_console(void)
{
    *serial(SERIAL_LCR) = SERIAL_LCR_WORD_8 << SERIAL_LCR_WORD_SHIFT;
}

static void put_string(const char *s)
{
    while (*s)
        put(*s++);
}

static void put_hex(uint32_t value)
{
    put_string("0x");
    for (int shift = 28; shift >= 0; shift -= 4)
        put("0123456789abcdef"[value >> shift & 15]);
}

static _Noreturn void end(uint32_t code)
{
    put_string("\r\n");
    while (!(*serial(SERIAL_LSR) & SERIAL_LSR_TEMT_MASK))
        ;
    host_exit_write(code);
    for (;;)
        __asm__ volatile("wfi");
}

_Noreturn void report_no_image(void)
{
    open_console();
    put_string("boot ROM: no image in main RAM: the word at ");
    put_hex(IMAGE_BASE + IMAGE_MAGIC_OFFSET);
    put_string(" is not ");
    put_hex(IMAGE_MAGIC);
    end(EXIT_NO_IMAGE);
}

/* Harts that trap at the same time report one after the other: the first one's exit ends the run. */
_Noreturn void report_trap(uint32_t cause, uint32_t pc, uint32_t value, uint32_t hart)
{
    static uint32_t reporting; /* in .bss: the SRAM is zero after configuration */
    while (__atomic_exchange_n(&reporting, 1, __ATOMIC_ACQUIRE))
        ;
    open_console();
    put_string("boot ROM: trap on hart ");
    put_hex(hart);
    put_string(": mcause ");
    put_hex(cause);
    put_string(" mepc ");
    put_hex(pc);
    put_string(" mtval ");
    put_hex(value);
    end(EXIT_TRAP);
}
