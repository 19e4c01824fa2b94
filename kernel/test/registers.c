/*
 * run=test-registers: what the registers of the interrupt controller's link and of main RAM hold when the kernel is up,
 * and what the kernel takes them for. The test that sets a value checks that it arrives: by the machine, from outside,
 * by a boot argument.
 *
 *   @registers ram_read_latency=... link_read_latency=... ...
 *   @pic_worst access=... delivery=...
 */
#include <generated/csr.h>

#include "sync/pic.h"
#include "test/test.h"

static int registers(void)
{
    kprintf("@registers");
#define SHOW(name) kprintf(" " #name "=%lu", (unsigned long)name##_read());
    BOOT_REGISTERS(SHOW)
    kprintf("\n@pic_worst access=%lu delivery=%lu\n", (unsigned long)pic_worst_access,
            (unsigned long)pic_worst_delivery);
    return 0;
}

RUN("test-registers", "test: prints the registers that boot arguments set", registers);
