/* Sleep and wakeup (sched.h, sleep.h). */
#include "sched/sleep.h"

#include <errno.h>

#include "lib/compiler.h"
#include "lib/panic.h"
#include "sched/master.h"
#include "sched/sched.h"
#include "sched/switch.h"
#include "sched/timeout.h"

#define SLEEP_QUEUES 16

struct sleep_queue {
    struct simple_lock lock;
    TAILQ_HEAD(, thread) threads; /* in the order in which they went to sleep */
};

static SIMPLE_LOCK_CLASS(sleep_queue_class, "sleep queue", SPL_SCHED);
static struct sleep_queue sleep_queue[SLEEP_QUEUES] = {
    [0 ... SLEEP_QUEUES - 1] = {.lock = SIMPLE_LOCK("sleep queue", sleep_queue_class)}};

void sleep_init(void)
{
    for (unsigned i = 0; i < SLEEP_QUEUES; i++)
        TAILQ_INIT(&sleep_queue[i].threads);
}

struct sleep_queue *sleep_queue_lock(const void *channel)
{
    uintptr_t a = (uintptr_t)channel;
    struct sleep_queue *q = &sleep_queue[(a >> 3 ^ a >> 8) % SLEEP_QUEUES];
    simple_lock(&q->lock);
    return q;
}

void sleep_queue_unlock(struct sleep_queue *q)
{
    simple_unlock(&q->lock);
}

struct simple_lock *sleep_queue_lock_of(struct sleep_queue *q)
{
    return &q->lock;
}

void sleep_queue_sleep(struct sleep_queue *q, const void *channel)
{
    struct thread *self = curhart->thread;
    if (sync_hart()->intr_depth || sync_hart()->in_softint || self == sched_hart()->idle)
        panic("sleep at interrupt level");
    self->state = THREAD_SLEEPING;
    self->channel = channel;
    TAILQ_INSERT_TAIL(&q->threads, self, sleeping);
    sched_give_up(&q->lock);
}

uint32_t sleep_queue_wake(struct sleep_queue *q, const void *channel, unsigned most)
{
    uint32_t harts_to_tell = 0;
    struct thread *t, *next;
    TAILQ_FOREACH_SAFE(t, &q->threads, sleeping, next) {
        if (!most)
            break;
        if (t->channel != channel)
            continue;
        TAILQ_REMOVE(&q->threads, t, sleeping);
        t->channel = 0;
        harts_to_tell |= sched_make_runnable(t);
        most--;
    }
    return harts_to_tell;
}

static COLD void not_here(void)
{
    panic("sleep at interrupt level");
}

/* The sleeping thread releases the master, and takes it again before it continues. */
static COLD void block_in_master(struct simple_lock *interlock, crit_t saved)
{
    struct thread *self = curhart->thread;
    unsigned depth = self->master_depth;
    master_give_up(); /* the interlock is still held: no hart unblocks this thread yet */
    self->master_depth = 0;
    thread_block(interlock, saved);
    master_take();
    self->master_depth = depth;
}

void thread_block(struct simple_lock *interlock, crit_t saved)
{
    struct thread *self = curhart->thread;
    if (unlikely(sync_hart()->intr_depth | sync_hart()->in_softint || self == sched_hart()->idle))
        not_here();
    if (unlikely(self->master_depth)) {
        block_in_master(interlock, saved);
        return;
    }
    crit_sec_raise(SPL_SCHED);
    self->state = THREAD_SLEEPING;
    self->channel = interlock;
    sched_give_up(interlock);
    crit_sec_leave(saved);
}

void thread_sleep(const void *channel, struct simple_lock *interlock)
{
    if (!curhart->thread->master_depth) {
        thread_sleep_in_master(channel, interlock);
        return;
    }
    crit_t s = crit_sec_enter(SPL_SCHED);
    master_give_up(); /* the interlock is still held: a wakeup is not missed */
    struct sleep_queue *q = sleep_queue_lock(channel);
    simple_unlock(interlock);
    sleep_queue_sleep(q, channel);
    crit_sec_leave(s);
    master_take();
    simple_lock(interlock);
}

