/*
 * Driver of the off-chip interrupt controller (hw/pic). Every access crosses the link and stalls this hart for the
 * link's latency; the settings and counters of the link are on chip. The SELF block of registers is always the context
 * of the hart that makes the access.
 */
#ifndef SYNC_PIC_H
#define SYNC_PIC_H

#include <stdbool.h>
#include <stdint.h>

#include <generated/pic_regs.h>

#include "arch/hart.h"
#include <generated/mem.h>

#define PIC_SOURCES 32
#define PIC_SOURCE_TIMER(hart) (hart)
#define PIC_SOURCE_UART0 16
#define PIC_SOURCE_UART1 17
#define PIC_SOURCE_ARRIVAL(wire) (18 + (wire)) /* dev/arrivals.h */
#define PIC_SOURCE_DISK(unit) (28 - (unit)) /* dev/disk.h */
#define PIC_SOURCE_ETHER(wire) (29 + (wire)) /* dev/ether.h */
#define PIC_SOURCE_FREE 18 /* first source that only software raises */
#define PIC_ANY_HART 0xffu
#define PIC_GONE 0x7fffffffu /* value of loads if the controller is on another chip and does not answer (hw/pic/pins) */

struct claim {
    unsigned source, priority;
    bool none;
};

struct pic_counters {
    uint32_t rises, deliveries, merged, max_wait;
    uint64_t total_wait;
};

static inline void pic_write(unsigned offset, uint32_t value)
{
    *(volatile uint32_t *)(PIC_WINDOW_BASE + offset) = value;
}

static inline uint32_t pic_read(unsigned offset)
{
    return *(volatile uint32_t *)(PIC_WINDOW_BASE + offset);
}

static inline void pic_set_level(unsigned level)
{
    pic_write(PIC_LEVEL, level);
}

static inline struct claim pic_claim(void)
{
    uint32_t v = pic_read(PIC_CLAIM);
    return (struct claim){
        .source = v & 0x1f, .priority = (v & PIC_CLAIM_PRIORITY_MASK) >> PIC_CLAIM_PRIORITY_SHIFT, .none = v >> 31};
}

static inline void pic_eoi(unsigned source)
{
    pic_write(PIC_EOI, source);
}

/* Sources in `mask` become pending as if an edge had arrived. */
static inline void pic_raise(uint32_t mask)
{
    io_fence();
    pic_write(PIC_RAISE, mask);
}

/* The boot arguments link_*: hart 0. */
void pic_init(void);

/* As set by these: worst-case cycles of an access, and of a delivery or the fall of a hart's wire. */
extern uint32_t pic_worst_access, pic_worst_delivery;

/* Route `source` to `hart` (or PIC_ANY_HART) at `priority`. */
void pic_configure(unsigned source, unsigned priority, bool edge, unsigned hart);
/* Cycles of a read and of a write, of a delivery, and the most that jitter adds to each. */
void pic_set_access_latency(unsigned read, unsigned write);
void pic_set_latency(unsigned read, unsigned write, unsigned delivery, unsigned jitter, uint32_t seed);
struct pic_counters pic_counters(unsigned source);

/* How often the source was claimed so far: waits until the PIC has counted it (hw/pic/README.md, "Accounting"). */
uint32_t pic_deliveries(unsigned source);
#endif
