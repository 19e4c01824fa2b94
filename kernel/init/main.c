/*
 * Start of the kernel: hart 0 sets the machine up as the boot arguments say, lets the other harts in and makes the
 * thread that carries out run=NAME. The code that booted a hart becomes its idle thread.
 *
 * Boot arguments (all optional): run, seed, hz (clock ticks a second), hz.jitter, console.baud, pic.read, pic.write,
 * pic.delivery, pic.jitter, ram.latency, ram.jitter (cycles), gdb, gdb.baud; and those of the run.
 */
#include <generated/csr.h>
#include <generated/soc.h>
#include <string.h>

#include "arch/accounting.h"
#include "arch/hart.h"
#include "arch/panic.h"
#include "arch/path.h"
#include "debug/debug.h"
#include "dev/clock.h"
#include "dev/console.h"
#include "dev/host.h"
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
#include "user/process.h"

#define DEFAULT_HZ 100
#define MOST_LATENCY 65535
#define USAGE_EXIT_CODE 2

INTR_PATH_DATA struct hart harts[MAX_HARTS];
SHORT_PATH_DATA unsigned hart_count;

extern volatile uint32_t harts_may_start;
extern const struct run _runs[], _runs_end[];

static void set_latencies(void)
{
    uint32_t read = bootargs_number("pic.read", 0, MOST_LATENCY), write = bootargs_number("pic.write", 0, MOST_LATENCY);
    uint32_t delivery = bootargs_number("pic.delivery", 0, MOST_LATENCY);
    uint32_t jitter = bootargs_number("pic.jitter", 0, MOST_LATENCY);
    pic_worst_access = (read > write ? read : write) + jitter;
    pic_worst_delivery = delivery + jitter;
    pic_set_latency(read, write, delivery, jitter, run_seed * 2 + 1);
    ram_read_latency_write(bootargs_number("ram.latency", ram_read_latency_read(), MOST_LATENCY));
    ram_seed_write(run_seed * 2 + 1);
    ram_jitter_write(bootargs_number("ram.jitter", 0, MOST_LATENCY));
}

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
    kprintf("Interlock kernel, " SYNC_NAME ", harts %u, clock %lu Hz, build %08lx%08lx\n", hart_count,
            (unsigned long)CONFIG_CLOCK_FREQUENCY, (unsigned long)(identity_fingerprint_read() >> 32),
            (unsigned long)identity_fingerprint_read());
    if (wait) {
        console_flush();
        debug_break();
    }
    int code = run_named(bootargs_string("run", name, sizeof name, "hello"));
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
    if (bootargs_number("zones", 0, 1))
        zones_print_results();
    console_flush();
    debug_exit((uint32_t)code);
    host_exit((uint32_t)code);
}

static void start_hart(void)
{
    uint32_t hz = bootargs_number("hz", DEFAULT_HZ, 100000);
    clock_init_hart();
    intr_init_hart();
    sched_start_hart();
    clock_start_hart(hz, bootargs_number("hz.jitter", 0, hz ? CLOCK_HZ / hz : 0));
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
    run_seed = bootargs_number("seed", 0, 0x7fffffff);
    console_init();
    panic_hooks.exit = host_exit;
    panic_hooks.suspect_stack = stack_suspect;
    set_latencies();
    intr_init();
    threads_init();
    timeout_init();
    serial_init();
    user_init();
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
