/* Formatted output. Sources: lib/printf.c */
#include "lib/printf.h"

#include <string.h>

#include "test/host/host.h"

HOST_TEST(what_is_printed_arrives_in_order)
{
    kprintf("%s %d", "one", 2);
    kprintf(" 0x%04x\n", 3);
    CHECK_TEXT(host_output(), "one 2 0x0003\n");
}

HOST_TEST(a_long_line_is_cut)
{
    for (unsigned length = KPRINTF_MAX - 2; length <= KPRINTF_MAX + 2; length++) {
        host_output_clear();
        kprintf("%0*d", (int)length, 7);
        CHECK_EQUAL(strlen(host_output()), length < KPRINTF_MAX ? length : KPRINTF_MAX - 1);
    }
}
