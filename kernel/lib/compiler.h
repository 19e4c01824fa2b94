/*
 * What the compiler is told of how often code runs. It says nothing of where code lies: that is decided when an image
 * is linked.
 */
#ifndef LIB_COMPILER_H
#define LIB_COMPILER_H

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * A function that is called rarely: for errors, waiting, refilling. Inlined, it would cost its callers registers and a
 * frame.
 */
#define COLD __attribute__((noinline, cold))
#endif
