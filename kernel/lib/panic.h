/*
 * The end of a kernel that cannot go on: stops the other harts, prints the message, a backtrace with the names of the
 * functions, and what every subsystem has to say of its state, and ends the run with PANIC_EXIT_CODE. What it does is
 * in arch/panic.c; what lies above has a hook in arch/panic.h.
 */
#ifndef LIB_PANIC_H
#define LIB_PANIC_H

#define PANIC_EXIT_CODE 0xdead

_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same; explain(what) prints more behind the backtrace. */
_Noreturn void panic_explained(void (*explain)(const void *), const void *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether a hart has panicked. */
int panicking(void);

/*
 * Stops this hart, for ever, if another one has panicked: it has been called, or is about to do what others could see.
 */
void panic_stop_if_other(void);

#define assert(what)                                               \
    do {                                                           \
        if (__builtin_expect(!(what), 0))                          \
            panic("%s:%d: not so: %s", __FILE__, __LINE__, #what); \
    } while (0)
#endif
