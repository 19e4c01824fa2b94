/*
 * run=test-join: a joined thread's place may be reused at once: its last steps, on its own stack, are over then.
 * Threads end on the last hart, and a handler above SPL_SCHED interrupts that at each moment, `step` cycles apart, and
 * runs for long. Meanwhile hart 0 joins the thread and makes the next one, which gets the same place: it begins, and
 * only once.
 *
 * Run it with hz=0, on 2 harts or more: in a cli scheme nothing comes in the section in which a thread ends.
 */
#include "test/test.h"

#define STAYS 6000 /* cycles: more than it takes to join and to make a thread, with nothing in the caches */
#define LAST BOOT_MOST(test_join, step) /* cycles: more than a thread takes to end */

static volatile unsigned begun, join_interrupted;

static void join_handler(void *arg)
{
    (void)arg;
    join_interrupted++;
    test_spin(STAYS);
}

static void join_ends(void *delivery)
{
    begun++;
    pic_set_latency(0, 0, (uint32_t)(uintptr_t)delivery, 0, run_seed);
    pic_raise(1u << test_source(hart_count - 1, TEST_SOURCES - 1));
}

static int join(void)
{
    uint32_t step = bootargs_number(BOOT(test_join, step)), delivery = 0;
    unsigned made = 0;
    if (clock_hz() || hart_count < 2 || hart_count > test_harts() || !step)
        panic("run=test-join needs hz=0, 2 to %u harts, and step=1 or more", (unsigned)TEST_MAX_HARTS);
    thread_bind(0);
    test_establish(join_handler);
    for (; delivery <= LAST; delivery += step) {
        struct thread *t =
            thread_create(join_ends, (void *)(uintptr_t)delivery, PRI_NORMAL, (int)hart_count - 1, "ends");
        made++;
        while (join_interrupted < made) /* asleep in thread_join, it would need a lock that the last hart may hold */
            ;
        thread_join(t);
    }
    pic_set_latency(0, 0, 0, 0, run_seed);
    assert(begun == made);
    kprintf("@test name=join threads=%u\n", made);
    return 0;
}

RUN("test-join", "test: a joined thread's place is free", join);
