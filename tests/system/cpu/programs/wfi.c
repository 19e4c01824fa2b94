// WFI waits, without retiring anything, and wakes for an interrupt that is enabled in mie even if mstatus.MIE is off.
#include "bench.h"

void hart_main(int hart)
{
    barrier();
    MTIMECMP_HIGH(hart) = 0xFFFFFFFF;
    MTIMECMP_LOW(hart) = MTIME_LOW + 2000;
    csr_set(mie, MIE_MTIE);
    uint32_t waited = WFI_CYCLES(hart), begin = MTIME_LOW, instructions = csr_read(minstret);
    MTIMECMP_HIGH(hart) = 0;
    __asm__ volatile("wfi");
    instructions = csr_read(minstret) - instructions;
    uint32_t end = MTIME_LOW;
    CHECK(end - begin > 1500 && end - begin < 2400);
    CHECK(instructions < 20);
    waited = WFI_CYCLES(hart) - waited;
    CHECK(waited > 1400 && waited <= end - begin);
    CHECK_EQUAL(TIMER_WIRES >> hart & 1, 1);
    CHECK_EQUAL(csr_read(mip) >> 7 & 1, 1);
    MTIMECMP_HIGH(hart) = 0xFFFFFFFF;
    csr_clear(mie, MIE_MTIE);
    CHECK_EQUAL(TIMER_WIRES >> hart & 1, 0);
    CHECK_EQUAL(csr_read(mip) >> 7 & 1, 0);
}
