/*
 * All harts wait in WFI, but for one interrupt in PERIOD cycles: hart 0's timer, whose handler sets the next one
 * (sim/bench/sleeping.py).
 */
#define MTIMECMP (CLINT_BASE + 0x4000)
#define MTIME (CLINT_BASE + 0xbff8)

    .text
    .globl _start
_start:
    j start
    .word 0x314b4c49 /* "ILK1" */
    .word 0
    .word bootargs
    .word 16

start:
    csrw mie, zero
    csrr t0, mhartid
    bnez t0, wait
    la t0, handler
    csrw mtvec, t0
    li s0, MTIMECMP
    li s1, MTIME
    li s2, PERIOD
    lw s3, 0(s1)
    add s3, s3, s2
    sw zero, 4(s0)
    sw s3, 0(s0)
    li t0, 1 << 7
    csrw mie, t0
    csrsi mstatus, 8
wait:
    wfi
    j wait

    .balign 4
handler:
    add s3, s3, s2
    sw s3, 0(s0)
    mret

bootargs:
    .space 16
