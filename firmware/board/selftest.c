#include "selftest.h"

#include <stdarg.h>
#include <stdint.h>

#include "console.h"
#include "leds.h"
#include "loader.h"
#include "protocol.h"

/* In order; LEDs and docs count them from 1. */
static const struct {
    char name[12];
    void (*run)(int whole);
} tests[] = {
    /* clang-format off */
    {"harts", test_harts},
    {"memory", test_memory},
    {"caches", test_caches},
    {"pic", test_pic},
    {"serial", test_serial},
    {"sd", test_sd},
    {"ethernet", test_ethernet},
    /* clang-format on */
};
#define TESTS (sizeof tests / sizeof *tests)

enum outcome { OK, ABSENT, FAILED };

static char report[100 * TESTS];
static unsigned failures;
static enum outcome outcome;
static char detail[80];

static void say(enum outcome what, const char *format, va_list arguments)
{
    if (what <= outcome && detail[0])
        return;
    outcome = what;
    print_into(detail, sizeof detail, format, arguments);
}

#define SAYS(name, what)               \
    void name(const char *format, ...) \
    {                                  \
        va_list arguments;             \
        va_start(arguments, format);   \
        say(what, format, arguments);  \
        va_end(arguments);             \
    }
SAYS(passed, OK)
SAYS(failed, FAILED)
SAYS(absent, ABSENT)

static char *append(char *end, const char *text)
{
    while (*text)
        *end++ = *text++;
    *end = 0;
    return end;
}

void self_test(unsigned which)
{
    static const char *const words[] = {[OK] = "ok", [ABSENT] = "absent", [FAILED] = "failed"};
    char *end = report;
    unsigned first = 0; /* that failed, from 1 */
    failures = 0;
    for (unsigned test = 0; test < TESTS; test++) {
        outcome = OK;
        detail[0] = 0;
        leds_running(test + 1);
        tests[test].run(which == LINK_TEST_LONG);
        if (outcome == FAILED && !failures++)
            first = test + 1;
        char *line = end;
        end = append(append(append(end, tests[test].name), " "), words[outcome]);
        end = append(append(append(end, detail[0] ? ": " : ""), detail), "\n");
        print("%s", line);
    }
    leds_result(first);
}

const char *self_test_report(unsigned *count)
{
    *count = failures;
    return report;
}
