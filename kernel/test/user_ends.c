/*
 * run=test-user-ends: `processes` of them at a time start `rounds` children each, whose threads end nearly at once (user/
 * programs/ends.c). None is lost: each is waited for, and no process, thread or page is left behind.
 */
#include <stdio.h>

#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "user/run.h"

#define SEED 2
#define ROUNDS 20

static int start(uint32_t seed)
{
    char number[12];
    struct arguments arguments = {0};
    arguments_add(&arguments, "ends");
    snprintf(number, sizeof number, "%lu", (unsigned long)seed);
    arguments_add(&arguments, number);
    snprintf(number, sizeof number, "%lu", (unsigned long)bootargs_number("rounds", ROUNDS, 1000));
    arguments_add(&arguments, number);
    return process_spawn(0, "ends", &arguments, ANY_HART);
}

static int ends(void)
{
    uint32_t at_a_time = bootargs_number("processes", 2, 4), waited = 0;
    int id = 0, status;
    for (uint32_t i = 0; i < at_a_time; i++)
        if ((id = start(run_seed * SEED + i)) < 0)
            panic("the program ends does not start: error %d", -id);
    while (process_wait(0, &status) > 0) {
        waited++;
        if (status)
            panic("a process ended with status %#x", (unsigned)status);
    }
    assert(process_none_left());
    kprintf("@test name=user-ends processes=%lu\n", (unsigned long)waited);
    return 0;
}

RUN("test-user-ends", "test: threads of processes that end at once", ends);
