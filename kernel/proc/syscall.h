/* System calls (abi.h): each stands beside what it is about, and registers there (lib/syscall.h). */
#ifndef USER_SYSCALL_H
#define USER_SYSCALL_H

#include "arch/frame.h"

struct process;

void syscall_init(void); /* hart 0 */

/*
 * Carry out what the registers in `frame` ask for and put the result there. From a thread of a process, interrupts
 * on.
 */
void system_call(struct frame *frame);

/* Carries out a call, whose number is below SYS_CALLS, for the calling thread, of process `p`, within another one. */
int system_call_of(uint32_t number, struct process *p, const uint32_t *a);
#endif
