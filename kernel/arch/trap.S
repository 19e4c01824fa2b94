/*
 * The one trap vector. Interrupts and exceptions arrive on the stack in use; the hart has cleared mstatus.MIE.
 * An interrupt saves the registers that C may change and calls interrupt(cause, frame); the scheme it was built
 * with decides there what stays masked (sync/). An exception in the kernel saves all and does not come back.
 */
#include "arch/frame.h"

    .section .text.trap, "ax"
    .balign 64
    .globl trap_entry
trap_entry:
    addi sp, sp, -FRAME_SIZE
    sw ra, FRAME_RA(sp)
    sw t0, FRAME_T0(sp)
    sw t1, FRAME_T0+4(sp)
    sw t2, FRAME_T0+8(sp)
    sw t3, FRAME_T0+12(sp)
    sw t4, FRAME_T0+16(sp)
    sw t5, FRAME_T0+20(sp)
    sw t6, FRAME_T0+24(sp)
    sw a0, FRAME_A0(sp)
    sw a1, FRAME_A0+4(sp)
    sw a2, FRAME_A0+8(sp)
    sw a3, FRAME_A0+12(sp)
    sw a4, FRAME_A0+16(sp)
    sw a5, FRAME_A0+20(sp)
    sw a6, FRAME_A0+24(sp)
    sw a7, FRAME_A0+28(sp)
    csrr t0, mepc
    csrr t1, mstatus
    sw t0, FRAME_MEPC(sp)
    sw t1, FRAME_MSTATUS(sp)
    sw s0, FRAME_S0(sp)
    addi s0, sp, FRAME_SIZE
    csrr a0, mcause
    mv a1, sp
    bgez a0, exception
    jal interrupt /* near: in the same section */

    .globl trap_return
trap_return:
    csrci mstatus, 8 /* a thread switch below may have left interrupts on; mepc must not be overwritten now */
    lw t0, FRAME_MEPC(sp)
    lw t1, FRAME_MSTATUS(sp)
    csrw mepc, t0
    csrw mstatus, t1
    lw ra, FRAME_RA(sp)
    lw t0, FRAME_T0(sp)
    lw t1, FRAME_T0+4(sp)
    lw t2, FRAME_T0+8(sp)
    lw t3, FRAME_T0+12(sp)
    lw t4, FRAME_T0+16(sp)
    lw t5, FRAME_T0+20(sp)
    lw t6, FRAME_T0+24(sp)
    lw a0, FRAME_A0(sp)
    lw a1, FRAME_A0+4(sp)
    lw a2, FRAME_A0+8(sp)
    lw a3, FRAME_A0+12(sp)
    lw a4, FRAME_A0+16(sp)
    lw a5, FRAME_A0+20(sp)
    lw a6, FRAME_A0+24(sp)
    lw a7, FRAME_A0+28(sp)
    lw s0, FRAME_S0(sp)
    addi sp, sp, FRAME_SIZE
    mret

exception:
    sw s1, FRAME_S1(sp)
    sw s2, FRAME_S1+4(sp)
    sw s3, FRAME_S1+8(sp)
    sw s4, FRAME_S1+12(sp)
    sw s5, FRAME_S1+16(sp)
    sw s6, FRAME_S1+20(sp)
    sw s7, FRAME_S1+24(sp)
    sw s8, FRAME_S1+28(sp)
    sw s9, FRAME_S1+32(sp)
    sw s10, FRAME_S1+36(sp)
    sw s11, FRAME_S1+40(sp)
    call exception_panic /* does not return */
