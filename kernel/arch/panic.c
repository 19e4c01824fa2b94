/* Panic, exceptions and backtraces (panic.h, lib/panic.h). */
#include "arch/panic.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "arch/csr.h"
#include "arch/exception.h"
#include "arch/frame.h"
#include "arch/hart.h"
#include "lib/backtrace.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/symbols.h"

struct panic_hooks panic_hooks;

extern void (*const _panic_reports[])(void), (*const _panic_reports_end[])(void);

static volatile uint32_t panicked_hart; /* number + 1 */

int panicking(void)
{
    return panicked_hart != 0;
}

static _Noreturn void stop_here(void)
{
    intr_disable();
    if (panic_hooks.halt)
        panic_hooks.halt();
    for (;;)
        __asm__ volatile("wfi");
}

void panic_stop_if_other(void)
{
    if (panicked_hart && panicked_hart != curhart->id + 1)
        stop_here();
}

static _Noreturn void end_run(void)
{
    intr_disable();
    if (panic_hooks.exit)
        panic_hooks.exit(PANIC_EXIT_CODE);
    for (;;)
        __asm__ volatile("wfi");
}

/* The first hart to get here continues; a panic within the panic only ends the run. */
static void stop_the_others(void)
{
    intr_disable();
    uint32_t nobody = 0;
    if (!__atomic_compare_exchange_n(&panicked_hart, &nobody, curhart->id + 1, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        if (nobody == curhart->id + 1)
            end_run();
        stop_here();
    }
    if (panic_hooks.stop_others)
        panic_hooks.stop_others();
    if (panic_hooks.poll_console)
        panic_hooks.poll_console();
}

static const char *function_at(uint32_t pc)
{
    uint32_t offset;
    return symbol_of(pc, &offset);
}

static void backtrace(uint32_t fp)
{
    uint32_t pc[BACKTRACE_MOST];
    backtrace_print(pc, backtrace_collect(fp, pc, BACKTRACE_MOST));
}

/*
 * The same from where an exception occurred. A leaf function keeps its return address in `ra`, and at most its
 * caller's frame pointer on the stack; in any other function `ra` holds whatever its last call left there.
 */
static void backtrace_from(const struct frame *frame)
{
    const uint32_t *top = (const uint32_t *)frame->s0;
    backtrace_print_place(frame->mepc);
    if (function_at(frame->ra) && function_at(frame->ra) != function_at(frame->mepc))
        backtrace_print(&frame->ra, 1);
    backtrace(backtrace_is_frame(frame->s0) && !function_at(top[-1]) ? top[-1] : frame->s0);
}

static _Noreturn void report_and_end(void)
{
    for (void (*const *report)(void) = _panic_reports; report < _panic_reports_end; report++)
        (*report)();
    if (panic_hooks.ended)
        panic_hooks.ended(PANIC_EXIT_CODE);
    end_run();
}

static void print_message(const char *format, va_list args, uint32_t fp)
{
    char text[KPRINTF_MAX / 2];
    vsnprintf(text, sizeof text, format, args);
    if (panic_hooks.note && panic_hooks.note(text))
        __asm__ volatile("ebreak" ::: "memory");
    stop_the_others();
    kprintf("\npanic: hart %u: %s\n", (unsigned)curhart->id, text);
    backtrace(fp);
}

void panic(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(format, args, (uint32_t)__builtin_frame_address(0));
    report_and_end();
}

void panic_explained(void (*explain)(const void *), const void *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(format, args, (uint32_t)__builtin_frame_address(0));
    explain(what);
    report_and_end();
}

void exception_panic(uint32_t cause, struct frame *frame)
{
    uint32_t value = csr_read(mtval);
    if (panic_hooks.suspect_stack)
        panic_hooks.suspect_stack(frame + 1);
    stop_the_others();
    kprintf("\npanic: hart %u: %s, mcause %lu, mtval %#lx, mepc %#lx\n", (unsigned)curhart->id, exception_name(cause),
            (unsigned long)cause, (unsigned long)value, (unsigned long)frame->mepc);
    const uint32_t *r = frame->a;
    for (unsigned i = 0; i < 8; i += 4)
        kprintf("  a%u %08lx  a%u %08lx  a%u %08lx  a%u %08lx\n", i, (unsigned long)r[i], i + 1,
                (unsigned long)r[i + 1], i + 2, (unsigned long)r[i + 2], i + 3, (unsigned long)r[i + 3]);
    backtrace_from(frame);
    report_and_end();
}
