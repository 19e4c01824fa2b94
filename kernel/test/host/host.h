/*
 * Units of the kernel that need no hardware, tested on the machine that builds them under the address and
 * undefined-behaviour sanitizers (tests/unit/test_kernel_host.py). A test file in this folder is one program; its first
 * comment names the kernel's sources in it and, if they are not the defaults, the build options:
 *
 *   Boot arguments. Sources: lib/bootargs.c lib/printf.c. Options: LOCK_DEBUG=1
 *   HOST_TEST(the_first_of_equal_keys_counts) { CHECK_EQUAL(bootargs_number("a", 1, 9), 5); }
 *
 * Each test runs in a process of its own, so it begins with the unit's initial state, and a crash ends only that test.
 * Of what the sources need besides, panic, console_write, one hart (curhart), sections without interrupts
 * (scheme.h) and simple locks without waiting (spin.h) are here; a test file defines the rest as it needs it.
 * Addresses are the host's: 64 bits.
 */
#ifndef TEST_HOST_HOST_H
#define TEST_HOST_HOST_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#define HOST_PATH 64 /* bytes of a path at most */

struct host_test {
    const char *name;
    void (*fn)(void);
    struct host_test *next;
};

void host_register(struct host_test *test);

#define HOST_TEST(id)                                            \
    static void id(void);                                        \
    __attribute__((constructor)) static void register_##id(void) \
    {                                                            \
        static struct host_test test = {#id, id, 0};             \
        host_register(&test);                                    \
    }                                                            \
    static void id(void)

/* A check that fails ends the test, and prints where and what. */
_Noreturn void host_failed(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define CHECK(what)                                               \
    do {                                                          \
        if (!(what))                                              \
            host_failed(__FILE__, __LINE__, "not so: %s", #what); \
    } while (0)

/* Both are evaluated once, and shown as numbers if they differ. */
#define CHECK_EQUAL(is, should) host_check_equal(__FILE__, __LINE__, #is, (long long)(is), (long long)(should))
void host_check_equal(const char *file, int line, const char *what, long long is, long long should);

void host_check_text(const char *file, int line, const char *what, const char *is, const char *should);
#define CHECK_TEXT(is, should) host_check_text(__FILE__, __LINE__, #is, is, should)

/*
 * Evaluating `expression` panics, with a message that contains `part`. Locks and sections stay as the panic left them.
 */
extern jmp_buf *host_panic_to;
void host_check_panic(const char *file, int line, bool panicked, const char *part);
#define CHECK_PANICS(part, expression)                         \
    do {                                                       \
        jmp_buf here_;                                         \
        volatile bool panicked_ = true;                        \
        host_panic_to = &here_;                                \
        if (!setjmp(here_)) {                                  \
            (void)(expression);                                \
            panicked_ = false;                                 \
        }                                                      \
        host_panic_to = 0;                                     \
        host_check_panic(__FILE__, __LINE__, panicked_, part); \
    } while (0)

/*
 * The environment's HOST_TIMES, or 1: how many times longer a test of random input runs; its beginning stays the
 * same.
 */
unsigned host_times(void);

/* Makes a folder in the environment's TMPDIR, or in /tmp, and puts its path, which begins with `name`, in `folder`. */
void host_folder(char folder[HOST_PATH], const char *name);

void host_layout(uint32_t seed); /* lib/layout.h draws from it from here on */

/* What kprintf has written since the test began, or since host_output_clear. */
const char *host_output(void);
void host_output_clear(void);
#endif
