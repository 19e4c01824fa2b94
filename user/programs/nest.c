/*
 * nest: forks until no fork succeeds, each child from the one before it, all alive; TURNS times, and each time as deep.
 * The last fork's error comes up through a pipe. Prints @nest depth=... error=...; the exit status is 0 if all turns
 * were alike.
 */
#include <stdio.h>

#include "user/lib/system.h"

#define TURNS 2

struct end {
    int depth, error;
};

static int forks(void)
{
    return system_call(SYS_FORK, 0, 0, 0);
}

static _Noreturn void leave(void)
{
    for (;;)
        system_call(SYS_EXIT, 0, 0, 0);
}

/* In the first child: each makes another one, or reports the end. Each ends after its descendants. */
static _Noreturn void go_deeper(int to)
{
    int depth = 1, id;
    while (!(id = forks()))
        depth++;
    if (id < 0) {
        struct end end = {depth, id};
        system_call(SYS_WRITE, (uint32_t)to, (uint32_t)&end, sizeof end);
    } else {
        system_call6(SYS_WAIT4, (uint32_t)id, 0, 0, 0, 0, 0);
    }
    leave();
}

int main(void)
{
    struct end end[TURNS];
    int fd[2];
    if (system_call(SYS_PIPE, (uint32_t)fd, 0, 0))
        return 1;
    for (int i = 0; i < TURNS; i++) {
        int id = forks();
        if (!id)
            go_deeper(fd[1]);
        if (id < 0 || system_call(SYS_READ, (uint32_t)fd[0], (uint32_t)&end[i], sizeof end[i]) != sizeof end[i] ||
            system_call6(SYS_WAIT4, (uint32_t)id, 0, 0, 0, 0, 0) != id)
            return 1;
    }
    printf("@nest depth=%d error=%d\n", end[0].depth, end[0].error);
    return end[0].depth != end[1].depth || end[0].error != end[1].error;
}
