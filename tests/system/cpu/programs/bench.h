// Shared by the bare-metal programs: the test device of ../bench/bench.cpp, printing, checking, traps, barriers.
#pragma once
#include <stdint.h>

#ifndef HARTS
#error compile with -DHARTS=the number of harts
#endif

#define REG(address) (*(volatile uint32_t *)(address))

// Test device on the peripheral bus. Those with (h) are one word a hart.
#define DEVICE 0xF0000000u
#define EXIT REG(DEVICE + 0x00)              // w: ends the run with this code
#define EXTERNAL_SET REG(DEVICE + 0x04)      // w: raises the external interrupt wires in the mask
#define EXTERNAL_CLEAR REG(DEVICE + 0x08)
#define DMA_ADDRESS REG(DEVICE + 0x10)
#define DMA_LOW REG(DEVICE + 0x14)
#define DMA_HIGH REG(DEVICE + 0x18)
#define DMA_GO REG(DEVICE + 0x1C)            // w: 1 writes 8 bytes, 2 reads them; r: 1 while busy
#define CYCLE REG(DEVICE + 0x20)             // r: cycles since reset
#define SLOW_DELAY REG(DEVICE + 0x24)        // w: cycles that an access to SLOW takes longer
#define SLOW REG(DEVICE + 0x28)
#define TIMER_WIRES REG(DEVICE + 0x2C)       // r: the cluster's timer_interrupt
// The device at the device port (../bench/device.h): it fills or sums a piece of memory, or works at random.
#define PORT_ADDRESS REG(DEVICE + 0x30)      // w: where, a multiple of 8
#define PORT_WORDS REG(DEVICE + 0x34)        // w: how many words of 8 bytes; r: the sum of what was read
#define PORT_GO REG(DEVICE + 0x38)           // w: PORT_...; r: 1 while at work
#define PORT_CYCLES REG(DEVICE + 0x3C) // r: that the last piece took, until its writes were visible to all harts
#define PORT_WRITE 1 // word i, from 0, becomes the 64-bit number i + 1
#define PORT_READ 2
#define PORT_RANDOM 3 // until PORT_STOP
#define PORT_STOP 4
#define LOOK(h) REG(DEVICE + 0x340 + 4 * (h)) // w: an index; r: the value all harts must find there, or a later one
#define MEMORY_WORDS REG(DEVICE + 0x3C0) // r: words of 8 bytes that went over the memory port for data
#define CONSOLE(h) REG(DEVICE + 0x40 + 4 * (h))
#define IO_STALL(h) REG(DEVICE + 0x80 + 4 * (h)) // w: cycles that accesses to the port take longer; bit 31: by cmd
#define IO_STORES(h) REG(DEVICE + 0xC0 + 4 * (h)) // r: stores seen on the port, trace window apart
#define RETIRED(h) REG(DEVICE + 0x100 + 4 * (h)) // r: instructions retired, by the probe
#define TRAPS(h) REG(DEVICE + 0x140 + 4 * (h)) // r: traps, by the probe
#define TRAP_CAUSE(h) REG(DEVICE + 0x180 + 4 * (h))
#define TRAP_PC(h) REG(DEVICE + 0x1C0 + 4 * (h))
#define WFI_CYCLES(h) REG(DEVICE + 0x200 + 4 * (h))
#define TRACED(h) REG(DEVICE + 0x240 + 4 * (h)) // r: stores to the trace window
#define TRACED_ADDRESS(h) REG(DEVICE + 0x280 + 4 * (h))
#define TRACED_DATA(h) REG(DEVICE + 0x2C0 + 4 * (h))
#define USER_RETIRED(h) REG(DEVICE + 0x300 + 4 * (h)) // r: instructions retired in user mode, by the probe
#define UNMAPPED 0xF8000000u // answers with an error

// Private I/O port: 16 words of the hart's own, and the trace window.
#define IO(i) REG(0xE0000000u + 4 * (i))
#define PROMISE IO(15) // w: index << 16 | value that the device must find there from now on
#define TRACE(event) REG(0xE1000000u + 4 * (event))

#define CLINT 0xF0010000u
#define MSIP(h) REG(CLINT + 4 * (h))
#define MTIMECMP_LOW(h) REG(CLINT + 0x4000 + 8 * (h))
#define MTIMECMP_HIGH(h) REG(CLINT + 0x4004 + 8 * (h))
#define MTIME_LOW REG(CLINT + 0xBFF8)
#define MTIME_HIGH REG(CLINT + 0xBFFC)

#define csr_read(name)                                            \
    ({                                                            \
        uint32_t v_;                                              \
        __asm__ volatile("csrr %0, " #name : "=r"(v_)::"memory"); \
        v_;                                                       \
    })
#define csr_write(name, value) __asm__ volatile("csrw " #name ", %0" ::"r"(value) : "memory")
#define csr_set(name, value) __asm__ volatile("csrs " #name ", %0" ::"r"(value) : "memory")
#define csr_clear(name, value) __asm__ volatile("csrc " #name ", %0" ::"r"(value) : "memory")
#define fence() __asm__ volatile("fence" ::: "memory")

#define MSTATUS_MIE (1u << 3)
#define MSTATUS_MPIE (1u << 7)
#define MSTATUS_MPP(mode) ((uint32_t)(mode) << 11)
#define MSTATUS_MPRV (1u << 17)
#define MSTATUS_SUM (1u << 18)
#define MIE_MSIE (1u << 3)
#define MIE_MTIE (1u << 7)
#define MIE_MEIE (1u << 11)
#define INTERRUPT 0x80000000u

// A program is hart_main on every hart. It returns when it is done; the run ends well when all harts have.
void hart_main(int hart);

// Registers at a trap; x[0] is unused. The handler may change them and mepc.
struct frame {
    uint32_t x[32];
    uint32_t mepc, mcause, mtval;
};

// Called for every trap to machine mode; runtime.c has one that fails the run, a program may have its own.
void trap(struct frame *frame);

void print(int hart, const char *key, uint32_t value); // a line "key=value"
void barrier(void); // waits for all harts
void failed(const char *file, int line, uint32_t got, uint32_t wanted) __attribute__((noreturn));

#define CHECK_EQUAL(got, wanted)                                       \
    do {                                                               \
        uint32_t got_ = (uint32_t)(got), wanted_ = (uint32_t)(wanted); \
        if (got_ != wanted_)                                           \
            failed(__FILE__, __LINE__, got_, wanted_);                 \
    } while (0)
#define CHECK(condition) CHECK_EQUAL(!!(condition), 1)

static inline uint32_t amoadd(volatile uint32_t *p, uint32_t v)
{
    uint32_t old;
    __asm__ volatile("amoadd.w %0, %2, (%1)" : "=r"(old) : "r"(p), "r"(v) : "memory");
    return old;
}

static inline uint32_t hartid(void)
{
    return csr_read(mhartid);
}

// A cheap random sequence.
static inline uint32_t next_random(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    return *state = x;
}
