/* System calls (abi.h). */
#ifndef USER_SYSCALL_H
#define USER_SYSCALL_H

#include "arch/frame.h"

/*
 * Carry out what the registers in `frame` ask for and put the result there. From a thread of a process, interrupts
 * on.
 */
void system_call(struct frame *frame);
#endif
