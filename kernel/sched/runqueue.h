/*
 * Run queues: the runnable threads, by priority and, within a priority, by the time they were queued. The image has
 * one for all harts (make RUNQUEUE=global) or one for each (RUNQUEUE=per-hart), from which other harts steal:
 *
 *   a thread waits in the queue of the hart it last ran on (affinity), in a separate part if it is bound there;
 *   a hart takes the most urgent thread of its own queue, unless another queue has a more urgent one that is not bound,
 *   or an equal one and more threads of that priority waiting than its own: then it steals the first of those.
 *
 * Locking: each queue has its lock (level SPL_SCHED). A hart that holds its own only tries another's: two harts that
 * steal from each other never wait for each other. `levels` and `count` are also read without the lock, as a hint,
 * which run_queue_most_urgent makes safe. A thread is queued under the lock of the queue of `hart`, its last one, and
 * that hart keeps this lock until the thread's registers are saved, for the hart that takes it from the queue.
 */
#ifndef SCHED_RUNQUEUE_H
#define SCHED_RUNQUEUE_H

#include "arch/csr.h"
#include "lock/lock_debug.h"
#include "lock/simple_lock.h"
#include "sched/sched.h"

#define RUN_QUEUES (RUNQUEUE_PER_HART ? MAX_HARTS : 1)

extern struct lock_class run_queue_class;

/* Threads in order: a ring for each priority, found by its last thread, whose `next` is the first. */
struct ready {
    volatile uint32_t levels; /* bit p: some thread of priority p */
    struct thread *last[PRIORITIES];
    volatile uint16_t count[RUN_QUEUES > 1 ? PRIORITIES : 1]; /* if there is a queue for each hart */
};

struct run_queue {
    struct simple_lock lock __attribute__((aligned(64))); /* not in the line that other harts read as a hint */
    struct ready any __attribute__((aligned(64)));        /* any hart may take these */
};

extern struct run_queue run_queue[RUN_QUEUES];
extern struct ready run_queue_bound[MAX_HARTS]; /* these wait for their hart; guarded by the lock of its queue */

static inline struct run_queue *run_queue_of(unsigned hart)
{
    return &run_queue[RUN_QUEUES > 1 ? hart : 0];
}

/* The lock of this hart's queue; callers of the functions below hold it. */
static inline struct simple_lock *run_queue_lock(unsigned hart)
{
    return &run_queue_of(hart)->lock;
}

/*
 * The number of the lowest bit, by a multiplication (Leiserson, Prokop and Randall 1998): the core has no instruction
 * for it.
 */
static inline unsigned run_queue_lowest_bit(uint32_t word)
{
    extern uint8_t run_queue_place[32];
    return run_queue_place[(word & -word) * 0x077cb531u >> 27];
}

/* The part of the queue in which `t` waits. */
static inline struct ready *run_queue_for(const struct thread *t)
{
    return likely(t->bound == ANY_HART) ? &run_queue_of((unsigned)t->hart)->any : &run_queue_bound[t->bound];
}

/* Queue `t` there, behind the threads of its priority, or before them if its slice is not over. */
static inline void run_queue_add(struct ready *r, struct thread *t, bool behind)
{
    simple_lock_assert_held(run_queue_lock((unsigned)t->hart));
    unsigned p = t->priority;
    struct thread *last = r->last[p];
    if (behind)
        t->queued_at = cycles32();
    if (last) {
        t->next = last->next;
        last->next = t;
    } else {
        t->next = t;
        r->levels |= 1u << p;
    }
    if (behind || !last)
        r->last[p] = t;
    if (RUN_QUEUES > 1)
        r->count[p]++;
}

/* Takes the first thread off a nonempty level. */
static inline struct thread *run_queue_take_first(struct ready *r, unsigned level)
{
    struct thread *last = r->last[level], *t = last->next;
    if (t == last) {
        r->last[level] = 0;
        r->levels &= ~(1u << level);
    } else {
        last->next = t->next;
    }
    if (RUN_QUEUES > 1)
        r->count[level]--;
    t->hart = (int)curhart->id;
    return t;
}

/*
 * Whether the first set of levels has the more urgent one: by the lowest bits; an empty set is the least urgent.
 */
static inline bool run_queue_more_urgent(uint32_t a, uint32_t b)
{
    return (a & -a) - 1 < (b & -b) - 1;
}

/* A thread of another hart's queue, if that has a more urgent one than these two of this hart; 0: none has. */
struct thread *run_queue_steal(const struct ready *any, const struct ready *mine);

/* Of two equally urgent threads: whether the one that any hart may take was queued first. */
bool run_queue_any_first(const struct ready *any, const struct ready *mine);

/* The thread that this hart is to run next, taken off its queue or stolen; 0: none. */
static inline struct thread *run_queue_take(void)
{
    struct ready *any = &sched_hart()->queue->any, *mine = sched_hart()->bound, *from = mine;
    if (RUN_QUEUES > 1) {
        struct thread *t = run_queue_steal(any, mine);
        if (t)
            return t;
    }
    uint32_t a = any->levels, m = mine->levels;
    if (likely(!m) || run_queue_more_urgent(a, m)) {
        if (!a)
            return 0;
        from = any;
    } else if (a && !run_queue_more_urgent(m, a) && run_queue_any_first(any, mine)) {
        from = any;
    }
    return run_queue_take_first(from, run_queue_lowest_bit(from->levels));
}

/*
 * If no more urgent thread waits, and none of its priority in `other`, the running thread takes the place in `r` of the
 * first thread of its priority, which is returned; else 0, and nothing is changed.
 */
static inline struct thread *run_queue_rotate(struct ready *r, const struct ready *other, struct thread *self)
{
    unsigned p = self->priority;
    uint32_t as_urgent = (2u << p) - 1;
    if (RUN_QUEUES > 1 || (r->levels & as_urgent) != 1u << p || other->levels & as_urgent)
        return 0;
    struct thread *last = r->last[p], *t = last->next;
    self->queued_at = cycles32();
    self->next = t->next;
    last->next = self;
    if (t == last)
        self->next = self;
    r->last[p] = self;
    t->hart = (int)curhart->id;
    return t;
}

/*
 * A waiting thread that is not bound: its priority (PRIORITIES: there is none) and the hart in whose queue it is.
 */
struct waiting {
    unsigned priority;
    int hart;
};

/*
 * The most urgent of them in all queues, as a hint. Called after sched_hart()->priority says what this hart runs now:
 * either a hart that queues a thread and then checks the priorities sees it, or this hart sees the thread.
 */
struct waiting run_queue_most_urgent(void);
#endif
