/*
 * The loader of programs, with files that are damaged in every byte, and the break. Sources: proc/elf.c proc/program.c
 * vm/map.c vm/shared.c vm/inherited.c vm/object.c vm/fault.c vm/page.c vm/pager.c vm/pageout.c vm/swap.c vm/radix.c
 * mem/page.c mem/zone.c lock/simple_lock.c lib/printf.c test/host/fake/vm.c.
 */
#include "proc/elf.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "test/host/fake/vm.h"
#include "test/host/host.h"
#include "proc/program.h"

#define PAGES 64
#define TEXT 0x00010000u
#define DATA 0x00012000u

struct segment {
    uint32_t type, at, address, physical, in_file, in_memory, flags, align;
};

/* A program with a page of text and data that is longer in memory than in the file. */
static struct file {
    uint8_t identification[16];
    uint16_t type, machine;
    uint32_t version, entry, segments_at, sections_at, flags;
    uint16_t size, segment_size, segments, section_size, sections, section_names;
    struct segment segment[2];
    char text[8], data[8];
} sound = {
    "\177ELF\1\1\1",
    2,
    243,
    1,
    TEXT + 4,
    offsetof(struct file, segment),
    0,
    0,
    52,
    sizeof(struct segment),
    2,
    0,
    0,
    0,
    {{1, offsetof(struct file, text), TEXT, TEXT, 8, 8, 5, 4096},
     {1, offsetof(struct file, data), DATA, DATA, 8, PAGE_SIZE + 1, 6, 4096}},
    "text...",
    "data...",
};

static struct vm_map *map;
static struct elf_program program;

/* Whether user mode has these rights there. */
static bool has(uint32_t address, unsigned rights)
{
    struct vm_region r;
    return !vm_region(map, address, &r) && r.begin <= address && (r.rights & rights) == rights;
}

static void make_map(void)
{
    static bool begun;
    if (!begun)
        fake_vm_init(PAGES, 0);
    begun = true;
    CHECK((map = vm_map_create()));
}

static uint32_t unreadable = UINT32_MAX;

static int piece(const struct elf_file *file, uint32_t at, void *to, uint32_t n)
{
    CHECK(at <= file->size && n <= file->size - at);
    if (unreadable - at < n)
        return -EIO;
    memcpy(to, (const uint8_t *)file->with + at, n);
    return 0;
}

static int load(const void *file, uint32_t size)
{
    static bool by_pieces; /* alternates */
    const struct elf_file in_memory = {.bytes = file, .size = size},
                          on_disk = {.size = size, .read = piece, .with = (void *)file};
    make_map();
    by_pieces = !by_pieces;
    return elf_load(map, by_pieces ? &on_disk : &in_memory, &program);
}

HOST_TEST(a_file_that_cannot_be_read_is_no_program)
{
    static const uint32_t where[] = {0, 60, offsetof(struct file, text), offsetof(struct file, data) + 7};
    const struct elf_file on_disk = {.size = sizeof sound, .read = piece, .with = &sound};
    for (unsigned i = 0; i < 4; i++) {
        unreadable = where[i];
        make_map();
        CHECK_EQUAL(elf_load(map, &on_disk, &program), -EIO);
        vm_map_release(map);
    }
    unreadable = UINT32_MAX;
}

HOST_TEST(a_sound_program_is_loaded)
{
    char text[8];
    CHECK_EQUAL(load(&sound, sizeof sound), 0);
    CHECK_EQUAL(program.entry, TEXT + 4);
    CHECK_EQUAL(program.end, DATA + 2 * PAGE_SIZE);
    CHECK_EQUAL(copyin(map, text, TEXT, 8), 0);
    CHECK_TEXT(text, "text...");
    CHECK_EQUAL(copyin(map, text, DATA, 8), 0);
    CHECK_TEXT(text, "data...");
    CHECK_EQUAL(copyin(map, text, DATA + PAGE_SIZE, 1), 0);
    CHECK_EQUAL(text[0], 0);
    CHECK(has(TEXT, PAGE_EXECUTE) && !has(TEXT, PAGE_WRITE));
    CHECK(has(DATA, PAGE_WRITE) && !has(DATA, PAGE_EXECUTE));
    vm_map_release(map);
}

