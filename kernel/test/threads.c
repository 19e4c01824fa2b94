/*
 * run=test-threads: priorities, preemption from a section and by time slices, sleep and wakeup, timeouts, soft
 * interrupts.
 */
#include <string.h>

#include "dev/clock.h"
#include "dev/serial.h"
#include "intr/softint.h"
#include "sched/timeout.h"
#include "test/test.h"

DEFINE_SIMPLE_LOCK(lock, "test threads", SPL_TTY);
static volatile unsigned test_threads_turn, rounds_done;
static volatile bool stop;

/* Two threads pass a turn to each other through sleep and wakeup. */
static void ping_pong(void *arg)
{
    unsigned me = (uintptr_t)arg;
    for (unsigned i = 0; i < 50; i++) {
        crit_t s = simple_lock_enter(&lock);
        while (test_threads_turn % 2 != me)
            thread_sleep((void *)&test_threads_turn, &lock);
        test_threads_turn++;
        simple_lock_leave(&lock, s);
        thread_wakeup((void *)&test_threads_turn);
    }
}

static void test_sleep_wakeup(void)
{
    struct thread *a = thread_create(ping_pong, (void *)0, PRI_NORMAL, ANY_HART, "ping");
    struct thread *b = thread_create(ping_pong, (void *)1, PRI_NORMAL, ANY_HART, "pong");
    thread_join(a);
    thread_join(b);
    assert(test_threads_turn == 100);
}

/* The cli schemes preempt by a software interrupt, which takes some cycles to arrive. */
#define AT_ONCE 2000
static volatile unsigned order;

static void set_order(void *arg)
{
    order = order * 10 + (uintptr_t)arg;
}

/* On one hart an urgent thread runs at once, also when it was made inside a section, as soon as that ends. */
static void preemption(void *arg)
{
    int h = (int)curhart->id;
    (void)arg;
    order = 0;
    struct thread *low = thread_create(set_order, (void *)3, PRI_NORMAL + 1, h, "low");
    struct thread *high = thread_create(set_order, (void *)1, PRI_NORMAL - 1, h, "high");
    test_spin(AT_ONCE);
    assert(order == 1);
    crit_t s = crit_sec_enter(SPL_TTY);
    struct thread *higher = thread_create(set_order, (void *)2, PRI_NORMAL - 2, h, "higher");
    assert(order == 1);
    crit_sec_leave(s);
    test_spin(AT_ONCE);
    assert(order == 12);
    thread_join(high);
    thread_join(higher);
    thread_join(low);
    assert(order == 123);
}

static void spin_until_stopped(void *arg)
{
    while (!stop)
        ;
    __atomic_fetch_add((unsigned *)arg, 1, __ATOMIC_RELAXED);
}

static uint32_t two_turns;

static void stop_them(void *arg)
{
    (void)arg;
    uint32_t begin = cycles32();
    thread_yield();
    two_turns = cycles32() - begin;
    stop = true;
}

/*
 * Equal threads share a hart by time slices of two ticks: the last of three runs though the first two never
 * yield, and once more, two slices later. The tick that is under way when the first of them begins counts for it.
 */
static void test_slices(void)
{
    static unsigned stopped;
    uint32_t period = CLOCK_HZ / clock_hz();
    struct thread *t[3];
    stop = false;
    t[0] = thread_create(spin_until_stopped, &stopped, PRI_NORMAL, 0, "spin");
    t[1] = thread_create(spin_until_stopped, &stopped, PRI_NORMAL, 0, "spin");
    t[2] = thread_create(stop_them, 0, PRI_NORMAL, 0, "stop");
    for (unsigned i = 0; i < 3; i++)
        thread_join(t[i]);
    assert(stopped == 2);
    if (two_turns < 3 * period - period / 4 || two_turns > 4 * period + period / 4)
        panic("two slices took %lu cycles, a tick is %lu", (unsigned long)two_turns, (unsigned long)period);
}

