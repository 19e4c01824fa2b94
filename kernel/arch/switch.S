/*
 * void context_switch(struct context *from, struct context *to)
 * Saves the registers that C keeps across calls and continues `to`. The on-chip mask belongs to the hart, not the
 * thread: every thread switches with the mask in the same state (sync/sync.h, CRIT_SWITCH_MIE).
 */
#include "arch/probe.h"

    .section .text.context_switch, "ax"
    .globl context_switch
context_switch:
    .pushsection .interlock.probes, "", @progbits
    .word context_switch, PROBE_SWITCH_BEGIN
    .popsection
    sw ra, 0(a0)
    sw sp, 4(a0)
    sw s0, 8(a0)
    sw s1, 12(a0)
    sw s2, 16(a0)
    sw s3, 20(a0)
    sw s4, 24(a0)
    sw s5, 28(a0)
    sw s6, 32(a0)
    sw s7, 36(a0)
    sw s8, 40(a0)
    sw s9, 44(a0)
    sw s10, 48(a0)
    sw s11, 52(a0)
    lw ra, 0(a1)
    lw sp, 4(a1)
    lw s0, 8(a1)
    lw s1, 12(a1)
    lw s2, 16(a1)
    lw s3, 20(a1)
    lw s4, 24(a1)
    lw s5, 28(a1)
    lw s6, 32(a1)
    lw s7, 36(a1)
    lw s8, 40(a1)
    lw s9, 44(a1)
    lw s10, 48(a1)
    lw s11, 52(a1)
1:  ret
    .pushsection .interlock.probes, "", @progbits
    .word 1b, PROBE_THREAD_SWITCH
    .popsection