/* The only thing that is wrong in each. */
static const struct {
    const char *what;
    uint16_t at, size;
    uint32_t value;
} wrong[] = {
    {"magic", 0, 1, 0x7e},
    {"64 bits", 4, 1, 2},
    {"big-endian", 5, 1, 2},
    {"a library", offsetof(struct file, type), 2, 3},
    {"another machine", offsetof(struct file, machine), 2, 3},
    {"segments outside", offsetof(struct file, segments_at), 4, 0xfffffff0},
    {"segments' size", offsetof(struct file, segment_size), 2, 31},
    {"too many segments", offsetof(struct file, segments), 2, 0xffff},
    {"an entry that is no code", offsetof(struct file, entry), 4, DATA},
    {"an entry within an instruction", offsetof(struct file, entry), 4, TEXT + 2},
    {"an entry that is nowhere", offsetof(struct file, entry), 4, 0},
    {"file outside", offsetof(struct file, segment[0].at), 4, 0xfffffffc},
    {"file too long", offsetof(struct file, segment[1].in_file), 4, 9},
    {"more in the file than in memory", offsetof(struct file, segment[0].in_memory), 4, 7},
    {"memory beyond user mode's", offsetof(struct file, segment[1].in_memory), 4, VM_END},
    {"memory around the end", offsetof(struct file, segment[1].in_memory), 4, 0xffffffff},
    {"the null page", offsetof(struct file, segment[1].address), 4, 0},
    {"the kernel", offsetof(struct file, segment[1].address), 4, FAKE_RAM},
    {"a page twice", offsetof(struct file, segment[1].address), 4, TEXT + 64},
    {"code that can be written", offsetof(struct file, segment[0].flags), 4, 7},
    {"code that cannot be read", offsetof(struct file, segment[0].flags), 4, 1},
};

HOST_TEST(a_wrong_program_is_refused)
{
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct file file = sound;
        memcpy((char *)&file + wrong[i].at, &wrong[i].value, wrong[i].size);
        int error = load(&file, sizeof file);
        vm_map_release(map);
        if (error != -ENOEXEC)
            host_failed(__FILE__, __LINE__, "%s gives %d", wrong[i].what, error);
    }
}

/* Its length and its place within a page wrap round the addresses to a short one. */
HOST_TEST(a_segment_all_round_the_addresses_is_refused)
{
    struct file file = sound;
    file.segment[1].address = DATA + 64;
    file.segment[1].in_memory = 0xfffffff0;
    CHECK_EQUAL(load(&file, sizeof file), -ENOEXEC);
    vm_map_release(map);
}

/* In memory of exactly its size, so that the sanitizer sees an access beyond. */
HOST_TEST(a_program_that_is_cut_short_is_refused)
{
    for (uint32_t size = 0; size < sizeof sound - 1; size++) {
        void *file = memcpy(malloc(size + !size), &sound, size);
        CHECK(load(file, size));
        vm_map_release(map);
        free(file);
    }
}

HOST_TEST(damage_does_no_harm)
{
    struct random random = random_from(1, 0);
    unsigned loaded = 0;
    for (unsigned round = 0; round < 20000 * host_times(); round++) {
        struct file *file = malloc(sizeof *file);
        *file = sound;
        for (unsigned i = 1 + random_below(&random, 3); i; i--)
            ((uint8_t *)file)[random_below(&random, sizeof *file)] = (uint8_t)random_next(&random);
        loaded += !load(file, sizeof *file);
        vm_map_release(map);
        vm_check_no_leak();
        free(file);
    }
    CHECK(loaded > 1000 && loaded < 19000 * host_times());
}

/* At and near every edge. */
static uint32_t near_an_edge(struct random *random)
{
    static const uint32_t edge[] = {
        0,           VM_BEGIN,   TEXT, DATA, VM_END, USER_STACK_TOP, USER_STACK_TOP - USER_STACK_SIZE, USER_BREAK_LIMIT,
        0x80000000u, 0xfffff000u};
    uint32_t to = edge[random_below(random, sizeof edge / sizeof *edge)];
    return to + (random_below(random, 5) - 2) * PAGE_SIZE + (random_below(random, 3) ? 0 : random_below(random, 9) - 4);
}

