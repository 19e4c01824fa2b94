// How fast a device moves memory, and how much that slows harts that work on memory. BUSY: 0, the harts do
// nothing, and pieces of several lengths are moved; 1, the harts other than hart 0 go through memory alone, and then
// beside a device that writes; 2, beside one that reads. Hart 0 waits at the peripheral bus and in registers, and
// does not access memory.
#include "bench.h"

#define PIECE 1024 // words
#define AWHILE 60000 // cycles

static volatile uint32_t buffer[2 * PIECE] __attribute__((aligned(4096)));
static struct {
    volatile uint32_t word[16];
} stop, turns[HARTS];
static volatile uint32_t working[HARTS][4096] __attribute__((aligned(4096))); // more than a cache of one way

static void move(uint32_t words, uint32_t what)
{
    PORT_ADDRESS = (uint32_t)buffer - 0x40000000u;
    PORT_WORDS = words;
    PORT_GO = what;
    while (PORT_GO)
        continue;
}

static void lengths(void)
{
    static const struct {
        uint32_t words;
        const char *write, *read;
    } length[] = {{1, "write_1", "read_1"},       {2, "write_2", "read_2"},          {4, "write_4", "read_4"},
                  {8, "write_8", "read_8"},       {16, "write_16", "read_16"},       {64, "write_64", "read_64"},
                  {512, "write_512", "read_512"}, {PIECE, "write_1024", "read_1024"}};
    for (unsigned i = 0; i < sizeof length / sizeof *length; i++) {
        move(length[i].words, PORT_WRITE);
        print(0, length[i].write, PORT_CYCLES);
        move(length[i].words, PORT_READ);
        print(0, length[i].read, PORT_CYCLES);
        CHECK_EQUAL(PORT_WORDS, length[i].words * (length[i].words + 1) / 2);
    }
}

// Lets the other harts work for a while, beside the device if `what` is not 0.
static void measure(uint32_t what, const char *cycles, const char *words, const char *done, const char *moved)
{
    uint32_t begin = CYCLE, before = MEMORY_WORDS, turned = 0, pieces = 0;
    for (int h = 1; h < HARTS; h++)
        turned -= turns[h].word[0];
    while (CYCLE - begin < AWHILE)
        if (what)
            move(PIECE, what), pieces++;
    uint32_t took = CYCLE - begin, carried = MEMORY_WORDS - before;
    for (int h = 1; h < HARTS; h++)
        turned += turns[h].word[0];
    print(0, cycles, took);
    print(0, words, carried);
    print(0, done, turned);
    print(0, moved, pieces * PIECE);
}

void hart_main(int hart)
{
    barrier();
    if (hart == 0 && BUSY == 0) {
        lengths();
    } else if (hart == 0) {
        measure(0, "alone_cycles", "alone_words", "alone_turns", "alone_moved");
        measure(BUSY, "both_cycles", "both_words", "both_turns", "both_moved");
    } else if (BUSY) {
        // Loads that miss and hit, and stores: of each line three words are read and two written.
        for (uint32_t turn = 0; !stop.word[0]; turn++) {
            volatile uint32_t *line = &working[hart][turn % 256 * 16];
            line[0] = line[3] + line[6];
            line[9] = line[12] + turn;
            turns[hart].word[0] = turn + 1;
        }
    }
    if (hart == 0)
        stop.word[0] = 1;
}
