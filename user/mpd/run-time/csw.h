/*
 * Switching contexts, behind the interface of the MPD distribution's csw/. A context is an array of bytes: its stack,
 * which grows down towards what is kept at the array's beginning.
 */
#ifndef MPD_CSW_H
#define MPD_CSW_H

/* What the array begins with: the saved stack pointer, and a word that only an overflow overwrites. */
#define CSW_SP 0
#ifdef __LP64__
#define CSW_MAGIC 8
#define CSW_HEADER 16
#else
#define CSW_MAGIC 4
#define CSW_HEADER 8
#endif
#define CSW_MAGIC_WORD 79797979

/* Which back end: the assembler of csw_*.S, or contexts as <ucontext.h> has them, by system calls or by a library. */
#define CSW_ASSEMBLER 0
#define CSW_SYSTEM_CALLS 1
#define CSW_LIBRARY 2
#define CSW_LIBRARY_ALONE 3 /* the library builds contexts, too */
#ifndef CSW_BACK_END
#define CSW_BACK_END CSW_ASSEMBLER
#endif

/* What an array that is only saved into has at least. */
#if CSW_BACK_END == CSW_ASSEMBLER
#define CSW_LEAST CSW_HEADER
#else
#define CSW_LEAST 1280
#endif

/* What check_stk wants left of a stack: enough for a call of the C library. */
#if defined(__riscv)
#define CSW_MARGIN 1024
#else
#define CSW_MARGIN 8192
#endif

/* From where on an array's stack must not be used. */
#if CSW_BACK_END == CSW_ASSEMBLER
#define CSW_LIMIT (CSW_HEADER + CSW_MARGIN)
#else
#define CSW_LIMIT (CSW_LEAST + CSW_MARGIN)
#endif

#ifndef __ASSEMBLER__
#include <stddef.h>

/*
 * Makes a context of `array`, which is aligned to 16 bytes: it will call code(a1, a2, a3, a4), which must not return.
 */
void mpd_build_context(void (*code)(long, long, long, long), char *array, size_t size, long a1, long a2, long a3,
                       long a4);
/* Saves the running context in `old`, unless that is null, and goes on with `to`. */
void mpd_chg_context(char *to, char *old);
/* Calls mpd_stk_overflow if little is left of the running context's stack. */
void mpd_check_stk(char *array);

/* What the user of these provides; none of them returns. */
_Noreturn void mpd_stk_overflow(void);
_Noreturn void mpd_stk_underflow(void);
_Noreturn void mpd_stk_corrupted(void);
#endif

#endif
