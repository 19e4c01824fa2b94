/*
 * run=switch-floor: what a thread switch costs beside the floor: saving and restoring the registers that C keeps across
 * calls (ra, sp, s0 to s11), 14 stores and 14 loads in a row. Each is done many times in a row, with all of it in the
 * caches and interrupts masked, less the loop, so that the stores' cost after the last instruction counts
 * too. Prints
 *
 *   @switch_floor iterations=... floor=... switch=... ratio=... yield=... yield_ratio=... pair=... yield_floor=...
 *   wake_floor=...
 *
 * in cycles each. switch: from the choice of the next thread to that thread's first instruction (sched/switch.h).
 * yield: from calling thread_yield in one thread to its return in another, with the run queue's lock, the choice, and
 * the section around it, under the scheme of the image. pair: a simple lock acquired and released in a section of its
 * own, uncontended. yield_floor: one pair and the floor, which no yield can avoid. wake_floor: the same for
 * the path from a driver's handler to the thread that it wakes: two pairs (waiters; run queue) and the floor. Boot
 * argument: iterations (200).
 */
#include "arch/csr.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/simple_lock.h"
#include "sched/sched.h"
#include "sched/switch.h"

#define SAVE(to)                                                                                          \
    "sw ra, 0(" to ")\n sw sp, 4(" to ")\n sw s0, 8(" to ")\n sw s1, 12(" to ")\n sw s2, 16(" to ")\n"    \
    "sw s3, 20(" to ")\n sw s4, 24(" to ")\n sw s5, 28(" to ")\n sw s6, 32(" to ")\n sw s7, 36(" to ")\n" \
    "sw s8, 40(" to ")\n sw s9, 44(" to ")\n sw s10, 48(" to ")\n sw s11, 52(" to ")\n"
#define RESTORE(from)                                                                                               \
    "lw ra, 0(" from ")\n lw sp, 4(" from ")\n lw s0, 8(" from ")\n lw s1, 12(" from ")\n lw s2, 16(" from ")\n"    \
    "lw s3, 20(" from ")\n lw s4, 24(" from ")\n lw s5, 28(" from ")\n lw s6, 32(" from ")\n lw s7, 36(" from ")\n" \
    "lw s8, 40(" from ")\n lw s9, 44(" from ")\n lw s10, 48(" from ")\n lw s11, 52(" from ")\n"

/* Hundredths of cycles, of `count` in all. */
static uint32_t each(uint64_t cycles, uint32_t count)
{
    return (uint32_t)((cycles * 100 + count / 2) / count);
}

DEFINE_SIMPLE_LOCK(pair_lock, "pair", SPL_SCHED);

/* The loop alone, which is subtracted from the others. */
static __attribute__((noinline)) uint32_t loop_cycles(uint32_t iterations)
{
    uint64_t begin = cycles64();
    for (uint32_t i = iterations; i; i--)
        barrier();
    return each(cycles64() - begin, iterations);
}

static __attribute__((noinline)) uint32_t floor_cycles(uint32_t iterations)
{
    static struct context saved __attribute__((aligned(64))), restored __attribute__((aligned(64)));
    __asm__ volatile(SAVE("%0")::"r"(&restored) : "memory"); /* the same registers, so that restoring changes none */
    uint64_t begin = cycles64();
    for (uint32_t i = iterations; i; i--)
        __asm__ volatile(SAVE("%0") RESTORE("%1")::"r"(&saved), "r"(&restored) : "memory");
    return each(cycles64() - begin, iterations);
}

static __attribute__((noinline)) uint32_t pair_cycles(uint32_t iterations)
{
    simple_lock_leave(&pair_lock, simple_lock_enter(&pair_lock));
    uint64_t begin = cycles64();
    for (uint32_t i = iterations; i; i--)
        simple_lock_leave(&pair_lock, simple_lock_enter(&pair_lock));
    return each(cycles64() - begin, iterations);
}

static struct thread *volatile switch_floor_here,
    other; /* `other` is no thread of the scheduler's: both switch directly */
static uint8_t other_stack[1024] __attribute__((aligned(16)));

static __attribute__((noinline)) void other_code(void)
{
    struct thread *back = switch_floor_here;
    for (;;)
        thread_switch(&other, back);
}

static __attribute__((noinline)) uint32_t switch_cycles(uint32_t iterations)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    struct thread *self = switch_floor_here = curhart->thread;
    other = (struct thread){.name = "other", .id = self->id};
    other.context.ra = (uint32_t)other_code;
    other.context.sp = (uint32_t)(other_stack + sizeof other_stack);
    other.guard = (uint32_t *)other_stack;
    *other.guard = STACK_GUARD;
    thread_switch(self, &other); /* loads the code into the cache */
    uint64_t begin = cycles64();
    for (uint32_t i = iterations; i; i--)
        thread_switch(self, &other);
    uint64_t cycles = cycles64() - begin;
    crit_sec_leave(s);
    return each(cycles, 2 * iterations);
}

static __attribute__((noinline)) void switch_floor_yields(void *iterations)
{
    for (uint32_t i = (uintptr_t)iterations; i; i--)
        thread_yield();
}

static uint32_t yield_cycles(uint32_t iterations)
{
    struct thread *t[2];
    crit_t s = crit_sec_enter(SPL_SCHED); /* both exist before the first one runs */
    for (unsigned i = 0; i < 2; i++)
        t[i] = thread_create(switch_floor_yields, (void *)(uintptr_t)iterations, PRI_NORMAL - 1, (int)curhart->id,
                             "yields");
    uint64_t begin = cycles64();
    crit_sec_leave(s);
    for (unsigned i = 0; i < 2; i++)
        thread_join(t[i]);
    return each(cycles64() - begin, 2 * iterations);
}

static unsigned long switch_floor_hundredths(uint32_t a, uint32_t b)
{
    return (100 * a + b / 2) / b;
}

static int switch_floor(void)
{
    uint32_t iterations = bootargs_number(BOOT(bench_switch_floor, iterations));
    if (!iterations)
        panic("run=switch-floor needs iterations=1 to 1000000");
    uint32_t enabled = csr_read_clear(mie, ~0u);
    uint32_t loop = loop_cycles(iterations);
    uint32_t least = floor_cycles(iterations) - loop, switched = switch_cycles(iterations) - loop;
    uint32_t pair = pair_cycles(iterations) - loop;
    csr_write(mie, enabled);
    uint32_t yielded = yield_cycles(iterations) - loop;
    unsigned long ratio = switch_floor_hundredths(switched, least),
                  yield_ratio = switch_floor_hundredths(yielded, least);
    kprintf("@switch_floor iterations=%lu floor=%lu.%02lu switch=%lu.%02lu ratio=%lu.%02lu yield=%lu.%02lu "
            "yield_ratio=%lu.%02lu pair=%lu.%02lu yield_floor=%lu.%02lu wake_floor=%lu.%02lu\n",
            (unsigned long)iterations, (unsigned long)least / 100, (unsigned long)least % 100,
            (unsigned long)switched / 100, (unsigned long)switched % 100, ratio / 100, ratio % 100,
            (unsigned long)yielded / 100, (unsigned long)yielded % 100, yield_ratio / 100, yield_ratio % 100,
            (unsigned long)pair / 100, (unsigned long)pair % 100, (unsigned long)(pair + least) / 100,
            (unsigned long)(pair + least) % 100, (unsigned long)(2 * pair + least) / 100,
            (unsigned long)(2 * pair + least) % 100);
    return 0;
}

RUN("switch-floor", "a thread switch beside saving and restoring the registers", switch_floor);
