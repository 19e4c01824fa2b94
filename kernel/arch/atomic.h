/*
 * The atomic instructions that locks are made of (RISC-V unprivileged specification, chapter "A"), with just the ordering
 * that each use needs: GCC 12 makes more fences of its own built-ins, and a store-release an AMO. The mappings are
 * those of the specification's table A.6. What each costs on this core: hw/cpu/README.md.
 *
 * acquire: what follows is done after it; release: what precedes is seen by whoever sees it.
 */
#ifndef ARCH_ATOMIC_H
#define ARCH_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define ATOMIC_AMO(name, instruction)                                                                           \
    static inline uint32_t name(volatile uint32_t *word, uint32_t v)                                            \
    {                                                                                                           \
        uint32_t old;                                                                                           \
        __asm__ volatile(instruction " %0, %2, %1" : "=r"(old), "+A"(*word) : "r"(v) : "memory");               \
        return old;                                                                                             \
    }

ATOMIC_AMO(atomic_or_acquire, "amoor.w.aq")
ATOMIC_AMO(atomic_add_acquire, "amoadd.w.aq")
ATOMIC_AMO(atomic_swap_acquire_release, "amoswap.w.aqrl")

/* Puts `v` into a word that holds `expected`; whether it did. */
#define ATOMIC_CAS(name, lr, sc)                                                                                \
    static inline __attribute__((always_inline)) bool name(volatile uint32_t *word, uint32_t expected, uint32_t v) \
    {                                                                                                           \
        __asm__ goto("1: " lr " t0, (%0)\n bne t0, %z1, %l[other]\n " sc " t0, %2, (%0)\n bnez t0, 1b"          \
                     ::"r"(word), "rJ"(expected), "r"(v)                                                        \
                     : "t0", "memory"                                                                           \
                     : other);                                                                                  \
        return true;                                                                                            \
    other:                                                                                                      \
        return false;                                                                                           \
    }

ATOMIC_CAS(atomic_cas_acquire, "lr.w.aq", "sc.w")
ATOMIC_CAS(atomic_cas_release, "lr.w", "sc.w.rl")
ATOMIC_CAS(atomic_cas_acquire_release, "lr.w.aq", "sc.w.rl")

/* Before the store that lets go of something, and behind the load that saw it let go. */
#define fence_release() __asm__ volatile("fence rw, w" ::: "memory")
#define fence_acquire() __asm__ volatile("fence r, rw" ::: "memory")
#endif
