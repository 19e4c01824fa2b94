/* Printing on uart0 at the bit rate that the tests give the simulator (16 cycles a bit). */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <generated/mem.h>
#include <generated/serial_regs.h>
#include <stdint.h>

static inline volatile uint32_t *word_at(uint32_t address)
{
    return (volatile uint32_t *)address;
}

static inline void console_open(void)
{
    *word_at(UART0_BASE + SERIAL_LCR) = SERIAL_LCR_DLAB_MASK;
    *word_at(UART0_BASE + SERIAL_DLL) = 1;
    *word_at(UART0_BASE + SERIAL_DLM) = 0;
    *word_at(UART0_BASE + SERIAL_DLF) = 0;
    *word_at(UART0_BASE + SERIAL_LCR) = SERIAL_LCR_WORD_8 << SERIAL_LCR_WORD_SHIFT;
}

static inline void print_char(char c)
{
    while (!(*word_at(UART0_BASE + SERIAL_LSR) & SERIAL_LSR_THRE_MASK))
        ;
    *word_at(UART0_BASE + SERIAL_THR) = (uint8_t)c;
}

static inline void print(const char *s)
{
    while (*s)
        print_char(*s++);
}

static inline void print_number(uint32_t value)
{
    char digits[10];
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        print_char(digits[--n]);
}

static inline void console_close(void)
{
    while (!(*word_at(UART0_BASE + SERIAL_LSR) & SERIAL_LSR_TEMT_MASK))
        ;
}
#endif
