/* Traps with a full frame (exception.h). The debugger sees each of them first. */
#include "arch/exception.h"

#include "arch/csr.h"
#include "arch/hart.h"
#include "arch/panic.h"

bool (*trap_hook)(uint32_t cause, struct frame *frame);
#include "arch/accounting.h"
#include "arch/clint.h"

const char *exception_name(uint32_t cause)
{
    static const char *const name[] = {
        "instruction address misaligned",
        "instruction access fault",
        "illegal instruction",
        "breakpoint",
        "load address misaligned",
        "load access fault",
        "store address misaligned",
        "store access fault",
        "call from user mode",
        "call from supervisor mode",
        "reserved",
        "call from machine mode",
        "instruction page fault",
        "load page fault",
        "reserved",
        "store page fault",
    };
    return cause < sizeof name / sizeof *name ? name[cause] : "unknown exception";
}

/* Called by trap.S, interrupts off on chip. A breakpoint here would trap to itself for ever (kernel.ld). */
__attribute__((section(".unbreakable"))) void trap(uint32_t cause, struct frame *frame)
{
    if (cause == CAUSE_SOFTWARE)
        clint_clear_software(curhart->id); /* before any code looks at what it was for */
    if (trap_hook && trap_hook(cause, frame))
        return;
    if (cause & CAUSE_INTERRUPT) {
        enum account was = account_switch(ACCOUNT_INTERRUPT);
        interrupt_other(cause);
        account_switch(was);
    } else {
        exception_panic(cause, frame);
    }
}
