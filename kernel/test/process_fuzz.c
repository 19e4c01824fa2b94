/*
 * run=test-process-fuzz: processes that make random system calls of all kinds, some at once (user/programs/wild.c),
 * until all of them together have made `calls`, `rounds` times, with random forks, signals, handlers and memory. None
 * takes the kernel down. When a process ends, another begins; when calls have nearly ceased, all processes are ended.
 * So is a process that has run for `life` clock ticks: a program whose handler of a fault returns to the fault
 * faults for ever. After a round no process, thread, page or zone's object is left. user.pages= makes memory run out.
 * dear=N: calls that make or end processes are N times rarer, so that more other calls are made in the same time.
 */
#include <errno.h>
#include <stdio.h>

#include "mem/zone.h"
#include "test/test.h"
#include "proc/run.h"
#include "proc/signal.h"

#define AT_A_TIME 5
#define EACH 1500       /* calls of a process at most, with its children; `dear` times as many */
#define QUIET_TICKS 10  /* with fewer calls than QUIET_CALLS: most of them hang */
#define QUIET_CALLS 30

static bool process_fuzz_start(uint32_t seed, uint32_t calls, uint32_t dear)
{
    static struct arguments arguments;
    char number[12];
    arguments_clear(&arguments);
    arguments_add(&arguments, "wild");
    snprintf(number, sizeof number, "%lu", (unsigned long)seed);
    arguments_add(&arguments, number);
    snprintf(number, sizeof number, "%lu", (unsigned long)calls);
    arguments_add(&arguments, number);
    snprintf(number, sizeof number, "%lu", (unsigned long)dear);
    arguments_add(&arguments, number);
    return process_spawn(0, "wild", &arguments, ANY_HART) > 0;
}

static uint32_t process_fuzz_system_calls(void)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += user_hart_of(&harts[h])->system_calls;
    return n;
}

/* All processes that have run for so many clock ticks. */
static void end_all(uint32_t life)
{
    crit_t s = simple_lock_enter(&user_lock);
    struct process *p;
    SLIST_FOREACH(p, &processes, all) {
        uint32_t user, all;
        process_ticks(p, &user, &all);
        if (p->id && all >= life)
            signal_send(p, USER_SIGKILL, 0);
    }
    simple_lock_leave(&user_lock, s);
}

/* How many have ended by now. */
static uint32_t process_fuzz_reap(void)
{
    uint32_t ended = 0;
    int status;
    while (process_wait(0, -1, USER_WNOHANG, &status, 0) > 0)
        ended++;
    return ended;
}

static uint32_t living(void)
{
    uint32_t n = 0;
    crit_t s = simple_lock_enter(&user_lock);
    struct process *p;
    SLIST_FOREACH(p, &processes, all)
        n += p->id != 0;
    simple_lock_leave(&user_lock, s);
    return n;
}

static uint32_t started, ended;

static void round_of(uint32_t calls, uint32_t dear, uint32_t life)
{
    uint32_t begin = process_fuzz_system_calls(), before = begin, quiet = 0;
    while (process_fuzz_system_calls() - begin < calls) {
        for (uint32_t n = living(); n < AT_A_TIME; n++)
            if (process_fuzz_start(run_seed * 10007 + started, EACH * dear, dear))
                started++;
            else
                break; /* no memory for now */
        thread_delay(1);
        ended += process_fuzz_reap();
        end_all(life);
        if (++quiet < QUIET_TICKS)
            continue;
        if (process_fuzz_system_calls() - before < QUIET_CALLS)
            end_all(0);
        before = process_fuzz_system_calls();
        quiet = 0;
    }
    while (living()) {
        end_all(0);
        thread_delay(1);
        ended += process_fuzz_reap();
    }
}

static int process_fuzz(void)
{
    uint32_t rounds = bootargs_number(BOOT(test_process_fuzz, rounds)),
             calls = bootargs_number(BOOT(test_process_fuzz, calls));
    uint32_t dear = bootargs_number(BOOT(test_process_fuzz, dear));
    uint32_t life = bootargs_number(BOOT(test_process_fuzz, life));
    test_reclaim();
    uint32_t pages = pages_free();
    for (uint32_t round = 0; round < rounds; round++) {
        round_of(calls, dear, life);
        assert(process_none_left());
        test_reclaim();
        vm_check_no_leak();
        if (pages_free() != pages) {
            zones_print_results();
            panic("%lu pages are free, %lu were", (unsigned long)pages_free(), (unsigned long)pages);
        }
    }
    kprintf("\n@test name=process-fuzz started=%lu ended=%lu calls=%lu\n", (unsigned long)started, (unsigned long)ended,
            (unsigned long)process_fuzz_system_calls());
    return 0;
}

RUN("test-process-fuzz", "test: random system calls of all kinds from processes at once", process_fuzz);