static void raise_at_random(struct user_break *brk, struct random *random)
{
    for (unsigned i = 0; i < 12; i++) {
        uint32_t old = brk->now;
        uint32_t bytes = random_below(random, 3) ? random_below(random, 9000) : near_an_edge(random) - old;
        int result = program_move_break(map, brk, (int32_t)bytes);
        if (result < 0) {
            CHECK_EQUAL(result, (int32_t)bytes < 0 ? -EINVAL : -ENOMEM);
            CHECK_EQUAL(brk->now, old);
            continue;
        }
        CHECK_EQUAL(result, old);
        CHECK_EQUAL(brk->now, old + bytes);
        if ((int32_t)bytes > 0)
            CHECK(brk->now <= USER_BREAK_LIMIT && has(old, PAGE_WRITE) && has(brk->now - 1, PAGE_WRITE));
        CHECK(!has((brk->now + PAGE_MASK) & ~PAGE_MASK, PAGE_READ) || old >= USER_BREAK_LIMIT - PAGE_SIZE);
    }
}

HOST_TEST(any_program_and_any_break_do_no_harm)
{
    struct random random = random_from(2, 0);
    static char text[] = "ab\0cd";
    struct arguments arguments = {.count = 2, .size = 6, .piece = {text}};
    unsigned loaded = 0, beyond = 0, refused = 0, no_memory = 0;
    for (unsigned round = 0; round < 40000 * host_times(); round++) {
        struct file *file = malloc(sizeof *file);
        struct user_start start;
        struct user_break brk;
        *file = sound;
        for (unsigned i = 0; i < 2; i++) {
            struct segment *s = &file->segment[i];
            if (random_below(&random, 2))
                s->address = near_an_edge(&random);
            if (random_below(&random, 3) == 0)
                s->in_memory =
                    random_below(&random, 2) ? near_an_edge(&random) - s->address : random_below(&random, 20000);
            if (random_below(&random, 3) == 0)
                s->in_file = random_below(&random, 9);
        }
        if (random_below(&random, 4))
            file->entry = file->segment[0].address + 4 * random_below(&random, 4);
        make_map();
        int error =
            program_load(map, &(struct elf_file){.bytes = file, .size = sizeof *file}, &arguments, &start, &brk);
        CHECK(!error || error == -ENOEXEC || error == -ENOMEM);
        if (!error) {
            uint32_t argc;
            CHECK(has(start.pc, PAGE_EXECUTE));
            CHECK_EQUAL(copyin(map, &argc, start.sp, sizeof argc), 0);
            CHECK_EQUAL(argc, 2);
            raise_at_random(&brk, &random);
        }
        loaded += !error;
        beyond += !error && brk.now > USER_BREAK_LIMIT;
        refused += error == -ENOEXEC;
        no_memory += error == -ENOMEM;
        vm_map_release(map);
        vm_check_no_leak();
        free(file);
    }
    CHECK(loaded > 2000 && beyond > 200 && refused > 2000 && no_memory > 200);
}

HOST_TEST(a_break_at_the_end_of_user_mode_stays)
{
    struct user_break brk = {VM_END, VM_END};
    make_map();
    CHECK_EQUAL(program_move_break(map, &brk, 0), VM_END);
    CHECK_EQUAL(program_move_break(map, &brk, 1), -ENOMEM);
    brk = (struct user_break){USER_BREAK_LIMIT + 1, USER_BREAK_LIMIT + PAGE_SIZE};
    CHECK_EQUAL(program_move_break(map, &brk, 1), -ENOMEM);
    brk = (struct user_break){USER_BREAK_LIMIT - 1, USER_BREAK_LIMIT};
    CHECK_EQUAL(program_move_break(map, &brk, 2), -ENOMEM);
    CHECK_EQUAL(program_move_break(map, &brk, INT32_MIN), -EINVAL);
    vm_map_release(map);
}
