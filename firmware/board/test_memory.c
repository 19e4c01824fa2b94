/*
 * Main RAM: data lines, address lines, then the cells by March C- (van de Goor), each hart its share of them. The check
 * reads from memory, not from a cache: reads elsewhere flush the cache in between.
 */
#include <generated/mem.h>
#include <generated/soc.h>
#include <stdint.h>

#include "console.h"
#include "hart.h"
#include "harts.h"
#include "selftest.h"

#define LONGEST_CACHE 0x1000   /* bytes of the largest data cache that can be built */
#define SHORT_BYTES 0x400      /* of each piece that the short test covers */
#define WORD 4

/* Reads as much of the ROM as any data cache holds: this evicts all lines of the main RAM. */
static void empty_cache(void)
{
    for (uint32_t address = ROM_BASE; address < ROM_BASE + LONGEST_CACHE; address += CONFIG_CPU_CACHE_LINE_BYTES)
        (void)*word_at(address);
}

/* The first error that a hart has found. */
static struct fault {
    uint32_t address, wanted, found; /* wanted == found: nothing */
} faults[CONFIG_HARTS];

static void compare(struct fault *fault, uint32_t address, uint32_t wanted)
{
    uint32_t found = *word_at(address);
    if (found != wanted && fault->wanted == fault->found)
        *fault = (struct fault){address, wanted, found};
}

/* Two words for each bit of a 64-bit bus: it alone 1, then it alone 0. */
static void data_lines(struct fault *fault)
{
    for (uint32_t invert = 0; invert != 2; invert++) {
        for (uint32_t bit = 0; bit < 64; bit++) {
            *word_at(MAIN_RAM_BASE + 8 * bit) = (bit < 32 ? 1u << bit : 0) ^ -invert;
            *word_at(MAIN_RAM_BASE + 8 * bit + 4) = (bit < 32 ? 0 : 1u << (bit - 32)) ^ -invert;
        }
        empty_cache();
        for (uint32_t bit = 0; bit < 64; bit++) {
            compare(fault, MAIN_RAM_BASE + 8 * bit, (bit < 32 ? 1u << bit : 0) ^ -invert);
            compare(fault, MAIN_RAM_BASE + 8 * bit + 4, (bit < 32 ? 0 : 1u << (bit - 32)) ^ -invert);
        }
    }
}

/* Words whose addresses differ in one bit from the first or from the last must be distinct. */
static void address_lines(struct fault *fault)
{
    uint32_t bits = MAIN_RAM_SIZE - WORD;
    for (uint32_t from = 0;; from = bits) {
        *word_at(MAIN_RAM_BASE + from) = ~from;
        for (uint32_t bit = WORD; bit < MAIN_RAM_SIZE; bit <<= 1)
            *word_at(MAIN_RAM_BASE + (from ^ bit)) = from ^ bit;
        empty_cache();
        compare(fault, MAIN_RAM_BASE + from, ~from);
        for (uint32_t bit = WORD; bit < MAIN_RAM_SIZE; bit <<= 1)
            compare(fault, MAIN_RAM_BASE + (from ^ bit), from ^ bit);
        if (from)
            return;
    }
}

#define UNTOUCHED 1

/* One element of a march: at each word, up or down, check that it holds `wanted` and write `next`. */
static void element(struct fault *fault, uint32_t start, uint32_t bytes, int down, uint32_t wanted, uint32_t next)
{
    empty_cache();
    for (uint32_t offset = 0; offset < bytes; offset += WORD) {
        uint32_t address = start + (down ? bytes - WORD - offset : offset);
        if (wanted != UNTOUCHED)
            compare(fault, address, wanted);
        if (next != UNTOUCHED)
            *word_at(address) = next;
    }
}

/* March C-, whose elements read and write either the background or its complement. */
static const struct {
    int8_t wanted, next, down; /* 0: the background, 1: its complement, -1: no access */
} elements[] = {{-1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {0, 1, 1}, {1, 0, 1}, {0, -1, 0}};

static int march_whole;

static void march(unsigned hart, uint32_t start, uint32_t bytes)
{
    static const uint32_t backgrounds[] = {0, 0x55555555};
    for (unsigned b = 0; b < sizeof backgrounds / sizeof *backgrounds; b++) {
        for (unsigned i = 0; i < sizeof elements / sizeof *elements; i++) {
            element(&faults[hart], start, bytes, elements[i].down,
                    elements[i].wanted < 0 ? UNTOUCHED : backgrounds[b] ^ -(uint32_t)elements[i].wanted,
                    elements[i].next < 0 ? UNTOUCHED : backgrounds[b] ^ -(uint32_t)elements[i].next);
            if (march_whole && hart == 0)
                print("."); /* it takes minutes on a large memory */
        }
    }
}

/* A hart's share: of the whole memory, or of a piece at its beginning, in its middle and at its end. */
static void march_share(unsigned hart)
{
    uint32_t size = march_whole ? MAIN_RAM_SIZE : SHORT_BYTES;
    uint32_t share = size / CONFIG_HARTS / WORD * WORD, start = MAIN_RAM_BASE + hart * share;
    if (hart == CONFIG_HARTS - 1)
        share = size - hart * share;
    march(hart, start, share);
    if (!march_whole) {
        march(hart, start + MAIN_RAM_SIZE / 2, share);
        march(hart, start + MAIN_RAM_SIZE - SHORT_BYTES, share);
    }
}

static int tell(const char *what, const struct fault *fault)
{
    if (fault->wanted == fault->found)
        return 0;
    failed("%s: 0x%08lx at 0x%08lx, not 0x%08lx", what, fault->found, fault->address, fault->wanted);
    return 1;
}

static int works;

int main_ram_works(void)
{
    return works;
}

void test_memory(int whole)
{
    works = 0;
    for (unsigned hart = 0; hart < CONFIG_HARTS; hart++)
        faults[hart] = (struct fault){0};
    data_lines(&faults[0]);
    if (tell("data lines", &faults[0]))
        return;
    address_lines(&faults[0]);
    if (tell("address lines", &faults[0]))
        return;
    march_whole = whole;
    /* Shares are alike, so the others need about as long as hart 0. */
    uint32_t missing = harts_call(march_share, (whole ? 30000 : 10) * CYCLES_PER_MS);
    if (whole)
        print("\n");
    for (unsigned hart = 0; hart < CONFIG_HARTS; hart++)
        if (tell("cells", &faults[hart]))
            return;
    works = 1;
    if (missing)
        failed("harts 0x%lx have not tried their share", missing);
    passed("%d KiB of %d MiB", (whole ? MAIN_RAM_SIZE : 3 * SHORT_BYTES) >> 10, MAIN_RAM_SIZE >> 20);
}
