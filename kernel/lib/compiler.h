/*
 * Hints to the compiler on how often code runs. They do not place code: the link of an image decides where code
 * lies.
 */
#ifndef LIB_COMPILER_H
#define LIB_COMPILER_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * A function that is called rarely: for errors, waiting, refilling. Inlining it would cost its callers registers and a
 * frame.
 */
#define COLD __attribute__((noinline, cold))
#endif
