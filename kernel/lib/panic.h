/*
 * The end of a kernel that cannot continue: stops the other harts, prints the message, a backtrace with the names of
 * the functions, and the state of every subsystem, and ends the run with PANIC_EXIT_CODE. Implemented in
 * arch/panic.c; the layers above set hooks in arch/panic.h.
 */
#ifndef LIB_PANIC_H
#define LIB_PANIC_H

#define PANIC_EXIT_CODE 0xdead

_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same; explain(what) prints more after the backtrace. */
_Noreturn void panic_explained(void (*explain)(const void *), const void *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether a hart has panicked. */
int panicking(void);

/*
 * Halts this hart, for ever, if another one has panicked: on its call, or before any effect that others could see.
 */
void panic_stop_if_other(void);

#define assert(what)                                               \
    do {                                                           \
        if (__builtin_expect(!(what), 0))                          \
            panic("%s:%d: not so: %s", __FILE__, __LINE__, #what); \
    } while (0)
#endif
