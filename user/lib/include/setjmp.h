/* picolibc's, and what it lacks: with the signal mask, and under its old names without. */
#ifndef USER_SETJMP_H
#define USER_SETJMP_H

#include_next <setjmp.h>

#define _setjmp(env) setjmp(env)
#define _longjmp(env, value) longjmp(env, value)

typedef struct {
    jmp_buf env;
    int saved;
    unsigned long mask;
} sigjmp_buf[1];

int __sigjmp_save(sigjmp_buf env, int save);
_Noreturn void siglongjmp(sigjmp_buf env, int value);

#define sigsetjmp(to, save) (__sigjmp_save(to, save), setjmp((to)->env))
#endif
