/* Threads, the run queue and the sleep queues. Locking: sched.h. */
#include "sched/sched.h"

#include "dev/clock.h"
#include "dev/trace.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/timeout.h"
#include "sync/lock_debug.h"

#define SLICE_TICKS 2
#define SLEEP_QUEUES 16

struct queue {
    struct thread *first, *last;
};

void context_switch(struct context *from, struct context *to);

static SIMPLE_LOCK_CLASS(sched_class, "sched", SPL_SCHED);
struct simple_lock sched_lock = SIMPLE_LOCK("sched", sched_class);

static struct thread threads[MAX_THREADS];
static uint8_t stacks[MAX_THREADS][THREAD_STACK_SIZE] __attribute__((aligned(16), section(".noinit")));
static struct queue run_queue[PRIORITIES];
static struct queue sleep_queue[SLEEP_QUEUES];

static void append(struct queue *q, struct thread *t)
{
    t->next = 0;
    if (q->first)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
}

static void unlink_after(struct queue *q, struct thread *before, struct thread *t)
{
    if (before)
        before->next = t->next;
    else
        q->first = t->next;
    if (q->last == t)
        q->last = before;
}

static struct queue *queue_of(const void *channel)
{
    uintptr_t a = (uintptr_t)channel;
    return &sleep_queue[(a >> 3 ^ a >> 8) % SLEEP_QUEUES];
}

static void assert_locked(void)
{
    if (unlikely(!simple_lock_held(&sched_lock)))
        panic("sched_lock is not held by hart %u", (unsigned)curhart->id);
}

/* The most urgent thread that may run on this hart, taken off the queue, or 0. Only one better than `than`. */
static struct thread *take_runnable(unsigned than)
{
    for (unsigned p = 0; p < than; p++)
        for (struct thread *t = run_queue[p].first, *before = 0; t; before = t, t = t->next)
            if (t->bound == ANY_HART || t->bound == (int)curhart->id) {
                unlink_after(&run_queue[p], before, t);
                return t;
            }
    return 0;
}

/* Preempt the thread that runs here as soon as this hart is back at base level. */
void sched_request(void)
{
    curhart->resched = 1;
    softint_post(SPL_SOFTPREEMPT);
}

/* Find a hart that should run `t` now, mark it, and interrupt it if it is another one. */
static void place(struct thread *t)
{
    struct hart *worst = 0;
    for (unsigned h = 0; h < hart_count; h++) {
        struct hart *candidate = &harts[h];
        if (!candidate->online || (t->bound != ANY_HART && t->bound != (int)h))
            continue;
        if (candidate->thread->priority <= t->priority)
            continue;
        if (candidate->resched && candidate->thread == candidate->idle)
            continue; /* it is on its way to another thread */
        bool better = !worst || candidate->thread->priority > worst->thread->priority ||
                      (candidate->thread->priority == worst->thread->priority && (int)h == t->hart);
        if (better)
            worst = candidate;
    }
    if (!worst)
        return;
    if (worst == curhart) {
        sched_request();
    } else {
        worst->resched = 1;
        pic_ipi(1u << worst->id);
    }
}

static void make_runnable(struct thread *t)
{
    t->state = THREAD_RUNNABLE;
    append(&run_queue[t->priority], t);
    place(t);
}

/* Give the hart to the next thread. The caller holds sched_lock in its section and has queued itself if it should. */
static void switch_thread(void)
{
    assert_locked();
    lock_check_switch(&sched_class);
    struct thread *from = curhart->thread;
    struct thread *to = take_runnable(PRIORITIES);
    curhart->resched = 0;
    if (!to)
        to = curhart->idle;
    to->state = THREAD_RUNNING;
    to->hart = (int)curhart->id;
    to->slice = SLICE_TICKS;
    if (to == from)
        return;
    curhart->thread = to;
    curhart->switches++;
    trace(TRACE_THREAD_SWITCH, to->id);
    context_switch(&from->context, &to->context);
}

/* The running thread steps back behind its equals. Idle threads are in no queue. */
static void requeue_current(void)
{
    struct thread *t = curhart->thread;
    if (t == curhart->idle)
        return;
    t->state = THREAD_RUNNABLE;
    append(&run_queue[t->priority], t);
}

void thread_yield(void)
{
    crit_t s = lock_enter(&sched_lock);
    requeue_current();
    switch_thread();
    lock_leave(&sched_lock, s);
}

/* Preemption, by the section's own rules: at base level, from thread code ... */
void sched_preempt_at_base(crit_t saved)
{
    if (curhart->resched && crit_is_base(saved) && !curhart->intr_depth && !curhart->in_softint)
        thread_yield();
}

/* ... or on the way out of the outermost interrupt, where interrupts are off on chip and must be off again. */
void sched_preempt_from_interrupt(void)
{
    crit_t s = crit_sec_enter(SPL_SCHED);
    if (CRIT_SWITCH_MIE)
        intr_enable();
    simple_lock(&sched_lock);
    requeue_current();
    switch_thread();
    simple_unlock(&sched_lock);
    crit_sec_leave_masked(s);
}

/* A time slice ends: called by the clock interrupt of each hart. */
void sched_tick(void)
{
    struct thread *t = curhart->thread;
    if (t != curhart->idle && --t->slice == 0) {
        t->slice = SLICE_TICKS;
        sched_request();
    }
}

