/* run=test-panic, test-exception, test-relock, test-sleep-in-handler: errors that must end the run with a report. */
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

static void sleeps(void *arg)
{
    DEFINE_SIMPLE_LOCK(lock, "slept on", SPL_HIGH);
    simple_lock_enter(&lock);
    thread_sleep(arg, &lock);
}

static int sleep_test(void)
{
    test_establish(sleeps);
    pic_raise(1u << test_source(0, 0));
    test_spin(test_settle_cycles(4));
    return 0;
}

RUN("test-panic", "test: a panic three calls deep", panic_test);
RUN("test-exception", "test: a load from a bad address", exception_test);
RUN("test-relock", "test: a hart takes a simple lock twice", relock_test);
RUN("test-sleep-in-handler", "test: a handler goes to sleep", sleep_test);
