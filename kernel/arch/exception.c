/* Traps with a full frame (exception.h). */
#include "arch/exception.h"

#include "arch/csr.h"
#include "intr/intr.h"
#include "lib/panic.h"

bool (*exception_hook)(uint32_t cause, struct frame *frame);

const char *exception_name(uint32_t cause)
{
    static const char *const name[] = {
        "instruction address misaligned", "instruction access fault", "illegal instruction", "breakpoint",
        "load address misaligned", "load access fault", "store address misaligned", "store access fault",
        "call from user mode", "call from supervisor mode", "reserved", "call from machine mode",
        "instruction page fault", "load page fault", "reserved", "store page fault",
    };
    return cause < sizeof name / sizeof *name ? name[cause] : "unknown exception";
}

/* Called by trap.S, interrupts off on chip. */
void trap(uint32_t cause, struct frame *frame)
{
    if (cause & CAUSE_INTERRUPT)
        interrupt_other(cause);
    else if (!exception_hook || !exception_hook(cause, frame))
        exception_panic(cause, frame);
}
