/* Interrupt threads (ithread.h). Locking: list_lock guards the list of started ones. */
#include "sched/ithread.h"

#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/sched.h"

DEFINE_SIMPLE_LOCK(list_lock, "ithread list", SPL_HIGH);
static SLIST_HEAD(, ithread) ithreads;

/* Waits for the oldest word; false when the thread is to end. */
static bool next_word(struct ithread *it, uint32_t *word)
{
    crit_t s = simple_lock_enter(&it->lock);
    while (it->head == it->tail && !it->stopping) {
        curhart->thread->next = it->asleep;
        it->asleep = curhart->thread;
        thread_block(&it->lock, s);
        s = simple_lock_enter(&it->lock);
    }
    bool found = it->head != it->tail;
    if (found)
        *word = it->queue[it->tail++ % ITHREAD_QUEUE];
    simple_lock_leave(&it->lock, s);
    return found;
}

static void ithread_serve(void *arg)
{
    struct ithread *it = arg;
    uint32_t word = 0;
    while (next_word(it, &word)) {
        PROBE_VALUE(ITHREAD_RUNS, it->source);
        it->fn(it->arg, word);
    }
}

bool ithread_wake(struct ithread *it, uint32_t saved)
{
    crit_t s = simple_lock_enter(&it->lock);
    bool room = it->head - it->tail < ITHREAD_QUEUE;
    struct thread *wake = room ? it->asleep : 0;
    if (room)
        it->queue[it->head++ % ITHREAD_QUEUE] = saved;
    else
        it->dropped++;
    if (wake) {
        it->asleep = wake->next;
        it->woken++;
    }
    simple_unlock(&it->lock);
    if (wake)
        thread_unblock(wake);
    crit_sec_leave(s);
    return room;
}

static void ithread_unlist(struct ithread *it)
{
    crit_t s = simple_lock_enter(&list_lock);
    SLIST_REMOVE(&ithreads, it, ithread, link);
    simple_lock_leave(&list_lock, s);
}

static void ithread_begin(struct ithread *it, unsigned source, ithread_fn *fn, void *arg, unsigned priority,
                          unsigned threads)
{
    crit_t s = simple_lock_enter(&list_lock);
    struct ithread *other;
    SLIST_FOREACH(other, &ithreads, link)
        if (other == it)
            panic("ithread_start: %s has not been stopped", it->lock.object.name);
    *it = (struct ithread){
        .lock = it->lock, .fn = fn, .arg = arg, .source = source, .threads = threads, .priority = priority};
    SLIST_INSERT_HEAD(&ithreads, it, link);
    simple_lock_leave(&list_lock, s);
}

static bool ithread_add_thread(struct ithread *it, unsigned i, int bound)
{
    it->thread[i] = thread_create(ithread_serve, it, it->priority, bound, it->lock.object.name);
    return it->thread[i];
}

void ithread_start(struct ithread *it, unsigned source, ithread_fn *fn, void *arg, unsigned priority, unsigned threads,
                   int bound)
{
    if (!threads || threads > ITHREAD_MOST)
        panic("ithread_start: %s with %u threads: give 1 to %u", it->lock.object.name, threads, ITHREAD_MOST);
    ithread_begin(it, source, fn, arg, priority, threads);
    for (unsigned i = 0; i < threads; i++)
        if (!ithread_add_thread(it, i, bound))
            panic("ithread_start: there is no memory for the thread of %s", it->lock.object.name);
}

bool ithread_start_one(struct ithread *it, unsigned source, ithread_fn *fn, void *arg, unsigned priority)
{
    ithread_begin(it, source, fn, arg, priority, 1);
    bool there = ithread_add_thread(it, 0, ANY_HART);
    if (!there)
        ithread_unlist(it);
    return there;
}

void ithread_stop(struct ithread *it)
{
    crit_t s = simple_lock_enter(&it->lock);
    it->stopping = true;
    struct thread *asleep = it->asleep;
    it->asleep = 0;
    simple_unlock(&it->lock);
    for (struct thread *next; asleep; asleep = next) {
        next = asleep->next;
        thread_unblock(asleep);
    }
    crit_sec_leave(s);
    for (unsigned i = 0; i < it->threads; i++)
        thread_join(it->thread[i]);
    ithread_unlist(it);
}

void ithread_dump(void)
{
    kprintf("interrupt thread  source  threads  priority    handled      woken  waiting  dropped\n");
    struct ithread *it;
    SLIST_FOREACH(it, &ithreads, link)
        kprintf("%-16s  %6u  %7u  %8u  %9lu  %9lu  %7lu  %7lu\n", it->lock.object.name, it->source, it->threads,
                it->priority, (unsigned long)it->tail, (unsigned long)it->woken, (unsigned long)(it->head - it->tail),
                (unsigned long)it->dropped);
}
