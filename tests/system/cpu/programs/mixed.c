// A random mix of cached accesses, misses, atomics, fences, private I/O of every kind and shared I/O, checked
// throughout.
#include "bench.h"

#define ROUNDS 1500

static struct {
    volatile uint32_t word[4096];
} mine[HARTS]; // four times the cache
static uint32_t model[HARTS][4096], io_model[HARTS][16];
static volatile uint32_t sum;

void hart_main(int hart)
{
    uint32_t random = 0x12345 + 77 * hart + SEED * 991, added = 0, traced = 0, before = TRACED(hart);
    static volatile uint32_t total;
    for (int i = 0; i < 16; i++)
        IO(i) = 0;
    barrier();
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t r = next_random(&random), at = r >> 8 & 4095, slot = r >> 20 & 15, value = next_random(&random);
        switch (r % 14) {
        case 0:
        case 1: mine[hart].word[at] = model[hart][at] = value; break;
        case 2:
        case 3: CHECK_EQUAL(mine[hart].word[at], model[hart][at]); break;
        case 4: // a burst that the write buffer may join
            for (uint32_t i = 0; i < 8; i++)
                mine[hart].word[(at + i) & 4095] = model[hart][(at + i) & 4095] = value + i;
            break;
        case 5:
            amoadd(&sum, value & 255);
            added += value & 255;
            break;
        case 6: IO(slot) = io_model[hart][slot] = value; break;
        case 7: CHECK_EQUAL(IO(slot), io_model[hart][slot]); break;
        case 8:
            TRACE(at & 1023) = value;
            traced++;
            break;
        case 9: // stores, trace stores and a load close together
            mine[hart].word[at] = model[hart][at] = value;
            TRACE(1) = value;
            traced++;
            mine[hart].word[at ^ 1] = model[hart][at ^ 1] = ~value;
            TRACE(2) = value;
            traced++;
            CHECK_EQUAL(mine[hart].word[at ^ 2048], model[hart][at ^ 2048]);
            TRACE(3) = value;
            traced++;
            CHECK_EQUAL(IO(slot), io_model[hart][slot]);
            break;
        case 10:
            if (value % 4 == 0)
                fence();
            else if (value % 4 == 1)
                __asm__ volatile("fence w, o" ::: "memory");
            else if (value % 4 == 2)
                __asm__ volatile("fence o, r" ::: "memory");
            else
                __asm__ volatile("fence.i" ::: "memory");
            break;
        case 11:
            CHECK_EQUAL(amoadd(&IO(slot), value), io_model[hart][slot]);
            io_model[hart][slot] += value;
            break;
        case 12:
            mine[hart].word[at] = model[hart][at] = value;
            IO(slot) = io_model[hart][slot] = value;
            CHECK_EQUAL(mine[hart].word[at], value);
            break;
        case 13: IO_STALL(hart) = (value & 0x80000000) | value % 24; break;
        }
    }
    amoadd(&total, added);
    (void)TRACE(0);
    CHECK_EQUAL(TRACED(hart) - before, traced);
    barrier();
    CHECK_EQUAL(sum, total);
    for (int i = 0; i < 4096; i++)
        CHECK_EQUAL(mine[hart].word[i], model[hart][i]);
}
