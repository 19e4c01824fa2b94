/*
 * run=test-process-fuzz: processes that make random system calls of all kinds, `calls` each, `rounds` times some at once
 * (user/programs/wild.c): with forks, signals, handlers and memory that are as random. None takes the kernel down. Those that
 * have not ended after a while are ended. Then no process, thread, page or zone's object is left.
 * user.pages= makes memory run out.
 */
#include <errno.h>
#include <stdio.h>

#include "test/test.h"
#include "user/run.h"
#include "user/signal.h"

#define AT_A_TIME 3
#define LAST_TICK 60 /* after which those that are left are ended */

static bool start(uint32_t seed, uint32_t calls)
{
    static struct arguments arguments;
    char number[12];
    arguments_clear(&arguments);
    arguments_add(&arguments, "wild");
    snprintf(number, sizeof number, "%lu", (unsigned long)seed);
    arguments_add(&arguments, number);
    snprintf(number, sizeof number, "%lu", (unsigned long)calls);
    arguments_add(&arguments, number);
    return process_spawn(0, "wild", &arguments, ANY_HART) > 0;
}

static uint32_t system_calls(void)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += user_hart_of(&harts[h])->system_calls;
    return n;
}

static void end_all(void)
{
    crit_t s = simple_lock_enter(&user_lock);
    for (struct process *p = processes; p; p = p->all_next)
        if (p->id)
            signal_send(p, USER_SIGKILL);
    simple_lock_leave(&user_lock, s);
}

/* Those that end, and, after a while, those that are made to. Their count. */
static uint32_t wait_for_all(void)
{
    uint32_t ended = 0;
    int status, id;
    for (uint32_t tick = 0; (id = process_wait(0, -1, USER_WNOHANG, &status, 0)) != -ECHILD;) {
        if (id > 0) {
            ended++;
            continue;
        }
        thread_delay(1);
        if (++tick >= LAST_TICK)
            end_all();
    }
    return ended;
}

static int fuzz(void)
{
    uint32_t rounds = bootargs_number("rounds", 1, 100000), calls = bootargs_number("calls", 300, 1000000), ended = 0,
             started = 0;
    test_reclaim();
    uint32_t pages = pages_free();
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < AT_A_TIME; i++)
            started += start(run_seed * 10007 + round * AT_A_TIME + i, calls);
        ended += wait_for_all();
        assert(process_none_left());
        test_reclaim();
        vm_check_no_leak();
        if (pages_free() != pages)
            panic("%lu pages are free, %lu were", (unsigned long)pages_free(), (unsigned long)pages);
    }
    kprintf("\n@test name=process-fuzz started=%lu ended=%lu calls=%lu\n", (unsigned long)started, (unsigned long)ended,
            (unsigned long)system_calls());
    return started != rounds * AT_A_TIME;
}

RUN("test-process-fuzz", "test: random system calls of all kinds from processes at once", fuzz);
