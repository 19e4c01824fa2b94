/*
 * toucher [THREADS]: each thread adds to words of its own at two places which run=test-shootdown maps into this
 * process, as fast as it can, until the test says stop. Prints nothing. toucher THREADS ROUNDS: each thread writes
 * instructions and calls them, its own and then those of the thread before it, by two mappings of one page
 * (run=test-text). Its exit status is 1 if instructions other than the written ones were executed.
 */
#include <stdlib.h>

#include "user/lib/system.h"
#include "user/programs/toucher.h"

#define STACK 2048

static uint8_t stack[TOUCHER_MOST][STACK];

static void touch(void *arg)
{
    uint32_t n = (uint32_t)(uintptr_t)arg;
    volatile uint32_t *named = (uint32_t *)(TOUCHER_NAMED + n * TOUCHER_STRIDE);
    volatile uint32_t *own = (uint32_t *)(TOUCHER_OWN + n * TOUCHER_STRIDE);
    while (!*(volatile uint32_t *)TOUCHER_STOP)
        for (unsigned i = 0; i < 50; i++) {
            ++*named;
            ++*own;
        }
}

static uint32_t threads, rounds;
static volatile uint32_t written[TOUCHER_MOST], ended, stale;

static uint32_t execute(uint32_t n)
{
    return ((uint32_t (*)(void))(TOUCHER_EXECUTE + n * TOUCHER_CODE))();
}

static void write_and_execute(void *arg)
{
    uint32_t n = (uint32_t)(uintptr_t)arg, before = n ? n - 1 : threads - 1;
    volatile uint32_t *code = (uint32_t *)(TOUCHER_WRITE + n * TOUCHER_CODE);
    for (uint32_t i = 1; i <= rounds; i++) {
        code[0] = i << 20 | 10 << 7 | 0x13; /* li a0, i */
        code[1] = 0x00008067;               /* ret */
        written[n] = i;
        stale += execute(n) != i;
        uint32_t least = written[before];
        stale += least && execute(before) < least;
        if (i % 4 == n % 4)
            yield();
    }
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
    while (n)
        yield();
    while (ended < threads)
        yield();
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? strtoul(argv[1], 0, 10) : 1;
    rounds = argc > 2 ? strtoul(argv[2], 0, 10) : 0;
    void (*work)(void *) = rounds ? write_and_execute : touch;
    /* until it is mapped, it is a bad pointer */
    while (system_call(SYS_CLOCK_GETTIME, USER_CLOCK_MONOTONIC, TOUCHER_STOP + 64, 0) < 0)
        yield();
    for (uint32_t n = 1; n < threads && n < TOUCHER_MOST; n++)
        if (thread_start(work, (void *)(uintptr_t)n, stack[n], STACK) < 0)
            return 1;
    work(0);
    return stale != 0;
}
