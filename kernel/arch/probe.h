/*
 * Probe points: marks that cost the target nothing. A mark leaves no instruction; it notes the address of the next
 * one in an ELF section that is never loaded, and the simulator, which sees the address of every instruction that
 * retires, counts and times them from outside (docs/measuring.md). A board does not see them.
 *
 * PROBE_VALUE also notes which register holds a value at that place; the simulator reads it there.
 */
#ifndef ARCH_PROBE_H
#define ARCH_PROBE_H

#define PROBE_CRIT_ENTER 1   /* a critical section is about to mask interrupts */
#define PROBE_CRIT_ENTERED 2 /* its body begins */
#define PROBE_CRIT_LEAVE 3   /* its body has ended */
#define PROBE_CRIT_LEFT 4    /* the former level is restored */
#define PROBE_WINDOW_BEGIN 5 /* the measured part of a run */
#define PROBE_WINDOW_END 6
#define PROBE_CRIT_QUEUED 7   /* an optimistic scheme queues an interrupt */
#define PROBE_THREAD_SWITCH 8 /* from here on the hart runs the thread that it has written to the trace port */

/* Locks (lock/lock_hooks.h); the value is the lock's address. */
#define PROBE_LOCK_ATTEMPT 9
#define PROBE_LOCK_MISS 10  /* the lock is taken: the attempt has to wait */
#define PROBE_LOCK_BLOCK 11 /* the waiting thread is about to sleep: a forced reschedule */
#define PROBE_LOCK_ACQUIRED 12
#define PROBE_LOCK_RELEASED 13
#define PROBE_LOCK_FAILED 14 /* a conditional attempt found it taken and gives up */

/* Interrupts; the value is the PIC's source. */
#define PROBE_INTR_HANDLER 15 /* the next instruction is the first of the driver's handler */
#define PROBE_INTR_DONE 16
#define PROBE_ITHREAD_RUNS 17 /* the interrupt thread begins to handle it */

#define PROBE_IDLE_BEGIN 18
#define PROBE_IDLE_END 19
#define PROBE_SWITCH_BEGIN 20 /* a thread switch is about to save the first register; THREAD_SWITCH ends it */

/* Thread code handles the interrupts that its section held back: interrupt time, though they took no trap. */
#define PROBE_REPLAY_BEGIN 21
#define PROBE_REPLAY_END 22

/* Between the last interrupt and its return the hart may switch threads: system time, though inside a trap. */
#define PROBE_PREEMPT_BEGIN 23
#define PROBE_PREEMPT_END 24

/* An entry of the section: address, kind | (register + 1) << 8; no register if there is no value. */
#define PROBE_ENTRY_VALUE_SHIFT 8

#ifndef __ASSEMBLER__
#include <stdint.h>

#define PROBE(kind)                                                                       \
    __asm__ volatile("1: .pushsection .interlock.probes,\"\",@progbits\n .word 1b, %0\n " \
                     ".popsection" ::"i"(PROBE_##kind)                                    \
                     : "memory")

/* The numbers of the registers that the compiler may choose for a value, as symbols of the assembler. */
__asm__(".irp n, 0, 1, 2\n .equ probe_reg_t\\n, 5 + \\n\n .endr\n"
        ".irp n, 3, 4, 5, 6\n .equ probe_reg_t\\n, 25 + \\n\n .endr\n"
        ".irp n, 0, 1\n .equ probe_reg_s\\n, 8 + \\n\n .endr\n"
        ".irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n .equ probe_reg_s\\n, 16 + \\n\n .endr\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7\n .equ probe_reg_a\\n, 10 + \\n\n .endr\n"
        ".equ probe_reg_zero, 0\n .equ probe_reg_ra, 1\n .equ probe_reg_sp, 2\n .equ probe_reg_gp, 3\n"
        ".equ probe_reg_tp, 4\n");

#define PROBE_VALUE(kind, value)                                                                  \
    __asm__ volatile("1: .pushsection .interlock.probes,\"\",@progbits\n"                         \
                     " .word 1b, %0 | (probe_reg_%1 + 1) << 8\n .popsection" ::"i"(PROBE_##kind), \
                     "r"((uint32_t)(value))                                                       \
                     : "memory")

/* The same, and returns the address of the mark: in an inline function, a place in the caller. */
#define PROBE_VALUE_HERE(kind, value)                                                       \
    ({                                                                                      \
        uintptr_t here_;                                                                    \
        __asm__ volatile("1: auipc %0, 0\n .pushsection .interlock.probes,\"\",@progbits\n" \
                         " .word 1b, %1 | (probe_reg_%2 + 1) << 8\n .popsection"            \
                         : "=&r"(here_)                                                     \
                         : "i"(PROBE_##kind), "r"((uint32_t)(value))                        \
                         : "memory");                                                       \
        here_;                                                                              \
    })
#endif
#endif
