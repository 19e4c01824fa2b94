/* Bare-metal cases for tests of the simulator on the real SoC; the boot arguments begin with the letter of one. */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/serial_regs.h>
#include <stdint.h>

#include "arch/probe.h"

#define REGISTER(base, offset) (*(volatile uint32_t *)((base) + (offset)))
#define TRACE(event) REGISTER(TRACE_WINDOW_BASE, 4 * (event))
#define MSIP0 REGISTER(CLINT_BASE, 0)
#define CYCLES_PER_BIT 521 /* 115,200 bit/s at 60 MHz */

char bootargs[64] __attribute__((section(".data"))) = "";
static uint8_t received[512];

__asm__(".section .text.start\n"
        "_start: j start\n"
        "  .word 0x314b4c49, _end, bootargs, 64\n"
        "start: la sp, stacks + 4096\n"
        "  slli t0, a0, 12\n"
        "  add sp, sp, t0\n"
        "  tail program\n"
        ".section .bss\n"
        ".balign 16\n"
        "stacks: .space 8 * 4096\n"
        ".text\n");

static void end(uint32_t code)
{
    host_exit_write(code);
    for (;;)
        ;
}

static void configure(uintptr_t uart)
{
    REGISTER(uart, SERIAL_LCR) = 0x83;
    REGISTER(uart, SERIAL_DLL) = CYCLES_PER_BIT / 16;
    REGISTER(uart, SERIAL_DLM) = 0;
    REGISTER(uart, SERIAL_DLF) = CYCLES_PER_BIT % 16;
    REGISTER(uart, SERIAL_LCR) = 0x03;
    REGISTER(uart, SERIAL_FCR) = 1;
}

static void put(uintptr_t uart, uint8_t byte)
{
    while (!(REGISTER(uart, SERIAL_LSR) & 0x20))
        ;
    REGISTER(uart, SERIAL_THR) = byte;
}

static void print(const char *text)
{
    while (*text)
        put(UART0_BASE, *text++);
}

/* Receives bootargs[1..3] (decimal) bytes, notes when each was seen, and sends it back. */
static void echo(void)
{
    unsigned count = (bootargs[1] - '0') * 100 + (bootargs[2] - '0') * 10 + bootargs[3] - '0';
    configure(UART1_BASE);
    TRACE(1023) = 0;
    for (unsigned i = 0; i < count; i++) {
        while (!(REGISTER(UART1_BASE, SERIAL_LSR) & 1))
            ;
        received[i] = REGISTER(UART1_BASE, SERIAL_RBR);
        TRACE(2) = received[i];
        put(UART1_BASE, received[i]);
    }
    host_blob_kind_write(7);
    host_blob_address_write((uint32_t)received);
    host_blob_length_write(count);
    end(0);
}

__attribute__((noinline)) static void stand_still(void)
{
    for (;;)
        __asm__ volatile("");
}

/* A section in which a software interrupt is raised and taken. */
static void __attribute__((interrupt("machine"), aligned(4))) handler(void)
{
    MSIP0 = 0;
}

__attribute__((noinline)) static void section(void)
{
    __asm__ volatile("csrw mtvec, %0\n csrw mie, %1\n csrsi mstatus, 8" ::"r"(handler), "r"(8));
    PROBE(WINDOW_BEGIN);
    PROBE(CRIT_ENTER);
    __asm__ volatile("nop");
    PROBE(CRIT_ENTERED);
    MSIP0 = 1;
    for (int i = 0; i < 20; i++)
        __asm__ volatile("nop");
    PROBE(CRIT_LEAVE);
    __asm__ volatile("nop");
    PROBE(CRIT_LEFT);
    __asm__ volatile("nop");
    PROBE(WINDOW_END);
    __asm__ volatile("nop");
    end(0);
}

/* Logs its own cycle counter; the simulator sees when the read retires, and when the record is made. */
__attribute__((noinline)) static void clock(void)
{
    for (int i = 0; i < 4; i++) {
        uint32_t now;
        PROBE(WINDOW_BEGIN);
        __asm__ volatile("csrr %0, mcycle" : "=r"(now));
        TRACE(3) = now;
        __asm__ volatile("nop\n nop\n nop\n nop");
    }
    end(0);
}

/*
 * Marks whose value the instruction before writes, by computing and by loading, and the one at the mark overwrites.
 */
__attribute__((noinline)) static void value(void)
{
    register uint32_t a __asm__("a5") = 0x1000, s __asm__("s7") = (uint32_t)bootargs;
    __asm__ volatile("addi %0, %0, 0x234" : "+r"(a));
    PROBE_VALUE(INTR_DONE, a);
    __asm__ volatile("li %0, 0" : "=r"(a));
    __asm__ volatile("lw %0, 0(%0)" : "+r"(s));
    PROBE_VALUE(INTR_DONE, s);
    __asm__ volatile("li %0, 0" : "=r"(s));
    end(0);
}

__attribute__((used)) void program(unsigned hart)
{
    if (hart)
        for (;;)
            __asm__ volatile("wfi");
    switch (bootargs[0]) {
    case 'x': end((bootargs[1] - '0') * 10 + bootargs[2] - '0');
    case 'p':
        configure(UART0_BASE);
        print("hello\n@sum of=2 is=0x10\n");
        end(0);
    case 'e': echo();
    case 'h': stand_still();
    case 's': section();
    case 'c': clock();
    case 'v': value();
    }
    end(99);
}
