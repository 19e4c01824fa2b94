// An access that the bus answers with an error traps, precisely: load, store and fetch. No other access traps.
#include "bench.h"

static volatile uint32_t cause[HARTS], tval[HARTS], epc[HARTS], count[HARTS];

void trap(struct frame *frame)
{
    int hart = hartid();
    count[hart]++;
    cause[hart] = frame->mcause, tval[hart] = frame->mtval, epc[hart] = frame->mepc;
    frame->mepc = frame->mcause == 1 ? frame->x[1] : frame->mepc + 4;
}

extern char faulty_load[], faulty_store[];

void hart_main(int hart)
{
    static volatile uint32_t cells[HARTS][16];
    volatile uint32_t *cell = cells[hart];
    for (uint32_t turn = 0; turn < 4; turn++) {
        uint32_t address = UNMAPPED + 64 * hart, value = 5;
        cell[0] = turn;   // a store under way that does not cause the trap
        __asm__ volatile(".globl faulty_load\nfaulty_load: lw %0, 0(%1)" : "+r"(value) : "r"(address) : "memory");
        CHECK_EQUAL(count[hart], 3 * turn + 1);
        CHECK_EQUAL(cause[hart], 5);
        CHECK_EQUAL(tval[hart], address);
        CHECK_EQUAL(epc[hart], (uint32_t)faulty_load);
        CHECK_EQUAL(value, 5);
        for (int i = 0; i < 8; i++)
            cell[2 * i] = i;
        __asm__ volatile(".globl faulty_store\nfaulty_store: sw %0, 0(%1)" ::"r"(value), "r"(address) : "memory");
        CHECK_EQUAL(count[hart], 3 * turn + 2);
        CHECK_EQUAL(cause[hart], 7);
        CHECK_EQUAL(tval[hart], address);
        CHECK_EQUAL(epc[hart], (uint32_t)faulty_store);
        ((void (*)(void))address)();
        CHECK_EQUAL(count[hart], 3 * turn + 3);
        CHECK_EQUAL(cause[hart], 1);
        CHECK_EQUAL(epc[hart], address);
        SLOW = turn;   // and a good store does not trap
        CHECK_EQUAL(count[hart], 3 * turn + 3);
        barrier();
    }
}
