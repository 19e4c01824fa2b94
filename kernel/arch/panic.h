/*
 * What a panic (lib/panic.h) needs from the layers above arch/. Each hook is set once, at start, by the subsystem that
 * implements it; a hook that is not set is skipped.
 */
#ifndef ARCH_PANIC_H
#define ARCH_PANIC_H

#include <stdbool.h>
#include <stdint.h>

struct frame;

struct panic_hooks {
    bool (*note)(
        const char *message); /* the debugger: whether it wants to be entered, by EBREAK, before anything is stopped */
    void (*suspect_stack)(const void *fp); /* an exception: if the stack has overflowed, says so and does not return */
    void (*stop_others)(void); /* when it returns, all other harts that can be reached are halted */
    void (*halt)(void); /* halts this hart, because another one has panicked: does not return */
    void (*poll_console)(void); /* output is sent without interrupts from here on */
    void (*ended)(uint32_t code); /* tells the debugger that the run ends */
    void (*exit)(uint32_t code); /* does not return */
};

extern struct panic_hooks panic_hooks;

/* fn() prints the state of its subsystem. Order: the kernel's layers, as the files are linked. */
#define PANIC_REPORT(fn) \
    static void (*const panic_report_##fn)(void) __attribute__((used, section(".panic_reports"))) = fn

/* A panic for an unexpected exception in kernel code: names its cause and place. */
_Noreturn void exception_panic(uint32_t cause, struct frame *frame);
#endif
