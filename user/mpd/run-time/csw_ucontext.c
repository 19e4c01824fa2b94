/*
 * Switching contexts by <ucontext.h>: System V's system calls, or a thread library's functions that stay in user mode.
 * Building a context begins with getcontext, a system call, in both, as in the ports that paper `mpd` describes;
 * CSW_LIBRARY_ALONE shows what it costs without.
 */
#include "csw.h"

#if CSW_BACK_END != CSW_ASSEMBLER
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#if CSW_BACK_END == CSW_LIBRARY || CSW_BACK_END == CSW_LIBRARY_ALONE
#define GET(to) _getcontext_u(to)
#define SET(to) _setcontext_u(to)
#define SWAP(old, to) _swapcontext_u(old, to)
#else
#define GET(to) getcontext(to)
#define SET(to) setcontext(to)
#define SWAP(old, to) swapcontext(old, to)
#endif

#if CSW_BACK_END == CSW_LIBRARY_ALONE
#define BEGIN(to) _getcontext_u(to)
#else
#define BEGIN(to) getcontext(to)
#endif

/* What an array begins with. */
struct context {
    uintptr_t unused;
    uintptr_t magic;
    void (*code)(long, long, long, long);
    long a[4];
    ucontext_t context;
};
_Static_assert(offsetof(struct context, magic) == CSW_MAGIC && sizeof(struct context) <= CSW_LEAST, "csw.h");

static struct context *of(char *array)
{
    return (struct context *)(void *)array;
}

/* makecontext's arguments are ints: a pointer is two of them, or one. */
static void first(unsigned low, unsigned high)
{
    struct context *c = (struct context *)(uintptr_t)((uint64_t)high << 32 | low);
    c->code(c->a[0], c->a[1], c->a[2], c->a[3]);
    mpd_stk_underflow();
}

void mpd_build_context(void (*code)(long, long, long, long), char *array, size_t size, long a1, long a2, long a3,
                       long a4)
{
    struct context *c = of(array);
    BEGIN(&c->context);
    c->magic = CSW_MAGIC_WORD;
    c->code = code;
    c->a[0] = a1;
    c->a[1] = a2;
    c->a[2] = a3;
    c->a[3] = a4;
    c->context.uc_stack.ss_sp = array;
    c->context.uc_stack.ss_size = size;
    c->context.uc_link = NULL;
    uint64_t where = (uintptr_t)c;
    makecontext(&c->context, (void (*)(void))first, 2, (unsigned)where, (unsigned)(where >> 32));
}

void mpd_chg_context(char *to, char *old)
{
    if (old && ((uintptr_t)__builtin_frame_address(0) < (uintptr_t)(old + sizeof(struct context)) ||
                of(old)->magic != CSW_MAGIC_WORD))
        mpd_stk_overflow();
    if (of(to)->magic != CSW_MAGIC_WORD) {
        volatile bool again = false;
        if (old)
            GET(&of(old)->context);
        if (again)
            return;
        again = true;
        mpd_stk_corrupted();
    }
    if (old)
        SWAP(&of(old)->context, &of(to)->context);
    else
        SET(&of(to)->context);
}

void mpd_check_stk(char *array)
{
    if ((uintptr_t)__builtin_frame_address(0) < (uintptr_t)(array + sizeof(struct context) + CSW_MARGIN) ||
        of(array)->magic != CSW_MAGIC_WORD)
        mpd_stk_overflow();
}
#endif
