/*
 * run=test-wakeup: from the wake of an urgent thread by a handler to its first instruction takes no longer than a
 * bound, with no clock tick to help (hz=0). Each trial raises up to three interrupts, by the main thread and by
 * handlers, on any hart; each handler wakes a thread of its own, bound or not, that is more urgent than all that runs.
 * Meanwhile the other threads are in sections, yield, move, switch and post soft interrupts for a random time and then
 * compute, alone or with sections, so that none calls the scheduler by chance. Some harts are idle. The PIC's delivery
 * delay goes from 0 to `delivery.last` in steps of `delivery.step`, so that the second interrupt of a chain comes at
 * every moment of what the first one sets off.
 *
 * The bound: the last of three woken threads waits for at most three passes of an interrupt, its wake and
 * a thread switch, each of which takes two accesses to the PIC in sections, six in a handler and one delivery
 * to another hart.
 */
#include <generated/csr.h>

#include "arch/atomic.h"
#include "intr/softint.h"
#include "lock/event.h"
#include "test/test.h"

#define WOKEN TEST_SOURCES
#define PASS_CYCLES 7000 /* interrupt, wake and switch with cold caches, and all harts contending for main RAM */
#define PASS_ACCESSES 40 /* to the PIC, with other harts' accesses before them on the link */
#define FOREVER_PASSES 20 /* after so many times the bound the thread will never run */
#define LONGEST_BEFORE 3000 /* cycles */

static SIMPLE_LOCK_CLASS(wake_class, "test wake", SPL_SCHED);

/* One of the urgent threads. */
static struct woken {
    struct event event;
    volatile uint32_t woken_at;
    volatile unsigned woken_on, ran_on;
    volatile uint32_t latency;
    struct thread *thread;
} woken[WOKEN] = {[0 ... WOKEN - 1] = {.event = EVENT("test wake", wake_class)}};

enum activity { SECTIONS, YIELD, MOVE, SOFTINT, SWITCH, COMPUTE, ACTIVITIES };

static struct {
    volatile uint32_t number;
    volatile uint32_t to_run; /* woken threads that have not run */
    volatile bool raised; /* until then no thread may keep a hart to itself: the main thread needs one */
    uint32_t delivery;
    unsigned source[WOKEN]; /* whose handler wakes thread n ... */
    unsigned next[WOKEN]; /* ... and raises the source of this one before; WOKEN: none */
    bool busy[MAX_HARTS];
    bool with_sections;
} trial;
static volatile bool ending;
static volatile unsigned resting;
static uint32_t bound, worst;

DEFINE_SIMPLE_LOCK(trial_lock, "test trial", SPL_SCHED);

static void wakeup_handler(void *arg)
{
    for (unsigned n = 0; n < WOKEN; n++) {
        struct woken *w = &woken[n];
        if (trial.source[n] != (uintptr_t)arg)
            continue;
        if (trial.next[n] < WOKEN)
            pic_raise(1u << trial.source[trial.next[n]]);
        w->woken_on = curhart->id;
        w->woken_at = cycles32();
        event_post(&w->event);
    }
}

static void urgent(void *arg)
{
    struct woken *w = arg;
    for (;;) {
        event_take(&w->event);
        if (ending)
            return;
        w->latency = cycles32() - w->woken_at;
        w->ran_on = curhart->id;
        atomic_add(&trial.to_run, -1u);
    }
}

static void wakeup_soft(void *arg)
{
    (void)arg;
    test_spin(100);
}

static void wakeup_nest(struct random *r, unsigned depth)
{
    crit_t s = crit_sec_enter(random_below(r, SPL_HIGH + 1));
    test_spin(random_below(r, 100));
    if (depth)
        wakeup_nest(r, depth - 1);
    crit_sec_leave(s);
}

static void wakeup_act(struct random *r, enum activity what)
{
    switch (what) {
    case SECTIONS: wakeup_nest(r, random_below(r, 3)); break;
    case YIELD: thread_yield(); break;
    case MOVE:
        if (curhart->thread->bound == ANY_HART)
            thread_move(random_below(r, hart_count));
        else
            thread_bind(curhart->thread->bound);
        break;
    case SOFTINT: softint_schedule(SPL_SOFTNET); break;
    case SWITCH: thread_join(thread_create(wakeup_soft, 0, PRI_NORMAL - 1, (int)curhart->id, "short")); break;
    default: test_spin(random_below(r, 200));
    }
}

static void wakeup_report(const char *what)
{
    kprintf("PIC: pending %#lx, in service %#lx, level %lu\n", (unsigned long)pic_read(PIC_PENDING),
            (unsigned long)pic_read(PIC_INSERVICE), (unsigned long)pic_read(PIC_LEVEL));
    for (unsigned n = 0; n < WOKEN; n++)
        kprintf(
            "thread %u, hart %d: source %u, handled %lu times, woken on hart %u, %lu cycles ago, posted %u, ran on %u, "
            "%lu cycles later\n",
            n, woken[n].thread->bound, trial.source[n],
            (unsigned long)(trial.source[n] < PIC_SOURCES ? intr_count(trial.source[n]) : 0), woken[n].woken_on,
            (unsigned long)(cycles32() - woken[n].woken_at), woken[n].event.posted, woken[n].ran_on,
            (unsigned long)woken[n].latency);
    panic("%s: trial %lu, delivery %lu, bound %lu", what, (unsigned long)trial.number, (unsigned long)trial.delivery,
          (unsigned long)bound);
}

