// Fails, or hangs: a test of the tests.
#include "bench.h"

void hart_main(int hart)
{
#ifndef HANG
    CHECK_EQUAL(hart + 2, 3);
#else
    for (;;)
        __asm__ volatile("" ::"r"(hart));
#endif
}
