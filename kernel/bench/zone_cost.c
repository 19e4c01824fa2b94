/*
 * run=zone-cost: what it costs to allocate an object of a zone and to free it again, both from the hart's cache,
 * beside the floor: the two sections, and in each the loads and stores that pop an object from a stack and push it
 * back. Interrupts are masked, and everything is in the hart's caches except lines that evict each other there, which
 * depends on the layout.
 * Cycles of one allocation and one free:
 *
 *   @zone_cost sections=... floor=... cycles=... ratio=... iterations=...
 */
#include "arch/csr.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "mem/zone.h"

static SIMPLE_LOCK_CLASS(measured_class, "measured zone", SPL_SCHED);
static struct zone zone_cost_measured;

static struct stack {
    uint32_t count;
    void *object[ZONE_CACHE];
} stack;

typedef uint32_t loop_fn(uint32_t iterations);

static __attribute__((noinline)) uint32_t zone_cost_nothing(uint32_t iterations)
{
    uint32_t begin = cycles32();
    for (uint32_t i = iterations; i; i--)
        barrier();
    return cycles32() - begin;
}

static __attribute__((noinline)) uint32_t zone_cost_sections(uint32_t iterations)
{
    uint32_t begin = cycles32();
    for (uint32_t i = iterations; i; i--) {
        crit_t s = crit_sec_enter(SPL_SCHED);
        crit_sec_leave(s);
        s = crit_sec_enter(SPL_SCHED);
        crit_sec_leave(s);
    }
    return cycles32() - begin;
}

static __attribute__((noinline)) uint32_t bare(uint32_t iterations)
{
    uint32_t begin = cycles32();
    for (uint32_t i = iterations; i; i--) {
        crit_t s = crit_sec_enter(SPL_SCHED);
        void *object = stack.object[--stack.count];
        crit_sec_leave(s);
        s = crit_sec_enter(SPL_SCHED);
        stack.object[stack.count++] = object;
        crit_sec_leave(s);
    }
    return cycles32() - begin;
}

static __attribute__((noinline)) uint32_t zone(uint32_t iterations)
{
    uint32_t begin = cycles32();
    for (uint32_t i = iterations; i; i--) {
        void *object = zone_alloc(&zone_cost_measured);
        zone_free(&zone_cost_measured, object);
    }
    return cycles32() - begin;
}

/* Hundredths of cycles per iteration. */
static uint32_t zone_cost_measure(loop_fn *loop, uint32_t iterations)
{
    uint32_t enabled = csr_read_clear(mie, ~0u);
    loop(4); /* loads into the caches what fits */
    uint32_t cycles = loop(iterations);
    csr_write(mie, enabled);
    return (uint32_t)(((uint64_t)cycles * 100 + iterations / 2) / iterations);
}

static int zone_cost(void)
{
    uint32_t iterations = bootargs_number(BOOT(bench_zone_cost, iterations));
    if (!iterations)
        panic("boot argument iterations: give 1 at least");
    zone_init(&zone_cost_measured, "measured", 64, 4, &measured_class, 0);
    void *object = zone_alloc(&zone_cost_measured);
    if (!object)
        panic("run=zone-cost: no memory; give user.pages of 1 at least");
    zone_free(&zone_cost_measured, object);
    stack.count = ZONE_CACHE / 2;
    uint32_t around = zone_cost_measure(zone_cost_nothing, iterations),
             empty = zone_cost_measure(zone_cost_sections, iterations) - around;
    uint32_t floor = zone_cost_measure(bare, iterations) - around,
             cycles = zone_cost_measure(zone, iterations) - around;
    uint32_t ratio = (cycles * 100 + floor / 2) / floor;
    kprintf("@zone_cost sections=%lu.%02lu floor=%lu.%02lu cycles=%lu.%02lu ratio=%lu.%02lu iterations=%lu\n",
            (unsigned long)empty / 100, (unsigned long)empty % 100, (unsigned long)floor / 100,
            (unsigned long)floor % 100, (unsigned long)cycles / 100, (unsigned long)cycles % 100,
            (unsigned long)ratio / 100, (unsigned long)ratio % 100, (unsigned long)iterations);
    return 0;
}

RUN("zone-cost", "cycles to allocate an object of a zone and free it, beside the floor", zone_cost);
