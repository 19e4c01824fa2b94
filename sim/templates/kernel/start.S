/*
 * The boot ROM enters here with every hart: machine mode, interrupts off, a0 = number of the hart, all other registers
 * undefined, main RAM beyond the image undefined. The first words are the header that ROM and simulator read.
 */
#include <generated/soc.h>

#define STACK_BYTES 4096

    .section .start, "ax"
    .globl _start
_start:
    j start
    .word 0x314b4c49    /* "ILK1" */
    .word _end          /* what a board's loader leaves alone ends here */
    .word bootargs      /* --set KEY=VALUE of ./interlock sim come here, ended by a zero */
    .word BOOTARGS_BYTES

    .equ BOOTARGS_BYTES, 1024

start:
    csrw mie, zero
    la t0, trap
    csrw mtvec, t0
    la sp, stacks
    li t0, STACK_BYTES
    addi t1, a0, 1
    mul t0, t0, t1
    add sp, sp, t0
    li s0, 0            /* ends the chain of frame pointers, used by flame graphs */
    bnez a0, others

    la t0, _bss_start
    la t1, _bss_end
1:  bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:  call main           /* returns the exit code */
    call end

others:                 /* wait until hart 0 releases them: it does not if there are more than supported */
    la t0, others_may_run
1:  lw t1, 0(t0)
    beqz t1, 1b
    fence rw, rw
    call other_hart
3:  wfi
    j 3b

    .data
    .balign 4
    .globl others_may_run
others_may_run:         /* not in .bss, which hart 0 clears meanwhile */
    .word 0
    .globl bootargs
bootargs:
    .space BOOTARGS_BYTES

    .section .stacks, "aw", @nobits
    .balign 16
stacks:
    .space STACK_BYTES * CONFIG_HARTS
