/*
 * What harts do while a model is watched (sim/model/gating/watch.py): they contend for a lock, and work on memory of
 * their own. Laid out as an image of main RAM: the boot ROM comes here if it finds the magic number.
 */
    .option norelax
    .text
    .globl _start
_start:
    j start
    .word 0x314b4c49 /* "ILK1" */

start:
    csrr s0, mhartid
    la s1, lock
    la s2, own
    slli t0, s0, 13
    add s2, s2, t0
    li t0, 8192
    add sp, s2, t0
    li s3, 0

again:
    li t0, 1 /* a ticket lock */
    amoadd.w t1, t0, (s1)
1:  lw t2, 4(s1)
    beq t1, t2, 2f
    nop
    nop
    j 1b
2:  fence rw, rw
    li a0, 100
    call pause
    lw t0, 64(s1)
    addi t0, t0, 1
    sw t0, 64(s1)
    fence rw, rw
    addi t2, t2, 1
    sw t2, 4(s1)

    li a0, 6
    call nested
    li a0, 100
    call pause
    mv a0, s2
    call pass
    csrr t0, mcycle
    csrr t1, minstret
    mul t2, t0, t1
    addi s3, s3, 1
    andi t3, s3, 3
    bnez t3, again
    divu t2, t2, s3
    csrw mscratch, t2
    csrsi mstatus, 8
    csrci mstatus, 8
    addi t1, s1, 128
    lr.w t0, (t1)
    addi t0, t0, 1
    sc.w t2, t0, (t1)
    j again

pause:
    addi a0, a0, -1
    bnez a0, pause
    ret

nested: /* calls itself a0 deep */
    addi sp, sp, -16
    sw ra, 12(sp)
    sw a0, 8(sp)
    addi a0, a0, -1
    beqz a0, 1f
    call nested
1:  lw a0, 8(sp)
    lw ra, 12(sp)
    addi sp, sp, 16
    ret

pass: /* over 512 bytes, another part of 4 KB each time */
    andi t0, s3, 7
    slli t0, t0, 9
    add a0, a0, t0
    li a1, 64
    li t2, 0
1:  lw t0, 0(a0)
    lbu t1, 4(a0)
    xor t2, t2, t0
    slli t3, t2, 5
    add t2, t2, t3
    sltu t3, t0, t1
    add t2, t2, t3
    sw t2, 0(a0)
    sh t2, 6(a0)
    addi a0, a0, 8
    addi a1, a1, -1
    bnez a1, 1b
    ret

    .balign 64
lock:
    .space 256
    .balign 4096
own:
