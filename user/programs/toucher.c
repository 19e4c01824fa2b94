/*
 * toucher [THREADS]: each thread adds to words of its own at two places which run=test-shootdown maps into this process, as
 * fast as it can, until that says stop. Prints nothing.
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

int main(int argc, char **argv)
{
    uint32_t threads = argc > 1 ? strtoul(argv[1], 0, 10) : 1;
    /* until it is mapped, it is a bad pointer */
    while (system_call(SYS_CLOCK_GETTIME, USER_CLOCK_MONOTONIC, TOUCHER_STOP + 64, 0) < 0)
        yield();
    for (uint32_t n = 1; n < threads && n < TOUCHER_MOST; n++)
        if (thread_start(touch, (void *)(uintptr_t)n, stack[n], STACK) < 0)
            return 1;
    touch(0);
    return 0;
}
