/* Run queues (runqueue.h). */
#include "sched/runqueue.h"

#include "lock/lock_debug.h"

/* Threads in order: a queue for each priority. */
struct ready {
    struct thread *first[PRIORITIES], *last[PRIORITIES];
    volatile uint32_t levels; /* bit p: some thread of priority p */
    volatile uint32_t count;
};

struct run_queue {
    struct simple_lock lock __attribute__((aligned(64))); /* not in a line that other harts read as a hint */
    struct ready any __attribute__((aligned(64)));        /* any hart may take these */
};

SIMPLE_LOCK_CLASS(run_queue_class, "run queue", SPL_SCHED);
static struct run_queue run_queue[RUN_QUEUES] = {
    [0 ... RUN_QUEUES - 1] = {.lock = SIMPLE_LOCK("run queue", run_queue_class)}};
static struct ready bound[MAX_HARTS]; /* these wait for their hart; guarded by the lock of its queue */

_Static_assert(PRIORITIES == 32, "a level is a bit of a word");

static struct run_queue *queue_of(unsigned hart)
{
    return &run_queue[RUN_QUEUES > 1 ? hart : 0];
}

struct simple_lock *run_queue_lock(unsigned hart)
{
    return &queue_of(hart)->lock;
}

static struct ready *ready_of(const struct thread *t)
{
    simple_lock_assert_held(run_queue_lock((unsigned)t->hart));
    return t->bound == ANY_HART ? &queue_of((unsigned)t->hart)->any : &bound[t->bound];
}

/* The place of the lowest bit by a multiplication (Leiserson, Prokop and Randall 1998): the core has no such instruction. */
static unsigned lowest_bit(uint32_t word)
{
    static const uint8_t place[32] = {0,  1,  28, 2,  29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4,  8,
                                      31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6,  11, 5,  10, 9};
    return place[(word & -word) * 0x077cb531u >> 27];
}

static unsigned first_level(const struct ready *r)
{
    uint32_t levels = r->levels;
    return levels ? lowest_bit(levels) : PRIORITIES;
}

static void note_more(struct ready *r, unsigned level)
{
    r->levels |= 1u << level;
    r->count++;
}

void run_queue_append(struct thread *t)
{
    struct ready *r = ready_of(t);
    unsigned p = t->priority;
    t->queued_at = cycles32();
    t->next = 0;
    if (r->first[p])
        r->last[p]->next = t;
    else
        r->first[p] = t;
    r->last[p] = t;
    note_more(r, p);
}

void run_queue_prepend(struct thread *t)
{
    struct ready *r = ready_of(t);
    unsigned p = t->priority;
    t->next = r->first[p];
    if (!t->next)
        r->last[p] = t;
    r->first[p] = t;
    note_more(r, p);
}

static struct thread *take_first(struct ready *r, unsigned level)
{
    struct thread *t = r->first[level];
    r->first[level] = t->next;
    if (!t->next)
        r->levels &= ~(1u << level);
    r->count--;
    t->hart = (int)curhart->id;
    return t;
}

static bool queued_before(const struct thread *a, const struct thread *b)
{
    return (int32_t)(a->queued_at - b->queued_at) < 0;
}

/* Another hart's queue that has an unbound thread more urgent than `than`, or as urgent and more than `waiting` threads. */
static struct run_queue *victim(unsigned than, unsigned waiting)
{
    struct run_queue *own = queue_of(curhart->id), *found = 0;
    for (unsigned i = 0; i < RUN_QUEUES && i < hart_count; i++) {
        struct run_queue *q = &run_queue[i];
        unsigned level = q == own ? PRIORITIES : first_level(&q->any);
        if (level < than || (level == than && level < PRIORITIES && q->any.count > waiting)) {
            found = q;
            than = level;
            waiting = q->any.count;
        }
    }
    return found;
}

static struct thread *steal(unsigned than, unsigned waiting)
{
    struct run_queue *q = victim(than, waiting);
    if (!q || !simple_lock_try(&q->lock))
        return 0; /* whoever holds it makes it shorter or sees to its threads; else run_queue_most_urgent tells */
    unsigned level = first_level(&q->any);
    struct thread *t = 0;
    if (level < than || (level == than && level < PRIORITIES && q->any.count > waiting)) {
        t = take_first(&q->any, level);
        sched_hart()->stolen++;
    }
    simple_unlock(&q->lock);
    return t;
}

struct thread *run_queue_take(void)
{
    struct ready *any = &queue_of(curhart->id)->any, *mine = &bound[curhart->id];
    unsigned a = first_level(any), m = first_level(mine);
    if (RUN_QUEUES > 1 && hart_count > 1) {
        struct thread *t = steal(a < m ? a : m, any->count + mine->count);
        if (t)
            return t;
    }
    if (a == PRIORITIES && m == PRIORITIES)
        return 0;
    if (a < m || (a == m && queued_before(any->first[a], mine->first[m])))
        return take_first(any, a);
    return take_first(mine, m);
}

struct waiting run_queue_most_urgent(void)
{
    struct waiting w = {PRIORITIES, 0};
    if (RUN_QUEUES > 1)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < RUN_QUEUES && i < hart_count; i++) {
        unsigned level = first_level(&run_queue[i].any);
        if (level < w.priority)
            w = (struct waiting){level, (int)i};
    }
    return w;
}
