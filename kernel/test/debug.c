/*
 * run=test-debug, test-debug-deadlock, test-debug-deaf: states to inspect with a debugger (tests/kernel/test_gdb.py).
 * The first and the last end when the debugger sets debug_test.done; a deadlock does not.
 */
#include "arch/atomic.h"
#include "intr/call.h"
#include "test/test.h"

struct {
    volatile bool done;
    volatile uint32_t count[MAX_HARTS]; /* turns of each hart's thread */
    volatile uint32_t result;           /* the last one of debug_test_walk */
} debug_test;

/* Each kind of instruction that a step has to follow: a branch, a loop, an LR and SC, a call, a return. */
static uint32_t __attribute__((noinline)) twice(uint32_t n)
{
    return 2 * n;
}

static uint32_t __attribute__((noinline)) debug_test_walk(uint32_t n)
{
    static volatile uint32_t word;
    uint32_t sum = n & 1 ? 5 : 0;
    for (unsigned i = 0; i < 2; i++)
        sum += twice(n);
    word = n;
    while (!atomic_cas(&word, n, sum))
        ;
    return word;
}

static void test_debug_nothing(void *arg)
{
    (void)arg;
}

/* With the boot argument calls=1 the harts call each other meanwhile, and thus wait for each other. */
static void test_debug_counts(void *hart)
{
    bool calls = bootargs_number(BOOT(test_debug, calls));
    while (!debug_test.done) {
        debug_test.count[(uintptr_t)hart]++;
        if (calls)
            hart_call_run((1u << hart_count) - 1, test_debug_nothing, 0);
    }
}

static int debug(void)
{
    struct thread *t[MAX_HARTS];
    thread_bind((int)curhart->id); /* GDB's `finish` waits on the hart where it was said */
    for (unsigned h = 0; h < hart_count; h++)
        t[h] = thread_create(test_debug_counts, (void *)(uintptr_t)h, PRI_NORMAL, (int)h, "counts");
    for (uint32_t n = 0; !debug_test.done; n++)
        debug_test.result = debug_test_walk(n);
    for (unsigned h = 0; h < hart_count; h++)
        thread_join(t[h]);
    kprintf("@test name=debug result=%lu\n", (unsigned long)debug_test.result);
    return 0;
}

DEFINE_SIMPLE_LOCK(lock_a, "first", SPL_TTY);
DEFINE_SIMPLE_LOCK(lock_b, "second", SPL_TTY);
static volatile uint32_t locked;

static void locks_both(struct simple_lock *mine, struct simple_lock *other)
{
    crit_t outer = simple_lock_enter(mine);
    atomic_add(&locked, 1);
    while (locked < 2)
        ;
    crit_t inner = simple_lock_enter(other);
    simple_lock_leave(other, inner);
    simple_lock_leave(mine, outer);
}

static void test_debug_a_then_b(void *arg)
{
    (void)arg;
    locks_both(&lock_a, &lock_b);
}

static void test_debug_b_then_a(void *arg)
{
    (void)arg;
    locks_both(&lock_b, &lock_a);
}

static int deadlock(void)
{
    thread_create(test_debug_a_then_b, 0, PRI_NORMAL, 0, "a then b");
    thread_join(thread_create(test_debug_b_then_a, 0, PRI_NORMAL, 1, "b then a"));
    return 0;
}

static void turns_deaf(void *arg)
{
    (void)arg;
    intr_disable();
    while (!debug_test.done)
        debug_test.count[curhart->id]++;
    intr_enable();
}

static int deaf(void)
{
    thread_join(thread_create(turns_deaf, 0, PRI_NORMAL, 1, "deaf"));
    return 0;
}

RUN("test-debug", "test: threads for a debugger to look at", debug);
RUN("test-debug-deadlock", "test: two harts that wait for each other's simple lock", deadlock);
RUN("test-debug-deaf", "test: a hart that runs with interrupts off", deaf);
