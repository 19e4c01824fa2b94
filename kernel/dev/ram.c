/* The latency of main RAM (ram.h). */
#include "dev/ram.h"

#include <generated/csr.h>

#include "lib/bootargs.h"

#define MOST_LATENCY 65535

void ram_init(void)
{
    ram_read_latency_write(bootargs_number("ram.latency", ram_read_latency_read(), MOST_LATENCY));
    ram_seed_write(run_seed * 2 + 1);
    ram_jitter_write(bootargs_number("ram.jitter", 0, MOST_LATENCY));
}
