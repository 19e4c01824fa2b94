/*
 * Traps other than interrupts of the PIC, which trap.S hands straight to interrupt(): exceptions, and what the CLINT
 * sends.
 */
#ifndef ARCH_EXCEPTION_H
#define ARCH_EXCEPTION_H

#include <stdint.h>

#include "arch/frame.h"

const char *exception_name(uint32_t cause);

/* What trap.S calls: interrupts of the PIC (sync/schemes.c), and all else with a full frame. */
void interrupt(struct frame *frame);
void trap(uint32_t cause, struct frame *frame);
#endif
