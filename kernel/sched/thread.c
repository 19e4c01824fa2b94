/*
 * The table of threads: their creation and their end. Locking: table_lock (level SPL_SCHED) guards which entries are
 * free, and how many there are; a thread's end is recorded under the lock of its sleep queue (sleep.c), where threads
 * that join it wait.
 */
#include <stddef.h>
#include <string.h>

#include "arch/csr.h"
#include "arch/panic.h"
#include "lib/backtrace.h"
#include "lib/layout.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/lock_debug.h"
#include "lock/lock_held.h"
#include "mem/page.h"
#include "sched/master.h"
#include "sched/runqueue.h"
#include "sched/sched.h"
#include "sched/sleep.h"
#include "sched/switch.h"

/* A thread and its stack, which begins at one of STACK_PLACES cache lines: lib/layout.h. */
#define STACK_PLACES 16
#define LINE 64
struct area {
    uint8_t stack[THREAD_STACK_SIZE + (STACK_PLACES - 1) * LINE];
    struct thread thread;
};

static struct area areas[FIRST_THREADS] __attribute__((section(".noinit")));
DEFINE_SIMPLE_LOCK(table_lock, "threads", SPL_SCHED);

/*
 * Further threads lie in main RAM, in chunks of a few, wherever there are contiguous pages. A chunk gets the lowest
 * free number, and a thread the number of its place; chunks are in a list by number, so no table limits them.
 */
#define CHUNK 8
#define CHUNK_PAGES ((sizeof(struct chunk) + PAGE_MASK) / PAGE_SIZE)
#define LEFT_PAGES 64 /* left for what else a thread and its process need */
struct chunk {
    TAILQ_ENTRY(chunk) all, with_room;
    unsigned number, used;
    struct area area[CHUNK];
#if LOCK_HOOKS
    struct lock_held_list held[CHUNK];
#endif
};
static TAILQ_HEAD(chunk_list, chunk) chunks = TAILQ_HEAD_INITIALIZER(chunks);
static struct chunk_list with_room = TAILQ_HEAD_INITIALIZER(with_room); /* chunks with a free place */
static struct chunk *below; /* all numbers up to its number are in use; 0: not known of any */
static unsigned chunk_count, threads_in_use, first_free; /* no lower place of the first is free */
static bool table_ready; /* false: memory holds no threads yet, as for an early panic */
unsigned thread_limit = ALL_THREADS;

static unsigned table_size(void)
{
    return FIRST_THREADS + chunk_count * CHUNK;
}

static unsigned place_in_chunk(const struct thread *t)
{
    return (t->id - FIRST_THREADS) % CHUNK;
}

/* The chunk of a thread beyond the first. Without table_lock, too, for a thread that is in use. */
static struct chunk *thread_chunk_of(const struct thread *t)
{
    return (struct chunk *)((uintptr_t)t - offsetof(struct chunk, area[0].thread) -
                            place_in_chunk(t) * sizeof(struct area));
}

/*
 * The next place: the first, then each chunk's; 0 after the last. With table_lock held, or when no place changes.
 */
static struct thread *thread_behind(struct thread *t)
{
    struct chunk *c;
    if (!t)
        return table_ready ? &areas[0].thread : 0;
    if (t->id < FIRST_THREADS - 1)
        return &areas[t->id + 1].thread;
    if (t->id == FIRST_THREADS - 1) {
        c = TAILQ_FIRST(&chunks);
    } else {
        c = thread_chunk_of(t);
        if (place_in_chunk(t) < CHUNK - 1)
            return &c->area[place_in_chunk(t) + 1].thread;
        c = TAILQ_NEXT(c, all);
    }
    return c ? &c->area[0].thread : 0;
}

/*
 * This and the following with table_lock held. Chunks of low number fill first, so that the last ones become
 * free.
 */
static void thread_has_room(struct chunk *c)
{
    struct chunk *first = TAILQ_FIRST(&with_room);
    if (!first || c->number < first->number)
        TAILQ_INSERT_HEAD(&with_room, c, with_room);
    else
        TAILQ_INSERT_TAIL(&with_room, c, with_room);
}

static void has_no_room(struct chunk *c)
{
    TAILQ_REMOVE(&with_room, c, with_room);
}

/* The chunk after `c`; after 0, the first. */
static struct chunk *thread_chunk_behind(struct chunk *c)
{
    return c ? TAILQ_NEXT(c, all) : TAILQ_FIRST(&chunks);
}

static unsigned number_behind(const struct chunk *c)
{
    return c ? c->number + 1 : 0;
}

