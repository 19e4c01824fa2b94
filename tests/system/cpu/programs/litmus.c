// Classic tests of memory order, on pairs of harts, many times.
#include "bench.h"

#define ROUNDS 400

static struct {
    volatile uint32_t word[16];
} data, flag, x, y, saw[HARTS];

void hart_main(int hart)
{
    barrier();
    // Message passing: a hart that sees the flag sees the data written before it.
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        if (hart == 0) {
            data.word[i % 16] = i;
            __asm__ volatile("fence w, w" ::: "memory");
            flag.word[0] = i;
        } else {
            while (flag.word[0] != i)
                continue;
            __asm__ volatile("fence r, r" ::: "memory");
            CHECK_EQUAL(data.word[i % 16], i);
        }
        barrier();
    }
    // Store buffering: with a full fence between its store and its load, at least one hart sees the other's store.
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        if (hart == 0) {
            x.word[0] = i;
            fence();
            saw[0].word[0] = y.word[0];
        } else if (hart == 1) {
            y.word[0] = i;
            fence();
            saw[1].word[0] = x.word[0];
        }
        barrier();
        if (hart == 0)
            CHECK(saw[0].word[0] == i || saw[1].word[0] == i);
        barrier();
    }
    // Coherence: a load behind an LR of the same word, which bypasses the cache, sees no older value than the LR.
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        if (hart == 0) {
            for (uint32_t n = i % 16; n; n--)
                __asm__ volatile("");
            data.word[0] = ROUNDS + i;
        } else {
            uint32_t first, second;
            __asm__ volatile("lw %0, (%2)\n lr.w %0, (%2)\n lw %1, (%2)" : "=&r"(first), "=r"(second) : "r"(data.word));
            CHECK(second >= first);
        }
        barrier();
    }
    // The store buffering above with an amoswap.aqrl in place of the fence.
    for (uint32_t i = ROUNDS + 1; i <= 2 * ROUNDS; i++) {
        if (hart < 2) {
            volatile uint32_t *mine = hart ? &y.word[0] : &x.word[0], *other = hart ? &x.word[0] : &y.word[0];
            __asm__ volatile("amoswap.w.aqrl x0, %0, (%1)" ::"r"(i), "r"(mine) : "memory");
            saw[hart].word[0] = *other;
        }
        barrier();
        if (hart == 0)
            CHECK(saw[0].word[0] == i || saw[1].word[0] == i);
        barrier();
    }
}
