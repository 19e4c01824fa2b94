/*
 * run=table5: paper `sync`, Table 5, the cost of the synchronisation primitives: the off-chip, on-chip and flag pairs,
 * `iterations` times (100,000 in the paper), less the cost of the empty loop. Prints for each scheme's pair
 *
 *   @table5 primitive=... scheme=... cycles_per_pair=... loop_cycles=... iterations=...
 *
 * Interrupts are masked: the paper's pairs are measured uninterrupted.
 */
#include "arch/csr.h"
#include "bench/table5_pair.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/printf.h"
#include "sync/sync.h"

static uint64_t __attribute__((noinline, aligned(64))) empty_loop(uint32_t iterations)
{
    uint64_t begin = cycles64();
    for (uint32_t i = iterations; i; i--)
        barrier();
    return cycles64() - begin;
}

/* Hundredths of cycles per iteration. */
static uint32_t table5_measure(uint64_t (*loop)(uint32_t), uint32_t iterations)
{
    uint32_t enabled = csr_read_clear(mie, ~0u);
    loop(16); /* loads the code into the cache */
    uint64_t cycles = loop(iterations);
    csr_write(mie, enabled);
    return (uint32_t)((cycles * 100 + iterations / 2) / iterations);
}

static int table5(void)
{
    static const struct {
        const char *primitive, *scheme;
        uint64_t (*loop)(uint32_t);
    } pairs[] = {
#define ENTRY(primitive, scheme, id) {primitive, scheme, table5_##id},
        SCHEMES(ENTRY)};
    uint32_t iterations = bootargs_number(BOOT(bench_table5, iterations));
    if (!iterations)
        return 2;
    uint32_t empty = table5_measure(empty_loop, iterations);
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        uint32_t pair = table5_measure(pairs[i].loop, iterations) - empty;
        kprintf("@table5 primitive=%s scheme=%s cycles_per_pair=%lu.%02lu loop_cycles=%lu.%02lu iterations=%lu\n",
                pairs[i].primitive, pairs[i].scheme, (unsigned long)pair / 100, (unsigned long)pair % 100,
                (unsigned long)empty / 100, (unsigned long)empty % 100, (unsigned long)iterations);
    }
    return 0;
}

RUN("table5", "cost of the synchronisation primitives (paper sync, Table 5)", table5);
