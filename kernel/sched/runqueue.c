/* Run queues (runqueue.h). */
#include "sched/runqueue.h"

#include "lib/minmax.h"
#include "lock/lock_debug.h"

SIMPLE_LOCK_CLASS(run_queue_class, "run queue", SPL_SCHED);
#if !RUNQUEUE_PER_HART
#endif
struct run_queue run_queue[RUN_QUEUES] = {[0 ... RUN_QUEUES - 1] = {.lock = SIMPLE_LOCK("run queue", run_queue_class)}};
struct ready run_queue_bound[MAX_HARTS];

_Static_assert(PRIORITIES == 32, "a level is a bit of a word");

uint8_t run_queue_place[32] = {0,  1,  28, 2,  29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4,  8,
                               31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6,  11, 5,  10, 9};

static unsigned first_level(const struct ready *r)
{
    uint32_t levels = r->levels;
    return levels ? run_queue_lowest_bit(levels) : PRIORITIES;
}

static unsigned waiting_of(const struct ready *r, unsigned level)
{
    return RUN_QUEUES > 1 ? r->count[level] : 0;
}

bool run_queue_any_first(const struct ready *any, const struct ready *mine)
{
    unsigned level = run_queue_lowest_bit(any->levels);
    return (int32_t)(any->last[level]->next->queued_at - mine->last[level]->next->queued_at) < 0;
}

/*
 * Another hart's queue that has an unbound thread more urgent than `than`, or as urgent and more than `waiting` of
 * these.
 */
static struct run_queue *victim(unsigned than, unsigned waiting)
{
    struct run_queue *own = run_queue_of(curhart->id), *found = 0;
    for (unsigned i = 0; i < RUN_QUEUES && i < hart_count; i++) {
        struct run_queue *q = &run_queue[i];
        unsigned level = q == own ? PRIORITIES : first_level(&q->any);
        if (level < than || (level == than && level < PRIORITIES && waiting_of(&q->any, level) > waiting)) {
            found = q;
            than = level;
            waiting = waiting_of(&q->any, level);
        }
    }
    return found;
}

struct thread *run_queue_steal(const struct ready *any, const struct ready *mine)
{
    if (hart_count == 1)
        return 0;
    unsigned a = first_level(any), m = first_level(mine), than = MIN(a, m);
    unsigned waiting = than < PRIORITIES ? waiting_of(any, than) + waiting_of(mine, than) : 0;
    struct run_queue *q = victim(than, waiting);
    if (!q || !simple_lock_try(&q->lock))
        return 0; /* its holder takes a thread or looks at its threads; else run_queue_most_urgent finds them */
    unsigned level = first_level(&q->any);
    struct thread *t = 0;
    if (level < than || (level == than && level < PRIORITIES && waiting_of(&q->any, level) > waiting)) {
        t = run_queue_take_first(&q->any, level);
        sched_hart()->stolen++;
    }
    simple_unlock(&q->lock);
    return t;
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
