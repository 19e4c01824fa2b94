/*
 * What locks of every kind do at each step of an acquisition. Always a probe mark, at no cost, with the lock's address,
 * so that the simulator counts and times from outside; in an image with LOCK_DEBUG or LOCK_STATS also a call, with the
 * cycle of the mark, and with interrupts off on chip while it lasts, of the checks (lock/lock_debug.h) and the counting
 * (lock/lock_stats.h).
 *
 *   ATTEMPT      an acquisition begins; the mark's place is its call site, which both ways of counting report
 *   MISS         it must wait
 *   BLOCK        it sleeps: a forced reschedule (paper `mach`, section 5)
 *   ACQUIRED     it holds the lock
 *   FAILED       it fails: a conditional attempt, or an upgrade where another reader's upgrade already waits
 *   RELEASED     it releases the lock; an upgrade that succeeds is RELEASED and ACQUIRED at once
 *   DOWNGRADED   it now holds the lock for reading; no mark: the hold goes on
 */
#ifndef LOCK_LOCK_HOOKS_H
#define LOCK_LOCK_HOOKS_H

#include <stdbool.h>

#include "arch/probe.h"
#include "lock/lock_class.h"

/* How a lock is acquired; 0: exclusively, unconditionally. */
#define LOCK_SHARED 1      /* with other readers */
#define LOCK_CONDITIONAL 2 /* only if it is free */
#define LOCK_UPGRADE 4     /* from reading to exclusive */

#define LOCK_HOOKS (LOCK_DEBUG || LOCK_STATS)

/* One acquisition in progress; in a plain image it is empty. */
struct lock_attempt {
#if LOCK_HOOKS
    uintptr_t site;
    uint32_t how;
    bool missed;
    uint32_t missed_at; /* cycles32() */
#endif
#if LOCK_STATS
    struct lock_site *counted; /* where its hart counts (lock/lock_counts.h) */
#endif
};

#if LOCK_HOOKS
#include "arch/csr.h"

struct lock_attempt lock_hook_attempt(struct lock_object *o, uintptr_t site, unsigned how);
void lock_hook_miss(struct lock_object *o, struct lock_attempt *a, uint32_t now);
void lock_hook_block(struct lock_object *o, struct lock_attempt *a, uint32_t now);
void lock_hook_acquired(struct lock_object *o, struct lock_attempt *a, uint32_t now);
void lock_hook_failed(struct lock_object *o, struct lock_attempt *a, uint32_t now);
void lock_hook_released(struct lock_object *o, uintptr_t site, uint32_t now);
void lock_hook_downgraded(struct lock_object *o);

#define LOCK_HOOK_ATTEMPT(object, how) lock_hook_attempt(object, PROBE_VALUE_HERE(LOCK_ATTEMPT, object), how)
#define LOCK_HOOK(kind, object, function, argument) \
    do {                                            \
        PROBE_VALUE(LOCK_##kind, object);           \
        function(object, argument, cycles32());     \
    } while (0)
#define LOCK_HOOK_DOWNGRADED(object) lock_hook_downgraded(object)
#else
#define LOCK_HOOK_ATTEMPT(object, how)     \
    ({                                     \
        PROBE_VALUE(LOCK_ATTEMPT, object); \
        (void)(how);                       \
        (struct lock_attempt){};           \
    })
#define LOCK_HOOK(kind, object, function, argument) \
    do {                                            \
        PROBE_VALUE(LOCK_##kind, object);           \
        (void)sizeof(argument);                     \
    } while (0)
#define LOCK_HOOK_DOWNGRADED(object) ((void)(object))
#endif

#define LOCK_HOOK_MISS(object, attempt) LOCK_HOOK(MISS, object, lock_hook_miss, attempt)
#define LOCK_HOOK_BLOCK(object, attempt) LOCK_HOOK(BLOCK, object, lock_hook_block, attempt)
#define LOCK_HOOK_ACQUIRED(object, attempt) LOCK_HOOK(ACQUIRED, object, lock_hook_acquired, attempt)
#define LOCK_HOOK_FAILED(object, attempt) LOCK_HOOK(FAILED, object, lock_hook_failed, attempt)
#define LOCK_HOOK_RELEASED(object, site) LOCK_HOOK(RELEASED, object, lock_hook_released, site)

/* The address of this place. */
#define LOCK_HERE()                                    \
    ({                                                 \
        uintptr_t here_;                               \
        __asm__ volatile("auipc %0, 0" : "=r"(here_)); \
        here_;                                         \
    })
#endif
