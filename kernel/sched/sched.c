/* Which thread a hart runs: switching, preemption, migration. Locking: sched.h. */
#include "sched/sched.h"

#include "arch/accounting.h"
#include "lib/compiler.h"
#include "arch/trace.h"
#include "intr/call.h"
#include "intr/softint.h"
#include "lib/panic.h"
#include "lock/lock_debug.h"
#include "sched/runqueue.h"
#include "sched/switch.h"

#define SLICE_TICKS 2

/* Preempt the thread that runs here as soon as this hart is back at base level. */
void sched_request(void)
{
    sync_hart()->resched = 1;
    softint_post(SPL_SOFTPREEMPT);
}

/* Another hart has set `resched` here. The trap, or the loop that answers calls, runs what is pending. */
static void asked(void)
{
    if (sync_hart()->resched)
        softint_mark(SPL_SOFTPREEMPT);
}

/*
 * Chooses the hart that is to preempt its thread for a waiting one: the hart with the least urgent thread, preferably
 * the waiting thread's last one. An idle hart that was already asked is switching to another thread; a hart that has
 * not started counts as priority 0. Returns the hart to be called, as a bit; 0: none.
 */
static uint32_t sched_ask(unsigned priority, int bound, int last)
{
    struct hart *worst = 0;
    unsigned h = bound == ANY_HART ? 0 : (unsigned)bound, end = bound == ANY_HART ? hart_count : h + 1;
    for (uint32_t least = priority + 1; h < end; h++) {
        struct hart *candidate = &harts[h];
        uint32_t runs = sched_hart_of(candidate)->priority;
        if (runs < least || (runs == least && worst && (int)h != last) ||
            (runs == PRI_IDLE && sync_hart_of(candidate)->resched))
            continue;
        worst = candidate;
        least = runs;
    }
    if (!worst)
        return 0;
    if (worst == curhart) {
        sched_request();
        return 0;
    }
    sync_hart_of(worst)->resched = 1;
    return 1u << worst->id;
}

/* The same for `t`, which has just been queued. */
static uint32_t sched_place(const struct thread *t)
{
    if (RUN_QUEUES > 1)
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* run_queue_most_urgent */
    return sched_ask(t->priority, t->bound, t->hart);
}

static inline __attribute__((always_inline)) uint32_t make_runnable(struct thread *t)
{
    struct simple_lock *l = run_queue_lock((unsigned)t->hart);
    simple_lock(l);
    t->state = THREAD_RUNNABLE;
    t->slice = SLICE_TICKS;
    run_queue_add(run_queue_for(t), t, true);
    uint32_t harts_to_tell = sched_place(t);
    simple_unlock(l);
    return harts_to_tell;
}

uint32_t sched_make_runnable(struct thread *t)
{
    return make_runnable(t);
}

void sched_tell(uint32_t harts_to_tell)
{
    if (harts_to_tell)
        hart_call(harts_to_tell, CALL_PREEMPT);
}

void thread_unblock(struct thread *t)
{
    crit_sec_raise(SPL_SCHED);
    uint32_t harts_to_tell = make_runnable(t);
    if (unlikely(harts_to_tell))
        sched_tell(harts_to_tell);
}

/* Its registers are saved: this hart does not need it any more. */
static COLD void arrive(struct thread *leaving)
{
    sched_hart()->leaving = 0;
    leaving->hart = sched_hart()->leaving_to;
    sched_tell(sched_make_runnable(leaving));
}

static inline __attribute__((always_inline)) void switched(void)
{
    struct thread *leaving = sched_hart()->leaving;
    simple_unlock(&sched_hart()->queue->lock);
    if (unlikely(leaving))
        arrive(leaving);
}

/* A new thread calls it first: it makes the thread that migrates to another hart runnable there. */
void sched_switched(void)
{
    switched();
}

/*
 * After this hart has published what it runs now. A thread in another queue may be more urgent. And if this hart was
 * asked, it may have been for more threads than the one that it took, by harts that saw its former priority and asked
 * no other hart: so this hart asks another for the first of those threads, and the hart that takes it does the same.
 */
static COLD void look_again(bool was_asked)
{
    struct waiting w = run_queue_most_urgent();
    if (w.priority < sched_hart()->priority)
        sched_request();
    else if (was_asked && w.priority < PRIORITIES)
        sched_tell(sched_ask(w.priority, ANY_HART, w.hart));
}

/* `self` is runnable: queues it, unless another thread takes its place. Returns that thread, or 0. */
static inline __attribute__((always_inline)) struct thread *queue_self(struct thread *self)
{
    struct ready *any = &sched_hart()->queue->any, *mine = sched_hart()->bound;
    bool is_bound = self->bound != ANY_HART, behind = !self->slice;
    struct ready *r = is_bound ? mine : any;
    self->state = THREAD_RUNNABLE;
    if (behind) {
        self->slice = SLICE_TICKS;
        struct thread *t = run_queue_rotate(r, is_bound ? any : mine, self);
        if (t)
            return t;
    }
    run_queue_add(r, self, behind);
    return 0;
}

