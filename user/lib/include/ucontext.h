/*
 * Contexts of user mode, as in System V: getcontext, setcontext and swapcontext are system calls, which preserve the
 * signal mask. Those with _u, as in NetBSD's thread library, stay in user mode and do not change it.
 */
#ifndef _UCONTEXT_H
#define _UCONTEXT_H

#include <signal.h>
#include <stdint.h>

#define REG_PC 0
#define REG_SP 2
#define REG_A0 10
#define NGREG 32

typedef struct {
    uint32_t __gregs[NGREG]; /* by their numbers; x0's place holds the pc */
} mcontext_t;

typedef struct __ucontext {
    unsigned uc_flags;
    struct __ucontext *uc_link;
    uint32_t uc_sigmask;
    stack_t uc_stack;
    mcontext_t uc_mcontext;
} ucontext_t;

int getcontext(ucontext_t *context);
int setcontext(const ucontext_t *context);
int swapcontext(ucontext_t *old, const ucontext_t *context);
void makecontext(ucontext_t *context, void (*code)(void), int count, ...); /* up to four arguments */

void _getcontext_u(ucontext_t *context);
_Noreturn void _setcontext_u(const ucontext_t *context);
void _swapcontext_u(ucontext_t *old, const ucontext_t *context);
#endif