#define ONE_QUEUE 4096 /* channels that lie so far apart share a sleep queue (sched/sleep.c) */
static uint8_t *channels;

static void sleep_once(void *arg)
{
    unsigned n = (uintptr_t)arg;
    crit_t s = simple_lock_enter(&lock);
    thread_sleep(channels + (n == 9 ? ONE_QUEUE : 0), &lock);
    order = order * 10 + n;
    simple_lock_leave(&lock, s);
}

/* Sleepers are woken one by one in the order in which they went to sleep; those of other channels sleep on. */
static void sleepers(void *arg)
{
    static const unsigned number[] = {1, 2, 9, 3, 4};
    struct thread *t[5];
    channels = arg;
    order = 0;
    for (unsigned i = 0; i < 5; i++) {
        if (i == 3) { /* the last of the queue goes */
            thread_wakeup(channels + ONE_QUEUE);
            test_spin(AT_ONCE);
            assert(order == 9);
        }
        t[i] = thread_create(sleep_once, (void *)(uintptr_t)number[i], PRI_NORMAL - 1, (int)curhart->id, "sleeps");
        test_spin(AT_ONCE);
    }
    thread_wakeup_one(channels);
    test_spin(AT_ONCE);
    assert(order == 91);
    thread_wakeup_one(channels);
    test_spin(AT_ONCE);
    assert(order == 912);
    thread_wakeup(channels);
    for (unsigned i = 0; i < 5; i++)
        thread_join(t[i]);
    assert(order == 91234);
}

static void test_delay(void)
{
    for (uint32_t ticks = 1; ticks <= 3; ticks++) {
        uint32_t period = CLOCK_HZ / clock_hz(), late = bootargs_number(BOOT_WITHIN(kernel, hz_jitter, 0, period));
        test_spin(ticks * period / 4); /* from anywhere in a tick */
        uint64_t begin = cycles64();
        thread_delay(ticks);
        uint64_t took = cycles64() - begin;
        if (took + late < (uint64_t)ticks * period || took > (uint64_t)(ticks + 2) * period)
            panic("a delay of %lu ticks took %lu cycles, a tick is %lu", (unsigned long)ticks, (unsigned long)took,
                  (unsigned long)period);
    }
}

static volatile unsigned fired;

static void fire(void *arg)
{
    fired = fired * 10 + (uintptr_t)arg;
}

/* Timeouts fire in order of time, not of setting; a cancelled one does not fire. */
static void test_timeouts(void)
{
    struct timeout t[3] = {0};
    timeout_set(&t[0], 3, fire, (void *)2);
    timeout_set(&t[1], 1, fire, (void *)1);
    timeout_set(&t[2], 2, fire, (void *)9);
    assert(timeout_cancel(&t[2]));
    assert(!timeout_cancel(&t[2]));
    thread_delay(5);
    assert(fired == 12);
    assert(!timeout_cancel(&t[0]));
}

static volatile unsigned soft_runs, soft_masked_run;

static void test_threads_soft(void *arg)
{
    (void)arg;
    soft_runs++;
}

/* A soft interrupt waits for the section to end, runs once however often posted, and on the hart that posted it. */
static void softints(void *arg)
{
    (void)arg;
    unsigned before = soft_runs;
    crit_t s = crit_sec_enter(SPL_SOFTNET);
    softint_schedule(SPL_SOFTNET);
    softint_schedule(SPL_SOFTNET);
    test_spin(500);
    assert(soft_runs == before);
    crit_sec_leave(s);
    test_spin(2000);
    assert(soft_runs == before + 1);
    softint_schedule(SPL_SOFTNET);
    test_spin(2000);
    assert(soft_runs == before + 2);
    test_assert_base();
}

static char noted[16]; /* begins of soft interrupts, by level, each followed by its end */
static unsigned notes;
static unsigned posts_inside[SPL_SOFT_MAX + 1]; /* what a soft interrupt of that level posts while it runs */

