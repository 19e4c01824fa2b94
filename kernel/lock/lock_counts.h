/*
 * The counters of lock statistics (lock/lock_stats.h): each hart has its own table, with an entry for each pair of call
 * site and class, and updates it with interrupts off on chip. All that each acquisition executes is inline here,
 * because the counting code displaces the code it measures from the cache.
 */
#ifndef LOCK_LOCK_COUNTS_H
#define LOCK_LOCK_COUNTS_H

#include "arch/hart.h"
#include "lock/lock_stats.h"

struct lock_duration {
    uint32_t count, min, max;
    uint64_t total;
};

struct lock_counts {
    uint32_t attempts, misses, blocks, fails;
    struct lock_duration wait, hold;
};

struct lock_site {
    uintptr_t pc; /* 0: free */
    const struct lock_class *class;
    uint32_t epoch; /* in which `counts` were counted */
    struct lock_counts counts;
};

struct lock_site_table {
    struct lock_site site[LOCK_SITES + 1]; /* the last counts for all sites that do not fit */
};

extern struct lock_site_table lock_sites[MAX_HARTS];
extern volatile uint32_t lock_stats_epoch;

/* The entry of this pair, created if it is absent; the last entry if the table is full. */
static inline struct lock_site *lock_site_find(struct lock_site_table *t, uintptr_t pc, const struct lock_class *class)
{
    uint32_t hash = ((uint32_t)pc >> 2 ^ (uint32_t)(uintptr_t)class << 3) * 2654435761u >> 24;
    for (unsigned i = 0; i < LOCK_SITES; i++) {
        struct lock_site *s = &t->site[(hash + i) % LOCK_SITES];
        if (s->pc == pc && s->class == class)
            return s;
        if (!s->pc) {
            s->class = class;
            s->pc = pc;
            return s;
        }
    }
    return &t->site[LOCK_SITES];
}

/* Where this hart counts; `*place` is where the thread last counted for this acquisition, perhaps on another hart. */
static inline struct lock_counts *lock_counts_here(struct lock_site **place, const struct lock_object *o, uintptr_t pc)
{
    struct lock_site_table *t = &lock_sites[curhart->id];
    if ((uintptr_t)*place - (uintptr_t)t >= sizeof *t)
        *place = lock_site_find(t, pc, o->class);
    struct lock_site *s = *place;
    if (s->epoch != lock_stats_epoch) {
        s->counts = (struct lock_counts){0};
        s->epoch = lock_stats_epoch;
    }
    return &s->counts;
}

static inline void lock_duration_add(struct lock_duration *d, uint32_t cycles)
{
    if (!d->count || cycles < d->min)
        d->min = cycles;
    if (cycles > d->max)
        d->max = cycles;
    d->count++;
    d->total += cycles;
}
#endif
