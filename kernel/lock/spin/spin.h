/*
 * How harts wait for each other: the raw algorithm below simple locks (lock/simple_lock.h), chosen when the image is
 * built (make SPINLOCK=ticket|ttas|tas|mcs|clh), one file each with the same interface, readable side by side:
 *
 *   struct spin                       the lock's own words; all 0: free
 *   spin_place_t                      a hart's place in the queue, if there is one
 *   bool spin_take(s, &place)         takes it if it is free; else the hart is queued at `place` and must wait
 *   void spin_wait(s, place)          until this hart holds it
 *   bool spin_try(s)                  takes it if it is free; else changes nothing
 *   bool spin_release(s)              releases it, if this hart holds it
 *   bool spin_is_held(s)              by this hart
 *   struct hart *spin_owner(s)        the hart that holds it; 0: none, or one that has yet to record itself
 *   void spin_destroy(s)              returns what a free lock keeps, before its memory is freed
 *   SPIN_FIFO                         whether harts get it in order of arrival
 *
 * A hart holds several at a time and releases them in any order; a thread may take one and another thread, to which the
 * hart has switched, release it. A handler between any two instructions here uses other locks, and has released them
 * when it returns. Queue nodes belong to harts, so neither a lock nor a thread needs room for them.
 *
 * Memory order: take and wait acquire, release releases. A section's accesses to I/O are ordered by the hart
 * itself, which waits for each (hw/cpu/README.md, "I/O").
 *
 * Papers: Anderson, The Performance of Spin Lock Alternatives for Shared-Memory Multiprocessors (1990): tas, ttas;
 * Mellor-Crummey and Scott, Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors (1991): ticket,
 * mcs; Craig (1993), Magnusson, Landin and Hagersten (1994): clh.
 */
#ifndef LOCK_SPIN_SPIN_H
#define LOCK_SPIN_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/atomic.h"
#include "arch/hart.h"
#include "lock/hart_part.h"
#include "sync/sync.h"

/* The debugger, if there is one, sets it and lock_hart()->polls: whether the hart is to stop, by EBREAK. */
extern bool (*spin_poll)(void);

/* Called in each iteration of a waiting loop. */
static inline void spin_pause(void)
{
    barrier();
    if (__builtin_expect(lock_hart()->polls, 0) && spin_poll())
        __asm__ volatile("ebreak" ::: "memory"); /* the debugger stops all harts */
}

#include SPINLOCK_FILE

#endif
