/*
 * run=test-program-fuzz: `rounds` programs whose files are made at random, with segments at and over every edge of user
 * mode's addresses, of the stack and of one another. Those that are started raise their break by random steps, store to
 * the last byte of what they were given, and exit. Any file is refused, or its program runs to its exit, and all
 * memory comes back.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "mem/page.h"
#include "test/test.h"
#include "proc/run.h"

#define SEGMENTS 3
#define STEPS 12
#define SOME_CODE 0x00010000u

struct segment {
    uint32_t type, at, address, physical, in_file, in_memory, flags, align;
};

static struct file {
    uint8_t identification[16];
    uint16_t type, machine;
    uint32_t version, entry, segments_at, sections_at, flags;
    uint16_t size, segment_size, segments, section_size, sections, section_names;
    struct segment segment[SEGMENTS];
    uint32_t code[32];
    int32_t step[STEPS];
} file;

/* Goes through the steps, which lie at 128 bytes from its beginning. */
extern const uint32_t steps_code[], steps_code_end[];
__asm__(".pushsection .rodata\n .balign 4\n"
        "steps_code:\n"
        "    auipc s0, 0\n"
        "    addi s0, s0, 128\n"
        "    li s1, 12\n"
        "1:  lw s2, 0(s0)\n"
        "    mv a0, s2\n"
        "    li a7, 69\n" /* SYS_SBRK */
        "    ecall\n"
        "    bltz a0, 2f\n"
        "    beqz s2, 2f\n"
        "    add a0, a0, s2\n"
        "    sb zero, -1(a0)\n"
        "2:  addi s0, s0, 4\n"
        "    addi s1, s1, -1\n"
        "    bnez s1, 1b\n"
        "    li a0, 0\n"
        "    li a7, 1\n" /* SYS_EXIT */
        "    ecall\n"
        "steps_code_end:\n .popsection\n");
_Static_assert(SYS_SBRK == 69 && SYS_EXIT == 1 && STEPS == 12, "steps_code");

static uint32_t near_an_edge(struct random *r)
{
    static const uint32_t edge[] = {
        0,          VM_BEGIN, SOME_CODE, VM_END, USER_STACK_TOP, USER_STACK_TOP - USER_STACK_SIZE, USER_BREAK_LIMIT,
        0x80000000u};
    uint32_t a = edge[random_below(r, sizeof edge / sizeof *edge)];
    return a + (random_below(r, 5) - 2) * PAGE_SIZE + (random_below(r, 3) ? 0 : random_below(r, 9) - 4);
}

static void program_fuzz_make(struct random *r)
{
    file = (struct file){.identification = "\177ELF\1\1\1",
                         .type = 2,
                         .machine = 243,
                         .version = 1,
                         .size = 52,
                         .segments_at = offsetof(struct file, segment),
                         .segment_size = sizeof(struct segment),
                         .segments = (uint16_t)(1 + random_below(r, SEGMENTS))};
    memcpy(file.code, steps_code, (size_t)((const char *)steps_code_end - (const char *)steps_code));
    for (unsigned i = 0; i < STEPS; i++)
        file.step[i] = (int32_t)(random_below(r, 3) ? random_below(r, 3 * PAGE_SIZE)
                                                    : near_an_edge(r) - (random_below(r, 2) ? SOME_CODE : 0));
    uint32_t loaded = sizeof file.code + sizeof file.step;
    file.segment[0] = (struct segment){1, offsetof(struct file, code), SOME_CODE, 0, loaded, loaded, 5, PAGE_SIZE};
    if (!random_below(r, 4))
        file.segment[0].address = near_an_edge(r) & ~3u;
    file.entry = file.segment[0].address;
    if (!random_below(r, 8))
        file.segment[0].in_memory = near_an_edge(r);
    for (unsigned i = 1; i < SEGMENTS; i++) {
        uint32_t begin = near_an_edge(r);
        uint32_t size = random_below(r, 3) ? random_below(r, 2 * PAGE_SIZE) : near_an_edge(r) - begin;
        file.segment[i] = (struct segment){1, 0, begin, 0, size < 50 ? size : random_below(r, 50), size, 6, 0};
    }
}

static int program_fuzz(void)
{
    struct random r = random_from(run_seed, 0);
    static struct arguments arguments;
    uint32_t started = 0, refused = 0, no_memory = 0, rounds = bootargs_number(BOOT(test_program_fuzz, rounds));
    test_reclaim();
    uint32_t pages = pages_free();
    arguments_clear(&arguments);
    arguments_add(&arguments, "fuzzed");
    for (uint32_t n = rounds; n; n--) {
        program_fuzz_make(&r);
        int status, id = process_start(0, "fuzzed", &file, sizeof file, &arguments, ANY_HART);
        started += id > 0;
        refused += id == -ENOEXEC;
        no_memory += id == -ENOMEM;
        if (id > 0 && (process_wait(0, -1, 0, &status, 0) != id || status))
            panic("a program ended with status %#x", (unsigned)status);
    }
    assert(process_none_left());
    test_reclaim();
    assert(pages_free() == pages);
    assert(started + refused + no_memory == rounds && started && refused);
    kprintf("@test name=program-fuzz started=%lu refused=%lu no_memory=%lu\n", (unsigned long)started,
            (unsigned long)refused, (unsigned long)no_memory);
    return 0;
}

RUN("test-program-fuzz", "test: programs made at random, which raise their break", program_fuzz);
