/*
 * Traps other than interrupts of the PIC, which trap.S hands straight to interrupt(): exceptions, and what the CLINT sends.
 */
#ifndef ARCH_EXCEPTION_H
#define ARCH_EXCEPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/frame.h"

/*
 * Asked before an exception in kernel code is an error, with interrupts off on chip: true if it is dealt with; the code goes on
 * as the frame, all of whose registers but sp may be changed, then says. Set once, by hart 0 while it starts the kernel.
 */
extern bool (*exception_hook)(uint32_t cause, struct frame *frame);

const char *exception_name(uint32_t cause);

/* What trap.S calls: interrupts of the PIC (sync/schemes.c), and all else with a full frame. */
void interrupt(struct frame *frame);
void trap(uint32_t cause, struct frame *frame);
#endif
