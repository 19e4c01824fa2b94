/* Contexts of user mode (<ucontext.h>). */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <ucontext.h>

#include "user/lib/system.h"

_Static_assert(sizeof(ucontext_t) == sizeof(struct user_context), "as the kernel has it");
_Static_assert(offsetof(ucontext_t, uc_sigmask) == offsetof(struct user_context, mask), "as the kernel has it");
#define X 24 /* where the registers begin */
_Static_assert(offsetof(ucontext_t, uc_mcontext) == X && offsetof(struct user_context, x) == X, "as the kernel has it");

/*
 * By system calls. The kernel saves pc, ra, sp, gp and tp at the beginning of the registers' places, in that order;
 * the registers that C preserves across calls are saved here, in their own places, x8 to x9 and x18 to x27, and loaded
 * by the thread that is resumed, which finds its context in a1.
 */
#define AT(n) "24+4*" #n
#define KEEP(do, base)                                                                                            \
    #do " s0, " AT(8) "(" base "); " #do " s1, " AT(9) "(" base "); " #do " s2, " AT(                             \
        18) "(" base                                                                                              \
            "); " #do " s3, " AT(19) "(" base "); " #do " s4, " AT(20) "(" base "); " #do " s5, " AT(             \
                21) "(" base                                                                                      \
                    "); " #do " s6, " AT(22) "(" base "); " #do " s7, " AT(23) "(" base "); " #do " s8, " AT(     \
                        24) "(" base                                                                              \
                            "); " #do " s9, " AT(25) "(" base                                                     \
                                                     "); " #do " s10, " AT(26) "(" base                           \
                                                                               "); " #do " s11, " AT(27) "(" base \
                                                                                                         "); "
#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

__asm__(".section .text.ucontext, \"ax\"\n"
        ".globl getcontext, setcontext, swapcontext\n"
        "getcontext:\n" KEEP(sw, "a0") "li a7, " NUMBER(
            SYS_GETCONTEXT) "\n"
                            "ecall\n"
                            "j context_goes_on\n"
                            "setcontext:\n"
                            "li a7, " NUMBER(SYS_SETCONTEXT) "\n"
                                                             "ecall\n"
                                                             "tail with_errno\n" /* it comes back only if it fails */
                                                             "swapcontext:\n" KEEP(sw, "a0") "li a7, " NUMBER(
                                                                 SYS_SWAPCONTEXT) "\n"
                                                                                  "ecall\n"
                                                                                  "bltz a0, 1f\n"
                                                                                  "context_goes_on:\n" KEEP(
                                                                                      lw, "a1") "1: tail with_errno\n"
                                                                                                ".text\n");

/* In user mode: all registers but x0, as the context of an interrupted thread may need them. */
#define ALL(do, base)                                                                                                  \
    #do " ra, " AT(1) "(" base "); " #do " sp, " AT(2) "(" base "); " #do " gp, " AT(3) "(" base "); " #do " tp, " AT( \
        4) "(" base                                                                                                    \
           "); " #do " t0, " AT(5) "(" base "); " #do " t1, " AT(6) "(" base "); " #do " t2, " AT(                     \
               7) "(" base                                                                                             \
                  "); " KEEP(do, base) #do " a2, " AT(12) "(" base "); " #do " a3, " AT(                               \
                      13) "(" base                                                                                     \
                          "); " #do " a4, " AT(14) "(" base "); " #do " a5, " AT(15) "(" base "); " #do " a6, " AT(    \
                              16) "(" base                                                                             \
                                  "); " #do " a7, " AT(17) "(" base "); " #do " t3, " AT(                              \
                                      28) "(" base "); " #do " t4, " AT(29) "(" base "); " #do " t5, " AT(30) "(" base \
                                                                                                              "); "

__asm__(".section .text.ucontext, \"ax\"\n"
        ".globl _getcontext_u, _setcontext_u, _swapcontext_u\n"
        "_getcontext_u:\n" ALL(sw, "a0") "sw a0, " AT(10) "(a0); sw a1, " AT(
            11) "(a0)\n"
                "sw ra, " AT(0) "(a0)\n"
                                "ret\n"
                                "_swapcontext_u:\n" ALL(sw, "a0") "sw a0, " AT(10) "(a0); sw a1, " AT(
                                    11) "(a0)\n"
                                        "sw ra, " AT(
                                            0) "(a0)\n"
                                               "mv a0, a1\n"
                                               "_setcontext_u:\n" ALL(lw, "a0") "lw t6, " AT(0) "(a0); lw a1, " AT(
                                                   11) "(a0); lw a0, " AT(10) "(a0)\n"
                                                                              "jr t6\n"
                                                                              "context_starts:\n" /* a1: the context */
        KEEP(lw, "a1") "mv a0, s2; mv s2, a1; mv a1, s3; mv a2, s4; mv a3, s5\n"
                       "jalr s1\n"
                       "lw a0, 4(s2)\n" /* uc_link */
                       "beqz a0, 1f\n"
                       "tail setcontext\n"
                       "1: tail exit\n"
                       ".text\n");
_Static_assert(offsetof(ucontext_t, uc_link) == 4, "as context_starts has it");

void context_starts(void);

#define S1 9
#define S2 18
#define ARGUMENTS 4

void makecontext(ucontext_t *context, void (*code)(void), int count, ...)
{
    uint32_t *x = context->uc_mcontext.__gregs;
    va_list arguments;
    va_start(arguments, count);
    for (int i = 0; i < count && i < ARGUMENTS; i++)
        x[S2 + i] = va_arg(arguments, uint32_t);
    va_end(arguments);
    x[S1] = (uint32_t)code;
    x[REG_PC] = (uint32_t)context_starts;
    x[REG_SP] = ((uint32_t)context->uc_stack.ss_sp + context->uc_stack.ss_size) & ~15u;
    x[REG_A0 + 1] = (uint32_t)context;
}
