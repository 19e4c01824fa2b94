/*
 * ends SEED: threads that end nearly at once. The seed determines how (each by itself, one for all, while another
 * starts a thread or a process) and by how many cycles they differ. The status is 0 or 7, as the threads just end or
 * one exits.
 */
#include <stdlib.h>

#include "user/lib/system.h"

#define MOST 3 /* threads beside the first */
#define EXIT 7

static uint32_t state, begin;
static uint32_t at[MOST + 1]; /* cycles after `begin` */
static uint8_t stack[MOST + 1][512];
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
    static const char *const argv[] = {"ends", 0}; /* no seed: it ends at once */
    unsigned n = (uintptr_t)number;
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

int main(int argc, char **argv)
{
    if (argc < 2)
        return 0;
    state = (strtoul(argv[1], 0, 0) + 1) * 2654435761u;
    unsigned threads = 1 + below(MOST);
    kind = below(KINDS);
    begin = cycles() + 8000; /* most have started by then, if there are harts for them */
    for (unsigned i = 0; i <= threads; i++)
        at[i] = below(8) ? below(600) : below(8000);
    for (unsigned i = 1; i <= threads; i++)
        if (thread_start(ends, (void *)(uintptr_t)i, stack[i - 1], sizeof stack[0]) < 0)
            return 1;
    ends(0);
    return 2;
}