static bool thread_grow(void)
{
    uint32_t page = pages_take_row(CHUNK_PAGES, LEFT_PAGES);
    if (!page)
        return false;
    struct chunk *c = page_pointer(page);
    for (struct chunk *next; (next = thread_chunk_behind(below)) && next->number == number_behind(below);)
        below = next;
    c->number = number_behind(below);
    if (below)
        TAILQ_INSERT_AFTER(&chunks, below, c, all);
    else
        TAILQ_INSERT_HEAD(&chunks, c, all);
    below = c;
    for (unsigned i = 0; i < CHUNK; i++) {
        c->area[i].thread.state = THREAD_FREE;
        c->area[i].thread.id = FIRST_THREADS + c->number * CHUNK + i;
    }
#if LOCK_HOOKS
    memset(c->held, 0, sizeof c->held);
#endif
    c->used = 0;
    chunk_count++;
    thread_has_room(c);
    return true;
}

static void shrink(struct chunk *c)
{
    has_no_room(c);
    if (below && below->number >= c->number)
        below = TAILQ_PREV(c, chunk_list, all);
    TAILQ_REMOVE(&chunks, c, all);
    chunk_count--;
    pages_give_row(page_address(c), CHUNK_PAGES);
}

/* Allocates a free place, with its number; or 0. */
static struct area *take_place(unsigned *number)
{
    unsigned i = first_free;
    while (i < FIRST_THREADS && areas[i].thread.state != THREAD_FREE)
        i++;
    first_free = i < FIRST_THREADS ? i + 1 : i;
    struct area *area = &areas[i];
    if (i == FIRST_THREADS) {
        if (TAILQ_EMPTY(&with_room) && !thread_grow())
            return 0;
        struct chunk *c = TAILQ_FIRST(&with_room);
        unsigned k = 0;
        while (c->area[k].thread.state != THREAD_FREE)
            k++;
        if (++c->used == CHUNK)
            has_no_room(c);
        i += c->number * CHUNK + k;
        area = &c->area[k];
    }
    threads_in_use++;
    *number = i;
    return area;
}

static void free_place(struct thread *t)
{
    threads_in_use--;
    t->state = THREAD_FREE;
    if (t->id < FIRST_THREADS) {
        if (t->id < first_free)
            first_free = t->id;
        return;
    }
    struct chunk *c = thread_chunk_of(t);
    if (c->used-- == CHUNK)
        thread_has_room(c);
    if (!c->used)
        shrink(c);
}

/* For the simulator, which names threads and finds where waiting ones continue; never loaded
 * (sim/harness/machine/image.h). */
__attribute__((section(".interlock.threads"), used)) static const uintptr_t thread_table[] = {
    (uintptr_t)&areas[0].thread,
    sizeof areas[0],
    FIRST_THREADS,
    offsetof(struct thread, name),
    offsetof(struct thread, context.ra),
    offsetof(struct thread, context.s[0]),
};

void threads_init(void)
{
    for (unsigned i = 0; i < FIRST_THREADS; i++) {
        areas[i].thread.state = THREAD_FREE;
        areas[i].thread.id = i;
    }
    sleep_init();
    table_ready = true;
}

/* A new thread begins here, as if it had just been switched to in thread_yield. */
static void thread_begin(void)
{
    struct thread *self = curhart->thread;
#ifdef __GCC_HAVE_DWARF2_CFI_ASM /* not with -g0 */
    __asm__ volatile(".cfi_undefined ra"); /* a debugger's backtrace ends here */
#endif
    sched_switched();
    crit_sec_leave(CRIT_BASE);
    self->fn(self->arg);
    thread_exit();
}

struct thread *thread_allocate(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    if (priority >= PRIORITIES || bound < ANY_HART || bound >= (int)hart_count)
        panic("thread_create: thread %s has priority %u of %u and is bound to hart %d of %u", name, priority,
              PRIORITIES, bound, hart_count);
    simple_lock(&table_lock);
    unsigned i;
    struct area *area = threads_in_use < thread_limit ? take_place(&i) : 0;
    if (!area) {
        simple_unlock(&table_lock);
        return 0;
    }
    struct thread *t = &area->thread;
    *t = (struct thread){.id = i, .name = name, .fn = fn, .arg = arg, .priority = priority, .bound = bound};
    t->state = THREAD_SLEEPING; /* not free, but in no queue yet */
    t->hart = bound == ANY_HART ? (int)curhart->id : bound;
    t->context.ra = (uint32_t)thread_begin;
    crit_timing_new_thread(t);
    t->guard = (uint32_t *)(area->stack + layout_choice(LAYOUT_OF_KERNEL_STACK, i, STACK_PLACES) * LINE);
    t->context.sp = (uint32_t)t->guard + THREAD_STACK_SIZE;
    *t->guard = STACK_GUARD;
    simple_unlock(&table_lock);
    return t;
}

struct thread *thread_create(thread_fn *fn, void *arg, unsigned priority, int bound, const char *name)
{
    crit_t s = crit_sec_enter(SPL_SCHED);
    struct thread *t = thread_allocate(fn, arg, priority, bound, name);
    if (t)
        sched_tell(sched_make_runnable(t));
    crit_sec_leave(s);
    return t;
}

