/* Traps with a full frame (exception.h). */
#include "arch/exception.h"

#include "arch/csr.h"
#include "intr/intr.h"
#include "lib/panic.h"

bool (*exception_hook)(uint32_t cause, struct frame *frame);

/* Called by trap.S, interrupts off on chip. */
void trap(uint32_t cause, struct frame *frame)
{
    if (cause & CAUSE_INTERRUPT)
        interrupt_other(cause);
    else if (!exception_hook || !exception_hook(cause, frame))
        exception_panic(cause, frame);
}
