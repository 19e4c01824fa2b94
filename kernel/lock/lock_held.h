/*
 * The locks that each hart (simple locks) and each thread (blocking locks) holds, with time and place of acquisition:
 * kept in images with LOCK_DEBUG, for the checks, or LOCK_STATS, for the times.
 *
 * Locking: a hart's list is changed by that hart alone with interrupts off on chip; a thread's list by that thread
 * alone. Other harts read them in a panic, and in the monitor, where the lists may be out of date.
 */
#ifndef LOCK_LOCK_HELD_H
#define LOCK_LOCK_HELD_H

#include "lock/lock_hooks.h"

#if LOCK_HOOKS
#include "arch/hart.h"
#include "lock/threads.h"

#define LOCK_HELD_MOST 48 /* by one hart or thread, with the buffers of a run (fs/buf.h); one more panics */

struct lock_held {
    struct lock_object *object;
    const struct lock_class *class; /* the object's, read in each attempt */
    uintptr_t site;
    uint32_t how;   /* LOCK_SHARED: for reading */
    uint32_t since; /* cycles32() */
#if LOCK_STATS
    struct lock_site *counted; /* where the hart that took it counts */
#endif
};

struct lock_held_list {
    uint32_t count;
    struct lock_held entry[LOCK_HELD_MOST];
} __attribute__((aligned(64))); /* no two harts share a line */

extern struct lock_held_list lock_held_by_harts[MAX_HARTS];

/* The list of this hart, for simple locks, and of the running thread, for blocking ones. */
static inline struct lock_held_list *lock_held_by_hart(void)
{
    return &lock_held_by_harts[curhart->id];
}

static inline struct lock_held_list *lock_held_by_thread(void)
{
    return thread_locks(curhart->thread);
}

static inline struct lock_held_list *lock_held_list_for(const struct lock_object *o)
{
    return o->class->kind == LOCK_SIMPLE ? lock_held_by_hart() : lock_held_by_thread();
}

/* 0: absent. The search starts at the last acquired. */
static inline struct lock_held *lock_held_find(struct lock_held_list *list, const struct lock_object *o)
{
    for (struct lock_held *h = list->entry + list->count; h-- != list->entry;)
        if (h->object == o)
            return h;
    return 0;
}

_Noreturn void lock_held_too_many(const struct lock_object *o);

/* A new entry, for the caller to fill. */
static inline struct lock_held *lock_held_add(struct lock_held_list *list, struct lock_object *o)
{
    if (list->count == LOCK_HELD_MOST)
        lock_held_too_many(o);
    struct lock_held *h = &list->entry[list->count++];
    h->object = o;
    h->class = o->class;
    return h;
}

/* Locks need not be released in the reverse order of acquisition. */
static inline void lock_held_remove(struct lock_held_list *list, struct lock_held *held)
{
    struct lock_held *last = &list->entry[--list->count];
    for (; held < last; held++)
        held[0] = held[1];
}

/* Print a list, of the thread or hart of that number, or of all harts. */
void lock_held_print(const char *what, unsigned id, const struct lock_held_list *list);
void lock_held_print_harts(void);
#else
static inline void lock_held_print_harts(void) {}
#endif
#endif
