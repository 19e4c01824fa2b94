/*
 * run=litmus: the memory orderings that locks rely on (test/litmus_shapes.h), on the harts there are. Each shape is
 * played BATCH times in each of `rounds` rounds. A round picks, from the seed, which hart plays which thread, where
 * x and y lie (in lines of their own, in one line, in one 64-bit word, whose stores the cache may join), and how many
 * cycles apart the harts start at most; a play picks how many, and which of x and y is in a hart's cache before. Harts
 * without a part disturb the memory meanwhile. A play begins by the cycle counter that all harts share: so they start
 * together, wherever the code lies and however long each took to get there.
 *
 *   @litmus name=<shape> weak=<plays whose outcome shows a reordering> allowed=0|1 plays=<n> outcomes=<outcome>:<n>,...
 *
 * Boot arguments: rounds; shape, the beginning of a name, to run only those shapes; model=sc forbids every reordering,
 * as sequential consistency does: it shows that the test would see one. A forbidden outcome ends the run
 * with code 1.
 *
 * Synchronisation: a barrier before and after each round; in between, harts access only what the shape says. Hart 0
 * counts and clears between two rounds.
 */
#include <string.h>

#include "arch/atomic.h"
#include "dev/console.h"
#include "test/litmus_shapes.h"
#include "test/test.h"

#define SHAPES (sizeof litmus_shapes / sizeof litmus_shapes[0])
#define OUTCOMES 243 /* five digits from 0 to 2 */
#define LINE_WORDS 16
#define BATCH 4
#define PLAY_CYCLES 500 /* from the beginning of a play to that of the next: longer than almost any takes */

struct cell {
    volatile uint32_t word[2 * LINE_WORDS];
} __attribute__((aligned(4 * LINE_WORDS)));

static struct cell cells[BATCH];
static struct cell noise[MAX_HARTS];
static struct {
    volatile uint32_t r[BATCH][2];
} __attribute__((aligned(4 * LINE_WORDS))) result[LITMUS_THREADS];

static uint32_t rounds;
static uint32_t count[SHAPES][OUTCOMES];

/*
 * A barrier for all harts, which also orders memory. Returns a cycle that all harts can still reach in time.
 */
static uint32_t litmus_meet(void)
{
    static volatile uint32_t all_there;
    static uint32_t arrived __attribute__((aligned(4 * LINE_WORDS)));
    static volatile uint32_t turn __attribute__((aligned(4 * LINE_WORDS)));
    uint32_t this_turn = turn;
    __asm__ volatile("fence rw, rw" ::: "memory");
    if (atomic_add(&arrived, 1) == hart_count - 1) {
        arrived = 0;
        all_there = cycles32() + PLAY_CYCLES;
        __asm__ volatile("fence rw, rw" ::: "memory");
        turn = this_turn + 1;
    } else {
        while (turn == this_turn)
            barrier();
    }
    __asm__ volatile("fence rw, rw" ::: "memory");
    return all_there;
}

static unsigned threads_of(const struct litmus_shape *shape)
{
    unsigned n = 0;
    while (n < LITMUS_THREADS && shape->thread[n])
        n++;
    return n;
}

static bool runs_here(const struct litmus_shape *shape)
{
    char wanted[40];
    const char *beginning = bootargs_string(BOOT(test_litmus, shape), wanted, sizeof wanted);
    return threads_of(shape) <= hart_count && !strncmp(shape->name, beginning, strlen(beginning));
}

static void wait_for_cycle(uint32_t when)
{
    while ((int32_t)(cycles32() - when) < 0)
        ;
}

static void litmus_disturb(struct random *r, unsigned hart)
{
    for (uint32_t n = random_below(r, 16); n; n--)
        noise[random_below(r, hart_count)].word[hart] += noise[hart].word[random_below(r, 2 * LINE_WORDS)];
}

/* The outcome of play `n` of a batch, which left x and y; its digits read as a number to the base 3. */
static unsigned outcome(const struct litmus_shape *shape, unsigned n, uint32_t x, uint32_t y)
{
    unsigned number = 0;
    for (const char *at = shape->observed; *at; at++) {
        uint32_t v;
        if (*at == 'x' || *at == 'y') {
            v = *at == 'x' ? x : y;
        } else {
            v = result[*at - 'a'].r[n][at[1] - '0'];
            at++;
        }
        if (v > 2)
            panic("litmus %s: a thread reads %lu, which nobody wrote", shape->name, (unsigned long)v);
        number = 3 * number + v;
    }
    return number;
}

static void litmus_touch(const volatile uint32_t *x, unsigned distance, struct random *own)
{
    unsigned which = random_below(own, 4);
    if (which & 1)
        (void)x[0];
    if (which & 2)
        (void)x[distance];
}

/*
 * One hart's part of a batch; the first play begins up to `apart` cycles after `begin`. y lies `distance` words behind
 * x.
 */
