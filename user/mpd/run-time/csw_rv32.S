/*
 * chg_context for RV32 without floating point registers: saves s0 to s11 and ra. gp and tp are the same in all
 * contexts.
 */
#if defined(__riscv)
#include "csw.h"
#if CSW_BACK_END == CSW_ASSEMBLER
#define FRAME 64

    .text
    .globl mpd_chg_context
    .type mpd_chg_context, @function
mpd_chg_context: /* (to, old) */
    li t1, CSW_MAGIC_WORD
    lw t3, CSW_MAGIC(a0) /* before the stores: behind them loads wait */
    lw t4, CSW_SP(a0)
    beqz a1, 1f
    lw t5, CSW_MAGIC(a1)
    addi t0, sp, -FRAME
    addi t2, a1, CSW_HEADER
    bltu t0, t2, overflow
    bne t5, t1, overflow
    mv sp, t0
    sw s0, 0(sp)
    sw s1, 4(sp)
    sw s2, 8(sp)
    sw s3, 12(sp)
    sw s4, 16(sp)
    sw s5, 20(sp)
    sw s6, 24(sp)
    sw s7, 28(sp)
    sw s8, 32(sp)
    sw s9, 36(sp)
    sw s10, 40(sp)
    sw s11, 44(sp)
    sw ra, 48(sp)
    sw sp, CSW_SP(a1)
    beq a0, a1, 2f
1:  bne t3, t1, corrupted
    mv sp, t4
2:  lw s0, 0(sp)
    lw s1, 4(sp)
    lw s2, 8(sp)
    lw s3, 12(sp)
    lw s4, 16(sp)
    lw s5, 20(sp)
    lw s6, 24(sp)
    lw s7, 28(sp)
    lw s8, 32(sp)
    lw s9, 36(sp)
    lw s10, 40(sp)
    lw s11, 44(sp)
    lw ra, 48(sp)
    addi sp, sp, FRAME
    ret
overflow:
    tail mpd_stk_overflow
corrupted:
    tail mpd_stk_corrupted

    /* Where a new context begins: s0 is its code, s1 to s4 the arguments. */
    .globl csw_begin
    .type csw_begin, @function
csw_begin:
    mv a0, s1
    mv a1, s2
    mv a2, s3
    mv a3, s4
    jalr s0
    tail mpd_stk_underflow
#endif
#endif

    .section .note.GNU-stack, "", @progbits
