/*
 * What a panic (lib/panic.h) needs of what lies above arch/. Each hook is set once, at start, by whoever does it; one
 * that is not set is left out.
 */
#ifndef ARCH_PANIC_H
#define ARCH_PANIC_H

#include <stdbool.h>
#include <stdint.h>

struct frame;

struct panic_hooks {
    bool (*note)(
        const char *message); /* the debugger: whether it wants to look before anything is stopped, by EBREAK */
    void (*suspect_stack)(const void *fp); /* an exception: says so, and does not return, if the stack has overflowed */
    void (*stop_others)(void); /* all other harts stand still when it returns, as far as they can be reached */
    void (*halt)(void); /* this hart stands still, because another one has panicked: does not return */
    void (*poll_console)(void); /* output goes out without interrupts from here on */
    void (*ended)(uint32_t code); /* the debugger is told that the run ends */
    void (*exit)(uint32_t code); /* does not return */
};

extern struct panic_hooks panic_hooks;

/* fn() prints the state of its subsystem: in the order of the kernel's layers, as the files are linked. */
#define PANIC_REPORT(fn) \
    static void (*const panic_report_##fn)(void) __attribute__((used, section(".panic_reports"))) = fn

/* A panic for an exception in kernel code that nobody expects: names its cause and place. */
_Noreturn void exception_panic(uint32_t cause, struct frame *frame);
#endif