void thread_sleep_in_master(const void *channel, struct simple_lock *interlock)
{
    crit_t s = crit_sec_enter(SPL_SCHED);
    struct sleep_queue *q = sleep_queue_lock(channel);
    simple_unlock(interlock);
    sleep_queue_sleep(q, channel);
    crit_sec_leave(s);
    simple_lock(interlock);
}

/*
 * thread_interrupt sets `attention` first and reads the channel then; the sleeping thread does the reverse: one of the
 * two sees the other.
 */
static int sleep_unless_wanted(struct sleep_queue *q, const void *channel)
{
    struct thread *self = curhart->thread;
    self->interruptible = true;
    *(const void *volatile *)&self->channel = channel;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (self->attention) {
        self->channel = 0;
        self->interruptible = false;
        sleep_queue_unlock(q);
        return -EINTR;
    }
    sleep_queue_sleep(q, channel);
    int error = self->interruptible ? 0 : -EINTR;
    self->interruptible = false;
    return error;
}

int thread_sleep_interruptibly(const void *channel, struct simple_lock *interlock)
{
    bool in_master = curhart->thread->master_depth;
    crit_t s = crit_sec_enter(SPL_SCHED);
    if (in_master)
        master_give_up(); /* the interlock is still held: a wakeup is not missed */
    struct sleep_queue *q = sleep_queue_lock(channel);
    simple_unlock(interlock);
    int error = sleep_unless_wanted(q, channel);
    crit_sec_leave(s);
    if (in_master)
        master_take();
    simple_lock(interlock);
    return error;
}

/* Takes `t` off its queue, whose lock is held, if it still sleeps there interruptibly: harts for sched_tell. */
static uint32_t sleep_interrupt(struct sleep_queue *q, struct thread *t, const void *channel)
{
    if (t->channel != channel || !t->interruptible || t->state != THREAD_SLEEPING)
        return 0;
    TAILQ_REMOVE(&q->threads, t, sleeping);
    t->channel = 0;
    t->interruptible = false;
    return sched_make_runnable(t);
}

void thread_interrupt(struct thread *t)
{
    t->attention = true;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const void *channel = *(const void *volatile *)&t->channel;
    if (!channel)
        return;
    crit_t s = crit_sec_enter(SPL_SCHED);
    struct sleep_queue *q = sleep_queue_lock(channel);
    uint32_t harts_to_tell = sleep_interrupt(q, t, channel);
    sleep_queue_unlock(q);
    sched_tell(harts_to_tell);
    crit_sec_leave(s);
}

static void sleep_wake(const void *channel, unsigned most)
{
    crit_t s = crit_sec_enter(SPL_SCHED);
    struct sleep_queue *q = sleep_queue_lock(channel);
    uint32_t harts_to_tell = sleep_queue_wake(q, channel, most);
    sleep_queue_unlock(q);
    sched_tell(harts_to_tell);
    crit_sec_leave(s);
}

void thread_wakeup(const void *channel)
{
    sleep_wake(channel, ALL_THREADS);
}

void thread_wakeup_one(const void *channel)
{
    sleep_wake(channel, 1);
}

DEFINE_SIMPLE_LOCK(delay_lock, "delay", SPL_CLOCK);

static void delay_over(void *arg)
{
    crit_t s = simple_lock_enter(&delay_lock);
    *(bool *)arg = true;
    simple_lock_leave(&delay_lock, s);
    thread_wakeup(arg);
}

void thread_delay(uint32_t ticks)
{
    bool over = false;
    struct timeout t = {0};
    uint32_t least = ticks < TIMEOUT_MOST ? ticks + 1 : TIMEOUT_MOST; /* the current tick does not count */
    timeout_set(&t, least, delay_over, &over);
    crit_t s = simple_lock_enter(&delay_lock);
    while (!over)
        thread_sleep(&over, &delay_lock);
    simple_lock_leave(&delay_lock, s);
    timeout_drain(&t);
}
