// The private I/O port: each hart has its own, of any width, and atomics work on it too.
#include "bench.h"

#define IO8(a) (*(volatile uint8_t *)(0xE0000000u + (a)))
#define IO16(a) (*(volatile uint16_t *)(0xE0000000u + (a)))

void hart_main(int hart)
{
    for (int stall = 0; stall < 6; stall++) {
        IO_STALL(hart) = stall < 3 ? stall * 3u : 0x80000000 | (stall - 3) * 3;
        for (uint32_t i = 0; i < 16; i++)
            IO(i) = 0x11110000 * hart + i + stall;
        barrier();
        for (uint32_t i = 0; i < 16; i++)
            CHECK_EQUAL(IO(i), 0x11110000 * hart + i + stall);

        for (uint32_t i = 0; i < 8; i++) {
            IO(0) = 0xA0A1A2A3, IO(1) = 0xB0B1B2B3;
            IO8(i) = 0x55;
            uint32_t first = 0xA0A1A2A3, second = 0xB0B1B2B3;
            uint32_t *changed = i < 4 ? &first : &second;
            *changed = (*changed & ~(0xFFu << 8 * (i % 4))) | 0x55u << 8 * (i % 4);
            CHECK_EQUAL(IO(0), first);
            CHECK_EQUAL(IO(1), second);
            CHECK_EQUAL(IO8(i), 0x55);
        }
        IO16(2) = 0x1234, IO16(4) = 0x5678;
        CHECK_EQUAL(IO16(2), 0x1234);
        CHECK_EQUAL(IO16(4), 0x5678);
        CHECK_EQUAL(IO(0) >> 16, 0x1234);

        // No other hart can come between, so these always succeed.
        IO(3) = 40;
        CHECK_EQUAL(amoadd(&IO(3), 2), 40);
        uint32_t old, failed_;
        __asm__ volatile("lr.w %0, (%2)\n addi %0, %0, 1\n sc.w %1, %0, (%2)"
                         : "=&r"(old), "=&r"(failed_)
                         : "r"(&IO(3))
                         : "memory");
        CHECK_EQUAL(failed_, 0);
        CHECK_EQUAL(IO(3), 43);
        IO_STALL(hart) = 0;

        uint32_t stores = IO_STORES(hart), traced = TRACED(hart);
        for (uint32_t i = 0; i < 10; i++)
            IO(i) = i;
        CHECK_EQUAL(IO_STORES(hart) - stores, 10);
        for (uint32_t i = 0; i < 100; i++)
            TRACE(i) = 1000 + i;
        (void)TRACE(0);   // a load comes behind the stores
        CHECK_EQUAL(TRACED(hart) - traced, 100);
        CHECK_EQUAL(TRACED_ADDRESS(hart), 0x1000000 + 4 * 99);
        CHECK_EQUAL(TRACED_DATA(hart), 1099);
        CHECK_EQUAL(IO_STORES(hart) - stores, 10);
        barrier();
    }
}
