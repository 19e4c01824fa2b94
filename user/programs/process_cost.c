/*
 * process_cost: what processes, threads and signals cost, in cycles, medians. Run by run=process-cost on one hart.
 * Prints
 *
 *   @process_cost null=... fork=... fork_exec=... vfork_exec=... spawn=... thread=... signal=... pipe=... switch_1=...
 *                 switch_2=... switch_4=... switch_8=... switch_16=...
 *
 * null: getpid, the floor of each call. fork: fork, exit of the child, and wait. *_exec, spawn: the same with a program
 * that exits at once. thread: from its start to its first instruction, with the switch. signal: kill of itself, the
 * handler, sigreturn: its floor is two calls. pipe: a byte to another process and one back. switch_N: one step of
 * sched_yield around N processes; N = 1, a second thread in the same process, is the floor of the others.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/system.h"

#define SAMPLES 21
#define FEW 5
#define ROUND 20 /* steps around the processes per measurement */

static uint32_t sample[SAMPLES];
static uint8_t stack[1024] __attribute__((aligned(16)));
static volatile uint32_t first_instruction, stop;
static int there[2], back[2];

extern char cost_trampoline[];
__asm__(".pushsection .text\n"
        "cost_trampoline:\n"
        "    mv a0, sp\n"
        "    li a7, 103\n"
        "    ecall\n"
        ".popsection\n");
_Static_assert(SYS_SIGRETURN == 103, "cost_trampoline");

static int call(unsigned number, uint32_t a, uint32_t b, uint32_t c)
{
    return system_call6(number, a, b, c, 0, 0, 0);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static unsigned long median_of(uint32_t (*fn)(void), unsigned samples)
{
    fn();
    for (unsigned i = 0; i < samples; i++)
        sample[i] = fn();
    qsort(sample, samples, sizeof *sample, compare);
    return sample[samples / 2];
}

static void check(bool right)
{
    if (!right)
        call(SYS_EXIT, 2, 0, 0);
}

static uint32_t null_call(void)
{
    uint32_t before = cycles();
    call(SYS_GETPID, 0, 0, 0);
    return cycles() - before;
}

static uint32_t child_with(unsigned how, bool executes)
{
    static const char *const argv[] = {"status", 0};
    int status = 1;
    uint32_t before = cycles();
    int id = how == SYS_SPAWN ? call(how, (uint32_t)argv[0], (uint32_t)argv, 0) : call(how, 0, 0, 0);
    if (!id) {
        if (executes)
            call(SYS_EXECVE, (uint32_t)argv[0], (uint32_t)argv, 0);
        for (;;)
            call(SYS_EXIT, executes, 0, 0);
    }
    check(call(SYS_WAIT4, (uint32_t)id, (uint32_t)&status, 0) == id && !status);
    return cycles() - before;
}

static uint32_t fork_alone(void)
{
    return child_with(SYS_FORK, false);
}

static uint32_t fork_exec(void)
{
    return child_with(SYS_FORK, true);
}

static uint32_t vfork_exec(void)
{
    return child_with(SYS_VFORK, true);
}

static uint32_t spawn_one(void)
{
    return child_with(SYS_SPAWN, true);
}

static void says_when(void *arg)
{
    (void)arg;
    first_instruction = cycles();
}

static uint32_t thread(void)
{
    first_instruction = 0;
    uint32_t before = cycles();
    check(thread_start(says_when, 0, stack, sizeof stack) > 0);
    while (!first_instruction)
        yield();
    return first_instruction - before;
}

static volatile unsigned handled;

static void handler(int signal)
{
    (void)signal;
    handled++;
}

static uint32_t signal_to_oneself(void)
{
    uint32_t me = (uint32_t)call(SYS_GETPID, 0, 0, 0), before = cycles();
    call(SYS_KILL, me, USER_SIGUSR1, 0);
    uint32_t after = cycles();
    return after - before;
}

static uint32_t there_and_back(void)
{
    char c = 1;
    uint32_t before = cycles();
    check(call(SYS_WRITE, (uint32_t)there[1], (uint32_t)&c, 1) == 1);
    check(call(SYS_READ, (uint32_t)back[0], (uint32_t)&c, 1) == 1);
    return cycles() - before;
}

static _Noreturn void echoes(void)
{
    char c;
    call(SYS_CLOSE, (uint32_t)there[1], 0, 0);
    while (call(SYS_READ, (uint32_t)there[0], (uint32_t)&c, 1) == 1)
        call(SYS_WRITE, (uint32_t)back[1], (uint32_t)&c, 1);
    for (;;)
        call(SYS_EXIT, 0, 0, 0);
}

static unsigned long pipe_cost(void)
{
    check(!call(SYS_PIPE, (uint32_t)there, 0, 0) && !call(SYS_PIPE, (uint32_t)back, 0, 0));
    int id = call(SYS_FORK, 0, 0, 0);
    if (!id)
        echoes();
    unsigned long cost = median_of(there_and_back, SAMPLES);
    call(SYS_CLOSE, (uint32_t)there[1], 0, 0);
    check(call(SYS_WAIT4, (uint32_t)id, 0, 0) == id);
    return cost;
}

static unsigned processes; /* that yield to each other */

static uint32_t step(void)
{
    uint32_t before = cycles();
    for (unsigned i = 0; i < ROUND; i++)
        yield();
    return (cycles() - before) / (ROUND * processes);
}

static unsigned long switch_cost(unsigned n)
{
    int ids[16];
    for (unsigned i = 1; i < n; i++)
        if (!(ids[i] = call(SYS_FORK, 0, 0, 0)))
            for (;;)
                yield();
    processes = n;
    unsigned long cost = median_of(step, FEW);
    for (unsigned i = 1; i < n; i++)
        call(SYS_KILL, (uint32_t)ids[i], USER_SIGKILL, 0);
    for (unsigned i = 1; i < n; i++)
        check(call(SYS_WAIT4, (uint32_t)ids[i], 0, 0) == ids[i]);
    return cost;
}

static void yields(void *arg)
{
    (void)arg;
    while (!stop)
        yield();
}

static unsigned long thread_switch_cost(void)
{
    check(thread_start(yields, 0, stack, sizeof stack) > 0);
    processes = 2;
    unsigned long cost = median_of(step, FEW);
    stop = 1;
    yield();
    return cost;
}

int main(void)
{
    static const struct user_sigaction action = {.handler = (uint32_t)handler};
    system_call6(SYS_SIGACTION, USER_SIGUSR1, (uint32_t)&action, 0, (uint32_t)cost_trampoline, 0, 0);
    printf("@process_cost null=%lu ", median_of(null_call, SAMPLES));
    printf("fork=%lu fork_exec=%lu vfork_exec=%lu spawn=%lu ", median_of(fork_alone, FEW), median_of(fork_exec, FEW),
           median_of(vfork_exec, FEW), median_of(spawn_one, FEW));
    printf("thread=%lu signal=%lu ", median_of(thread, FEW), median_of(signal_to_oneself, SAMPLES));
    printf("pipe=%lu switch_1=%lu ", pipe_cost(), thread_switch_cost());
    printf("switch_2=%lu switch_4=%lu switch_8=%lu switch_16=%lu\n", switch_cost(2), switch_cost(4), switch_cost(8),
           switch_cost(16));
    return handled ? 0 : 3;
}
