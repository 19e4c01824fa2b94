/*
 * run=process-cost: the program `process_cost` (user/programs/process_cost.c) on the last hart, which it shares only
 * with interrupts; with hz=0 there are none.
 */
#include "arch/hart.h"
#include "init/run.h"
#include "lib/panic.h"
#include "proc/run.h"

static int process_cost(void)
{
    static struct arguments arguments;
    arguments_clear(&arguments);
    arguments_add(&arguments, "process_cost");
    int id = process_spawn(0, "process_cost", &arguments, (int)hart_count - 1);
    if (id < 0)
        panic("the program process_cost does not start: error %d", -id);
    return user_wait_for_all(id) >> 8;
}

RUN("process-cost", "cycles of fork, execve, threads, signals, pipes, switches between processes", process_cost);
