/*
 * run=test-panic, test-exception, test-relock, test-sleep-in-handler, test-panic-stop, test-overflow: errors that must
 * end the run with a report.
 */
#include <string.h>

#include "intr/call.h"
#include "test/test.h"

static volatile bool on_purpose = true;

static int __attribute__((noinline)) panics_inside(int n)
{
    if (on_purpose)
        panic("on purpose, %d", n);
    return n;
}

static int __attribute__((noinline)) panics_outside(int n)
{
    return panics_inside(n + 1) + 1;
}

static int panic_test(void)
{
    return panics_outside(1) + 1;
}

static int __attribute__((noinline)) loads_from(volatile int *address)
{
    return *address;
}

static int exception_test(void)
{
    volatile uintptr_t odd = (uintptr_t)&on_purpose | 1;
    return loads_from((volatile int *)odd) + 1;
}

static int relock_test(void)
{
    DEFINE_SIMPLE_LOCK(lock, "taken twice", SPL_TTY);
    simple_lock_enter(&lock);
    simple_lock_enter(&lock);
    return 0;
}

static void test_panic_sleeps(void *arg)
{
    DEFINE_SIMPLE_LOCK(lock, "slept on", SPL_HIGH);
    simple_lock_enter(&lock);
    thread_sleep(arg, &lock);
}

static int sleep_test(void)
{
    test_establish(test_panic_sleeps);
    pic_raise(1u << test_source(0, 0));
    test_spin(test_settle_cycles(4));
    return 0;
}

/* What the last hart does while hart 0 panics, and what it must not do afterwards. */
static volatile uint32_t alive;
static volatile bool there, hears_nothing;
DEFINE_SIMPLE_LOCK(panics_lock, "held by the hart that panics", SPL_HIGH);

#define LONG 1100000 /* cycles: longer than a panic waits (intr/call.c) */

static void lives(uint32_t cycles)
{
    there = true;
    for (uint32_t begin = cycles32(); cycles32() - begin < cycles;)
        alive++;
}

static void look_at_the_other(const void *deaf)
{
    uint32_t before = alive, begin = cycles32();
    while (cycles32() - begin < 20000)
        ;
    kprintf("the other hart %s\n", alive == before || deaf ? "stands" : "still lives");
    while (deaf && cycles32() - begin < 300000) /* until the other hart tries to print */
        ;
}

static void test_panic_nothing(void *arg)
{
    (void)arg;
}

static void panics_in_call(void *how)
{
    panic_explained(look_at_the_other, 0, "while hart %u does %s", hart_count - 1, (const char *)how);
}

static void resists(void *how)
{
    if (!strcmp(how, "level")) {
        crit_t s = crit_sec_enter(SPL_HIGH);
        lives(CRIT_MASKS_ALL ? 200000 : LONG); /* where that masks on chip, the hart stops at its end */
        crit_sec_leave(s);
    } else if (!strcmp(how, "pic")) {
        pic_set_level(SPL_HIGH);
        lives(LONG);
    } else if (!strcmp(how, "lock")) {
        intr_disable();
        there = true;
        simple_lock(&panics_lock);
    } else if (!strcmp(how, "deaf")) {
        intr_disable();
        lives(LONG);
    } else if (!strcmp(how, "call")) {
        there = true;
        while (!hears_nothing)
            ;
        hart_call_run(1, test_panic_nothing, 0);
    } else if (!strcmp(how, "called")) {
        hart_call_run(1, panics_in_call, how);
    }
    there = true;
    for (;;) {
        kprintf("the other hart goes on\n");
        alive++;
    }
}

static int panic_stop_test(void)
{
    static char how[8];
    bootargs_string(BOOT(test_panic, how), how, sizeof how);
    bool deaf = !strcmp(how, "deaf");
    thread_bind(0);
    if (!strcmp(how, "lock"))
        simple_lock_enter(&panics_lock);
    thread_create(resists, how, PRI_NORMAL, (int)hart_count - 1, "resists");
    while (!there)
        ;
    if (!strcmp(how, "call")) {
        intr_disable();
        hears_nothing = true;
    }
    test_spin(2000);
    panic_explained(look_at_the_other, deaf ? how : 0, "while hart %u does %s, at cycle %lu", hart_count - 1, how,
                    (unsigned long)cycles32());
}

static volatile int *faults_at;

/* Recurses `left` levels of 256 bytes deep, and stays there. */
static uint32_t __attribute__((noinline)) goes_deep(unsigned left, uint32_t rest)
{
    volatile uint32_t room[64];
    for (unsigned i = 0; i < 64; i++)
        room[i] = left;
    if (left)
        return goes_deep(left - 1, rest) + room[left % 64];
    if (faults_at)
        loads_from(faults_at);
    test_spin(rest);
    return room[0];
}

#define TOO_DEEP (THREAD_STACK_SIZE / 256 + 1)

static void overflows_in_handler(void *arg)
{
    (void)arg;
    goes_deep(TOO_DEEP, 0);
}

/* In thread code that is interrupted there, raises an exception there, or returns, and in a handler. */
static void overflows(void *where)
{
    if (!strcmp(where, "deep")) {
        pic_set_latency(0, 0, 10000, 0, 1);
        pic_raise(1u << test_source(0, 0));
        goes_deep(TOO_DEEP, 30000);
    } else if (!strcmp(where, "handler")) {
        pic_raise(1u << test_source(0, 0));
        test_spin(test_settle_cycles(4));
    } else if (!strcmp(where, "fault")) {
        volatile uintptr_t odd = (uintptr_t)&on_purpose | 1;
        faults_at = (volatile int *)odd;
        goes_deep(TOO_DEEP, 0);
    } else {
        goes_deep(TOO_DEEP, 0);
    }
    thread_yield();
}

static void does_nothing(void *arg)
{
    (void)arg;
}

static int overflow_test(void)
{
    static char where[8];
    bootargs_string(BOOT(test_panic, where), where, sizeof where);
    thread_bind((int)hart_count - 1);
    test_establish(strcmp(where, "handler") ? does_nothing : overflows_in_handler);
    thread_create(does_nothing, 0, PRI_NORMAL + 1, 0, "neighbour"); /* its stack lies below: it has ended by then */
    thread_join(thread_create(overflows, where, PRI_NORMAL - 1, 0, "culprit"));
    return 0;
}

RUN("test-panic", "test: a panic three calls deep", panic_test);
RUN("test-exception", "test: a load from a bad address", exception_test);
RUN("test-relock", "test: a hart takes a simple lock twice", relock_test);
RUN("test-sleep-in-handler", "test: a handler goes to sleep", sleep_test);
RUN("test-panic-stop", "test: a panic while another hart keeps interrupts out", panic_stop_test);
RUN("test-overflow", "test: a thread's stack overflows", overflow_test);
