/*
 * Random numbers and arguments of system calls, good and bad ones: for fuzz.c and wild.c. Most are likely to pass the
 * first check.
 */
#ifndef USER_PROGRAMS_RANDOM_CALLS_H
#define USER_PROGRAMS_RANDOM_CALLS_H

#include <generated/mem.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/lib/system.h"

static uint32_t random_state; /* not 0 */

static uint32_t next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)((uint64_t)next() * n >> 32); /* without a division, as this is called often */
}

static uint32_t number(void)
{
    static const uint32_t edges[] = {0, 1, 2, 3, 64, 4095, 4096, 4097, 0x7fffffff, 0x80000000, 0xfffff000, 0xffffffff};
    return below(3) ? edges[below(sizeof edges / sizeof *edges)] : next();
}

/* An argument that is to be a pointer, `kind` below 7. */
#define ODD_POINTERS 7
static uint32_t odd_pointer(uint32_t kind)
{
    switch (kind) {
    case 1: return MAIN_RAM_BASE + below(0x40000);
    case 2: return next();
    case 3: return USER_STACK_TOP - below(32);
    case 4: return (uint32_t)odd_pointer; /* its code */
    case 5: return (uint32_t)"/bin/status";
    case 6: return (uint32_t)sbrk(0) - below(32);
    default: return 0;
    }
}
#endif
