/* The cluster's CLINT: one time for all harts, and a comparator and a software interrupt for each (SiFive layout). */
#ifndef ARCH_CLINT_H
#define ARCH_CLINT_H

#include <stdint.h>

#include <generated/mem.h>

static inline void clint_set_software(unsigned hart)
{
    *(volatile uint32_t *)(CLINT_BASE + 4 * hart) = 1;
}

static inline void clint_clear_software(unsigned hart)
{
    *(volatile uint32_t *)(CLINT_BASE + 4 * hart) = 0;
}

/* The low half of the time, in cycles. */
static inline uint32_t clint_time(void)
{
    return *(volatile uint32_t *)(CLINT_BASE + 0xbff8);
}

static inline uint64_t clint_time64(void)
{
    volatile uint32_t *t = (volatile uint32_t *)(CLINT_BASE + 0xbff8);
    uint32_t hi, lo;
    do {
        hi = t[1];
        lo = t[0];
    } while (hi != t[1]);
    return (uint64_t)hi << 32 | lo;
}

/* The hart's timer wire rises when time reaches `when`. No spurious rise while the two halves are written. */
static inline void clint_set_timer(unsigned hart, uint64_t when)
{
    volatile uint32_t *cmp = (volatile uint32_t *)(CLINT_BASE + 0x4000 + 8 * hart);
    cmp[1] = 0xffffffff;
    cmp[0] = (uint32_t)when;
    cmp[1] = (uint32_t)(when >> 32);
}

/* When the wire rises next. */
static inline uint64_t clint_timer(unsigned hart)
{
    volatile uint32_t *cmp = (volatile uint32_t *)(CLINT_BASE + 0x4000 + 8 * hart);
    return (uint64_t)cmp[1] << 32 | cmp[0];
}

/* The wire falls, and stays low until the timer is set again. */
static inline void clint_stop_timer(unsigned hart)
{
    *(volatile uint32_t *)(CLINT_BASE + 0x4004 + 8 * hart) = 0xffffffff;
}
#endif
