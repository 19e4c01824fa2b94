/*
 * The entry of every hart into the image, in machine mode, interrupts off, a0 = hart number. The first words are the
 * image header that boot ROM and loaders read (sim/harness/README.md, "Image").
 */
#include "arch/boot.h"
#include "arch/hart.h"

    .section .start, "ax"
    .globl _start
_start:
    j start
    .word 0x314b4c49 /* "ILK1" */
    .word _end
    .word bootargs
    .word BOOTARGS_SIZE

start:
    csrw mie, zero
    csrw satp, zero
    la t0, trap_entry
    csrw mtvec, t0

    li t0, MAX_HARTS
    bgeu a0, t0, halt

    la sp, boot_stacks
    li t0, HART_STACK_SIZE
    addi t1, a0, 1
    mul t0, t0, t1
    add sp, sp, t0
    li s0, 0 /* ends the chain of frame pointers */

    bnez a0, secondary
    la t0, _bss_start
    la t1, _bss_end
    jal clear
    call kernel_main
halt:
    wfi
    j halt

clear: /* from t0 to t1, both multiples of 16 */
    bgeu t0, t1, 2f
1:  sw zero, 0(t0)
    sw zero, 4(t0)
    sw zero, 8(t0)
    sw zero, 12(t0)
    addi t0, t0, 16
    bltu t0, t1, 1b
2:  ret

secondary: /* wait until hart 0 has set the kernel up */
    la t0, harts_may_start
1:  lw t1, 0(t0)
    beqz t1, 1b
    fence rw, rw
    call hart_main
    j halt

    .section .data
    .balign 4
    .globl harts_may_start
harts_may_start: /* in .data: other harts read it while hart 0 still clears .bss */
    .word 0

    .globl bootargs
bootargs:
    .space BOOTARGS_SIZE

    .section .noinit.boot_stacks, "aw", @nobits
    .balign 16
    .globl boot_stacks
boot_stacks:
    .space HART_STACK_SIZE * MAX_HARTS
