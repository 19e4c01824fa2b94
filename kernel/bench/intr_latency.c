/*
 * run=intr-latency: cycles from an interrupt's wire to the code that handles it, with the harts idle and loaded. The
 * wire is the CLINT's timer of hart 0, whose rise is known to the cycle; needs hz=0. Ways (paper `mach`, section 2.2):
 *
 *   handler  to the first instruction of the driver's handler
 *   thread   to the interrupt thread that the handler wakes, on the same hart (biodone_thread)
 *   relayed  through that thread on to the thread that waits for the event which it posts
 *   event    straight from the handler to the thread that waits for the event: the fast path
 *   remote   to an interrupt thread on another hart, the last one, if there is one
 *
 * Loaded means that on every hart a thread spends half its time in sections under one lock shared by all, `section`
 * cycles long at most. Prints for each load and path, in cycles,
 *
 *   @intr_latency load=idle|loaded to=handler|... samples=... min=... p50=... p90=... max=... total=...
 *
 * The simulator's window is open while handler and thread are measured, so it measures the same interrupts from
 * outside.
 */
#include "arch/clint.h"
#include "bench/quantile.h"
#include "bench/stamp.h"
#include "dev/clock.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/random.h"
#include "lock/event.h"
#include "sched/ithread.h"
#include "sched/sched.h"

#define MOST_SAMPLES BOOT_MOST(bench_intr_latency, samples)
#define IDLE_SAMPLES 3  /* no variation then */
#define TO_SLEEP 2000 /* cycles until the waiting thread is asleep and its hart idle ... */
#define ACCESSES_TO_SLEEP 24 /* ... and as many accesses of the PIC */

static struct random intr_latency_pace;
static uint32_t samples, longest_section;
static uint32_t handler_cycle, thread_cycle;
static volatile bool direct, load_ends;

DEFINE_EVENT(done, "latency done", SPL_CLOCK);
DEFINE_ITHREAD(worker, "latency", SPL_CLOCK);
DEFINE_SIMPLE_LOCK(load_lock, "latency load", SPL_HIGH);

static void intr_latency_handler(struct stamp *stamp, uint32_t cycle)
{
    (void)stamp;
    clint_stop_timer(0);
    handler_cycle = cycle;
    if (direct)
        event_post(&done);
    else
        ithread_wake(&worker, cycle);
}

static void intr_latency_work(void *arg, uint32_t saved)
{
    thread_cycle = cycles32();
    (void)arg;
    (void)saved;
    event_post(&done);
}

static void spin(uint32_t most)
{
    uint32_t wait = random_below(&intr_latency_pace, most + 1);
    for (uint32_t begin = cycles32(); cycles32() - begin < wait;)
        ;
}

static void intr_latency_load(void *arg)
{
    (void)arg;
    while (!load_ends) {
        crit_t s = simple_lock_enter(&load_lock);
        spin(longest_section);
        simple_lock_leave(&load_lock, s);
        spin(longest_section);
    }
}

static void intr_latency_print(const char *load_name, const char *way, uint32_t *cycles)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < samples; i++)
        sum += cycles[i];
    kprintf("@intr_latency load=%s to=%s samples=%lu min=%lu p50=%lu p90=%lu max=%lu total=%llu\n", load_name, way,
            (unsigned long)samples, (unsigned long)quantile(cycles, samples, 0),
            (unsigned long)quantile(cycles, samples, 50), (unsigned long)quantile(cycles, samples, 90),
            (unsigned long)quantile(cycles, samples, 100), (unsigned long long)sum);
}

static uint32_t to_handler[MOST_SAMPLES], to_thread[MOST_SAMPLES], to_waiter[MOST_SAMPLES];

/* Interrupts that wake this thread: directly, or through an interrupt thread on hart `hart`. */
static void intr_latency_measure(bool directly, unsigned hart)
{
    direct = directly;
    if (!direct)
        ithread_start(&worker, PIC_SOURCE_TIMER(0), intr_latency_work, 0, PRI_INTERRUPT, 1, (int)hart);
    for (uint32_t i = 0; i < samples + 1; i++) { /* the first one fills the caches */
        if (i == 1 && !direct && hart == 0)
            PROBE(WINDOW_BEGIN);
        uint32_t delay =
            TO_SLEEP + ACCESSES_TO_SLEEP * pic_worst_access + random_below(&intr_latency_pace, TO_SLEEP / 2);
        uint64_t wire = cycles64() + delay;
        clint_set_timer(0, wire);
        event_take(&done);
        uint32_t now = cycles32(), at = i ? i - 1 : 0;
        to_handler[at] = handler_cycle - (uint32_t)wire;
        to_thread[at] = thread_cycle - (uint32_t)wire;
        to_waiter[at] = now - (uint32_t)wire;
    }
    PROBE(WINDOW_END); /* if it is open */
    if (!direct)
        ithread_stop(&worker);
}

static void measure_all(const char *load_name)
{
    intr_latency_measure(true, 0);
    intr_latency_print(load_name, "event", to_waiter);
    intr_latency_measure(false, 0);
    intr_latency_print(load_name, "handler", to_handler);
    intr_latency_print(load_name, "thread", to_thread);
    intr_latency_print(load_name, "relayed", to_waiter);
    if (hart_count > 1) {
        intr_latency_measure(false, hart_count - 1);
        intr_latency_print(load_name, "remote", to_thread);
    }
}

static void intr_latency_waiter(void *arg)
{
    struct thread *t[MAX_HARTS];
    (void)arg;
    uint32_t asked = samples;
    samples = MIN(asked, IDLE_SAMPLES);
    measure_all("idle");
    samples = asked;
    for (unsigned h = 0; h < hart_count; h++)
        t[h] = thread_create(intr_latency_load, 0, PRI_NORMAL, (int)h, "load");
    measure_all("loaded");
    load_ends = true;
    for (unsigned h = 0; h < hart_count; h++)
        thread_join(t[h]);
}

static int intr_latency(void)
{
    static struct stamp stamp = {intr_latency_handler};
    samples = bootargs_number(BOOT(bench_intr_latency, samples));
    longest_section = bootargs_number(BOOT(bench_intr_latency, section));
    if (!samples || clock_hz())
        panic("run=intr-latency needs hz=0, the timer is what it measures with, and samples=1 to %u", MOST_SAMPLES);
    intr_latency_pace = random_from(run_seed, 500);
    load_ends = false;
    intr_establish(PIC_SOURCE_TIMER(0), SPL_CLOCK, INTR_LEVEL, 0, stamp_handler, &stamp, "latency");
    thread_join(thread_create(intr_latency_waiter, 0, PRI_INTERRUPT, 0, "waiter"));
    intr_disestablish(PIC_SOURCE_TIMER(0));
    return 0;
}

RUN("intr-latency", "cycles from an interrupt's wire to handler and thread (paper mach, section 2)", intr_latency);
