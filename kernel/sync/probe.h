/*
 * Probe points: marks that cost the target nothing. A mark leaves no instruction; it notes the address of the next
 * one in an ELF section that is never loaded, and the simulator, which sees the address of every instruction that
 * retires, counts and times them from outside (docs/measuring.md). A board does not see them.
 */
#ifndef SYNC_PROBE_H
#define SYNC_PROBE_H

#define PROBE_CRIT_ENTER 1   /* a critical section is about to mask interrupts */
#define PROBE_CRIT_ENTERED 2 /* its body begins */
#define PROBE_CRIT_LEAVE 3   /* its body has ended */
#define PROBE_CRIT_LEFT 4    /* the former level is restored */
#define PROBE_WINDOW_BEGIN 5 /* the measured part of a run */
#define PROBE_WINDOW_END 6
#define PROBE_CRIT_QUEUED 7   /* an optimistic scheme queues an interrupt */
#define PROBE_THREAD_SWITCH 8 /* from here on the hart runs the thread that it announced on the trace port */

#ifndef __ASSEMBLER__
#define PROBE(kind)                                                                       \
    __asm__ volatile("1: .pushsection .interlock.probes,\"\",@progbits\n .word 1b, %0\n " \
                     ".popsection" ::"i"(PROBE_##kind)                                    \
                     : "memory")
#endif
#endif
