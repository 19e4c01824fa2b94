/*
 * Threads of the kernel: priorities with preemption, time slices, sleep and wakeup, binding to a hart.
 *
 * A thread that is preempted before its slice is over stays the first of its priority. A runnable thread runs on its
 * last hart, unless a hart that runs a less urgent thread, or none, takes it sooner; run queues: runqueue.h.
 *
 * Locking: none is needed by callers. A thread's state is guarded by its queue's lock: a run queue's
 * (runqueue.h) while it runs or is runnable, a sleep queue's (sleep.h) while it sleeps. Order: the caller's
 * interlock, a sleep queue's lock, a run queue's lock. A hart's run queue lock is held across a thread switch
 * (switch.h).
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <sys/queue.h>

#include "lock/simple_lock.h"
#include "lock/threads.h"
#include "sched/hart_part.h"
#include "sync/sync.h"

/*
 * Threads are limited by memory. The first lie in the image, further ones in free main RAM, allocated for a few at a
 * time and freed when these have ended. An `id` is the number of the place.
 */
#define FIRST_THREADS 64
#define ALL_THREADS (~0u)
#define THREAD_STACK_SIZE 8192 /* bytes */
#define PRIORITIES 32 /* 0 is the most urgent */
#define PRI_INTERRUPT 4
#define PRI_NORMAL 16
#define PRI_IDLE (PRIORITIES - 1)
#define ANY_HART (-1)

enum thread_state { THREAD_FREE, THREAD_RUNNABLE, THREAD_RUNNING, THREAD_SLEEPING, THREAD_DEAD };

struct context {
    uint32_t ra, sp, s[12];
};

typedef void thread_fn(void *arg);

struct thread {
    struct context context; /* with the next two, one cache line; what else scheduling needs, another */
    struct thread *next;    /* in the run queue */
    enum thread_state state;
    unsigned priority, id;
    uint32_t *guard; /* the lowest word of its stack, which holds STACK_GUARD until the stack overflows */
    int bound; /* the hart it must run on, or ANY_HART */
    int hart;  /* the hart it runs or last ran on */
    uint32_t slice;     /* clock ticks left; 0: it is over */
    uint32_t queued_at; /* cycles32() when it was appended to a run queue */
    const void *channel; /* what it sleeps on */
    TAILQ_ENTRY(thread) sleeping; /* in the channel's sleep queue */
    const char *name;
    thread_fn *fn;
    void *arg;
    unsigned master_depth; /* of unix_master (master.h) */
    int8_t master_home, master_bound; /* the hart it was on, and `bound`, before */
    union {
        struct {
            volatile bool attention; /* its process has work for it (thread_interrupt) */
            volatile bool ticked;    /* a clock tick found it running, and `timed` */
        };
        volatile uint16_t looks; /* either: it checks which on its way to user mode */
    };
    bool interruptible; /* it sleeps, or is about to, and `attention` wakes it */
    bool timed;         /* its process counts the time that it runs (proc/signal.c) */
    uint32_t ticks;          /* clock ticks that found it running */
#if CRIT_TIMING
    uint32_t crit_depth; /* depth of sections, while it does not run (sync/crit_timing.h) */
#endif
    struct user_thread *user; /* its data in a process (proc/process.h), or 0; switches do not change satp (vm/mmu.h) */
} __attribute__((aligned(64)));

/* A new runnable thread, or 0 without memory for one, or with `thread_limit` threads. `bound` is a hart or ANY_HART. */
extern unsigned thread_limit; /* boot argument `threads` */
struct thread *thread_create(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name);
_Noreturn void thread_exit(void);
void thread_join(struct thread *t); /* panics if it is 0: for callers of thread_create that need the thread */

/*
 * Kernel stacks have no guard page (machine mode, no PMP). Instead the stack pointer is checked at each thread switch,
 * and the stack's lowest word at each clock tick and when a thread ends (not at a switch: it is in no cache then). An
 * overflow panics, with the thread's name.
 */
#define STACK_GUARD 0x57ac4e4du
_Noreturn void stack_overflowed(struct thread *t);
void stack_suspect(const void *fp); /* an exception in the running thread: panics if its stack is the cause */

static inline __attribute__((always_inline)) bool stack_is_low(const struct thread *t)
{
    return (uintptr_t)__builtin_frame_address(0) <= (uintptr_t)t->guard;
}

static inline __attribute__((always_inline)) void stack_check(struct thread *t)
{
    if (unlikely(stack_is_low(t) || *t->guard != STACK_GUARD))
        stack_overflowed(t);
}

void thread_yield(void);

/*
 * Binds the calling thread to `hart`, or unbinds it (ANY_HART); returns the former binding. When this returns, the
 * thread is there. At base level, or inside a section that guards no handler's data: it ends on this hart and continues
 * on the other. Panics for a hart that does not exist, and at interrupt level.
 */
int thread_bind(int hart);

/* Moves the calling thread, which is not bound, to `hart`, unless another hart takes it sooner. */
void thread_move(unsigned hart);

/*
 * Sleep until thread_wakeup(channel). Called inside the section of `interlock`, with it held; it is released while the
 * thread sleeps and held again on return, so a wakeup under the same lock is never missed. Panics at interrupt level.
 */
void thread_sleep(const void *channel, struct simple_lock *interlock);
void thread_wakeup(const void *channel); /* all sleepers; allowed at interrupt level up to SPL_SCHED */

/*
 * The same, but the sleep ends at once, or does not begin, if the thread's `attention` is set: for waits that a signal,
 * or the end of the process, interrupts. 0, or -EINTR; a thread that was woken and has attention, too, gets 0.
 */
int thread_sleep_interruptibly(const void *channel, struct simple_lock *interlock);

/*
 * Set `attention` of `t`, which the caller keeps from ending, and interrupt its sleep. A hart that runs it in user mode
 * is not called. The thread's process clears it (proc/signal.c).
 */
void thread_interrupt(struct thread *t);
void thread_wakeup_one(const void *channel); /* the longest sleeper */

/* Whether the caller may sleep: it is a thread whose outermost section began (`saved`) at base level. */
static inline bool thread_may_sleep(crit_t saved)
{
    return crit_is_base(saved) && !sync_hart()->intr_depth && !sync_hart()->in_softint &&
           curhart->thread != sched_hart()->idle;
}

/* Sleep for at least `ticks` clock ticks, and, unless more urgent threads run, less than one more. */
void thread_delay(uint32_t ticks);

/* Preempt the running thread at the next opportunity; sync/sync.h says when. */
void sched_request(void);
void sched_tick(uint32_t ticks); /* ticks since the last call */
void threads_init(void); /* hart 0, before any other call here */
void sched_start_hart(void);
_Noreturn void sched_idle(void);

/* Prints every thread and what it waits for. */
void sched_dump(void);
void sched_print_locks(void); /* the blocking locks that threads hold, in images that keep lists of them */
#endif
