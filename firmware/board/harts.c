#include "harts.h"

#include <generated/mem.h>
#include <generated/soc.h>

#include "hart.h"

#define ALL ((1u << CONFIG_HARTS) - 1)
#define CLINT_MSIP(hart) (*word_at(CLINT_BASE + 4 * (hart)))

static void (*called)(unsigned hart);
static uint32_t alive = ALL;
static uint32_t returned; /* mask */

/* Only the CLINT's software interrupt wakes a hart: a waiting hart accesses no memory, which may not be ready. */
_Noreturn void harts_wait(unsigned hart)
{
    CSR_WRITE(mie, MIP_SOFTWARE);
    for (;;) {
        while (!(CSR_READ(mip) & MIP_SOFTWARE))
            __asm__ volatile("wfi");
        CLINT_MSIP(hart) = 0;
        while (CSR_READ(mip) & MIP_SOFTWARE)
            ;
        __atomic_load_n(&called, __ATOMIC_ACQUIRE)(hart);
        __atomic_or_fetch(&returned, 1u << hart, __ATOMIC_RELEASE);
    }
}

static void call_others(void (*function)(unsigned hart))
{
    returned = 0;
    called = function;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (unsigned hart = 1; hart < CONFIG_HARTS; hart++)
        if (alive >> hart & 1)
            CLINT_MSIP(hart) = 1;
}

uint32_t harts_call(void (*function)(unsigned hart), uint32_t timeout)
{
    call_others(function);
    function(0);
    uint32_t start = cycles(), missing;
    do
        missing = alive & ~1u & ~__atomic_load_n(&returned, __ATOMIC_ACQUIRE);
    while (missing && !elapsed(start, timeout));
    alive &= ~missing;
    return ALL & ~alive;
}

uint32_t harts_alive(void)
{
    return alive;
}

static uint32_t jump_to;

static void jump(unsigned hart)
{
    CSR_WRITE(mie, 0);
    register uint32_t a0 __asm__("a0") = hart;
    __asm__ volatile("fence\n fence.i\n jr %1" ::"r"(a0), "r"(jump_to) : "memory");
    __builtin_unreachable();
}

_Noreturn void harts_jump(uint32_t entry)
{
    jump_to = entry;
    call_others(jump);
    jump(0);
    __builtin_unreachable();
}
