/*
 * run=test-sweep: an interrupt at each cycle of entering a section, and at each of leaving one. Its delivery is swept
 * over both; whenever it comes, what is raised inside the section waits for its end, and then each handler has run
 * once. Before that, a handler that writes all registers preserves those of the code that it interrupts.
 *
 * Run it with hz=0: nothing else is to come.
 */
#include <generated/csr.h>

#include "test/test.h"

#define CYCLES 160 /* more than entering or leaving takes, with the handler's way there */

static volatile unsigned ran[TEST_SOURCES];

#define SOME_REGISTERS "t0,t1,t2,t3,t4,t5,t6,a1,a2,a3,a4,a5,a6,a7"

static void test_sweep_handler(void *source)
{
    __asm__ volatile(".irp r, " SOME_REGISTERS "\n li \\r, -1\n .endr" ::
                         : "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2", "a3", "a4", "a5", "a6", "a7");
    ran[((uintptr_t)source - PIC_SOURCE_FREE) % TEST_SOURCES]++;
}

static void raise_in(unsigned n, uint32_t cycles)
{
    link_delivery_delay_write(cycles);
    pic_raise(1u << test_source(0, n));
}

static void test_sweep_section(uint32_t before_enter, uint32_t before_leave)
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

/* Gives each register but sp, gp and tp its own number, loops `turns` times, and returns whether one has changed. */
static __attribute__((naked, noinline)) bool registers_change(uint32_t turns)
{
    (void)turns;
    __asm__("    addi sp, sp, -64\n"
            "    .set n, 0\n .irp r, ra,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11\n sw \\r, n(sp)\n .set n, n + 4\n .endr\n"
            "    .set n, 1\n .irp r, ra,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11," SOME_REGISTERS "\n"
            "    lui \\r, n\n .set n, n + 1\n .endr\n"
            "1:  addi a0, a0, -1\n bnez a0, 1b\n"
            "    .set n, 1\n .irp r, ra,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11," SOME_REGISTERS "\n"
            "    lui a0, n\n bne a0, \\r, 2f\n .set n, n + 1\n .endr\n"
            "    li a0, 0\n j 3f\n"
            "2:  li a0, 1\n"
            "3:  .set n, 0\n .irp r, ra,s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,s10,s11\n lw \\r, n(sp)\n .set n, n + 4\n .endr\n"
            "    addi sp, sp, 64\n ret");
}

static void registers_stay(uint32_t delivery)
{
    unsigned high = ran[2];
    raise_in(2, delivery);
    bool changed = registers_change(delivery + CYCLES);
    link_delivery_delay_write(0);
    assert(!changed && ran[2] == high + 1);
}

static void test_sweep(void *arg)
{
    (void)arg;
    for (uint32_t delivery = 100; delivery < 400; delivery += 30)
        registers_stay(delivery);
    ran[2] = 0;
    for (uint32_t cycles = 1; cycles <= CYCLES; cycles++) {
        test_sweep_section(cycles, 0);
        test_sweep_section(0, cycles);
    }
}

static int run_sweep(void)
{
    test_establish(test_sweep_handler);
    thread_join(thread_create(test_sweep, 0, PRI_NORMAL, 0, "sweep"));
    kprintf("@test name=sweep high=%u low=%u\n", ran[2], ran[0]);
    return 0;
}

RUN("test-sweep", "test: an interrupt at each cycle of entering and leaving a section", run_sweep);
