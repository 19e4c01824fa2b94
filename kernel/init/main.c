/*
 * Start of the kernel: hart 0 sets the machine up as the boot arguments say, starts the other harts and creates the
 * thread that executes run=NAME. The code that booted a hart becomes its idle thread.
 * Each subsystem reads its own boot arguments (./interlock parameters lists them); here, `run` and `zones`.
 */
#include <generated/csr.h>
#include <generated/soc.h>
#include <generated/version.h>
#include <string.h>

#include "arch/accounting.h"
#include "arch/hart.h"
#include "arch/panic.h"
#include "debug/debug.h"
#include "dev/clock.h"
#include "dev/console.h"
#include "dev/host.h"
#include "dev/ram.h"
#include "dev/serial.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/lock_stats.h"
#include "lock/spin/spin.h"
#include "mem/zone.h"
#include "sched/sched.h"
#include "sched/timeout.h"
#include "sync/dispatch.h"
#include "sync/pic.h"
#include "proc/process.h"

#define USAGE_EXIT_CODE 2

struct hart harts[MAX_HARTS];
unsigned hart_count;

extern volatile uint32_t harts_may_start;
extern const struct run _runs[], _runs_end[];

int run_named(const char *name)
{
    for (const struct run *r = _runs; r < _runs_end; r++)
        if (!strcmp(name, r->name))
            return r->fn();
    kprintf("run=%s: there is no such run; this image has\n", name);
    for (const struct run *r = _runs; r < _runs_end; r++)
        kprintf("  run=%-14s %s\n", r->name, r->what);
    return USAGE_EXIT_CODE;
}

static void main_thread(void *arg)
{
    (void)arg;
    char name[24];
    bool wait = debug_init();
    kprintf("Interlock kernel, " SYNC_NAME ", harts %u, clock %lu Hz, build %08lx%08lx, version %s\n", hart_count,
            (unsigned long)CONFIG_CLOCK_FREQUENCY, (unsigned long)(identity_fingerprint_read() >> 32),
            (unsigned long)identity_fingerprint_read(), INTERLOCK_VERSION);
    if (wait) {
        console_flush();
        debug_break();
    }
    int code = run_named(bootargs_string(BOOT(kernel, run), name, sizeof name));
    clock_print_results();
#if SPIN_COUNTS_NODES
    kprintf("@spin nodes=%u\n", spin_nodes_in_use());
#endif
#if LOCK_STATS
    lock_stats_report();
#endif
#if ACCOUNTING
    accounting_print_results();
#endif
    if (bootargs_number(BOOT(kernel, zones)))
        zones_print_results();
    console_flush();
    debug_exit((uint32_t)code);
    host_exit((uint32_t)code);
}

static void start_hart(void)
{
    clock_init_hart();
    intr_init_hart();
    sched_start_hart();
    clock_start_hart();
    intr_enable(); /* this hart is at base level from here on */
}

void hart_main(uint32_t id)
{
    curhart = &harts[id];
    curhart->id = id;
    curhart->mark = id + 1;
    if (id < hart_count)
        start_hart();
    sched_idle();
}

void kernel_main(void)
{
    curhart = &harts[0];
    curhart->mark = 1;
    hart_count = identity_harts_read();
    bootargs_init();
    console_init();
    panic_hooks.exit = host_exit;
    panic_hooks.suspect_stack = stack_suspect;
    pic_init();
    ram_init();
    intr_init();
    threads_init();
    timeout_init();
    serial_init();
    user_init();
    clock_init();
    start_hart();
    console_start();
    __atomic_store_n(&harts_may_start, 1, __ATOMIC_RELEASE);
    for (unsigned h = 1; h < hart_count; h++)
        while (!harts[h].online)
            ;
    if (!thread_create(main_thread, 0, PRI_NORMAL, ANY_HART, "main"))
        panic("no thread is free for the first program of the kernel");
    sched_idle();
}
