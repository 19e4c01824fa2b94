/*
 * The atomic instructions that locks are made of, with only the ordering that each use needs: GCC 12 emits more fences
 * for its own built-ins, and an AMO for a store-release. Mappings: RISC-V unprivileged specification, table A.6. A
 * fence behind an AMO costs less on this core than its aq bit, which refetches the following instructions; the rl bit
 * costs less than a fence before an AMO or SC (run=lock-floor; hw/cpu/README.md).
 *
 * acquire: what follows is done after it. release: a hart that sees it also sees what precedes it.
 */
#ifndef ARCH_ATOMIC_H
#define ARCH_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* After the load that saw something free, and before the store that frees it. */
#define fence_acquire() __asm__ volatile("fence r, rw" ::: "memory")
#define fence_release() __asm__ volatile("fence rw, w" ::: "memory")

#define ATOMIC_AMO(name, instruction)                                                               \
    static inline uint32_t name(volatile uint32_t *word, uint32_t v)                                \
    {                                                                                               \
        uint32_t old;                                                                               \
        __asm__ volatile(instruction " %0, %z2, %1" : "=r"(old), "+A"(*word) : "rJ"(v) : "memory"); \
        return old;                                                                                 \
    }

/* Return the old word. */
ATOMIC_AMO(atomic_or, "amoor.w")
ATOMIC_AMO(atomic_add, "amoadd.w")
ATOMIC_AMO(atomic_swap_acquire_release, "amoswap.w.aqrl")

/* Put `v` into a word that holds `expected`, and return whether they did. */
#define ATOMIC_CAS(name, sc)                                                                                       \
    static inline __attribute__((always_inline)) bool name(volatile uint32_t *word, uint32_t expected, uint32_t v) \
    {                                                                                                              \
        __asm__ goto("1: lr.w t0, (%0)\n bne t0, %z1, %l[other]\n " sc " t0, %z2, (%0)\n bnez t0, 1b" ::"r"(word), \
                     "rJ"(expected), "rJ"(v)                                                                       \
                     : "t0", "memory"                                                                              \
                     : other);                                                                                     \
        return true;                                                                                               \
    other:                                                                                                         \
        return false;                                                                                              \
    }

ATOMIC_CAS(atomic_cas, "sc.w")
ATOMIC_CAS(atomic_cas_release, "sc.w.rl")

static inline __attribute__((always_inline)) bool atomic_cas_acquire(volatile uint32_t *word, uint32_t expected,
                                                                     uint32_t v)
{
    bool done = atomic_cas(word, expected, v);
    fence_acquire();
    return done;
}
#endif
