/*
 * The part of context switching that is the same for all assembler back ends; they provide chg_context and csw_begin.
 */
#include <stdint.h>

#include "csw.h"

#if CSW_BACK_END == CSW_ASSEMBLER
#if !defined(__x86_64__) && !(defined(__riscv) && __riscv_xlen == 32 && !defined(__riscv_flen))
#error "there is no back end of context switching for this processor"
#endif

/* What chg_context leaves on a stack that it saves, from the saved stack pointer up. */
struct frame {
#if defined(__riscv)
    uintptr_t s[12];
    uintptr_t pc;
    uintptr_t padding[3];
#else
    uint32_t mxcsr, control_word;
    uintptr_t r15, r14, r13, r12, rbx, rbp;
    uintptr_t pc;
    uintptr_t padding;
#endif
};

void csw_begin(void);

static uintptr_t *word(char *array, int offset)
{
    return (uintptr_t *)(void *)(array + offset);
}

void mpd_build_context(void (*code)(long, long, long, long), char *array, size_t size, long a1, long a2, long a3,
                       long a4)
{
    uintptr_t top = (uintptr_t)(array + size) & ~(uintptr_t)15;
    struct frame *f = (struct frame *)(top - sizeof *f);
#if defined(__riscv)
    *f = (struct frame){.pc = (uintptr_t)csw_begin};
    uintptr_t first[] = {(uintptr_t)code, (uintptr_t)a1, (uintptr_t)a2, (uintptr_t)a3, (uintptr_t)a4};
    for (int i = 0; i < 5; i++)
        f->s[i] = first[i];
#else
    *f = (struct frame){.pc = (uintptr_t)csw_begin,
                        .rbx = (uintptr_t)code,
                        .r12 = (uintptr_t)a1,
                        .r13 = (uintptr_t)a2,
                        .r14 = (uintptr_t)a3,
                        .r15 = (uintptr_t)a4};
    __asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(f->mxcsr), "=m"(f->control_word));
#endif
    *word(array, CSW_SP) = (uintptr_t)f;
    *word(array, CSW_MAGIC) = CSW_MAGIC_WORD;
}

void mpd_check_stk(char *array)
{
    if ((uintptr_t)__builtin_frame_address(0) < (uintptr_t)(array + CSW_HEADER + CSW_MARGIN) ||
        *word(array, CSW_MAGIC) != CSW_MAGIC_WORD)
        mpd_stk_overflow();
}
#endif
