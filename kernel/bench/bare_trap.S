/*
 * The bare trap: the fewest instructions that take an interrupt of the off-chip controller to the C function that
 * handles it, and back, on this machine. It saves the registers that a C function may change, and one more for the
 * source; it must claim, to learn the source and to start its service, and may find none; it calls through a table
 * of {function, argument}. It masks all interrupts meanwhile, so mepc and mstatus are not saved; it keeps
 * no level, no count, no frame for a backtrace, and treats any trap as an interrupt.
 */
#include <generated/pic_regs.h>

#define SAVED 80

    .text
    .balign 64
    .globl bare_trap_stamped
bare_trap_stamped: /* also puts the cycle of the first instruction into t6, which the interrupted loop does not use */
    csrr t6, mcycle
    .balign 64
    .globl bare_trap
bare_trap:
    addi sp, sp, -SAVED
    sw ra, 0(sp)
    sw t0, 4(sp)
    sw t1, 8(sp)
    sw t2, 12(sp)
    sw t3, 16(sp)
    sw t4, 20(sp)
    sw t5, 24(sp)
    sw t6, 28(sp)
    sw a0, 32(sp)
    sw a1, 36(sp)
    sw a2, 40(sp)
    sw a3, 44(sp)
    sw a4, 48(sp)
    sw a5, 52(sp)
    sw a6, 56(sp)
    sw a7, 60(sp)
    sw s1, 64(sp)
    li t0, PIC_WINDOW_BASE
    lw s1, PIC_CLAIM(t0)
    bltz s1, 1f
    la t1, bare_table
    andi s1, s1, PIC_CLAIM_SOURCE_MASK
    slli t0, s1, 3
    add t1, t1, t0
    lw t0, 0(t1)
    lw a0, 4(t1)
    jalr t0
    li t0, PIC_WINDOW_BASE
    sw s1, PIC_EOI(t0)
1:  lw ra, 0(sp)
    lw t0, 4(sp)
    lw t1, 8(sp)
    lw t2, 12(sp)
    lw t3, 16(sp)
    lw t4, 20(sp)
    lw t5, 24(sp)
    lw t6, 28(sp)
    lw a0, 32(sp)
    lw a1, 36(sp)
    lw a2, 40(sp)
    lw a3, 44(sp)
    lw a4, 48(sp)
    lw a5, 52(sp)
    lw a6, 56(sp)
    lw a7, 60(sp)
    lw s1, 64(sp)
    addi sp, sp, SAVED
    mret
