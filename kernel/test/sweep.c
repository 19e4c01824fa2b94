/*
 * run=test-sweep: an interrupt at each cycle of entering a section, and at each of leaving one. Its delivery is swept over
 * both; whenever it comes, what is raised inside the section waits for its end, and then everything has run once.
 *
 * Run it with hz=0: nothing else is to come.
 */
#include <generated/csr.h>

#include "test/test.h"

#define CYCLES 160 /* more than entering or leaving takes, with the handler's way there */

static volatile unsigned ran[TEST_SOURCES];

static void handler(void *source)
{
    ran[((uintptr_t)source - PIC_SOURCE_FREE) % TEST_SOURCES]++;
}

static void raise_in(unsigned n, uint32_t cycles)
{
    link_delivery_delay_write(cycles);
    pic_raise(1u << test_source(0, n));
}

static void section(uint32_t before_enter, uint32_t before_leave)
{
    unsigned low = ran[0], high = ran[2], raised = (before_enter != 0) + (before_leave != 0);
    if (before_enter)
        raise_in(2, before_enter);
    crit_t s = crit_sec_enter(SPL_TTY);
    test_spin(CYCLES + 100);
    raise_in(0, 0);
    test_spin(100);
    assert(ran[0] == low);
    if (before_leave)
        raise_in(2, before_leave);
    crit_sec_leave(s);
    test_spin(CYCLES + test_settle_cycles(2));
    if (ran[0] != low + 1 || ran[2] != high + raised)
        panic("delivered %lu cycles before enter, %lu before leave: %u and %u handlers, not 1 and %u",
              (unsigned long)before_enter, (unsigned long)before_leave, ran[0] - low, ran[2] - high, raised);
    test_assert_base();
}

static void sweep(void *arg)
{
    (void)arg;
    for (uint32_t cycles = 1; cycles <= CYCLES; cycles++) {
        section(cycles, 0);
        section(0, cycles);
    }
}

static int run_sweep(void)
{
    test_establish(handler);
    thread_join(thread_create(sweep, 0, PRI_NORMAL, 0, "sweep"));
    kprintf("@test name=sweep high=%u low=%u\n", ran[2], ran[0]);
    return 0;
}

RUN("test-sweep", "test: an interrupt at each cycle of entering and leaving a section", run_sweep);