/* Something for a while, and then nothing that yields the hart. */
static void live_through_trial(struct random *r)
{
    uint32_t begin = cycles32(), busy = random_below(r, LONGEST_BEFORE);
    while (!trial.raised || cycles32() - begin < busy)
        wakeup_act(r, random_below(r, ACTIVITIES));
    begin = cycles32();
    while (trial.to_run) {
        if (trial.with_sections)
            wakeup_act(r, SECTIONS);
        test_spin(trial.delivery +
                  50); /* a wire that falls before its rise has arrived is not seen: sections may delay it */
        if (cycles32() - begin > FOREVER_PASSES * bound)
            wakeup_report("an urgent thread waits for ever");
    }
}

static void wakeup_load(void *arg)
{
    struct random r = random_from(run_seed, 600 + (uintptr_t)arg);
    uint32_t last = 0;
    while (!ending) {
        if (trial.number != last) {
            last = trial.number;
            if (trial.busy[(uintptr_t)arg])
                live_through_trial(&r);
        }
        crit_t s = simple_lock_enter(&trial_lock);
        resting++;
        while (trial.number == last && !ending)
            thread_sleep(&trial, &trial_lock);
        resting--;
        simple_lock_leave(&trial_lock, s);
    }
}

static void begin_trial(struct random *r, uint32_t delivery)
{
    crit_t s = simple_lock_enter(&trial_lock);
    unsigned first = random_below(r, TEST_SOURCES), threads = 1 + random_below(r, WOKEN);
    unsigned chain_hart = random_below(r, test_harts());
    for (unsigned n = 0; n < WOKEN; n++) {
        bool anywhere = !random_below(r, 3);
        unsigned h = anywhere ? random_below(r, test_harts()) : chain_hart;
        trial.source[n] = n < threads ? test_source(h, (first + n) % TEST_SOURCES) : PIC_SOURCES;
        trial.next[n] = n + 1 < threads ? n + 1 : WOKEN;
        woken[n].latency = 0;
    }
    for (unsigned h = 0; h < hart_count; h++)
        trial.busy[h] = random_below(r, 4);
    trial.with_sections = random_below(r, 2);
    trial.delivery = delivery;
    trial.raised = false;
    trial.to_run = threads;
    trial.number++;
    thread_wakeup(&trial);
    simple_lock_leave(&trial_lock, s);
}

static void one_trial(struct random *r, uint32_t delivery, uint32_t access)
{
    bound = WOKEN * (PASS_CYCLES + PASS_ACCESSES * access + 2 * delivery);
    begin_trial(r, delivery);
    unsigned n = random_below(r, 3);
    while (n--)
        wakeup_act(r, random_below(r, ACTIVITIES));
    trial.raised = true;
    pic_raise(1u << trial.source[0]);
    live_through_trial(r);
    for (n = 0; n < WOKEN; n++) {
        if (woken[n].latency > bound)
            wakeup_report("an urgent thread waits too long");
        if (woken[n].latency > worst)
            worst = woken[n].latency;
    }
    for (bool all = false; !all;) { /* until the loads sleep again */
        thread_yield();
        crit_t s = simple_lock_enter(&trial_lock);
        all = resting == test_harts();
        simple_lock_leave(&trial_lock, s);
    }
}

static int test_wakeup(void)
{
    struct thread *loads[MAX_HARTS];
    struct random r = random_from(run_seed, 599);
    uint32_t last = bootargs_number(BOOT(test_wakeup, delivery_last)),
             step = bootargs_number(BOOT(test_wakeup, delivery_step));
    uint32_t rounds = bootargs_number(BOOT(test_wakeup, rounds)), trials = 0;
    uint32_t read = link_read_latency_read(), write = link_write_latency_read();
    if (clock_hz() || !step)
        panic("run=test-wakeup needs hz=0, and delivery.step=1 or more");
    test_establish_waking(wakeup_handler);
    softint_establish(SPL_SOFTNET, wakeup_soft, 0);
    for (unsigned n = 0; n < WOKEN; n++) {
        int hart = n == 2 ? ANY_HART : (int)((n * (hart_count - 1)) % hart_count);
        woken[n].thread = thread_create(urgent, &woken[n], PRI_NORMAL - 4 - 2 * n, hart, "urgent");
    }
    int was = thread_bind(0);
    for (unsigned h = 0; h < test_harts(); h++)
        loads[h] = thread_create(wakeup_load, (void *)(uintptr_t)h, PRI_NORMAL, h == 1 ? ANY_HART : (int)h, "load");
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t delivery = 0; delivery <= last; delivery += step, trials++) {
            uint32_t shift = random_below(&r, step);
            pic_set_latency(read, write, delivery + shift, 0, run_seed);
            one_trial(&r, delivery + shift, pic_worst_access);
        }
    pic_set_latency(read, write, 0, 0, run_seed);
    ending = true;
    thread_wakeup(&trial);
    for (unsigned h = 0; h < test_harts(); h++)
        thread_join(loads[h]);
    for (unsigned n = 0; n < WOKEN; n++) {
        event_post(&woken[n].event);
        thread_join(woken[n].thread);
    }
    thread_bind(was);
    kprintf("@test name=wakeup trials=%lu worst=%lu\n", (unsigned long)trials, (unsigned long)worst);
    return 0;
}

RUN("test-wakeup", "test: a woken thread that is more urgent runs within a bound, without clock ticks", test_wakeup);
