/* Panic, exceptions and backtraces (panic.h). */
#include "lib/panic.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "arch/csr.h"
#include "arch/frame.h"
#include "arch/hart.h"
#include "dev/console.h"
#include "dev/host.h"
#include "intr/pic.h"
#include "lib/printf.h"
#include "lib/symbols.h"
#include "sched/sched.h"

#define MAX_FRAMES 24

static volatile uint32_t panicked_hart; /* number + 1 */

int panicking(void)
{
    return panicked_hart != 0;
}

/* The first hart to get here goes on; a panic within the panic only ends the run. */
static void stop_the_others(void)
{
    intr_disable();
    uint32_t nobody = 0;
    if (!__atomic_compare_exchange_n(&panicked_hart, &nobody, curhart->id + 1, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        if (nobody == curhart->id + 1)
            host_exit(PANIC_EXIT_CODE);
        for (;;)
            __asm__ volatile("wfi");
    }
    console_polled();
    for (unsigned h = 0; h < hart_count; h++)
        if (h != curhart->id && harts[h].online)
            pic_ipi(1u << h);
}

static void print_place(uint32_t pc)
{
    uint32_t offset = 0;
    const char *name = symbol_of(pc, &offset);
    if (name)
        kprintf("  %08lx %s+0x%lx\n", (unsigned long)pc, name, (unsigned long)offset);
    else
        kprintf("  %08lx\n", (unsigned long)pc);
}

static const char *function_at(uint32_t pc)
{
    uint32_t offset;
    return symbol_of(pc, &offset);
}

/* A return address may lie just past the end of its function, when the call was that of one that does not return. */
static void print_return(uint32_t address)
{
    uint32_t offset = 0;
    const char *name = symbol_of(address - 1, &offset);
    kprintf("  %08lx %s+0x%lx\n", (unsigned long)address, name ? name : "?", (unsigned long)offset + 1);
}

static bool is_frame(uint32_t fp)
{
    return (fp & 3) == 0 && fp >= 0x40000008 && fp <= 0x48000000;
}

/* Follows the frame pointers: below where each points lie the return address and the caller's frame pointer. */
static void backtrace(uint32_t fp)
{
    for (unsigned n = 0; n < MAX_FRAMES && is_frame(fp); n++) {
        const uint32_t *top = (const uint32_t *)fp;
        if (!function_at(top[-1]) || top[-2] <= fp) /* the first frame of a thread has none above it */
            return;
        print_return(top[-1]);
        fp = top[-2];
    }
}

/*
 * The same from where an exception struck. A function that calls no other keeps its return address in `ra`, and only its
 * caller's frame pointer on the stack, if at all; in another function `ra` is what its last call left there.
 */
static void backtrace_from(const struct frame *frame)
{
    const uint32_t *top = (const uint32_t *)frame->s0;
    print_place(frame->mepc);
    if (function_at(frame->ra) && function_at(frame->ra) != function_at(frame->mepc))
        print_return(frame->ra);
    backtrace(is_frame(frame->s0) && !function_at(top[-1]) ? top[-1] : frame->s0);
}

static _Noreturn void report_and_end(void)
{
    for (unsigned h = 0; h < hart_count; h++) {
        struct hart *at = &harts[h];
        if (at->online)
            kprintf("  hart %u: thread %s, level %u, %u handlers, pending %#lx\n", h, at->thread->name,
                    (unsigned)at->level, (unsigned)at->intr_depth, (unsigned long)at->pending);
    }
    sched_dump();
    host_exit(PANIC_EXIT_CODE);
}

void panic(const char *format, ...)
{
    char text[KPRINTF_MAX / 2];
    stop_the_others();
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kprintf("\npanic: hart %u: %s\n", (unsigned)curhart->id, text);
    backtrace((uint32_t)__builtin_frame_address(0));
    report_and_end();
}

/* An exception in kernel code, from trap.S: there is none that the kernel expects. */
_Noreturn void exception_panic(uint32_t cause, struct frame *frame)
{
    static const char *const name[] = {
        "instruction address misaligned", "instruction access fault", "illegal instruction", "breakpoint",
        "load address misaligned", "load access fault", "store address misaligned", "store access fault",
        "call from user mode", "call from supervisor mode", "reserved", "call from machine mode",
        "instruction page fault", "load page fault", "reserved", "store page fault",
    };
    uint32_t value = csr_read(mtval);
    stop_the_others();
    kprintf("\npanic: hart %u: %s, mcause %lu, mtval %#lx, mepc %#lx\n", (unsigned)curhart->id,
            cause < 16 ? name[cause] : "unknown exception", (unsigned long)cause, (unsigned long)value,
            (unsigned long)frame->mepc);
    const uint32_t *r = frame->a;
    for (unsigned i = 0; i < 8; i += 4)
        kprintf("  a%u %08lx  a%u %08lx  a%u %08lx  a%u %08lx\n", i, (unsigned long)r[i], i + 1,
                (unsigned long)r[i + 1], i + 2, (unsigned long)r[i + 2], i + 3, (unsigned long)r[i + 3]);
    backtrace_from(frame);
    report_and_end();
}
