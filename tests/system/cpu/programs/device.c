// A device reads and writes at random, in pieces of any length, the lines that harts read and write: ../bench/device.h.
#include "bench.h"

#define ROUNDS 1500
#define LINES 6
#define WORDS (8 * LINES)

static struct {
    volatile uint32_t low, high;
} shared[WORDS] __attribute__((aligned(64)));
static uint32_t values_seen[HARTS][WORDS], values_written[HARTS][WORDS];
static volatile uint32_t other[4096] __attribute__((aligned(4096))); // pushes lines out of the cache

void hart_main(int hart)
{
    uint32_t random = 0x9E3779B9 + 7919 * hart + 104729 * SEED, *seen = values_seen[hart],
             *written = values_written[hart];
    if (hart == 0) {
        PORT_ADDRESS = (uint32_t)shared - 0x40000000u;
        PORT_WORDS = WORDS;
        PORT_GO = PORT_RANDOM;
    }
    barrier();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t r = next_random(&random), i = (r >> 4) % WORDS;
        uint32_t mine = (i & ~7u) | (2 * hart + 1); // a word of this hart's in that line
        switch (r % 8) {
        case 0:
        case 1: { // what the device has announced as visible is visible
            i &= ~1u;
            LOOK(hart) = i;
            uint32_t least = LOOK(hart);
            fence();
            uint32_t value = shared[i].low;
            CHECK(value >= least && value >= seen[i]);
            seen[i] = value;
            break;
        }
        case 2:
        case 3: { // no word goes back
            uint32_t value = shared[i].low;
            CHECK(value >= seen[i]);
            seen[i] = value;
            CHECK_EQUAL(shared[mine].low, written[mine]);
            break;
        }
        case 4: shared[mine].low = ++written[mine]; break;
        case 5: // the device sees what this hart stored
            shared[mine].low = ++written[mine];
            __asm__ volatile("fence w, o" ::: "memory");
            PROMISE = mine << 16 | written[mine];
            break;
        case 6:
            CHECK_EQUAL(amoadd(&shared[mine].low, 1), written[mine]);
            written[mine]++;
            break;
        case 7: CHECK_EQUAL(other[r >> 10 & 4095], 0); break;
        }
    }
    barrier();
    if (hart == 0) {
        PORT_GO = PORT_STOP;
        while (PORT_GO)
            continue;
    }
    barrier();
    for (uint32_t i = 0; i < WORDS; i += 2) {
        LOOK(hart) = i;
        uint32_t value = LOOK(hart);
        fence();
        CHECK_EQUAL(shared[i].low, value);
    }
    for (uint32_t line = 0; line < WORDS; line += 8)
        CHECK_EQUAL(shared[line + 2 * hart + 1].low, written[line + 2 * hart + 1]);
    // A write of a whole line by the device clears the reservation of each of its words.
    if (hart == 0) {
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t failed_;
            __asm__ volatile("lr.w x0, (%0)" ::"r"(&shared[i].low) : "memory");
            PORT_ADDRESS = (uint32_t)shared - 0x40000000u;
            PORT_WORDS = 8;
            PORT_GO = PORT_WRITE;
            while (PORT_GO)
                continue;
            __asm__ volatile("sc.w %0, %1, (%2)" : "=r"(failed_) : "r"(99), "r"(&shared[i].low) : "memory");
            CHECK_EQUAL(failed_, 1);
            CHECK_EQUAL(shared[i].low, i + 1);
        }
    }
}
