/*
 * run=test-user-fuzz: processes that make random system calls (user/programs/fuzz.c), `rounds` of them for each
 * seed, several at a time. None takes the kernel down; all end, and leave no process, thread or page behind.
 * user.pages= makes memory run out; calls= is how many each process makes (250).
 */
#include <stdio.h>

#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "test/test.h"
#include "proc/run.h"

#define AT_A_TIME 4
#define MILLISECONDS "40" /* after which a process ends, if it hangs */

static int user_fuzz_start(uint32_t seed)
{
    char number[12], calls[12];
    static struct arguments arguments;
    snprintf(number, sizeof number, "%lu", (unsigned long)seed);
    arguments_clear(&arguments);
    arguments_add(&arguments, "fuzz");
    arguments_add(&arguments, number);
    snprintf(calls, sizeof calls, "%lu", (unsigned long)bootargs_number(BOOT(test_user_fuzz, calls)));
    arguments_add(&arguments, calls);
    arguments_add(&arguments, MILLISECONDS);
    return process_spawn(0, "fuzz", &arguments, ANY_HART);
}

static uint32_t user_fuzz_system_calls(void)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += user_hart_of(&harts[h])->system_calls;
    return n;
}

static int user_fuzz(void)
{
    uint32_t rounds = bootargs_number(BOOT(test_user_fuzz, rounds)), pages = pages_free(), started = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < AT_A_TIME; i++)
            started += user_fuzz_start(run_seed * 10000 + round * AT_A_TIME + i) > 0;
        user_wait_for_all(0);
        assert(process_none_left());
        test_reclaim();
        assert(pages_free() == pages);
    }
    kprintf("\n@test name=user-fuzz processes=%lu calls=%lu\n", (unsigned long)started,
            (unsigned long)user_fuzz_system_calls());
    return started != rounds * AT_A_TIME;
}

RUN("test-user-fuzz", "test: random system calls from processes", user_fuzz);
