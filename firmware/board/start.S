/*
 * Where every hart of a board comes out of reset. Hart 0 sets up memory for C and continues in board_main(); the others
 * wait to be called (harts.c). Nothing but ROM and SRAM is used before the main RAM has been initialised.
 */
#include <generated/soc.h>

#include "service.h"

#define STACK_SHIFT 9 /* 512 bytes of each hart but 0, from the end of the SRAM down; below them is hart 0's memory */

    .section .text.start, "ax"
    .globl _start
_start:
    .option norvc
    j reset
    .org SERVICE_MAGIC_OFFSET
    .word SERVICE_MAGIC
    .org SERVICE_ENTRY_OFFSET
    .word service

/* a0: how an image has ended. On any hart; that of the image is not ours to speak of, so it gets hart 0's stack */
service:
    la t0, trap
    csrw mtvec, t0
    csrw mie, zero
    la sp, _stacks_end - ((CONFIG_HARTS - 1) << STACK_SHIFT) /* to the assembler << binds closer than - */
    call loader

reset:
    la t0, trap
    csrw mtvec, t0
    csrw mie, zero
    csrr a0, mhartid
    jal t0, set_stack
    beqz a0, first
    call harts_wait

first: /* the SRAM keeps its content over a reset: all of C's memory has to be initialised */
    la t0, _data
    la t1, _data_end
    la t2, _data_in_rom
    j 2f
1:  lw t3, 0(t2)
    sw t3, 0(t0)
    addi t0, t0, 4
    addi t2, t2, 4
2:  bltu t0, t1, 1b
    la t1, _bss_end
    j 4f
3:  sw zero, 0(t0)
    addi t0, t0, 4
4:  bltu t0, t1, 3b
    call board_main

    .balign 4
trap: /* nothing to return to: the trapping code had no handler of its own yet, or is part of this ROM */
    csrw mie, zero
    csrr a0, mhartid
    jal t0, set_stack
    csrr a1, mcause
    csrr a2, mepc
    csrr a3, mtval
    call trapped

set_stack: /* a0 = hart number; returns to t0 */
    la sp, _stacks_end
    li t1, CONFIG_HARTS - 1
    beqz a0, 1f
    addi t1, a0, -1
1:  slli t1, t1, STACK_SHIFT
    sub sp, sp, t1
    jr t0
