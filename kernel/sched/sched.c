/* Which thread a hart runs: switching, preemption, migration. Locking: sched.h. */
#include "sched/sched.h"

#include "arch/accounting.h"
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

/* Another hart has set `resched` here. The trap, or who answers calls in a loop, looks for what waits. */
static void asked(void)
{
    if (sync_hart()->resched)
        softint_mark(SPL_SOFTPREEMPT);
}

/*
 * The hart that should run a thread of `priority` now instead of what it runs, or 0: the one with the least urgent thread, best
 * the last one it ran on, `last`.
 */
static struct hart *hart_for(unsigned priority, int bound, int last)
{
    struct hart *worst = 0;
    for (unsigned h = 0; h < hart_count; h++) {
        struct hart *candidate = &harts[h];
        if (!candidate->online || (bound != ANY_HART && bound != (int)h))
            continue;
        uint32_t runs = sched_hart_of(candidate)->priority;
        if (runs <= priority || (sync_hart_of(candidate)->resched && runs == PRI_IDLE))
            continue; /* an idle hart that was asked already is on its way to another thread */
        if (!worst || runs > sched_hart_of(worst)->priority || (runs == sched_hart_of(worst)->priority && (int)h == last))
            worst = candidate;
    }
    return worst;
}

/* Ask for a thread that waits to be run. Gives the hart to be interrupted, as a bit; 0: none. */
static uint32_t ask(unsigned priority, int bound, int last)
{
    struct hart *h = hart_for(priority, bound, last);
    if (!h)
        return 0;
    if (h == curhart) {
        sched_request();
        return 0;
    }
    sync_hart_of(h)->resched = 1;
    return 1u << h->id;
}

/* The same for `t`, which has just been queued. */
static uint32_t place(const struct thread *t)
{
    if (RUN_QUEUES > 1)
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* run_queue_most_urgent */
    return ask(t->priority, t->bound, t->hart);
}

uint32_t sched_make_runnable(struct thread *t)
{
    struct simple_lock *l = run_queue_lock((unsigned)t->hart);
    simple_lock(l);
    t->state = THREAD_RUNNABLE;
    t->slice = SLICE_TICKS;
    run_queue_append(t);
    uint32_t harts_to_tell = place(t);
    simple_unlock(l);
    return harts_to_tell;
}

void sched_tell(uint32_t harts_to_tell)
{
    if (harts_to_tell)
        hart_call(harts_to_tell, CALL_PREEMPT);
}

void sched_lock_hart(void)
{
    simple_lock(run_queue_lock(curhart->id));
}

/* Called by whichever thread has got the hart: lets the thread that left for another hart arrive there. */
void sched_switched(void)
{
    struct thread *leaving = sched_hart()->leaving;
    sched_hart()->leaving = 0;
    simple_unlock(run_queue_lock(curhart->id));
    if (leaving)
        sched_tell(sched_make_runnable(leaving));
}

/*
 * After this hart has said what it runs now. A thread in another queue may be more urgent. And if it was asked for a thread,
 * maybe it was for more than the one that it took, and by who saw it as it was before: nobody else was told of those, so
 * this hart asks another for the first of them, and whichever takes that one goes on so.
 */
static void look_again(bool was_asked)
{
    if (hart_count > 1 && (RUN_QUEUES > 1 || was_asked)) {
        struct waiting w = run_queue_most_urgent();
        if (w.priority < sched_hart()->priority)
            sched_request();
        else if (was_asked && w.priority < PRIORITIES)
            sched_tell(ask(w.priority, ANY_HART, w.hart));
    }
}

void sched_switch(void)
{
    struct thread *from = curhart->thread;
    lock_check_switch(&run_queue_class);
    bool was_asked = sync_hart()->resched;
    sync_hart()->resched = 0; /* one set in between is not lost: this hart takes that thread, or one as urgent */
    struct thread *to = run_queue_take();
    if (!to)
        to = sched_hart()->idle;
    to->state = THREAD_RUNNING;
    sched_hart()->priority = to->priority;
    look_again(was_asked || to->priority < from->priority);
    if (to == from)
        return;
    sched_hart()->switches++;
    thread_switch(from, to);
}

/* The running thread gives way to one more urgent, or, if its turn is over, to its equals. */
static void reschedule(void)
{
    struct thread *t = curhart->thread;
    if (t != sched_hart()->idle) {
        t->state = THREAD_RUNNABLE;
        if (t->slice) {
            run_queue_prepend(t);
        } else {
            t->slice = SLICE_TICKS;
            run_queue_append(t);
        }
    }
    sched_switch();
}

static void give_way(void)
{
    crit_t s = crit_sec_enter(SPL_SCHED);
    sched_lock_hart();
    reschedule();
    sched_switched();
    crit_sec_leave(s);
}

void thread_yield(void)
{
    curhart->thread->slice = 0;
    give_way();
}

/* Preemption, by the section's own rules: at base level, from thread code ... */
void sched_preempt_at_base(crit_t saved)
{
    if (sync_hart()->resched && crit_is_base(saved) && !sync_hart()->intr_depth && !sync_hart()->in_softint)
        give_way();
}

/* ... or on the way out of the outermost interrupt, where interrupts are off on chip and must be off again. */
void sched_preempt_from_interrupt(void)
{
    enum account was = account_switch(ACCOUNT_SYSTEM);
    PROBE(PREEMPT_BEGIN);
    crit_t s = crit_sec_enter(SPL_SCHED);
    if (CRIT_SWITCH_MIE)
        intr_enable();
    sched_lock_hart();
    reschedule();
    sched_switched();
    PROBE(PREEMPT_END);
    account_switch(was);
    crit_sec_leave_masked(s);
}

/* A time slice ends: called by the clock interrupt of each hart. */
void sched_tick(uint32_t ticks)
{
    struct thread *t = curhart->thread;
    stack_check(t);
    if (t == sched_hart()->idle || !t->slice)
        return;
    t->slice = t->slice > ticks ? t->slice - ticks : 0;
    if (!t->slice)
        sched_request();
}

/* To `hart`, at once. The thread is queued there when its registers are saved, by the thread that gets this hart. */
static void migrate(int hart)
{
    struct thread *self = curhart->thread;
    sched_lock_hart();
    self->state = THREAD_RUNNABLE;
    self->hart = hart;
    sched_hart()->leaving = self;
    sched_switch();
    sched_switched();
}

int thread_bind(int hart)
{
    if (hart != ANY_HART && (hart < 0 || hart >= (int)hart_count))
        panic("thread_bind: hart %d", hart);
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
        panic("thread_move: hart %u", hart);
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
        sched_preempt_at_base(CRIT_BASE);
        /* WFI wakes for a pending interrupt though it is off, so one that comes before WFI is not slept through. */
        intr_disable();
        enum account was = account_switch(ACCOUNT_IDLE);
        PROBE(IDLE_BEGIN);
        if (!sync_hart()->resched)
            __asm__ volatile("wfi" ::: "memory");
        PROBE(IDLE_END);
        account_switch(was);
        intr_enable();
    }
}
