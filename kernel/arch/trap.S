/*
 * The trap vectors: one for traps of the kernel itself, one for traps from user mode. mtvec is switched with the mode,
 * so that a kernel interrupt need not determine where it came from. The hart has cleared mstatus.MIE.
 *
 *   trap_entry       runs on the stack in use. A PIC interrupt saves the registers that C may change and calls
 *                    interrupt(frame), where the image's scheme decides what stays masked (sync/).
 *                    All others save a full frame, call trap(cause, frame), which may change it, return through it.
 *   user_trap_entry  mscratch holds the end of the thread's kernel stack, where its frame lies. A PIC interrupt or a
 *                    system call saves what C may change, other traps a full frame; user_trap(cause, frame) does the
 *                    rest, and returns with interrupts off on chip when the thread may return to user mode.
 *   user_enter       takes a thread to user mode for the first time.
 *
 * An interrupted LR's reservation need not be cancelled here: it lasts only until this hart's next LR, SC or AMO
 * (hw/cpu, ExclusiveMonitor), and every thread switch takes a lock with an AMO or with an SC that succeeds.
 */
#include "arch/csr.h"
#include "arch/frame.h"
#include "user/abi.h"

    .macro save_caller_saved
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
    .endm

    .macro restore_caller_saved
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
    .endm

    .macro save_callee_saved
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
    .endm

    .macro restore_callee_saved
    lw s1, FRAME_S1(sp)
    lw s2, FRAME_S1+4(sp)
    lw s3, FRAME_S1+8(sp)
    lw s4, FRAME_S1+12(sp)
    lw s5, FRAME_S1+16(sp)
    lw s6, FRAME_S1+20(sp)
    lw s7, FRAME_S1+24(sp)
    lw s8, FRAME_S1+28(sp)
    lw s9, FRAME_S1+32(sp)
    lw s10, FRAME_S1+36(sp)
    lw s11, FRAME_S1+40(sp)
    .endm

/* For a debugger's backtrace: what the frame holds, and that the interrupted code resumes at mepc. */
#define CFI_MEPC 4096 + 0x341
    .cfi_sections .debug_frame
    .macro cfi_frame
    .cfi_def_cfa_offset FRAME_SIZE
    .cfi_offset ra, FRAME_RA - FRAME_SIZE
    .cfi_offset t0, FRAME_T0 - FRAME_SIZE
    .cfi_offset t1, FRAME_T0 + 4 - FRAME_SIZE
    .cfi_offset t2, FRAME_T0 + 8 - FRAME_SIZE
    .cfi_offset s0, FRAME_S0 - FRAME_SIZE
    .cfi_offset CFI_MEPC, FRAME_MEPC - FRAME_SIZE
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    .cfi_offset a\n, FRAME_A0 + 4 * \n - FRAME_SIZE
    .endr
    .irp n, 3, 4, 5, 6
    .cfi_offset t\n, FRAME_T0 + 4 * \n - FRAME_SIZE
    .endr
    .endm

    .section .text.trap, "ax"
    .balign 64
    .globl trap_entry, trap_entry_end
trap_entry:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column CFI_MEPC
    addi sp, sp, -FRAME_SIZE
    cfi_frame
    save_caller_saved
    csrr t0, mcause
    li t1, CAUSE_EXTERNAL
    mv a0, sp
    bne t0, t1, 1f
    call interrupt

    .globl trap_return
trap_return:
    csrci mstatus, MSTATUS_MIE /* a thread switch below may have left interrupts on; mepc must not be overwritten now */
    restore_caller_saved
    addi sp, sp, FRAME_SIZE
    mret
1:  j full_trap
    .cfi_endproc
trap_entry_end:

    .section .text.trap_rest, "ax"
    .balign 64
    .globl trap_rest, trap_rest_end
trap_rest: /* work that a kernel interrupt does not need */
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column CFI_MEPC
    cfi_frame
full_trap:
    save_callee_saved
    sw s0, FRAME_SP(sp)
    sw gp, FRAME_GP(sp)
    sw tp, FRAME_TP(sp)
    mv a0, t0
    mv a1, sp
    call trap
    csrci mstatus, MSTATUS_MIE
    restore_callee_saved
    j trap_return
    .cfi_endproc

    .balign 64
    .globl user_trap_entry
user_trap_entry:
    .cfi_startproc
    .cfi_undefined ra /* a backtrace ends with the kernel */
    csrrw sp, mscratch, sp
    addi sp, sp, -FRAME_SIZE
    save_caller_saved
    csrr t0, mscratch
    la t1, trap_entry
    csrw mtvec, t1 /* a trap from here on is the kernel's own */
    sw t0, FRAME_SP(sp)
    sw gp, FRAME_GP(sp)
    sw tp, FRAME_TP(sp)
    lw tp, FRAME_HART(sp)
    csrr a0, mcause
    mv a1, sp
    li t0, CAUSE_EXTERNAL
    beq a0, t0, 1f
    li t0, CAUSE_USER_ECALL
    bne a0, t0, full_user_trap
    li t0, SYS_FORK /* a child begins with all registers of its parent */
    beq a7, t0, full_user_trap
    li t0, SYS_VFORK
    beq a7, t0, full_user_trap
1:  call user_trap
    j return_to_user

full_user_trap:
    save_callee_saved
    call user_trap
user_return_full:
    restore_callee_saved

return_to_user:
    sw tp, FRAME_HART(sp)
    la t0, user_trap_entry
    csrw mtvec, t0
    addi t1, sp, FRAME_SIZE
    csrw mscratch, t1
    restore_caller_saved
    lw gp, FRAME_GP(sp)
    lw tp, FRAME_TP(sp)
    lw sp, FRAME_SP(sp)
    mret

/*
 * void user_enter(struct frame *frame): a thread enters user mode for the first time. The frame ends where its kernel
 * stack does; everything else on that stack is discarded. Interrupts are off on chip.
 */
    .globl user_enter
user_enter:
    mv sp, a0
    j user_return_full
    .cfi_endproc
trap_rest_end:
