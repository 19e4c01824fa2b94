/* chg_context for x86-64 (System V): saves rbp, rbx, r12 to r15 and the control words of floating point. */
#if defined(__x86_64__)
#include "csw.h"
#if CSW_BACK_END == CSW_ASSEMBLER
#define FRAME 56

    .text
    .globl mpd_chg_context
    .type mpd_chg_context, @function
mpd_chg_context: /* (to, old) */
    testq %rsi, %rsi
    je 1f
    leaq -FRAME(%rsp), %rax
    leaq CSW_HEADER(%rsi), %rcx
    cmpq %rcx, %rax
    jb overflow
    cmpq $CSW_MAGIC_WORD, CSW_MAGIC(%rsi)
    jne overflow
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, CSW_SP(%rsi)
1:  cmpq $CSW_MAGIC_WORD, CSW_MAGIC(%rdi)
    jne corrupted
    movq CSW_SP(%rdi), %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
overflow:
    andq $-16, %rsp
    call mpd_stk_overflow
corrupted:
    andq $-16, %rsp
    call mpd_stk_corrupted

    /* Where a new context begins: rbx is its code, r12 to r15 the arguments. */
    .globl csw_begin
    .type csw_begin, @function
csw_begin:
    andq $-16, %rsp
    movq %r12, %rdi
    movq %r13, %rsi
    movq %r14, %rdx
    movq %r15, %rcx
    call *%rbx
    call mpd_stk_underflow
#endif
#endif

    .section .note.GNU-stack, "", @progbits
