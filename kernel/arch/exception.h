/*
 * Traps other than interrupts of the PIC, which trap.S hands straight to interrupt(): exceptions, and what the CLINT
 * sends.
 */
#ifndef ARCH_EXCEPTION_H
#define ARCH_EXCEPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/frame.h"

const char *exception_name(uint32_t cause);

/* The debugger, when there is one: sees each trap with a full frame first; true if it was its business alone. */
extern bool (*trap_hook)(uint32_t cause, struct frame *frame);

/*
 * What a trap calls, defined above (interrupts off on chip before and after): interrupts of the PIC (sync/schemes.c);
 * the CLINT's software interrupt, cleared already, and interrupts that nobody expects (intr/); whatever comes from user
 * mode (proc/trap.c).
 */
void interrupt(struct frame *frame);
void user_trap(uint32_t cause, struct frame *frame);
void interrupt_other(uint32_t cause);

/* What trap.S calls for all else, with a full frame. */
void trap(uint32_t cause, struct frame *frame);
#endif