static void test_threads_note(unsigned what)
{
    if (notes < sizeof noted - 1)
        noted[notes++] = (char)what;
}

static void soft_of_level(void *arg)
{
    unsigned level = (uintptr_t)arg;
    assert(csr_read(mstatus) & MSTATUS_MIE); /* hardware interrupts are on */
    test_threads_note('0' + level);
    if (posts_inside[level])
        softint_schedule(posts_inside[level]);
    test_spin(1000);
    test_threads_note('.');
}

static void expect_softints(unsigned first, unsigned second, unsigned inside, const char *expected)
{
    notes = 0;
    posts_inside[first] = inside;
    crit_t s = crit_sec_enter(SPL_SOFTNET);
    softint_schedule(first);
    if (second)
        softint_schedule(second);
    crit_sec_leave(s);
    test_spin(6000);
    posts_inside[first] = 0;
    noted[notes] = 0;
    if (strcmp(noted, expected))
        panic("soft interrupts %u, %u and inside %u: %s, not %s", first, second, inside, noted, expected);
}

static void hardware(void *source)
{
    (void)source;
    test_threads_note('H');
}

/* A hardware interrupt in an optimistic scheme's queue runs before a posted one. Other schemes queue nothing. */
static void softint_behind_the_queue(void)
{
    uint32_t queued = sync_hart()->deferred;
    notes = 0;
    crit_t s = crit_sec_enter(SPL_HIGH);
    pic_raise(1u << test_source(curhart->id, 0));
    test_spin(pic_worst_delivery + 500);
    softint_schedule(SPL_SOFTTTY);
    queued = sync_hart()->deferred - queued;
    crit_sec_leave(s);
    test_spin(6000);
    noted[notes] = 0;
    if (queued && strcmp(noted, "H3."))
        panic("a soft interrupt behind a queued one: %s, not H3.", noted);
}

/*
 * Pending soft interrupts run highest first. Each masks its own level and those below, in some schemes also higher
 * ones.
 */
static void softints_by_level(void *arg)
{
    (void)arg;
    expect_softints(SPL_SOFTTTY, SPL_SOFTNET, 0, "4.3.");
    expect_softints(SPL_SOFTNET, 0, SPL_SOFTTTY, "4.3.");
    expect_softints(SPL_SOFTTTY, 0, SPL_SOFTNET, CRIT_MASKS_ALL ? "3.4." : "34..");
    softint_behind_the_queue();
    test_assert_base();
}

static void test_softints_by_level(void)
{
    softint_establish(SPL_SOFTTTY, soft_of_level, (void *)SPL_SOFTTTY);
    softint_establish(SPL_SOFTNET, soft_of_level, (void *)SPL_SOFTNET);
    test_establish_waking(hardware);
    for (unsigned h = 0; h < test_harts(); h++)
        thread_join(thread_create(softints_by_level, 0, PRI_NORMAL, (int)h, "test"));
    serial_init(); /* it used that level */
}

static int threads_test(void)
{
    test_sleep_wakeup();
    softint_establish(SPL_SOFTNET, test_threads_soft, 0);
    for (unsigned h = 0; h < hart_count; h++) {
        thread_join(thread_create(preemption, 0, PRI_NORMAL, (int)h, "test"));
        thread_join(thread_create(softints, 0, PRI_NORMAL, (int)h, "test"));
        thread_join(thread_create(sleepers, &lock, PRI_NORMAL, (int)h, "test"));
    }
    test_softints_by_level();
    test_slices();
    test_delay();
    test_timeouts();
    for (unsigned h = 0; h < hart_count; h++)
        assert(sched_hart_of(&harts[h])->switches > 4);
    kprintf("@test name=threads softints=%u\n", soft_runs);
    return 0;
}

RUN("test-threads", "test: threads, sleep, timeouts, soft interrupts", threads_test);
