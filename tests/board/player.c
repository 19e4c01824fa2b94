/*
 * Checks that what a board's line player (hw/player) sends arrives at uart1: receives it byte by byte, copies it out as
 * blob 1. The host puts the LENGTH bytes into serial_input. Exit code 1: not all of them came.
 */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/serial_regs.h>
#include <generated/soc.h>
#include <stdint.h>

#include "service.h"

#define BAUD 921600
#define SERIAL_GO 1023
#define PATIENCE 100000 /* polls of the port for a character */
#define REG(name) (*(volatile uint32_t *)(UART1_BASE + SERIAL_##name))

__asm__(".pushsection .text.startup, \"ax\"\n"
        ".globl _start\n"
        "_start: j 1f\n"
        ".word 0x314b4c49, _end, bootargs, 256\n"
        "1: la sp, stack + 4096\n"
        "call run\n"
        ".popsection\n");

char bootargs[256] __attribute__((section(".data"))) = "none";
uint8_t stack[4096] __attribute__((aligned(16)));
uint8_t serial_input[LENGTH] __attribute__((aligned(8)));
static uint8_t received[LENGTH];
static struct service_end end;

static void configure(void)
{
    uint32_t bit_cycles = (CONFIG_CLOCK_FREQUENCY + BAUD / 2) / BAUD;
    REG(LCR) = SERIAL_LCR_DLAB_MASK;
    REG(DLL) = bit_cycles >> 4 & 0xff;
    REG(DLM) = bit_cycles >> 12;
    REG(LCR) = SERIAL_LCR_WORD_8 << SERIAL_LCR_WORD_SHIFT;
    REG(DLF) = bit_cycles & 0xf;
    REG(FCR) = SERIAL_FCR_ENABLE_MASK | SERIAL_FCR_RX_RESET_MASK;
}

static void play(void)
{
    player_address_write((uint32_t)serial_input);
    player_length_write(LENGTH);
    player_baud_write(BAUD);
    player_run_write(1);
    while (!player_ready_read())
        ;
    ((volatile uint32_t *)TRACE_WINDOW_BASE)[SERIAL_GO] = LENGTH;
}

static uint32_t receive(void)
{
    uint32_t got = 0;
    for (uint32_t left = PATIENCE; left && got < LENGTH; left--)
        if (REG(LSR) & SERIAL_LSR_DR_MASK) {
            received[got++] = (uint8_t)REG(RBR);
            left = PATIENCE;
        }
    return got;
}

_Noreturn void run(void)
{
    configure();
    play();
    uint32_t got = receive();
    end.code = got != LENGTH;
    end.blobs = 1;
    end.blob[0].kind = 1;
    end.blob[0].address = (uint32_t)received;
    end.blob[0].length = got;
    __asm__ volatile("fence" ::: "memory");
    service_enter(ROM_BASE, &end);
}