void thread_sleep(const void *channel, struct simple_lock *interlock)
{
    struct thread *self = curhart->thread;
    if (curhart->intr_depth || curhart->in_softint || self == curhart->idle)
        panic("sleep at interrupt level");
    crit_t s = lock_enter(&sched_lock);
    self->state = THREAD_SLEEPING;
    self->channel = channel;
    append(queue_of(channel), self);
    simple_unlock(interlock);
    switch_thread();
    lock_leave(&sched_lock, s);
    simple_lock(interlock);
}

static void wakeup(const void *channel, unsigned most)
{
    crit_t s = lock_enter(&sched_lock);
    struct queue *q = queue_of(channel);
    for (struct thread *t = q->first, *before = 0, *next; t && most; t = next) {
        next = t->next;
        if (t->channel != channel) {
            before = t;
            continue;
        }
        unlink_after(q, before, t);
        t->channel = 0;
        make_runnable(t);
        most--;
    }
    lock_leave(&sched_lock, s);
}

void thread_wakeup(const void *channel)
{
    wakeup(channel, MAX_THREADS);
}

void thread_wakeup_one(const void *channel)
{
    wakeup(channel, 1);
}

/* Where a new thread begins: as if it had just been switched to in thread_yield. */
static void thread_begin(void)
{
    struct thread *self = curhart->thread;
    simple_unlock(&sched_lock);
    crit_sec_leave(CRIT_BASE);
    self->fn(self->arg);
    thread_exit();
}

static struct thread *allocate(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    assert_locked();
    if (priority >= PRIORITIES)
        panic("thread %s: priority %u", name, priority);
    for (unsigned i = 0; i < MAX_THREADS; i++) {
        struct thread *t = &threads[i];
        if (t->state != THREAD_FREE)
            continue;
        *t = (struct thread){.id = i, .name = name, .fn = fn, .arg = arg, .priority = priority, .bound = bound};
        t->hart = bound;
        t->context.ra = (uint32_t)thread_begin;
        t->context.sp = (uint32_t)(stacks[i] + THREAD_STACK_SIZE);
        return t;
    }
    panic("thread %s: all %u threads are in use", name, MAX_THREADS);
}

struct thread *thread_create(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    crit_t s = lock_enter(&sched_lock);
    struct thread *t = allocate(fn, arg, priority, bound, name);
    make_runnable(t);
    lock_leave(&sched_lock, s);
    return t;
}

_Noreturn void thread_exit(void)
{
    lock_check_exit();
    crit_sec_enter(SPL_SCHED);
    simple_lock(&sched_lock);
    struct thread *self = curhart->thread;
    self->state = THREAD_DEAD;
    struct queue *q = queue_of(self);
    for (struct thread *t = q->first, *before = 0, *next; t; t = next) { /* joiners: wakeup() would take the lock again */
        next = t->next;
        if (t->channel == self) {
            unlink_after(q, before, t);
            t->channel = 0;
            make_runnable(t);
        } else {
            before = t;
        }
    }
    switch_thread();
    panic("a dead thread runs");
}

void thread_join(struct thread *t)
{
    crit_t s = lock_enter(&sched_lock);
    struct thread *self = curhart->thread;
    while (t->state != THREAD_DEAD) {
        self->state = THREAD_SLEEPING;
        self->channel = t;
        append(queue_of(t), self);
        switch_thread();
    }
    t->state = THREAD_FREE;
    lock_leave(&sched_lock, s);
}

DEFINE_SIMPLE_LOCK(delay_lock, "delay", SPL_CLOCK);

static void delay_over(void *arg)
{
    crit_t s = lock_enter(&delay_lock);
    *(bool *)arg = true;
    lock_leave(&delay_lock, s);
    thread_wakeup(arg);
}

void thread_delay(uint32_t ticks)
{
    bool over = false;
    struct timeout t = {0};
    timeout_set(&t, ticks, delay_over, &over);
    crit_t s = lock_enter(&delay_lock);
    while (!over)
        thread_sleep(&over, &delay_lock);
    lock_leave(&delay_lock, s);
    timeout_drain(&t);
}

/* The code that booted this hart becomes its idle thread. */
void sched_start_hart(void)
{
    crit_t s = lock_enter(&sched_lock);
    struct thread *t = allocate(0, 0, PRI_IDLE, (int)curhart->id, "idle");
    t->state = THREAD_RUNNING;
    t->hart = (int)curhart->id;
    curhart->idle = curhart->thread = t;
    curhart->online = 1;
    curhart->resched = 1; /* threads may be waiting already */
    trace(TRACE_THREAD_SWITCH, t->id);
    simple_unlock(&sched_lock);
    PROBE(THREAD_SWITCH); /* inside the section, as every thread switches */
    crit_sec_leave(s);
}

_Noreturn void sched_idle(void)
{
    for (;;) {
        sched_preempt_at_base(CRIT_BASE);
        /* WFI wakes for a pending interrupt though it is off, so one that comes before WFI is not slept through. */
        intr_disable();
        if (!curhart->resched)
            __asm__ volatile("wfi" ::: "memory");
        intr_enable();
    }
}

void sched_dump(void)
{
    static const char *const state[] = {"free", "runnable", "running", "sleeping", "dead"};
    for (unsigned i = 0; i < MAX_THREADS; i++)
        if (threads[i].state != THREAD_FREE)
            kprintf("  thread %u %s: %s, priority %u, hart %d, channel %p\n", i, threads[i].name,
                    state[threads[i].state], threads[i].priority, threads[i].hart, threads[i].channel);
}
