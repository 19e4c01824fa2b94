/* Set-up of the off-chip interrupt controller and its link. */
#include "sync/pic.h"

#include "arch/csr.h"

#include <generated/csr.h>

#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/minmax.h"

#define SEED_OF_RUN (run_seed * 2 + 1)

uint32_t pic_worst_access, pic_worst_delivery;

void pic_configure(unsigned source, unsigned priority, bool edge, unsigned hart)
{
    uint32_t v = priority << PIC_SOURCE_PRIORITY_SHIFT | (uint32_t)edge << PIC_SOURCE_EDGE_SHIFT;
    v |= hart == PIC_ANY_HART ? PIC_SOURCE_ANY_MASK : hart << PIC_SOURCE_ROUTE_SHIFT;
    pic_write(PIC_SOURCE + 4 * source, v);
}

void pic_set_access_latency(unsigned read, unsigned write)
{
    link_read_latency_write(read);
    link_write_latency_write(write);
}

void pic_set_latency(unsigned read, unsigned write, unsigned delivery, unsigned jitter, uint32_t seed)
{
    pic_set_access_latency(read, write);
    link_delivery_delay_write(delivery);
    link_jitter_write(jitter);
    link_seed_write(seed);
}

/* Without a boot argument the register keeps its value: as built, or as written from outside. */
void pic_init(void)
{
    uint32_t read = link_read_latency_read(), write = link_write_latency_read();
    uint32_t both = bootargs_number(BOOT_OR(kernel, link_latency, UINT32_MAX));
    if (both != UINT32_MAX)
        read = write = both;
    read = bootargs_number(BOOT_OR(kernel, link_read_latency, read));
    write = bootargs_number(BOOT_OR(kernel, link_write_latency, write));
    uint32_t delivery = bootargs_number(BOOT_OR(kernel, link_delivery_delay, link_delivery_delay_read()));
    uint32_t jitter = bootargs_number(BOOT_OR(kernel, link_jitter, link_jitter_read()));
    uint32_t fall = bootargs_number(BOOT_OR(kernel, link_fall_delay, link_fall_delay_read()));
    uint32_t seed = run_seed ? SEED_OF_RUN : link_seed_read();
    pic_worst_access = MAX(read, write) + jitter;
    pic_worst_delivery = MAX(delivery, fall) + jitter;
    link_read_back_write(bootargs_number(BOOT_WITHIN(kernel, link_read_back, link_read_back_read(), read)));
    link_write_back_write(bootargs_number(BOOT_WITHIN(kernel, link_write_back, link_write_back_read(), write)));
    link_fall_delay_write(fall);
    pic_set_latency(read, write, delivery, jitter, bootargs_number(BOOT_OR(kernel, link_seed, seed)));
}

#define COUNTED_AFTER 64 /* cycles; 35 of the PIC's own */

uint32_t pic_deliveries(unsigned source)
{
    for (uint32_t begin = cycles32(); cycles32() - begin < COUNTED_AFTER;)
        ;
    return pic_counters(source).deliveries;
}

struct pic_counters pic_counters(unsigned source)
{
    volatile uint32_t *c = (volatile uint32_t *)(PIC_COUNTERS_BASE + 32 * source);
    return (struct pic_counters){
        .rises = c[0], .deliveries = c[1], .merged = c[2], .max_wait = c[3], .total_wait = (uint64_t)c[5] << 32 | c[4]};
}
