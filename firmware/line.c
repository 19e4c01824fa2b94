/* The console line (line.h). */
#include "line.h"

#include <generated/mem.h>
#include <generated/serial_regs.h>
#include <generated/soc.h>

#define LEAST_BIT_CYCLES 16 /* of a bit: a character takes longer than the loader's work for it */
#define MOST_BIT_CYCLES 0xfffff

#define REG(name) (*(volatile uint32_t *)(UART0_BASE + SERIAL_##name))

#define KEPT 256
#define BATCH 32 /* taken between polls of the port: fewer come in that time than the smallest FIFO holds */

static uint32_t room;              /* characters that the transmit FIFO has room for */
static uint8_t kept[KEPT];
static uint32_t kept_in, kept_out; /* totals */

void line_open(void)
{
    line_flush();
    REG(IER) = 0;
    REG(MCR) = 0;
    REG(LCR) = SERIAL_LCR_WORD_8 << SERIAL_LCR_WORD_SHIFT;
    REG(DEPTH) = REG(BUILT);
    REG(FCR) = SERIAL_FCR_ENABLE_MASK | SERIAL_FCR_RX_RESET_MASK | SERIAL_FCR_TX_RESET_MASK;
    room = 0;
    kept_in = kept_out = 0;
}

void line_poll(void)
{
    for (uint32_t count = REG(RXCOUNT); count && kept_in - kept_out < KEPT; count--)
        kept[kept_in++ % KEPT] = (uint8_t)REG(RBR);
}

/* The common case takes them from the port without a detour: a store to the SRAM costs as much as all the rest. */
uint32_t line_waiting(void)
{
    uint32_t count = kept_in - kept_out;
    if (!count)
        return REG(RXCOUNT);
    line_poll();
    return count < BATCH ? count : BATCH;
}

uint8_t line_take(void)
{
    return kept_in == kept_out ? (uint8_t)REG(RBR) : kept[kept_out++ % KEPT];
}

void line_put(uint8_t c)
{
    if (!room) {
        while (!(REG(LSR) & SERIAL_LSR_THRE_MASK))
            line_poll();
        room = REG(DEPTH);
    }
    room--;
    REG(THR) = c;
}

void line_flush(void)
{
    while (!(REG(LSR) & SERIAL_LSR_TEMT_MASK))
        ;
}

static uint32_t bit_cycles_at(uint32_t baud)
{
    return baud ? (CONFIG_CLOCK_FREQUENCY + baud / 2) / baud : 0;
}

uint32_t line_made_baud(uint32_t baud)
{
    uint32_t cycles = bit_cycles_at(baud);
    return cycles < LEAST_BIT_CYCLES || cycles > MOST_BIT_CYCLES ? 0 : CONFIG_CLOCK_FREQUENCY / cycles;
}

void line_set_baud(uint32_t baud)
{
    uint32_t cycles = bit_cycles_at(baud);
    REG(LCR) = SERIAL_LCR_DLAB_MASK;
    REG(DLL) = cycles >> 4 & 0xff;
    REG(DLM) = cycles >> 12;
    REG(LCR) = SERIAL_LCR_WORD_8 << SERIAL_LCR_WORD_SHIFT;
    REG(DLF) = cycles & 15;
}

uint32_t line_room(void)
{
    return KEPT;
}

uint32_t line_cycles(void)
{
    uint32_t cycles;
    __asm__ volatile("csrr %0, mcycle" : "=r"(cycles));
    return cycles;
}
