/*
 * run=designated: what the designated hart (sched/designated.h, paper `krp`) costs and saves compared with the same
 * work under one global lock. A thread on every hart executes `operations` operations, one after another: `parallel`
 * private cycles, and then an update of a database of `lines` cache lines, under the global lock, or
 * in a packet for the designated hart, the last one. The owner of a packet waits only if all of its packets are still
 * under way. The run counts the database's updates at the end: none may be missing, and only the lock or the designated
 * hart protects them. Prints
 *
 *   @designated how=global|designated operations=... cycles=... caller_p50=... caller_max=... woken=...
 *
 * cycles: from the start of the first operation to the end of the last; caller: for how many cycles an update blocks
 * the thread that requests it; woken: how often the designated hart had to be woken.
 */
#include "bench/quantile.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/event.h"
#include "sched/designated.h"

#define LINE_WORDS 16
#define MOST_LINES BOOT_MOST(bench_designated, lines)
#define MOST_OPERATIONS BOOT_MOST(bench_designated, operations)
#define PACKETS 8 /* for each thread */

static volatile uint32_t database[MOST_LINES][LINE_WORDS] __attribute__((aligned(64)));
static uint32_t operations, bench_designated_parallel, lines;
static int32_t left; /* operations that no thread has begun */
static uint32_t caller[MOST_OPERATIONS];
static bool designate;

DEFINE_SIMPLE_LOCK(global_lock, "global", SPL_NET);
DEFINE_DESIGNATED(queue, "designated", SPL_NET);
static SIMPLE_LOCK_CLASS(returned_class, "packet returned", SPL_NET);

static struct client {
    struct krp krp[PACKETS];
    volatile bool busy[PACKETS];
    volatile bool waiting;
    struct event returned;
} client[MAX_HARTS];

static void bench_designated_update(void)
{
    for (uint32_t i = 0; i < lines; i++)
        database[i][0]++;
}

static void bench_designated_action(struct krp *krp)
{
    struct client *c = (struct client *)krp->parameter[0];
    bench_designated_update();
    __atomic_store_n(&c->busy[krp->parameter[1]], false, __ATOMIC_SEQ_CST);
    if (c->waiting)
        event_post(&c->returned);
}

static void bench_designated_wait_for(struct client *c, unsigned slot)
{
    c->waiting = true;
    for (;;) {
        event_clear(&c->returned);
        if (!__atomic_load_n(&c->busy[slot], __ATOMIC_SEQ_CST))
            break;
        event_wait(&c->returned);
    }
    c->waiting = false;
}

static void update_designated(struct client *c, unsigned slot)
{
    if (c->busy[slot])
        bench_designated_wait_for(c, slot);
    c->busy[slot] = true;
    c->krp[slot] = (struct krp){.action = bench_designated_action, .parameter = {(uintptr_t)c, slot}};
    krp_queue(&queue, &c->krp[slot]);
}

static void update_under_lock(void)
{
    crit_t s = simple_lock_enter(&global_lock);
    bench_designated_update();
    simple_lock_leave(&global_lock, s);
}

static void bench_designated_work(void *arg)
{
    struct client *c = arg;
    unsigned slot = 0;
    for (int32_t n; (n = __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED)) >= 0; slot = (slot + 1) % PACKETS) {
        uint32_t begin = cycles32();
        while (cycles32() - begin < bench_designated_parallel)
            ;
        begin = cycles32();
        if (designate)
            update_designated(c, slot);
        else
            update_under_lock();
        caller[n] = cycles32() - begin;
    }
    for (slot = 0; slot < PACKETS; slot++)
        if (c->busy[slot])
            bench_designated_wait_for(c, slot);
}

static void bench_designated_measure(bool designated)
{
    struct thread *t[MAX_HARTS];
    designate = designated;
    left = (int32_t)operations;
    for (uint32_t i = 0; i < lines; i++)
        database[i][0] = 0;
    if (designate)
        designated_start(&queue, hart_count - 1, PRI_DESIGNATED);
    uint64_t begin = cycles64();
    for (unsigned h = 0; h < hart_count; h++) {
        client[h].returned = (struct event)EVENT("returned", returned_class);
        t[h] = thread_create(bench_designated_work, &client[h], PRI_NORMAL, (int)h, "client");
    }
    for (unsigned h = 0; h < hart_count; h++)
        thread_join(t[h]);
    uint64_t cycles = cycles64() - begin;
    if (designate)
        designated_stop(&queue);
    for (uint32_t i = 0; i < lines; i++)
        if (database[i][0] != operations)
            panic("line %lu of the database was updated %lu times, not %lu", (unsigned long)i,
                  (unsigned long)database[i][0], (unsigned long)operations);
    kprintf("@designated how=%s operations=%lu cycles=%llu caller_p50=%lu caller_max=%lu woken=%lu\n",
            designated ? "designated" : "global", (unsigned long)operations, (unsigned long long)cycles,
            (unsigned long)quantile(caller, operations, 50), (unsigned long)quantile(caller, operations, 100),
            (unsigned long)(designated ? queue.woken : 0));
}

static int bench_designated(void)
{
    operations = bootargs_number(BOOT(bench_designated, operations));
    bench_designated_parallel = bootargs_number(BOOT(bench_designated, parallel));
    lines = bootargs_number(BOOT(bench_designated, lines));
    if (!operations || !lines)
        panic("run=designated: give operations=1 to %u and lines=1 to %u", MOST_OPERATIONS, MOST_LINES);
    bench_designated_measure(false);
    bench_designated_measure(true);
    return 0;
}

RUN("designated", "the designated hart beside one global lock (paper krp)", bench_designated);
