/*
 * run=scheduler: the scheduler with one run queue or one for each hart (make RUNQUEUE=...). Two threads a
 * hart, not bound, for each of two loads, and the latency of a wakeup; prints
 *
 *   @scheduler runqueue=... load=yield|pairs harts=... threads=... operations=... cycles=... per_megacycle=...
 *   stolen=... @wakeup runqueue=... place=own|idle harts=... samples=... median=... most=...
 *
 * yield: every thread yields all the time, the switch between equals. pairs: two threads pass a turn to each other by
 * wakeup and sleep, one pair a hart. An operation is a yield or a turn; per_megacycle is of all threads together.
 * wakeup: cycles from thread_wakeup, on a hart, to the woken thread, which has higher priority and is bound to the same
 * hart (own) or to an idle one. Boot arguments: operations of each thread (100), samples (30).
 */
#include "arch/csr.h"
#include "bench/quantile.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/event.h"
#include "sched/sched.h"

#define MOST_SAMPLES BOOT_MOST(bench_scheduler, samples)

static uint32_t operations;

static void bench_scheduler_yields(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < operations; i++)
        thread_yield();
}

static SIMPLE_LOCK_CLASS(pair_class, "pair", SPL_SCHED);
static struct pair {
    struct simple_lock lock;
    unsigned turn;
} __attribute__((aligned(64))) pair[MAX_HARTS] = {[0 ... MAX_HARTS - 1] = {.lock = SIMPLE_LOCK("pair", pair_class)}};

static void takes_turns(void *arg)
{
    struct pair *p = &pair[(uintptr_t)arg / 2];
    unsigned self = (uintptr_t)arg % 2;
    for (uint32_t i = 0; i < operations; i++) {
        crit_t s = simple_lock_enter(&p->lock);
        while (p->turn != self)
            thread_sleep(p, &p->lock);
        p->turn = !self;
        simple_lock_leave(&p->lock, s);
        thread_wakeup(p);
    }
}

static uint32_t stolen(void)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += sched_hart_of(&harts[h])->stolen;
    return n;
}

static void bench_scheduler_load(const char *name, thread_fn *fn)
{
    struct thread *t[2 * MAX_HARTS];
    unsigned threads = 2 * hart_count;
    uint32_t stolen_before = stolen();
    uint64_t begin = cycles64();
    for (unsigned i = 0; i < threads; i++)
        t[i] = thread_create(fn, (void *)(uintptr_t)i, PRI_NORMAL, ANY_HART, name);
    for (unsigned i = 0; i < threads; i++)
        thread_join(t[i]);
    uint64_t cycles = cycles64() - begin, rate = (uint64_t)operations * threads * 100000000 / cycles;
    kprintf("@scheduler runqueue=" RUNQUEUE_NAME " load=%s harts=%u threads=%u operations=%lu cycles=%lu "
            "per_megacycle=%lu.%02lu stolen=%lu\n",
            name, hart_count, threads, (unsigned long)operations * threads, (unsigned long)cycles,
            (unsigned long)(rate / 100), (unsigned long)(rate % 100), (unsigned long)(stolen() - stolen_before));
}

DEFINE_EVENT(go, "go", SPL_SCHED);
static uint32_t posted, latency[MOST_SAMPLES];
static volatile uint32_t taken;

static void bench_scheduler_waits(void *samples)
{
    while (taken < (uintptr_t)samples) {
        event_take(&go);
        latency[taken] = cycles32() - posted;
        taken++;
    }
}

static void wakeup_latency(const char *place, unsigned hart, uint32_t samples)
{
    taken = 0;
    struct thread *t =
        thread_create(bench_scheduler_waits, (void *)(uintptr_t)samples, PRI_NORMAL - 4, (int)hart, "waits");
    for (uint32_t i = 0; i < samples; i++) {
        for (uint32_t begin = cycles32(); cycles32() - begin < 4000;) /* it sleeps again, and its hart is idle */
            ;
        posted = cycles32();
        event_post(&go);
        while (taken == i)
            ;
    }
    thread_join(t);
    kprintf("@wakeup runqueue=" RUNQUEUE_NAME " place=%s harts=%u samples=%lu median=%lu most=%lu\n", place, hart_count,
            (unsigned long)samples, (unsigned long)quantile(latency, samples, 50),
            (unsigned long)quantile(latency, samples, 100));
}

static int scheduler(void)
{
    operations = bootargs_number(BOOT(bench_scheduler, operations));
    uint32_t samples = bootargs_number(BOOT(bench_scheduler, samples));
    if (!operations || !samples)
        panic("run=scheduler needs operations=1 to 1000000 and samples=1 to %u", MOST_SAMPLES);
    bench_scheduler_load("yield", bench_scheduler_yields);
    bench_scheduler_load("pairs", takes_turns);
    thread_bind(0);
    wakeup_latency("own", 0, samples);
    if (hart_count > 1)
        wakeup_latency("idle", 1, samples);
    thread_bind(ANY_HART);
    return 0;
}

RUN("scheduler", "yields, wakeups and their latency", scheduler);
