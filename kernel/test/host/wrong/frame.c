/* Tests that fail, one in each way that the frame must notice. Sources: lib/bootargs.c */
#include <limits.h>

#include "lib/bootargs.h"
#include "lib/panic.h"
#include "test/host/host.h"

char bootargs[8] = "n=bad";
static const char *volatile arguments = bootargs;
static volatile int most = INT_MAX;

HOST_TEST(right)
{
    CHECK(bootargs[0] == 'n');
}
HOST_TEST(a_check_that_fails)
{
    CHECK_EQUAL(1 + 1, 3);
}
HOST_TEST(text_that_differs)
{
    CHECK_TEXT("is", "should");
}
HOST_TEST(a_panic_nobody_expects)
{
    bootargs_number("n", 0, 1);
}
HOST_TEST(a_panic_that_does_not_come)
{
    CHECK_PANICS("boot argument", bootargs_number("other", 0, 1));
}
HOST_TEST(a_panic_that_says_something_else)
{
    CHECK_PANICS("something else", bootargs_number("n", 0, 1));
}
HOST_TEST(a_read_outside)
{
    CHECK_EQUAL(arguments[sizeof bootargs], 0);
}

/* After many frames, and a jump out of one: uses a function's frame after the function has returned. */
static int *volatile kept;

static void __attribute__((noinline)) keeps(int n)
{
    int local[2] = {n, most};
    kept = local;
}

HOST_TEST(a_use_after_return)
{
    for (int i = 0; i < 5000; i++)
        keeps(i);
    CHECK_PANICS("boot argument", bootargs_number("n", 0, 1));
    keeps(1);
    CHECK_EQUAL(kept[0], 1);
}
HOST_TEST(an_overflow)
{
    CHECK_EQUAL(most + 1, 0);
}

static volatile bool ends;

HOST_TEST(one_that_does_not_end)
{
    while (!ends)
        ;
}
