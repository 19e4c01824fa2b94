/*
 * run=test-user-ends: `rounds` times, some processes whose threads end nearly at once (user/programs/ends.c). Each is
 * waited for, no round leaves a process or a thread behind, and in the end all pages are free again.
 */
#include <stdio.h>

#include "mem/page.h"
#include "test/test.h"
#include "proc/run.h"

#define AT_A_TIME 2
#define EXIT (7 << 8)

static int user_ends_start(uint32_t seed)
{
    char number[12];
    static struct arguments arguments;
    arguments_clear(&arguments);
    arguments_add(&arguments, "ends");
    snprintf(number, sizeof number, "%lu", (unsigned long)seed);
    arguments_add(&arguments, number);
    return process_spawn(0, "ends", &arguments, ANY_HART);
}

/* Whether it is not one that was started: its session's leader, which was, may have ended before it. */
static bool outlived(int id, const int first[])
{
    for (unsigned i = 0; i < AT_A_TIME; i++)
        if (first[i] == id)
            return false;
    return true;
}

static int user_ends(void)
{
    uint32_t rounds = bootargs_number(BOOT(test_user_ends, rounds)), waited = 0;
    test_reclaim();
    uint32_t pages = pages_free();
    for (uint32_t round = 0; round < rounds; round++) {
        int id, status;
        int first[AT_A_TIME];
        for (uint32_t i = 0; i < AT_A_TIME; i++)
            if ((first[i] = user_ends_start(run_seed * 100000 + round * AT_A_TIME + i)) < 0)
                panic("the program ends does not start: error %d", -first[i]);
        for (; (id = process_wait(0, -1, 0, &status, 0)) > 0; waited++)
            if (status && status != EXIT && !(status == USER_SIGHUP && outlived(id, first)))
                panic("a process ended with status %#x", (unsigned)status);
        assert(process_none_left());
    }
    test_reclaim();
    assert(pages_free() == pages);
    kprintf("@test name=user-ends processes=%lu\n", (unsigned long)waited);
    return waited < rounds * AT_A_TIME;
}

RUN("test-user-ends", "test: threads of processes that end at once", user_ends);
