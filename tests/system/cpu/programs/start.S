// Every hart begins at start, gets a stack and a trap stack of its own, and runs hart_main.
    .section .text.start
    .globl start
start:
    csrr a0, mhartid
    la   t0, trap_entry
    csrw mtvec, t0
    addi t1, a0, 1
    slli t1, t1, 12
    la   sp, stacks
    add  sp, sp, t1
    la   t0, trap_stacks
    add  t0, t0, t1
    csrw mscratch, t0
    call run_hart
1:  wfi
    j    1b

    .text
    .align 2
trap_entry:                 // mscratch holds the top of the trap stack while no trap is being handled
    csrrw sp, mscratch, sp
    addi sp, sp, -144
    sw x1, 4(sp)
    .irp n, 3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    sw x\n, 4*\n(sp)
    .endr
    csrr t0, mscratch
    sw t0, 8(sp)
    addi t0, sp, 144
    csrw mscratch, t0
    csrr t0, mepc
    sw t0, 128(sp)
    csrr t0, mcause
    sw t0, 132(sp)
    csrr t0, mtval
    sw t0, 136(sp)
    mv a0, sp
    call trap
    lw t0, 128(sp)
    csrw mepc, t0
    lw x1, 4(sp)
    .irp n, 3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    lw x\n, 4*\n(sp)
    .endr
    lw sp, 8(sp)
    mret

    .bss
    .align 4
stacks:
    .space 4096 * HARTS
trap_stacks:
    .space 4096 * HARTS
