// The DMA port is coherent: it sees what harts have stored, and harts that hold a line see what it writes.
#include "bench.h"

static struct {
    volatile uint32_t word[16];
} line[8], flag __attribute__((aligned(64)));

static void dma_write(volatile uint32_t *where, uint32_t low, uint32_t high)
{
    DMA_ADDRESS = (uint32_t)where;
    DMA_LOW = low;
    DMA_HIGH = high;
    DMA_GO = 1;
    while (DMA_GO)
        continue;
}

static void dma_read(volatile uint32_t *where)
{
    DMA_ADDRESS = (uint32_t)where;
    DMA_GO = 2;
    while (DMA_GO)
        continue;
}

void hart_main(int hart)
{
    for (uint32_t i = 0; i < 30; i++) {
        volatile uint32_t *words = line[i % 8].word;
        uint32_t seen = words[2];   // every hart holds the line
        (void)seen;
        barrier();
        if (hart == 0)
            dma_write(&words[2], 100 + i, 200 + i);
        barrier();
        CHECK_EQUAL(words[2], 100 + i);
        CHECK_EQUAL(words[3], 200 + i);
        barrier();
        if (hart == HARTS - 1) {
            words[4] = 300 + i;
            words[5] = 400 + i;
            fence();   // its stores are performed before its access to the device
            dma_read(&words[4]);
            CHECK_EQUAL(DMA_LOW, 300 + i);
            CHECK_EQUAL(DMA_HIGH, 400 + i);
        }
        barrier();
    }
    // A hart that spins on a word in its cache sees it change.
    if (hart == 0)
        dma_write(&flag.word[0], 0x600D, 0);
    else
        while (flag.word[0] != 0x600D)
            continue;
    // A DMA write clears a reservation.
    barrier();
    if (hart == 0) {
        uint32_t failed_;
        flag.word[2] = 1;
        fence();
        __asm__ volatile("lr.w x0, (%0)" ::"r"(&flag.word[2]) : "memory");
        dma_write(&flag.word[2], 5, 6);
        __asm__ volatile("sc.w %0, %1, (%2)" : "=r"(failed_) : "r"(9), "r"(&flag.word[2]) : "memory");
        CHECK_EQUAL(failed_, 1);
        CHECK_EQUAL(flag.word[2], 5);
    }
}
