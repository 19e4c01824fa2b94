/* System calls (abi.h): each is defined beside the code it uses, and registered there (lib/syscall.h). */
#ifndef USER_SYSCALL_H
#define USER_SYSCALL_H

#include "arch/frame.h"

struct process;

void syscall_init(void); /* hart 0 */

/*
 * Execute the call in the registers of `frame` and put the result there. From a thread of a process, interrupts
 * on.
 */
void system_call(struct frame *frame);

/* Executes a call, whose number is below SYS_CALLS, for the calling thread, of process `p`, within another call. */
int system_call_of(uint32_t number, struct process *p, const uint32_t *a);
#endif
