/*
 * The word of a blocking lock (lock.h): its holder and whether a thread is queued, so that acquiring a free lock and
 * releasing one without waiters is one compare-and-swap each.
 *
 *   0                              free
 *   thread | flags                 the owner, exclusively (threads are aligned to 64 bytes)
 *   n << 8 | SHARED | flags        n readers
 *
 * With QUEUED set no fast path succeeds: then only the holder of the interlock changes the word. The thread that takes
 * the interlock sets it, and it stays set as long as any thread waits.
 */
#ifndef LOCK_LOCK_WORD_H
#define LOCK_LOCK_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/atomic.h"

#define LOCK_WORD_QUEUED 1u
#define LOCK_WORD_SHARED 2u
#define LOCK_WORD_READER 0x100u
#define LOCK_WORD_OWNER (~0x3fu)

struct thread;

static inline struct thread *lock_word_owner(uint32_t word)
{
    return word & LOCK_WORD_SHARED ? 0 : (struct thread *)(uintptr_t)(word & LOCK_WORD_OWNER);
}

static inline uint32_t lock_word_readers(uint32_t word)
{
    return word & LOCK_WORD_SHARED ? word / LOCK_WORD_READER : 0;
}

/* One more reader, if the lock has no owner and none is queued. */
static inline __attribute__((always_inline)) bool lock_word_add_reader(volatile uint32_t *word)
{
    __asm__ goto("1: lr.w t0, (%0)\n beqz t0, 2f\n andi t1, t0, %3\n addi t1, t1, -%1\n bnez t1, %l[not_so]\n"
                 "2: addi t0, t0, %2\n ori t0, t0, %1\n sc.w t0, t0, (%0)\n bnez t0, 1b" ::"r"(word),
                 "i"(LOCK_WORD_SHARED), "i"(LOCK_WORD_READER), "i"(LOCK_WORD_SHARED | LOCK_WORD_QUEUED)
                 : "t0", "t1", "memory"
                 : not_so);
    fence_acquire();
    return true;
not_so:
    return false;
}

/* One reader less, if the lock has readers and none is queued. */
static inline __attribute__((always_inline)) bool lock_word_drop_reader(volatile uint32_t *word)
{
    __asm__ goto(
        "1: lr.w t0, (%0)\n andi t1, t0, %3\n addi t1, t1, -%1\n bnez t1, %l[not_so]\n"
        "addi t0, t0, -%2\n addi t1, t0, -%1\n bnez t1, 2f\n li t0, 0\n2: sc.w.rl t0, t0, (%0)\n bnez t0, 1b" ::"r"(
            word),
        "i"(LOCK_WORD_SHARED), "i"(LOCK_WORD_READER), "i"(LOCK_WORD_SHARED | LOCK_WORD_QUEUED)
        : "t0", "t1", "memory"
        : not_so);
    return true;
not_so:
    return false;
}
#endif
