/* run=hello: a thread on every hart prints a line. */
#include <stdio.h>

#include "init/run.h"
#include "lib/printf.h"
#include "sched/sched.h"

static void say_hello(void *arg)
{
    kprintf("hello from hart %u, thread %s\n", (unsigned)curhart->id, (const char *)arg);
}

static int hello(void)
{
    static char name[MAX_HARTS][8];
    for (unsigned h = 0; h < hart_count; h++) {
        snprintf(name[h], sizeof name[h], "hello%u", h);
        thread_join(thread_create(say_hello, name[h], PRI_NORMAL, (int)h, name[h]));
    }
    return 0;
}

RUN("hello", "a thread on every hart says so", hello);
