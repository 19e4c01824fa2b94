// Lines that share a set of the caches, more of them than there are ways.
//
// Data: all harts read and write them at once. Each word belongs to one hart, which writes ever greater values into it:
// so no hart ever sees a word go back, its owner sees the last value it wrote, and behind a barrier all see the same.
// A line that stays in a way where it should have been dropped, a hit in two ways at once, a refill into the wrong way
// or of a line that was dropped meanwhile breaks that.
//
// Code: each hart calls functions of its own that lie in one set, and now and then replaces one by another.
#include "bench.h"

#define ROUNDS 1200
#define LINES 12 // of each place in a way
#define WAY 1024 // words of the greatest way
#define RET 0x00008067u
#define LI_A0(v) (0x00000513u | (uint32_t)(v) << 20)

static volatile uint32_t memory[LINES * WAY] __attribute__((aligned(4096)));
static volatile uint32_t code[LINES * WAY] __attribute__((aligned(4096)));
static uint32_t seen[HARTS][LINES][2][HARTS], writes[HARTS][LINES][2], codes[HARTS][LINES];

// Line n is in one of two neighbouring sets; its word of hart h is the h-th.
static volatile uint32_t *word(uint32_t line, uint32_t set, uint32_t owner)
{
    return &memory[line * WAY + 16 * set + owner];
}

static void write_code(int hart, uint32_t line, uint32_t value)
{
    volatile uint32_t *where = &code[line * WAY + 16 * hart];
    where[0] = LI_A0(value);
    where[1] = RET;
    codes[hart][line] = value;
    __asm__ volatile("fence.i" ::: "memory");
}

void hart_main(int hart)
{
    uint32_t random = 0x2545F491 + 7919 * hart + 104729 * SEED, (*written)[2] = writes[hart];
    for (uint32_t line = 0; line < LINES; line++)
        write_code(hart, line, line);
    barrier();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t r = next_random(&random), line = (r >> 4) % LINES, set = r >> 12 & 1, owner = (r >> 16) % HARTS;
        uint32_t *last = &seen[hart][line][set][owner];
        if (r % 8 < 3) {
            *word(line, set, hart) = ++written[line][set];
        } else if (r % 8 == 3) {
            // An atomic bypasses the cache, and must leave the cache's copy of the word right.
            CHECK_EQUAL(amoadd(word(line, set, hart), 1), written[line][set]);
            CHECK_EQUAL(*word(line, set, hart), ++written[line][set]);
        } else {
            uint32_t value = *word(line, set, owner);
            CHECK(value >= *last);
            *last = value;
            CHECK_EQUAL(*word(line, set, hart), written[line][set]);
        }
        line = (r >> 20) % LINES;
        CHECK_EQUAL(((uint32_t (*)(void))&code[line * WAY + 16 * hart])(), codes[hart][line]);
        if (r >> 27 == 0)
            write_code(hart, line, r >> 8 & 0x7FF);
    }
    for (uint32_t line = 0; line < LINES; line++)
        for (uint32_t set = 0; set < 2; set++)
            seen[hart][line][set][hart] = written[line][set];
    barrier();
    for (uint32_t line = 0; line < LINES; line++)
        for (uint32_t set = 0; set < 2; set++)
            for (uint32_t owner = 0; owner < HARTS; owner++)
                CHECK_EQUAL(*word(line, set, owner), seen[owner][line][set][owner]);
}
