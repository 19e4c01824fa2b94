/* A bare image for the SoC's tests: the header, and every hart into C with a stack of its own. */
    .section .text.start, "ax"
    .globl _start
_start:
    j start
    .word 0x314b4c49
    .word _end
    .word bootargs
    .word 64

start:
    la sp, stacks
    slli t0, a0, 12
    add sp, sp, t0
    li t0, 4096
    add sp, sp, t0
    call hart_main
1:  wfi
    j 1b

    .bss
    .balign 16
    .globl bootargs
bootargs:
    .space 64
stacks:
    .space 4096 * 8
