/* Registers and times of the executing hart. */
#ifndef HART_H
#define HART_H

#include <generated/soc.h>
#include <stdint.h>

#define CSR_READ(name)                                      \
    ({                                                      \
        uint32_t value_;                                    \
        __asm__ volatile("csrr %0, " #name : "=r"(value_)); \
        value_;                                             \
    })
#define CSR_WRITE(name, value) __asm__ volatile("csrw " #name ", %0" ::"r"(value) : "memory")

#define MIP_SOFTWARE (1u << 3)
#define MIP_EXTERNAL (1u << 11)
#define MSTATUS_MIE (1u << 3)

/* Cycles since reset, modulo 2^32; the same on all harts. */
static inline uint32_t cycles(void)
{
    return CSR_READ(mcycle);
}

/* True once `duration` cycles have passed since cycles() was `start`. */
static inline int elapsed(uint32_t start, uint32_t duration)
{
    return cycles() - start >= duration;
}

#define CYCLES_PER_MS (CONFIG_CLOCK_FREQUENCY / 1000)

static inline void delay_ms(uint32_t ms)
{
    for (uint32_t start = cycles(); !elapsed(start, ms * CYCLES_PER_MS);)
        ;
}

/* Stores before it are visible to all that the next access of a device notifies. */
static inline void io_fence(void)
{
    __asm__ volatile("fence iorw, iorw" ::: "memory");
}

static inline volatile uint32_t *word_at(uint32_t address)
{
    return (volatile uint32_t *)address;
}
#endif