static void play(litmus_thread *thread, unsigned part, unsigned distance, uint32_t begin, uint32_t apart,
                 struct random *own)
{
    for (unsigned n = 0; n < BATCH; n++, begin += PLAY_CYCLES) {
        volatile uint32_t *x = &cells[n].word[0];
        litmus_touch(x, distance, own);
        wait_for_cycle(begin + random_below(own, apart));
        uint64_t r = thread(x, x + distance);
        result[part].r[n][0] = (uint32_t)r;
        result[part].r[n][1] = (uint32_t)(r >> 32);
    }
}

static void count_and_clear(const struct litmus_shape *shape, unsigned distance, uint32_t *counts)
{
    for (unsigned n = 0; n < BATCH; n++) {
        volatile uint32_t *x = &cells[n].word[0], *y = x + distance;
        counts[outcome(shape, n, *x, *y)]++;
        *x = *y = 0;
    }
}

static void play_rounds(const struct litmus_shape *shape, uint32_t *counts, struct random *own, unsigned hart)
{
    static const unsigned distances[] = {LINE_WORDS, 2, 1}, aparts[] = {1, 16, 64};
    struct random common = random_from(run_seed, (uint32_t)(shape - litmus_shapes)); /* the same on all harts */
    for (uint32_t n = 0; n < rounds; n++) {
        unsigned distance = distances[random_below(&common, 3)], apart = aparts[random_below(&common, 3)];
        unsigned part = (hart + random_below(&common, hart_count)) % hart_count;
        uint32_t begin = litmus_meet();
        if (part < threads_of(shape))
            play(shape->thread[part], part, distance, begin, apart, own);
        else
            litmus_disturb(own, hart);
        litmus_meet();
        if (hart == 0)
            count_and_clear(shape, distance, counts);
    }
}

static void every_hart(void *arg)
{
    unsigned hart = (unsigned)(uintptr_t)arg;
    struct random own = random_from(run_seed, SHAPES + hart);
    for (unsigned i = 0; i < SHAPES; i++)
        if (runs_here(&litmus_shapes[i]))
            play_rounds(&litmus_shapes[i], count[i], &own, hart);
}

static unsigned digits_of(const struct litmus_shape *shape)
{
    unsigned n = 0;
    for (const char *at = shape->observed; *at; at++)
        n += *at < '0' || *at > '9';
    return n;
}

static bool is_weak(const struct litmus_shape *shape, const char *text)
{
    unsigned n = strlen(text), same = 0;
    for (const char *pattern = shape->weak; strlen(pattern) >= n; pattern += pattern[n] ? n + 1 : n) {
        for (same = 0; same < n && (pattern[same] == '*' || pattern[same] == text[same]); same++)
            ;
        if (same == n)
            return true;
    }
    return false;
}

/* A line is put together by hand: there are many, and printf takes more time than playing. */
static char *litmus_put(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    return at;
}

static char *put_number(char *at, uint32_t v, unsigned base, unsigned least_digits)
{
    char digit[12];
    unsigned n = 0;
    while (v || n < least_digits) {
        digit[n++] = (char)('0' + v % base);
        v /= base;
    }
    while (n)
        *at++ = digit[--n];
    return at;
}

/* Prints what came out, and gives the number of plays with a weak outcome. */
static uint32_t litmus_report(const struct litmus_shape *shape, const uint32_t *counts, bool allowed)
{
    static char outcomes[OUTCOMES * 16], line[sizeof outcomes + 128];
    char *at = outcomes;
    uint32_t weak = 0;
    for (unsigned i = 0; i < OUTCOMES; i++) {
        if (!counts[i])
            continue;
        char *begin = at = litmus_put(at, at == outcomes ? "" : ",");
        at = put_number(at, i, 3, digits_of(shape));
        *at = 0;
        weak += is_weak(shape, begin) ? counts[i] : 0;
        at = put_number(litmus_put(at, ":"), counts[i], 10, 1);
    }
    *at = 0;
    at = litmus_put(litmus_put(line, "@litmus name="), shape->name);
    at = put_number(litmus_put(at, " weak="), weak, 10, 1);
    at = put_number(litmus_put(at, " allowed="), allowed, 10, 1);
    at = put_number(litmus_put(at, " plays="), rounds * BATCH, 10, 1);
    at = litmus_put(litmus_put(litmus_put(at, " outcomes="), outcomes), "\n");
    console_write(line, (unsigned)(at - line));
    return weak;
}

static int litmus(void)
{
    char model[8];
    bool sequential = !strcmp(bootargs_string(BOOT(test_litmus, model), model, sizeof model), "sc");
    unsigned shapes = 0, forbidden = 0;
    rounds = bootargs_number(BOOT(test_litmus, rounds));
    test_on_every_hart(every_hart);
    for (unsigned i = 0; i < SHAPES; i++) {
        if (!runs_here(&litmus_shapes[i]))
            continue;
        bool allowed = litmus_shapes[i].allowed && !sequential;
        shapes++;
        forbidden += litmus_report(&litmus_shapes[i], count[i], allowed) && !allowed;
    }
    kprintf("@test name=litmus shapes=%u forbidden=%u\n", shapes, forbidden);
    return shapes && !forbidden ? 0 : 1;
}

RUN("litmus", "test: the memory orderings that locks rely on; rounds=, shape=, model=sc", litmus);