_Noreturn void thread_exit(void)
{
    stack_check(curhart->thread);
    lock_check_exit();
    if (curhart->thread->master_depth)
        master_give_up();
    crit_sec_enter(SPL_SCHED);
    struct thread *self = curhart->thread;
    struct sleep_queue *q = sleep_queue_lock(self);
    self->state = THREAD_DEAD;
    sched_tell(sleep_queue_wake(q, self, ALL_THREADS));
    sched_give_up(sleep_queue_lock_of(q));
    panic("thread_exit: thread %s has run on after its end", self->name);
}

void thread_join(struct thread *t)
{
    if (!t)
        panic("thread_join: thread_create gave no thread, %u are in use and there is no memory", table_size());
    bool in_master = curhart->thread->master_depth;
    if (in_master)
        master_give_up();
    crit_t s = crit_sec_enter(SPL_SCHED);
    struct sleep_queue *q = sleep_queue_lock(t);
    while (t->state != THREAD_DEAD) {
        sleep_queue_sleep(q, t);
        q = sleep_queue_lock(t);
    }
    sleep_queue_unlock(q);
    struct simple_lock *its_hart = run_queue_lock((unsigned)t->hart);
    simple_lock(its_hart); /* until then it may still be on its stack */
    simple_unlock(its_hart);
    simple_lock(&table_lock);
    free_place(t);
    simple_unlock(&table_lock);
    crit_sec_leave(s);
    if (in_master)
        master_take();
}

const char *thread_name(const struct thread *t)
{
    return t->name;
}

bool thread_runs(const struct thread *t)
{
    return *(volatile enum thread_state *)&t->state == THREAD_RUNNING;
}

#if LOCK_HOOKS
static struct lock_held_list thread_held[FIRST_THREADS];

struct lock_held_list *thread_locks(struct thread *t)
{
    return t->id < FIRST_THREADS ? &thread_held[t->id] : &thread_chunk_of(t)->held[place_in_chunk(t)];
}

void sched_print_locks(void)
{
    for (struct thread *t = thread_behind(0); t; t = thread_behind(t))
        lock_held_print("thread", t->id, thread_locks(t));
}
#else
void sched_print_locks(void) {}
#endif

static void explain_overflow(const void *fp)
{
    uint32_t pc[BACKTRACE_MOST];
    backtrace_print(pc, backtrace_collect((uint32_t)fp, pc, BACKTRACE_MOST));
}

static _Noreturn __attribute__((used)) void report_overflow(struct thread *t, const void *fp)
{
    panic_explained(explain_overflow, fp, "thread %s: its kernel stack of %u bytes has overflowed", t->name,
                    t == sched_hart()->idle ? HART_STACK_SIZE : THREAD_STACK_SIZE);
}

/*
 * Memory below the stack is in other use: reports on the hart's boot stack, to which no code returns.
 */
static _Noreturn __attribute__((used)) void overflowed(struct thread *t, const void *fp)
{
    intr_disable();
    register struct thread *a0 __asm__("a0") = t;
    register const void *a1 __asm__("a1") = fp;
    uint8_t *top = boot_stacks + HART_STACK_SIZE * (curhart->id + 1);
    __asm__ volatile("mv sp, %2\n li s0, 0\n j report_overflow" ::"r"(a0), "r"(a1), "r"(top) : "memory");
    __builtin_unreachable();
}

/* With a frame for the backtrace: the compiler creates none in a function that does not return. */
__attribute__((naked)) void stack_overflowed(struct thread *t)
{
    (void)t;
    __asm__ volatile("addi sp, sp, -16\n sw ra, 12(sp)\n sw s0, 8(sp)\n addi s0, sp, 16\n mv a1, s0\n j overflowed");
}

void stack_suspect(const void *fp)
{
    struct thread *t = curhart->thread;
    bool reports = (uintptr_t)fp - (uintptr_t)boot_stacks < HART_STACK_SIZE * MAX_HARTS; /* one already */
    if (t && (t == sched_hart()->idle || !reports) &&
        ((uintptr_t)fp <= (uintptr_t)t->guard || *t->guard != STACK_GUARD))
        overflowed(t, fp);
}

void sched_dump(void)
{
    static const char *const state[] = {"free", "runnable", "running", "sleeping", "dead"};
    for (struct thread *t = thread_behind(0); t; t = thread_behind(t)) {
        if (t->state != THREAD_FREE)
            kprintf("  thread %u %s: %s, priority %u, hart %d%s, channel %p%s\n", t->id, t->name, state[t->state],
                    t->priority, t->hart, t->bound == ANY_HART ? "" : " bound", t->channel,
                    *t->guard == STACK_GUARD ? "" : ", its stack has overflowed");
    }
}

static void thread_report(void)
{
    for (unsigned h = 0; h < hart_count; h++) {
        const struct sync_hart *at = sync_hart_of(&harts[h]);
        if (harts[h].online)
            kprintf("  hart %u: thread %s, level %u, %u handlers, pending %#lx\n", h, harts[h].thread->name,
                    (unsigned)at->level, (unsigned)at->intr_depth, (unsigned long)at->pending);
    }
    sched_dump();
    sched_print_locks();
}

PANIC_REPORT(thread_report);
