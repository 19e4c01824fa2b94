// CLINT registers: reset values, reading back, bytes, one time for all.
#include "bench.h"

void hart_main(int hart)
{
    CHECK_EQUAL(MTIMECMP_LOW(hart), 0xFFFFFFFF);
    CHECK_EQUAL(MTIMECMP_HIGH(hart), 0xFFFFFFFF);
    CHECK_EQUAL(MSIP(hart), 0);
    CHECK_EQUAL(MTIME_HIGH, 0);
    barrier();
    MTIMECMP_LOW(hart) = 0x12345678 + hart;
    MTIMECMP_HIGH(hart) = 0x9ABCDEF0 + hart;
    barrier();
    for (int h = 0; h < HARTS; h++) {
        CHECK_EQUAL(MTIMECMP_LOW(h), 0x12345678 + h);
        CHECK_EQUAL(MTIMECMP_HIGH(h), 0x9ABCDEF0 + h);
    }
    *(volatile uint8_t *)(CLINT + 0x4000 + 8 * hart + 1) = 0xEE;
    CHECK_EQUAL(MTIMECMP_LOW(hart), ((0x12345678 + hart) & ~0xFF00) | 0xEE00);
    uint32_t before = csr_read(time), clint = MTIME_LOW, after = csr_read(time);
    CHECK(before < clint && clint < after);
    MTIME_LOW = 0;   // read only
    CHECK(MTIME_LOW > after);
    MSIP(hart) = 0xFFFFFFFF;
    CHECK_EQUAL(MSIP(hart), 1);
    CHECK_EQUAL(csr_read(mip) >> 3 & 1, 1);
    MSIP(hart) = 0;
    CHECK_EQUAL(csr_read(mip) >> 3 & 1, 0);
    CHECK_EQUAL(REG(CLINT + 0x8000), 0);
}
