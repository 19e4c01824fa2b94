/*
 * run=test-calling: a hart whose thread only makes system calls, of one kind after the other, is
 * still interrupted soon, however long an interrupt takes to reach the hart. On each hart but the first a program
 * that is bound to it makes them (tests/kernel/programs/caller.c); the first raises their sources at random
 * times, and waits for the handlers.
 */
#include <stdio.h>

#include "proc/run.h"
#include "test/test.h"

/* As in run=test-yielding; a call also masks interrupts now and then. */
#define LONGEST 4
#define CLOSED 40

static struct calling {
    volatile uint32_t handled;
} __attribute__((aligned(64))) calling_on[MAX_HARTS];

static void calling_handler(void *arg)
{
    (void)arg;
    calling_on[curhart->id].handled++;
}

static int calling_start(const char *way, uint32_t count, unsigned hart)
{
    static struct arguments arguments;
    char number[12];
    arguments_clear(&arguments);
    arguments_add(&arguments, "caller");
    arguments_add(&arguments, way);
    snprintf(number, sizeof number, "%lu", (unsigned long)count);
    arguments_add(&arguments, number);
    return process_spawn(0, "caller", &arguments, (int)hart);
}

/* Raises some sources of a hart. Returns the cycles until all have been handled. */
static uint32_t calling_raise(unsigned h, const char *way, struct random *r)
{
    uint32_t limit = LONGEST * test_settle_cycles(TEST_SOURCES) + CLOSED * (pic_worst_delivery + pic_worst_access);
    unsigned some = 1 + random_below(r, (1u << TEST_SOURCES) - 1), all = calling_on[h].handled;
    uint32_t sources = 0, took;
    for (unsigned n = 0; n < TEST_SOURCES; n++)
        if (some >> n & 1) {
            sources |= 1u << test_source(h, n);
            all++;
        }
    pic_raise(sources);
    for (uint32_t begin = cycles32(); took = cycles32() - begin, calling_on[h].handled != all;)
        if (took > limit)
            panic("hart %u's program makes calls (%s) again and again, and the hart is not interrupted", h, way);
    return took;
}

static int calling_test(void)
{
    static const char *const ways[] = {"alarm", "id", "read", "pipe", "map", "signal"};
    uint32_t count = bootargs_number(BOOT(test_calling, calls)), most = 0, raised = 0;
    uint32_t most_ways = bootargs_number(BOOT(test_calling, ways));
    struct random r = random_from(run_seed, 1200);
    assert(hart_count > 1);
    thread_bind(0);
    test_establish(calling_handler);
    for (unsigned w = 0; w < most_ways; w++) {
        unsigned running = 0;
        for (unsigned h = 1; h < test_harts(); h++, running++)
            if (calling_start(ways[w], count, h) < 0)
                panic("the program caller does not start");
        while (running) {
            int status = 0, ended = process_wait(0, -1, USER_WNOHANG, &status, 0);
            if (status || ended < 0)
                panic("caller %s ended with status %#x", ways[w], (unsigned)status);
            running -= ended > 0;
            test_yield(random_below(&r, 4000));
            unsigned h = 1 + random_below(&r, test_harts() - 1);
            uint32_t took = calling_raise(h, ways[w], &r);
            most = took > most ? took : most;
            raised++;
        }
    }
    kprintf("@test name=calling ways=%u longest=%lu raised=%lu\n", (unsigned)most_ways, (unsigned long)most,
            (unsigned long)raised);
    return 0;
}

RUN("test-calling", "test: a hart whose program makes system calls in a loop is interrupted", calling_test);
