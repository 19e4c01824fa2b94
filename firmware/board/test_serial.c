/*
 * Both serial ports, each in its internal loopback: characters with every bit both ways, in a full FIFO, and the modem
 * signals. The pins are not tested: readable output on the console shows that its own work.
 */
#include <generated/mem.h>
#include <generated/serial_regs.h>
#include <stdint.h>

#include "hart.h"
#include "line.h"
#include "selftest.h"

#define CHARACTERS 16    /* a FIFO's depth after reset */
#define FAST_DIVISOR 1   /* 16 cycles a bit: only the port itself listens */

static uint8_t sample(unsigned i)
{
    return i < 8 ? 1u << i : ~(1u << (i - 8));
}

static void send_and_receive(unsigned port, volatile uint32_t *reg)
{
    for (unsigned i = 0; i < CHARACTERS; i++)
        reg[SERIAL_THR / 4] = sample(i);
    uint32_t start = cycles();
    for (unsigned i = 0; i < CHARACTERS; i++) {
        while (!(reg[SERIAL_LSR / 4] & SERIAL_LSR_DR_MASK))
            if (elapsed(start, CYCLES_PER_MS)) {
                failed("uart%d: %d of %d characters come back", port, i, CHARACTERS);
                return;
            }
        uint8_t c = reg[SERIAL_RBR / 4];
        if (c != sample(i))
            failed("uart%d: 0x%x comes back as 0x%x", port, sample(i), c);
    }
    uint32_t errors =
        reg[SERIAL_LSR / 4] & (SERIAL_LSR_OE_MASK | SERIAL_LSR_PE_MASK | SERIAL_LSR_FE_MASK | SERIAL_LSR_BI_MASK);
    if (errors)
        failed("uart%d: line status 0x%lx", port, errors);
}

/* In loop-back DTR, RTS, OUT1 and OUT2 come back as DSR, CTS, RI and DCD. */
static void modem_signals(unsigned port, volatile uint32_t *reg)
{
    static const struct {
        uint8_t out, in;
    } pairs[] = {
        {SERIAL_MCR_DTR_MASK, SERIAL_MSR_DSR_MASK},
        {SERIAL_MCR_RTS_MASK, SERIAL_MSR_CTS_MASK},
        {SERIAL_MCR_OUT1_MASK, SERIAL_MSR_RI_MASK},
        {SERIAL_MCR_OUT2_MASK, SERIAL_MSR_DCD_MASK},
    };
    uint32_t all = SERIAL_MSR_DSR_MASK | SERIAL_MSR_CTS_MASK | SERIAL_MSR_RI_MASK | SERIAL_MSR_DCD_MASK;
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        reg[SERIAL_MCR / 4] = SERIAL_MCR_LOOP_MASK | pairs[i].out;
        uint32_t in = reg[SERIAL_MSR / 4] & all;
        if (in != pairs[i].in)
            failed("uart%d: modem signals 0x%lx, not 0x%x", port, in, pairs[i].in);
    }
}

static void set_divisor(volatile uint32_t *reg, uint32_t low, uint32_t high, uint32_t fraction)
{
    reg[SERIAL_LCR / 4] = SERIAL_LCR_DLAB_MASK;
    reg[SERIAL_DLL / 4] = low;
    reg[SERIAL_DLM / 4] = high;
    reg[SERIAL_LCR / 4] = SERIAL_LCR_WORD_8 << SERIAL_LCR_WORD_SHIFT;
    reg[SERIAL_DLF / 4] = fraction;
}

static void port_test(unsigned port, uint32_t base)
{
    volatile uint32_t *reg = word_at(base);
    uint32_t empty = SERIAL_FCR_ENABLE_MASK | SERIAL_FCR_RX_RESET_MASK | SERIAL_FCR_TX_RESET_MASK;
    reg[SERIAL_LCR / 4] = SERIAL_LCR_DLAB_MASK;
    uint32_t low = reg[SERIAL_DLL / 4], high = reg[SERIAL_DLM / 4], fraction = reg[SERIAL_DLF / 4];
    set_divisor(reg, FAST_DIVISOR, 0, 0);
    reg[SERIAL_MCR / 4] = SERIAL_MCR_LOOP_MASK;
    reg[SERIAL_FCR / 4] = empty;
    send_and_receive(port, reg);
    modem_signals(port, reg);
    reg[SERIAL_MCR / 4] = 0;
    set_divisor(reg, low, high, fraction);
    reg[SERIAL_FCR / 4] = empty;
    (void)reg[SERIAL_MSR / 4]; /* clears its deltas */
}

void test_serial(int whole)
{
    (void)whole;
    line_flush();
    port_test(0, UART0_BASE);
    port_test(1, UART1_BASE);
    passed("uart0 and uart1, looped back inside");
}
