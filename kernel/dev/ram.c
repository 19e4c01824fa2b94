/* The latency of main RAM (ram.h). */
#include "dev/ram.h"

#include <generated/csr.h>

#include "lib/bootargs.h"

/* A field without a boot argument keeps the register's value. */
void ram_init(void)
{
    uint32_t seed = ram_seed_read();
    if (run_seed || !seed)
        seed = run_seed * 2 + 1;
    ram_read_latency_write(bootargs_number(BOOT_OR(kernel, ram_read_latency, ram_read_latency_read())));
    ram_seed_write(bootargs_number(BOOT_OR(kernel, ram_seed, seed)));
    ram_jitter_write(bootargs_number(BOOT_OR(kernel, ram_jitter, ram_jitter_read())));
}
