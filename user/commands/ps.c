/* ps: lists all processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/system.h"

#define SPARE 8 /* started between the two calls */

int main(void)
{
    int most = system_call(SYS_PROCESSES, 0, 0, 0);
    if (most < 0) {
        fprintf(stderr, "ps: %s\n", strerror(-most));
        return 1;
    }
    most += SPARE;
    struct user_process *p = calloc((size_t)most, sizeof *p);
    if (!p) {
        fputs("ps: out of memory\n", stderr);
        return 1;
    }
    int n = system_call(SYS_PROCESSES, (uint32_t)p, (uint32_t)most, 0);
    puts("  PID  PPID  PGRP S THR  PAGES      ms NAME");
    for (int i = 0; i < n && i < most; i++)
        printf("%5ld %5ld %5ld %c %3lu %6lu %7lu %s\n", (long)p[i].id, (long)p[i].parent, (long)p[i].group, p[i].state,
               (unsigned long)p[i].threads, (unsigned long)p[i].pages, (unsigned long)p[i].milliseconds, p[i].name);
    return n < 0;
}
