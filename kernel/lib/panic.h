/*
 * The end of a kernel that cannot go on: stops the other harts, prints the message, a backtrace with the names of the
 * functions, every hart and every thread, and ends the run with PANIC_EXIT_CODE.
 */
#ifndef LIB_PANIC_H
#define LIB_PANIC_H

#include <stdint.h>

struct frame;

#define PANIC_EXIT_CODE 0xdead

_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same; explain(what) prints more behind the backtrace. */
_Noreturn void panic_explained(void (*explain)(const void *), const void *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for an exception in kernel code that nobody expects: names its cause and place. */
_Noreturn void exception_panic(uint32_t cause, struct frame *frame);

/* Whether a hart has panicked; the others stop at their next inter-processor interrupt. */
int panicking(void);

#define assert(what)                                                  \
    do {                                                              \
        if (__builtin_expect(!(what), 0))                             \
            panic("%s:%d: not so: %s", __FILE__, __LINE__, #what);    \
    } while (0)
#endif
