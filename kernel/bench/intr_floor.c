/*
 * run=intr-floor: how much longer the kernel's path from an interrupt to the first instruction of the driver's handler
 * is than the bare trap (bare_trap.S), with everything in the caches and nothing masked. The CLINT's timer is the wire:
 * the cycle in which it rises is known. Needs hz=0, because it uses the hart's timer. Prints
 *
 *   @intr_floor samples=... trap=... bare=... kernel=... ratio=... ratio_in_software=...
 *               bare_return=... kernel_return=...
 *
 * in cycles, medians. From the wire's rise: trap to the first instruction of the trap vector, the hardware's
 * part; bare and kernel to the driver's first instruction; ratio = kernel / bare, and the same without the
 * hardware's part. The last two: from the driver's end to the interrupted loop.
 */
#include "arch/clint.h"
#include "arch/csr.h"
#include "bench/bare_trap.h"
#include "bench/quantile.h"
#include "bench/stamp.h"
#include "dev/clock.h"
#include "dev/console.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/sched.h"
#include "sync/dispatch.h"
#include "sync/pic.h"

#define MOST_SAMPLES BOOT_MOST(bench_intr_floor, samples)
#define CACHE_LINE 64
#define LONGEST_TURN 40 /* cycles of the interrupted loop: an interrupt takes more */

struct intr_vector bare_table[PIC_SOURCES];

static uint32_t first_instruction, last_instruction; /* of the driver: cycles */
static struct stamp stamp;

static void driver(struct stamp *stamp, uint32_t cycle)
{
    (void)stamp;
    clint_stop_timer(curhart->id);
    first_instruction = cycle;
    last_instruction = cycles32();
}

struct ways {
    uint32_t trap, in, back;
};

/*
 * An interrupt after `delay` cycles, through the vector in mtvec, in a loop that only reads the cycle counter,
 * until a jump of the counter shows that there was one. The trap may use t6.
 */
static __attribute__((noinline)) struct ways take_interrupt(uint32_t delay)
{
    uint32_t trap, back;
    uint64_t wire = cycles64() + delay;
    clint_set_timer(curhart->id, wire);
    __asm__ volatile("csrr t4, mcycle\n"
                     "1: mv t5, t4\n csrr t4, mcycle\n sub t5, t4, t5\n sltiu t5, t5, %2\n bnez t5, 1b\n"
                     "mv %0, t6\n mv %1, t4"
                     : "=&r"(trap), "=&r"(back)
                     : "i"(LONGEST_TURN)
                     : "t4", "t5", "t6", "memory");
    return (struct ways){trap - (uint32_t)wire, first_instruction - (uint32_t)wire, back - last_instruction};
}

static uint32_t trapped[MOST_SAMPLES], in[MOST_SAMPLES], back[MOST_SAMPLES];

/* The stack's address decides which of its lines conflict in the cache: so it is moved, over a whole cache. */
static __attribute__((noinline)) struct ways take_with_stack_lower(uint32_t lines, uint32_t delay)
{
    uint8_t room[lines * CACHE_LINE + 1];
    __asm__ volatile("" ::"r"(room)); /* keeps the otherwise unused array */
    take_interrupt(delay); /* fills the caches */
    return take_interrupt(delay);
}

/* Takes `samples` interrupts through `vector`, each a cycle later in the loop than the previous one. */
static struct ways intr_floor_measure(void (*vector)(void), uint32_t samples)
{
    uint32_t old = csr_read(mtvec);
    if (vector)
        csr_write(mtvec, vector);
    for (uint32_t i = 0; i < samples; i++) {
        struct ways w = take_with_stack_lower(i % 64, 400 + i);
        trapped[i] = w.trap;
        in[i] = w.in;
        back[i] = w.back;
    }
    csr_write(mtvec, old);
    return (struct ways){quantile(trapped, samples, 50), quantile(in, samples, 50), quantile(back, samples, 50)};
}

static unsigned long intr_floor_hundredths(uint32_t a, uint32_t b)
{
    return (100 * a + b / 2) / b;
}

static void floor_thread(void *result)
{
    unsigned source = PIC_SOURCE_TIMER(curhart->id);
    uint32_t samples = bootargs_number(BOOT(bench_intr_floor, samples));
    if (!samples || clock_hz())
        panic("run=intr-floor needs hz=0, the timer is what it measures with, and samples=1 to %u", MOST_SAMPLES);
    console_flush(); /* the bare trap cannot handle the transmitter */
    stamp.fn = driver;
    bare_table[source].fn = stamp_handler;
    bare_table[source].arg = &stamp;
    pic_configure(source, SPL_CLOCK, false, curhart->id);
    pic_write(PIC_UNMASK, source);
    uint32_t trap = intr_floor_measure(bare_trap_stamped, samples).trap;
    struct ways bare = intr_floor_measure(bare_trap, samples);
    pic_write(PIC_MASK, source);
    intr_establish(source, SPL_CLOCK, INTR_LEVEL, curhart->id, stamp_handler, &stamp, "floor");
    struct ways kernel = intr_floor_measure(0, samples);
    intr_disestablish(source);
    unsigned long ratio = intr_floor_hundredths(kernel.in, bare.in),
                  in_software = intr_floor_hundredths(kernel.in - trap, bare.in - trap);
    kprintf("@intr_floor samples=%lu trap=%lu bare=%lu kernel=%lu ratio=%lu.%02lu ratio_in_software=%lu.%02lu "
            "bare_return=%lu kernel_return=%lu\n",
            (unsigned long)samples, (unsigned long)trap, (unsigned long)bare.in, (unsigned long)kernel.in, ratio / 100,
            ratio % 100, in_software / 100, in_software % 100, (unsigned long)bare.back, (unsigned long)kernel.back);
    *(int *)result = 0;
}

static int intr_floor(void)
{
    int result = 1;
    thread_join(thread_create(floor_thread, &result, PRI_NORMAL, 0, "floor"));
    return result;
}

RUN("intr-floor", "interrupt entry beside the bare trap", intr_floor);
