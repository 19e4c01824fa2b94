/*
 * run=syscall-cost: the program `cost` (user/programs/cost.c) on the last hart, which it shares only with
 * interrupts; with hz=0 there are none.
 */
#include "arch/hart.h"
#include "init/run.h"
#include "lib/panic.h"
#include "proc/run.h"

static int syscall_cost(void)
{
    static struct arguments arguments;
    arguments_clear(&arguments);
    arguments_add(&arguments, "cost");
    int id = process_spawn(0, "cost", &arguments, (int)hart_count - 1);
    if (id < 0)
        panic("the program cost does not start: error %d", -id);
    return user_wait_for_all(id) >> 8;
}

RUN("syscall-cost", "cycles of a system call, a switch between processes, a new process", syscall_cost);