void sched_give_up(struct simple_lock *held)
{
    struct thread *from = curhart->thread, *to = 0;
    if (unlikely(stack_is_low(from)))
        stack_overflowed(from);
    simple_lock(&sched_hart()->queue->lock);
    lock_check_switch(&run_queue_class, held);
    if (unlikely(crit_is_deaf()))
        softint_mark(SPL_SOFTPREEMPT);
    bool was_asked = sync_hart()->resched;
    sync_hart()->resched = 0; /* a request in between is not lost: this hart takes that thread, or one as urgent */
    if (held)
        simple_unlock(held);
    else if (from->state == THREAD_RUNNING && from != sched_hart()->idle)
        to = queue_self(from);
    if (!to && !(to = run_queue_take()))
        to = sched_hart()->idle;
    uint32_t switches = sched_hart()->switches, priority = to->priority; /* loaded early, used later */
    to->state = THREAD_RUNNING;
    sched_hart()->priority = priority;
    if ((RUN_QUEUES > 1 || was_asked || priority < from->priority) && hart_count > 1)
        look_again(was_asked || priority < from->priority);
    if (from != to) {
        sched_hart()->switches = switches + 1;
        thread_switch(from, to);
    }
    switched();
}

void thread_yield(void)
{
    curhart->thread->slice = 0;
    crit_t s = crit_sec_enter(SPL_SCHED);
    sched_give_up(0);
    crit_sec_leave(s);
}

/* Preemption on the way back to base level, where interrupts are off on chip and must be off again. */
void sched_preempt_from_interrupt(void)
{
    enum account was = account_switch(ACCOUNT_SYSTEM);
    PROBE(PREEMPT_BEGIN);
    crit_t s = crit_sec_enter(SPL_SCHED);
    if (CRIT_SWITCH_MIE)
        intr_enable();
    sched_give_up(0);
    PROBE(PREEMPT_END);
    account_switch(was);
    crit_sec_leave_masked(s);
}

/* A time slice ends: called by the clock interrupt of each hart. */
void sched_tick(uint32_t ticks)
{
    struct thread *t = curhart->thread;
    stack_check(t);
    t->ticks += ticks;
    if (unlikely(t->timed))
        t->ticked = true;
    if (t == sched_hart()->idle || !t->slice)
        return;
    t->slice = t->slice > ticks ? t->slice - ticks : 0;
    if (!t->slice)
        sched_request();
}

/* To `hart`, at once. The next thread on this hart queues it there, when its registers are saved. */
static void migrate(int hart)
{
    struct thread *self = curhart->thread;
    self->state = THREAD_RUNNABLE; /* but in no queue */
    sched_hart()->leaving = self;
    sched_hart()->leaving_to = hart;
    sched_give_up(0);
}

int thread_bind(int hart)
{
    if (hart != ANY_HART && (hart < 0 || hart >= (int)hart_count))
        panic("thread_bind: there is no hart %d", hart);
    crit_t s = crit_sec_enter(SPL_SCHED);
    struct thread *self = curhart->thread;
    int was = self->bound;
    if (sync_hart()->intr_depth || sync_hart()->in_softint || self == sched_hart()->idle)
        panic("thread_bind at interrupt level");
    self->bound = hart;
    if (hart != ANY_HART && hart != (int)curhart->id)
        migrate(hart);
    crit_sec_leave(s);
    return was;
}

void thread_move(unsigned hart)
{
    if (hart >= hart_count)
        panic("thread_move: there is no hart %u", hart);
    crit_t s = crit_sec_enter(SPL_SCHED);
    if (curhart->thread->bound != ANY_HART)
        panic("thread_move: thread %s is bound", curhart->thread->name);
    if (hart != curhart->id)
        migrate((int)hart);
    crit_sec_leave(s);
}

/* The code that booted this hart becomes its idle thread. */
void sched_start_hart(void)
{
    hart_call_establish(CALL_PREEMPT, asked);
    crit_t s = crit_sec_enter(SPL_SCHED);
    struct thread *t = thread_allocate(0, 0, PRI_IDLE, (int)curhart->id, "idle");
    if (!t)
        panic("hart %u: no thread is free for it to idle in", (unsigned)curhart->id);
    t->guard = (uint32_t *)(boot_stacks + HART_STACK_SIZE * curhart->id);
    *t->guard = STACK_GUARD;
    trace(TRACE_THREAD_SWITCH, t->id); /* some cycles ahead of the mark, as it takes a few to arrive */
    t->state = THREAD_RUNNING;
    sched_hart()->idle = curhart->thread = t;
    sched_hart()->queue = run_queue_of(curhart->id);
    sched_hart()->bound = &run_queue_bound[curhart->id];
    sched_hart()->priority = PRI_IDLE;
    curhart->online = 1;
    sync_hart()->resched = 1; /* threads may be waiting already */
    accounting_start_hart();
    PROBE(THREAD_SWITCH); /* inside the section, as every thread switches */
    crit_sec_leave(s);
}

_Noreturn void sched_idle(void)
{
    for (;;) {
        /* WFI wakes for a pending interrupt even with interrupts off, so one that comes before it is not missed. */
        intr_disable();
        intr_return_to_base();
        enum account was = account_switch(ACCOUNT_IDLE);
        uint32_t since = cycles32();
        PROBE(IDLE_BEGIN);
        if (!sync_hart()->resched)
            __asm__ volatile("wfi" ::: "memory");
        PROBE(IDLE_END);
        crit_was_open(since);
        account_switch(was);
        intr_enable();
    }
}
