/* System calls (abi.h): each stands beside what it is about, and registers there (lib/syscall.h). */
#ifndef USER_SYSCALL_H
#define USER_SYSCALL_H

#include "arch/frame.h"

void syscall_init(void); /* hart 0 */

/*
 * Carry out what the registers in `frame` ask for and put the result there. From a thread of a process, interrupts
 * on.
 */
void system_call(struct frame *frame);
#endif
