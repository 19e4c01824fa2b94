// Every hart comes here, knows its number, and has the extensions that misa names.
#include "bench.h"

static volatile uint32_t seen[HARTS];

void hart_main(int hart)
{
    CHECK_EQUAL(csr_read(mhartid), hart);
    CHECK_EQUAL(csr_read(misa), 0x40000000 | 1 << 0 | 1 << 8 | 1 << 12 | 1 << 18 | 1 << 20);   // RV32 A I M S U
    seen[hart] = 1;
    barrier();
    for (int h = 0; h < HARTS; h++)
        CHECK_EQUAL(seen[h], 1);
    // M extension
    volatile uint32_t a = 123456789, b = 1000;
    CHECK_EQUAL(a * b, 123456789u * 1000u);
    CHECK_EQUAL(a / b, 123456);
    CHECK_EQUAL(a % b, 789);
    print(hart, "hart", hart);
}
