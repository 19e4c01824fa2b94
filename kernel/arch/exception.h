/*
 * Traps other than PIC interrupts, which trap.S passes straight to interrupt(): exceptions, and the CLINT's
 * interrupts.
 */
#ifndef ARCH_EXCEPTION_H
#define ARCH_EXCEPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/frame.h"

const char *exception_name(uint32_t cause);

/* The debugger, if present: sees each trap with a full frame first; returns true if it has handled the trap. */
extern bool (*trap_hook)(uint32_t cause, struct frame *frame);

/*
 * What a trap calls, defined above (interrupts off on chip before and after): PIC interrupts (sync/schemes.c); the
 * CLINT's software interrupt, already cleared, and unexpected interrupts (intr/); all traps from user
 * mode (proc/trap.c).
 */
void interrupt(struct frame *frame);
void user_trap(uint32_t cause, struct frame *frame);
void interrupt_other(uint32_t cause);

/* What trap.S calls for all other traps, with a full frame. */
void trap(uint32_t cause, struct frame *frame);
#endif
