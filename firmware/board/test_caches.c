/*
 * The others read what one hart writes, whatever their caches hold: atomics, words that share a line, lines that all
 * have cached and one rewrites, memory that the copy engine rewrites, and instructions. All harts that answer take
 * part.
 */
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>
#include <stdint.h>

#include "hart.h"
#include "harts.h"
#include "selftest.h"

#define ROUNDS 32            /* of each hart at the counters */
#define WORDS 256            /* of the buffer: 16 lines */
#define MEETING_MS 10        /* at most; then the missing hart counts as lost */
#define LINE CONFIG_CPU_CACHE_LINE_BYTES

struct shared {
    uint32_t added, conditional, plain, lock __attribute__((aligned(LINE)));
    uint32_t own[LINE / 4] __attribute__((aligned(LINE)));
    uint32_t code[LINE / 4] __attribute__((aligned(LINE)));
    uint32_t source[WORDS] __attribute__((aligned(LINE)));
    uint32_t buffer[WORDS] __attribute__((aligned(LINE)));
};
#define SHARED ((volatile struct shared *)MAIN_RAM_BASE)

/* The first error that a hart has found. */
static struct {
    const char *what; /* 0: nothing */
    uint32_t found, wanted;
} wrong[CONFIG_HARTS];
static uint32_t here, lost;
static unsigned crowd;

static void expect(unsigned hart, const char *what, uint32_t found, uint32_t wanted)
{
    if (found == wanted || wrong[hart].what)
        return;
    wrong[hart].found = found;
    wrong[hart].wanted = wanted;
    wrong[hart].what = what;
}

/* Waits for all; `meetings` counts the caller's. A hart whose wait times out continues, and so do all from then. */
static void meet(unsigned *meetings)
{
    uint32_t start = cycles(), wanted = ++*meetings * crowd;
    __atomic_add_fetch(&here, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&here, __ATOMIC_ACQUIRE) < wanted && !__atomic_load_n(&lost, __ATOMIC_RELAXED))
        if (elapsed(start, MEETING_MS * CYCLES_PER_MS))
            lost = 1;
}

static int add_conditionally(volatile uint32_t *word)
{
    uint32_t value, failed_;
    __asm__ volatile("lr.w.aq %0, (%2)\n addi %0, %0, 1\n sc.w.rl %1, %0, (%2)"
                     : "=&r"(value), "=&r"(failed_)
                     : "r"(word)
                     : "memory");
    return !failed_;
}

/* All harts add to the same words, in three ways; and each to a word of its own in a shared line. */
static void count(unsigned hart, unsigned *meetings)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        __atomic_add_fetch(&SHARED->added, 1, __ATOMIC_ACQ_REL);
        uint32_t start = cycles();
        while (!add_conditionally(&SHARED->conditional) && !elapsed(start, CYCLES_PER_MS))
            ;
        start = cycles();
        while (__atomic_exchange_n(&SHARED->lock, 1, __ATOMIC_ACQUIRE) && !elapsed(start, CYCLES_PER_MS))
            ;
        SHARED->plain++;
        __atomic_store_n(&SHARED->lock, 0, __ATOMIC_RELEASE);
        SHARED->own[hart]++;
    }
    meet(meetings);
    expect(hart, "atomic additions", SHARED->added, ROUNDS * crowd);
    expect(hart, "conditional stores", SHARED->conditional, ROUNDS * crowd);
    expect(hart, "additions under a lock", SHARED->plain, ROUNDS * crowd);
    expect(hart, "its own word of a shared line", SHARED->own[hart], ROUNDS);
}

static uint32_t sample(unsigned round, unsigned word)
{
    return (round + 1) * 0x01010101 ^ word * 0x9e3779b1;
}

static void see(unsigned hart, const char *what, unsigned round)
{
    for (unsigned i = 0; i < WORDS; i++)
        expect(hart, what, SHARED->buffer[i], sample(round, i));
}

/* Each in turn rewrites lines that all have in their caches; at the end the copy engine does. */
static void rewrite(unsigned hart, unsigned *meetings)
{
    unsigned round = 0;
    for (unsigned writer = 0; writer < CONFIG_HARTS; writer++) {
        if (!(harts_alive() >> writer & 1))
            continue;
        if (hart == writer)
            for (unsigned i = 0; i < WORDS; i++)
                SHARED->buffer[i] = sample(round, i);
        meet(meetings);
        see(hart, "a line that a hart rewrote", round++);
        meet(meetings);
    }
    if (hart == 0) {
        for (unsigned i = 0; i < WORDS; i++)
            SHARED->source[i] = sample(round, i);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        dma_source_write((uint32_t)SHARED->source);
        dma_destination_write((uint32_t)SHARED->buffer);
        dma_length_write(sizeof SHARED->buffer);
        uint32_t start = cycles();
        while (dma_busy_read() && !elapsed(start, MEETING_MS * CYCLES_PER_MS / 2))
            ;
    }
    meet(meetings);
    see(hart, "a line that the copy engine rewrote", round);
}

/* A function that returns its number: all run it, with one number and then, at the same address, another. */
static void run_code(unsigned hart, unsigned *meetings)
{
    for (unsigned number = 1; number <= 2; number++) {
        if (hart == 0) {
            SHARED->code[0] = 0x00000513 | number << 20; /* li a0, number */
            SHARED->code[1] = 0x00008067;                /* ret */
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        }
        meet(meetings);
        __asm__ volatile("fence.i" ::: "memory");
        expect(hart, "rewritten instructions", ((uint32_t (*)(void))SHARED->code)(), number);
        meet(meetings);
    }
}

static void take_part(unsigned hart)
{
    unsigned meetings = 0;
    count(hart, &meetings);
    rewrite(hart, &meetings);
    run_code(hart, &meetings);
}

void test_caches(int whole)
{
    (void)whole;
    if (!main_ram_works()) {
        absent("needs main RAM");
        return;
    }
    crowd = 0;
    for (unsigned hart = 0; hart < CONFIG_HARTS; hart++) {
        crowd += harts_alive() >> hart & 1;
        wrong[hart].what = 0;
        SHARED->own[hart] = 0;
    }
    SHARED->added = SHARED->conditional = SHARED->plain = SHARED->lock = 0;
    here = lost = 0;
    harts_call(take_part, 10 * MEETING_MS * CYCLES_PER_MS);
    for (unsigned hart = 0; hart < CONFIG_HARTS; hart++)
        if (wrong[hart].what)
            failed("hart %d, %s: 0x%lx, not 0x%lx", hart, wrong[hart].what, wrong[hart].found, wrong[hart].wanted);
    if (lost)
        failed("a hart was lost on the way");
    passed("%d hart%s", crowd, crowd == 1 ? "" : "s");
}
