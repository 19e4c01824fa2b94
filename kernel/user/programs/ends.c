/*
 * ends SEED ROUNDS: children with threads that end nearly at once, ROUNDS of them one after the other; a child is this program
 * with another seed and 0 rounds. The seed says how a child's threads end (each by itself, one for all, while another starts a
 * thread or a process) and by how many cycles they differ. Its status is 0 or 7, as it exits or its threads just end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "user/lib/system.h"

#define MOST 3 /* threads beside the first */
#define EXIT 7

static uint32_t state, begin;
static uint32_t at[MOST + 1]; /* cycles after `begin` */
static uint8_t stack[MOST + 1][512];
static volatile uint32_t there;
static enum { ENDS, EXITS, STARTS_THREAD, STARTS_PROCESS, KINDS } kind;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (uint32_t)((uint64_t)state * n >> 32);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void ends(void *number)
{
    static const char *const argv[] = {"ends", "1", 0}; /* too few: ends at once */
    unsigned n = (uintptr_t)number;
    __atomic_fetch_add(&there, 1, __ATOMIC_RELAXED);
    while ((int32_t)(cycles() - begin - at[n]) < 0)
        ;
    if (n == 0 && kind == EXITS)
        system_call(SYS_EXIT, EXIT, 0, 0);
    if (n == 0 && kind == STARTS_THREAD)
        thread_start(nothing, 0, stack[MOST], sizeof stack[MOST]);
    if (n == 0 && kind == STARTS_PROCESS)
        spawn("ends", argv);
    system_call(n == 1 && kind != ENDS ? SYS_EXIT : SYS_THREAD_EXIT, EXIT, 0, 0);
}

static int child(void)
{
    unsigned threads = 1 + below(MOST);
    kind = below(KINDS);
    begin = cycles() + 20000; /* by then all have started, if there are harts for them */
    for (unsigned i = 0; i <= threads; i++)
        at[i] = below(8) ? below(600) : below(20000);
    for (unsigned i = 1; i <= threads; i++)
        if (thread_start(ends, (void *)(uintptr_t)i, stack[i - 1], sizeof stack[0]) < 0)
            return 1;
    ends(0);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 0;
    uint32_t seed = strtoul(argv[1], 0, 0), rounds = strtoul(argv[2], 0, 0);
    state = (seed + 1) * 2654435761u;
    if (!rounds)
        return child();
    for (uint32_t i = 0; i < rounds; i++) {
        char number[12];
        utoa(seed * 1000 + i, number, 10);
        const char *const words[] = {"ends", number, "0", 0};
        int status, id = spawn("ends", words), ended = wait_child(&status);
        if (id < 0 || ended != id || (status != 0 && status != EXIT << 8))
            return 3;
    }
    return 0;
}
