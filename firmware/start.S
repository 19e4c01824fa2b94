/*
 * Where every hart comes out of reset: it enters the image if there is one in main RAM, with a0 = hart number,
 * interrupts off and traps pointing here. Otherwise hart 0 reports that and ends the run; the others wait for ever.
 */
#include "image.h"

#define STACK_SHIFT 9 /* 512 bytes a hart, from the end of the SRAM down */

    .section .text.start, "ax"
    .globl _start
_start:
    la t0, trap
    csrw mtvec, t0
    csrr a0, mhartid
    li t0, IMAGE_BASE
    lw t1, IMAGE_MAGIC_OFFSET(t0)
    li t2, IMAGE_MAGIC
    bne t1, t2, no_image
    jr t0

no_image:
    bnez a0, halt
    call set_stack
    call report_no_image
halt:
    wfi
    j halt

    .balign 4
trap: /* nothing to return to: the trapping code has no handler of its own yet */
    csrr a0, mhartid
    call set_stack
    csrr a0, mcause
    csrr a1, mepc
    csrr a2, mtval
    csrr a3, mhartid
    call report_trap
    j halt

set_stack: /* a0 = hart number */
    slli t0, a0, STACK_SHIFT
    la sp, _stacks_end
    sub sp, sp, t0
    ret
