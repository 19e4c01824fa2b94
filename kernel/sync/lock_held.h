/*
 * What each hart (simple locks) and each thread (blocking locks) holds, since when and taken where: kept in images with
 * LOCK_DEBUG, which check by it, or LOCK_STATS, which take the times from it.
 *
 * Locking: a hart's list is changed by that hart alone with interrupts off on chip; a thread's list by that thread
 * alone. Others look at them in a panic, and in the monitor, where what they see may be out of date.
 */
#ifndef SYNC_LOCK_HELD_H
#define SYNC_LOCK_HELD_H

#include "sync/lock_hooks.h"

#if LOCK_HOOKS
#define LOCK_HELD_MOST 16 /* by one hart or thread; more panics */

struct lock_held {
    struct lock_object *object;
    uintptr_t site;
    uint32_t how;   /* LOCK_SHARED: for reading */
    uint32_t since; /* cycles32() */
};

struct lock_held_list {
    uint32_t count;
    struct lock_held entry[LOCK_HELD_MOST];
};

/* That of this hart, for simple locks, and of the thread that runs, for blocking ones. */
struct lock_held_list *lock_held_by_hart(void);
struct lock_held_list *lock_held_by_thread(void);
struct lock_held_list *lock_held_list_for(const struct lock_object *o);

struct lock_held *lock_held_find(struct lock_held_list *list, const struct lock_object *o); /* 0: it is not there */
void lock_held_add(struct lock_held_list *list, struct lock_held held);
void lock_held_remove(struct lock_held_list *list, struct lock_held *held);

void lock_dump_held(void); /* prints all lists */
#else
static inline void lock_dump_held(void)
{
}
#endif
#endif
