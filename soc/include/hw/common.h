/* The accessors of generated/csr.h: one 32-bit access to a CSR. For freestanding C. */
#ifndef HW_COMMON_H
#define HW_COMMON_H

#include <stdint.h>

static inline void csr_write_simple(uint32_t value, unsigned long address)
{
    *(volatile uint32_t *)address = value;
}

static inline uint32_t csr_read_simple(unsigned long address)
{
    return *(volatile uint32_t *)address;
}
#endif
