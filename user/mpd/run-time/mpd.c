/* Processes, semaphores, operations and their invocations, resources, and how a program ends. */
#include "mpd.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__riscv)
#define STACK_SIZE 8192 /* all of MAX_PROCESSES fit into the memory of a small machine */
#else
#define STACK_SIZE 65536
#endif
#define STACKS_AT_ONCE 32
#define INT_SIZE 12
#define LINE 64
#define MAX_PROCESSES 1000 /* the distribution's default */

struct mpd_process {
    /* What a switch needs is together. */
    struct mpd_process *next; /* in the queue that it is in */
    char *stack;
    struct mpd_queue *queue;  /* of a semaphore, while it waits there */
    const char *waits;        /* for what, else; null: for nothing */
    const char *location;     /* where */
    struct mpd_temporary *temporaries;
    struct mpd_op *op; /* whose invocation it executes */
    void *block;
    struct mpd_process *older, *younger; /* among all there are */
    struct mpd_in *in;                   /* the input statement in which it waits */
    struct mpd_waiter *waiter;           /* or its receive statement */
    struct mpd_invocation *called;       /* or what it has called */
    struct mpd_co *co;                   /* or its co statement */
    struct mpd_process *creates;         /* or the process that executes initial code for it */
    struct mpd_process *creator;         /* that waits for this one's initial code */
    struct mpd_instance *destroys;       /* whose processes it waits for */
    struct mpd_invocation *serves;       /* those that its input statements have taken */
    struct mpd_op *ops;                  /* of its blocks */
    mpd_int awake;                       /* when, while it naps */
    bool naps;
    bool running;                 /* on a thread */
    bool again;                   /* its stack has been another one's */
    struct mpd_instance *doomed;  /* it is destroyed: ends when it comes to the run-time system */
#ifdef __SANITIZE_THREAD__
    void *fiber;
#endif
};

/* One operation that a process waits on. */
struct mpd_waiter {
    struct mpd_process *process;
    struct mpd_in *in; /* null: a receive statement, which takes any invocation */
    struct mpd_op *op;
    struct mpd_waiter *next, *before;
    struct mpd_waiter *of_in; /* the next one of the input statement */
    struct mpd_invocation *given;
};

struct mpd_co {
    int pending;
    bool ended;
    struct mpd_invocation *first, *last; /* those that have ended, in that order */
    struct mpd_process *waits;
};

struct mpd_temporary {
    struct mpd_temporary *next;
    size_t size;
    _Alignas(double) char data[];
};

struct kept {
    struct kept *next;
    _Alignas(double) char data[];
};

int mpd_argc;
char **mpd_argv;
const struct mpd_remote *mpd_remote;
struct mpd_op mpd_noop = {.kind = MPD_NOOP, .name = "noop"};

static struct mpd_process *free_processes, *oldest, *youngest;
static struct mpd_op *free_ops;
static int processes;
static uint32_t arrivals;
static bool main_is_done, final_has_begun;

_Noreturn void mpd_end(int status)
{
    mpd_ending();
    if (mpd_remote)
        mpd_remote->end(status);
    fflush(stdout);
    exit(status);
}

/* Not by fprintf, which wants more of a stack than a process may have left. */
static void say(const char *const *texts)
{
    for (; *texts; texts++)
        fputs(*texts, stderr);
}

_Noreturn void mpd_error(const char *location, const char *what)
{
    mpd_ending();
    fflush(stdout);
    say((const char *[]){location ? location : "mpd", ": ", what, "\n", NULL});
    exit(1);
}

/* For the message about a stack that has no room for it. */
__asm__(".bss\n.balign 16\n.zero 4096\n.globl mpd_last_stack_end\nmpd_last_stack_end:\n.zero 16\n.text");

/* What of the C library wants more of a stack than a process has: numbers with a point. */
#if defined(__riscv)
#define LIBRARY_STACK 20480
static _Alignas(16) char library_stack[LIBRARY_STACK];
void mpd_call_on(void (*f)(void *), void *argument, char *top);
__asm__(".text\n.globl mpd_call_on\nmpd_call_on:\n addi sp, sp, -16\n sw ra, 12(sp)\n sw s1, 8(sp)\n mv s1, sp\n"
        " mv sp, a2\n mv t0, a0\n mv a0, a1\n jalr t0\n mv sp, s1\n lw s1, 8(sp)\n lw ra, 12(sp)\n"
        " addi sp, sp, 16\n ret\n");
#endif

void mpd_on_large_stack(void (*f)(void *), void *argument)
{
#if defined(__riscv)
    mpd_exclude(MPD_LIBRARY);
    mpd_call_on(f, argument, library_stack + LIBRARY_STACK);
    mpd_admit(MPD_LIBRARY);
#else
    f(argument);
#endif
}

_Noreturn void mpd_stk_overflow(void)
{
    mpd_error(mpd_location, "a process overflows its stack");
}

_Noreturn void mpd_stk_underflow(void)
{
    mpd_error(mpd_location, "a process returns from its first procedure");
}

_Noreturn void mpd_stk_corrupted(void)
{
    mpd_error(mpd_location, "a process's stack is overwritten");
}

/* Memory: blocks of a few sizes in lists of their own, since a program makes and frees them all the time. */

#define POOL_STEP 32

struct pooled {
    struct pooled *next, *next_batch;
};

void *mpd_allocate(size_t size)
{
    void *made = calloc(1, size ? size : 1);
    if (!made)
        mpd_error(mpd_location, "there is no memory left");
    return made;
}

#if MPD_THREADS > 1
/* A thread that gives back what others have taken passes it on, a batch at once; else memory would grow for ever. */
#define POOL_BATCH 16
static struct pooled *shared[MPD_POOL_SIZES];

static void share(size_t class)
{
    struct mpd_state *now = mpd_this_thread();
    struct pooled *first = now->pool[class], *last = first;
    for (int i = 1; i < POOL_BATCH; i++)
        last = last->next;
    now->pool[class] = last->next;
    now->pooled[class] -= POOL_BATCH;
    last->next = NULL;
    mpd_exclude(MPD_POOL);
    first->next_batch = shared[class];
    __atomic_store_n(&shared[class], first, __ATOMIC_RELAXED);
    mpd_admit(MPD_POOL);
}

/* One that others have shared, else a new one: malloc has a lock of its own. */
static struct pooled *take_batch(size_t class)
{
    struct pooled *first = NULL;
    if (__atomic_load_n(&shared[class], __ATOMIC_RELAXED)) {
        mpd_exclude(MPD_POOL);
        first = shared[class];
        if (first)
            __atomic_store_n(&shared[class], first->next_batch, __ATOMIC_RELAXED);
        mpd_admit(MPD_POOL);
    }
    if (!first) {
        char *made = mpd_allocate(POOL_BATCH * class * POOL_STEP);
        for (int i = POOL_BATCH - 1; i >= 0; i--) {
            struct pooled *one = (struct pooled *)(void *)(made + (size_t)i * class * POOL_STEP);
            one->next = first;
            first = one;
        }
    }
    mpd_now.pooled[class] = POOL_BATCH;
    return first;
}

static inline void count_given(size_t class)
{
    if (++mpd_now.pooled[class] == 2 * POOL_BATCH)
        share(class);
}

static inline void count_taken(size_t class)
{
    mpd_now.pooled[class]--;
}
#else
static inline struct pooled *take_batch(size_t class)
{
    struct pooled *made = mpd_allocate(class * POOL_STEP);
    made->next = NULL;
    return made;
}

static inline void count_given(size_t class)
{
    (void)class;
}

static inline void count_taken(size_t class)
{
    (void)class;
}
#endif

static void *pool_take(size_t size)
{
    size_t class = (size + POOL_STEP - 1) / POOL_STEP;
    if (class >= MPD_POOL_SIZES) {
        void *made = malloc(size);
        if (!made)
            mpd_error(mpd_location, "there is no memory left");
        return made;
    }
    void **pool = &mpd_now.pool[class];
    struct pooled *made = *pool;
    if (!made)
        made = take_batch(class);
    *pool = made->next;
    count_taken(class);
    return made;
}

static void pool_give(void *block, size_t size)
{
    size_t class = (size + POOL_STEP - 1) / POOL_STEP;
    if (class >= MPD_POOL_SIZES) {
        free(block);
        return;
    }
    struct pooled *given = block;
    void **pool = &mpd_now.pool[class];
    given->next = *pool;
    *pool = given;
    count_given(class);
}

void *mpd_keep(void **list, size_t size)
{
    struct kept *made = calloc(1, sizeof *made + size);
    if (!made)
        mpd_error(mpd_location, "there is no memory left");
    made->next = *list;
    *list = made;
    return made->data;
}

static void free_kept(void **list)
{
    struct kept *next;
    for (struct kept *k = *list; k; k = next) {
        next = k->next;
        free(k);
    }
    *list = NULL;
}

void *mpd_temporary(size_t size)
{
    struct mpd_temporary *made = pool_take(sizeof *made + size);
    made->size = sizeof *made + size;
    made->next = mpd_current->temporaries;
    mpd_current->temporaries = made;
    return made->data;
}

void *mpd_mark(void)
{
    return mpd_current->temporaries;
}

void mpd_release(void *mark)
{
    while (mpd_current->temporaries != mark) {
        struct mpd_temporary *t = mpd_current->temporaries;
        mpd_current->temporaries = t->next;
        pool_give(t, t->size);
    }
}

/* Queues of processes. */

static const char *decimal(mpd_int n, char text[INT_SIZE])
{
    char *at = text + INT_SIZE - 1;
    uint32_t left = n < 0 ? 0 - (uint32_t)n : (uint32_t)n;
    *at = 0;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (n < 0)
        *--at = '-';
    return at;
}

/* Loads before stores: behind a store, which goes out to memory, a load waits. Heads are read without the lock. */
static inline void append(struct mpd_queue *q, struct mpd_process *p)
{
    struct mpd_process *head = q->head, *tail = q->tail;
    p->next = NULL;
    q->tail = p;
    __atomic_store_n(head ? &tail->next : &q->head, p, __ATOMIC_RELAXED);
}

static inline struct mpd_process *take(struct mpd_queue *q)
{
    struct mpd_process *p = q->head;
    if (p)
        __atomic_store_n(&q->head, p->next, __ATOMIC_RELAXED);
    return p;
}

static void take_away(struct mpd_queue *q, struct mpd_process *p)
{
    struct mpd_process *before = NULL;
    for (struct mpd_process *at = q->head; at; before = at, at = at->next) {
        if (at != p)
            continue;
        if (before)
            before->next = p->next;
        else
            __atomic_store_n(&q->head, p->next, __ATOMIC_RELAXED);
        if (q->tail == p)
            q->tail = before;
        return;
    }
}

static bool is_blocked(const struct mpd_process *p)
{
    return p->waits || p->queue;
}

/* The life of a process. */

static struct mpd_process *spawn(struct mpd_op *op, void *block, const char *location);

/* The name of what it waits for, where that has one. */
static const char *waited_for(const struct mpd_process *p)
{
    if (p->queue)
        return ((struct mpd_sem *)(void *)((char *)p->queue - offsetof(struct mpd_sem, waiting)))->name;
    if (p->waiter)
        return p->waiter->op->name;
    if (p->in)
        return p->in->waiters && !p->in->waiters->of_in ? p->in->waiters->op->name : "";
    if (p->called)
        return p->called->op->name;
    return p->creates ? p->creates->op->name : p->destroys ? p->destroys->name : "";
}

static void report(void)
{
    int blocked = 0;
    for (struct mpd_process *p = oldest; p; p = p->younger)
        blocked += is_blocked(p);
    if (!blocked)
        return;
    char count[INT_SIZE];
    say((const char *[]){"mpd: ", decimal(blocked, count), blocked == 1 ? " process is" : " processes are",
                         " blocked at the end:\n", NULL});
    for (struct mpd_process *p = oldest; p; p = p->younger) {
        if (is_blocked(p))
            say((const char *[]){"mpd:   ", p->op->name, " waits for ", p->waits ? p->waits : "", waited_for(p), " at ",
                                 p->location, "\n", NULL});
    }
}

static void run_final(void *block)
{
    (void)block;
    mpd_main_final();
}

static struct mpd_op final_op = {.kind = MPD_PROC, .name = "final code", .code = run_final};

static struct mpd_process **sleeping(void);
static void make_ready(struct mpd_process *p);

static void take_sleeper(struct mpd_process *p)
{
    for (struct mpd_process **at = sleeping(); *at; at = &(*at)->next) {
        if (*at == p) {
            *at = p->next;
            return;
        }
    }
}

static void wake_sleepers(void)
{
    mpd_int now = mpd_age();
    for (struct mpd_process **first = sleeping(), *p; (p = *first) && p->awake - now <= 0;) {
        *first = p->next;
        make_ready(p);
    }
}

/* No process can go on, nor will: the main resource's final code is executed, then the program ends. */
static void all_wait(void)
{
    if (!final_has_begun && mpd_main_final) {
        final_has_begun = true;
        spawn(&final_op, mpd_block(sizeof(struct mpd_invocation), NULL), NULL);
        return;
    }
    mpd_ending();
    fflush(stdout);
    report();
    mpd_end(main_is_done ? 0 : 1);
}

/* Conditions of an input statement are evaluated while a queue is looked through: it must not change meanwhile. */
static void not_choosing(const char *location)
{
    if (mpd_now.choosing)
        mpd_error(location, "a condition of an input statement waits, or serves invocations");
}

static void bury(struct mpd_process *p)
{
    processes--;
    *(p->older ? &p->older->younger : &oldest) = p->younger;
    *(p->younger ? &p->younger->older : &youngest) = p->older;
}

static void abandon(struct mpd_process *p);
static void build(struct mpd_process *p);
static struct mpd_process *new_process(const char *location);

#if MPD_THREADS > 1
#include "schedule_many.h"
#else
#include "schedule_one.h"
#endif

static void make_ready(struct mpd_process *p)
{
    p->waits = NULL;
    append(&ready, p);
    somebody_is_ready();
}

static struct mpd_process **sleeping(void)
{
    return &sleepers;
}

static inline void wait_for(const char *what, const char *location)
{
    struct mpd_process *self = mpd_current;
    not_choosing(location);
    self->waits = what;
    self->location = location;
    give_up(self);
}

static void begin(long process, long b, long c, long d)
{
    (void)b;
    (void)c;
    (void)d;
    struct mpd_process *self = (struct mpd_process *)process;
    void (*code)(void *) = self->op->code; /* before another thread may destroy its resource */
    begun();
    code(self->block);
    mpd_lock();
    mpd_finish(self->block);
    finish();
}

/* Pages that are not touched cost nothing: malloc would clear them. */
static char *new_stack(const char *location)
{
    static char *at;
    static int left;
    if (!left) {
        at = mmap(NULL, STACKS_AT_ONCE * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            mpd_error(location, "there is no memory left for a process");
        left = STACKS_AT_ONCE;
    }
    char *stack = at;
    at += STACK_SIZE;
    left--;
    return stack;
}

/* All but what it executes. */
static void build(struct mpd_process *p)
{
    p->waits = NULL;
    p->queue = NULL;
    p->in = NULL;
    p->waiter = NULL;
    p->called = NULL;
    p->co = NULL;
    p->creates = NULL;
    p->creator = NULL;
    p->destroys = NULL;
    p->serves = NULL;
    p->ops = NULL;
    p->naps = false;
    p->running = false;
    p->doomed = NULL;
    p->temporaries = NULL;
    new_context(p, p->again);
    p->again = true;
    mpd_build_context(begin, p->stack, STACK_SIZE, (long)p, 0, 0, 0);
}

static struct mpd_process *new_process(const char *location)
{
    struct mpd_process *p = free_processes;
    if (p) {
        free_processes = p->next;
    } else {
        p = aligned_alloc(LINE, (sizeof *p + LINE - 1) & ~(LINE - 1ul));
        if (!p)
            mpd_error(location, "there is no memory left for a process");
        p->stack = new_stack(location);
        p->again = false;
    }
    return p;
}

static struct mpd_process *spawn(struct mpd_op *op, void *block, const char *location)
{
    if (processes == MAX_PROCESSES)
        mpd_error(location, "there are too many processes");
    processes++;
    struct mpd_process *p = take_spare(location);
    reserve_spare();
    p->op = op;
    p->block = block;
    p->older = youngest;
    p->younger = NULL;
    *(youngest ? &youngest->younger : &oldest) = p;
    youngest = p;
    append(&ready, p);
    somebody_is_ready();
    return p;
}

void mpd_start(struct mpd_op *op, void *block, const char *location)
{
    struct mpd_invocation *b = block;
    b->op = op;
    b->replied = true;
    build_spare(location);
    mpd_lock();
    spawn(op, block, location);
    mpd_unlock();
}

void mpd_give_way(void)
{
    mpd_now.loops = MPD_LOOPS;
    if (mpd_now.choosing)
        return;
    if (mpd_remote)
        mpd_remote->look(0);
    mpd_lock();
    append(&ready, mpd_current);
    give_up(mpd_current);
    mpd_unlock();
}

static struct timespec started;

mpd_int mpd_age(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (mpd_int)((t.tv_sec - started.tv_sec) * 1000 + (t.tv_nsec - started.tv_nsec) / 1000000);
}

void mpd_nap(mpd_int milliseconds, const char *location)
{
    struct mpd_process *self = mpd_current;
    if (milliseconds <= 0) {
        mpd_give_way();
        return;
    }
    mpd_lock();
    self->awake = mpd_age() + milliseconds;
    struct mpd_process **at = &sleepers;
    while (*at && (*at)->awake - self->awake <= 0)
        at = &(*at)->next;
    not_choosing(location);
    self->next = *at;
    *at = self;
    self->naps = true;
    wait_for("the end of a nap", location);
    self->naps = false;
    mpd_unlock();
}

_Noreturn void mpd_stop(mpd_int status)
{
    if (!status && mpd_main_final && !final_has_begun) {
        final_has_begun = true;
        mpd_main_final();
    }
    mpd_end(status);
}

/* Semaphores. */

void mpd_sem_init(struct mpd_sem *s, const char *name, mpd_int value, const char *location)
{
    if (value < 0)
        mpd_error(location, "a semaphore's first value is negative");
    *s = (struct mpd_sem){.value = value, .name = name};
}

static uint32_t count_of(const struct mpd_array *a, int dims)
{
    uint32_t count = 1;
    for (int i = 0; i < dims; i++)
        count *= a->d[i].count;
    return count;
}

void mpd_sem_array(struct mpd_array *to, const struct mpd_array *values, int dims, const char *name,
                   const char *location)
{
    struct mpd_sem *s = (struct mpd_sem *)(void *)to->data;
    uint32_t count = count_of(to, dims);
    struct mpd_array first = {0};
    if (values) {
        first = mpd_copy_array(values, sizeof(mpd_int), dims);
        if (count_of(values, dims) != count)
            mpd_error(location, "arrays of different sizes");
    }
    for (uint32_t i = 0; i < count; i++)
        mpd_sem_init(&s[i], name, values ? ((mpd_int *)(void *)first.data)[i] : 0, location);
    mpd_free_array(&first);
}

/* Operations. */

struct mpd_op *mpd_make_op(struct mpd_instance *instance, enum mpd_kind kind, const char *name, void (*code)(void *),
                           void *self, mpd_wire_block wire)
{
    mpd_lock();
    struct mpd_op *op = free_ops;
    uint32_t serial = 1;
    if (op) {
        free_ops = op->next;
        serial = op->serial;
    } else {
        op = mpd_allocate(sizeof *op);
    }
    *op = (struct mpd_op){
        .kind = kind, .serial = serial, .name = name, .code = code, .self = self, .instance = instance, .wire = wire};
    struct mpd_op **list = instance ? &instance->ops : &mpd_current->ops;
    op->next = *list;
    *list = op;
    mpd_unlock();
    return op;
}

void mpd_op_array(struct mpd_array *to, int dims, struct mpd_instance *instance, const char *name, mpd_wire_block wire)
{
    struct mpd_op **op = (struct mpd_op **)(void *)to->data;
    for (uint32_t count = count_of(to, dims); count; count--)
        *op++ = mpd_make_op(instance, MPD_IN, name, NULL, NULL, wire);
}

static void complete(struct mpd_invocation *b);

/* Its serial number is not that of old capabilities; code that has it by its name finds that it has ended. */
static void end_op(struct mpd_op *op)
{
    if (op->kind == MPD_ENDED)
        return;
    op->kind = MPD_ENDED;
    op->serial++;
    struct mpd_invocation *next;
    for (struct mpd_invocation *b = op->first; b; b = next) {
        next = b->next;
        if (!b->replied)
            complete(b);
        mpd_drop(b);
    }
    op->first = op->last = NULL;
    mpd_awaken_waiters(op); /* which find that it no longer exists */
}

/* The memory of all of a list is taken again for others. */
static void free_op_list(struct mpd_op **list)
{
    struct mpd_op *next;
    for (struct mpd_op *op = *list; op; op = next) {
        next = op->next;
        end_op(op);
        op->next = free_ops;
        free_ops = op;
    }
    *list = NULL;
}

static struct mpd_op **find_local(struct mpd_op *op)
{
    struct mpd_op **at = &mpd_current->ops;
    while (*at && *at != op)
        at = &(*at)->next;
    return at;
}

/* An operation of a block, at the end of that. */
static void end_local(struct mpd_op *op)
{
    mpd_lock();
    struct mpd_op **at = find_local(op);
    if (*at) {
        *at = op->next;
        op->next = NULL;
        free_op_list(&op);
    }
    mpd_unlock();
}

void mpd_free_op(struct mpd_op **op)
{
    end_local(*op);
}

void mpd_free_ops(struct mpd_array *ops)
{
    int dims = 0;
    while (dims < MPD_DIMENSIONS && ops->d[dims].stride)
        dims++;
    struct mpd_op **op = (struct mpd_op **)(void *)ops->data;
    for (uint32_t count = dims ? count_of(ops, dims) : 0; count; count--)
        end_local(*op++);
    mpd_free_array(ops);
}

void mpd_destroy_op(struct mpd_cap cap, const char *location)
{
    if (!cap.op || cap.op == &mpd_noop)
        return;
    not_choosing(location);
    mpd_lock();
    if (cap.serial != cap.op->serial || cap.op->kind == MPD_ENDED || !*find_local(cap.op))
        mpd_error(location, "this operation cannot be destroyed, or is already");
    end_op(cap.op);
    mpd_unlock();
}

/* One that can be waited on. */
static struct mpd_op *valid(struct mpd_cap cap, const char *location);

_Noreturn static void ended(const char *location)
{
    mpd_error(location, "a capability's operation no longer exists");
}

_Noreturn static void cannot_wait(const struct mpd_op *op, const char *location)
{
    if (op->kind == MPD_ENDED)
        ended(location);
    mpd_error(location, MPD_HAS_PROC);
}

static struct mpd_op *here(struct mpd_cap cap, const char *location)
{
    struct mpd_op *op = valid(cap, location);
    if (op->kind > MPD_REMOTE)
        cannot_wait(op, location);
    return op;
}

static struct mpd_op *valid(struct mpd_cap cap, const char *location)
{
    if (!cap.op)
        mpd_error(location, "a capability is null");
    if (cap.serial != cap.op->serial)
        ended(location);
    return cap.op;
}

/* Waiting on operations. */

static void unlink_waiter(struct mpd_waiter *w)
{
    struct mpd_op *op = w->op;
    *(w->before ? &w->before->next : &op->first_waiter) = w->next;
    *(w->next ? &w->next->before : &op->last_waiter) = w->before;
}

static void link_waiter(struct mpd_waiter *w, struct mpd_op *op)
{
    w->op = op;
    w->next = NULL;
    w->before = op->last_waiter;
    *(op->last_waiter ? &op->last_waiter->next : &op->first_waiter) = w;
    op->last_waiter = w;
}

static void end_in(struct mpd_in *in)
{
    struct mpd_waiter *next;
    for (struct mpd_waiter *w = in->waiters; w; w = next) {
        next = w->of_in;
        unlink_waiter(w);
        pool_give(w, sizeof *w);
    }
    in->waiters = NULL;
}

void mpd_awaken_waiters(struct mpd_op *op)
{
    struct mpd_waiter *w;
    if (op->watchers)
        mpd_remote->tell(op);
    while ((w = op->first_waiter)) {
        make_ready(w->process);
        if (w->in)
            end_in(w->in);
        else
            unlink_waiter(w);
    }
}

/*
 * A receive statement that waits first gets the invocation itself; where an input statement waits first it may refuse
 * it, so all that wait look again, in their order.
 */
static void arrive(struct mpd_op *op, struct mpd_invocation *b)
{
    struct mpd_waiter *w = op->first_waiter;
    if (w && !w->in) {
        unlink_waiter(w);
        w->given = b;
        make_ready(w->process);
        return;
    }
    b->next = NULL;
    b->arrival = arrivals++;
    *(op->last ? &op->last->next : &op->first) = b;
    op->last = b;
    op->count++;
    mpd_awaken_waiters(op);
}

uint32_t mpd_arrivals(void)
{
    return arrivals;
}

struct mpd_invocation *mpd_first(struct mpd_cap cap, const char *location)
{
    return here(cap, location)->first;
}

void mpd_listen(struct mpd_in *in, struct mpd_cap cap, const char *location)
{
    struct mpd_waiter *w = pool_take(sizeof *w);
    w->process = mpd_current;
    w->in = in;
    w->of_in = in->waiters;
    in->waiters = w;
    link_waiter(w, cap.op);
    if (cap.op->kind == MPD_REMOTE)
        mpd_remote->watch(cap.op, location);
}

void mpd_in_wait(struct mpd_in *in, const char *location)
{
    struct mpd_process *self = mpd_current;
    self->in = in;
    wait_for(!in->waiters         ? "nothing"
             : in->waiters->of_in ? "one of several operations"
                                  : "an invocation of ",
             location);
    self->in = NULL;
}

void mpd_withdraw(struct mpd_invocation *b)
{
    struct mpd_op *op = b->op;
    struct mpd_invocation *before = NULL;
    for (struct mpd_invocation *at = op->first; at != b; at = at->next)
        before = at;
    *(before ? &before->next : &op->first) = b->next;
    if (op->last == b)
        op->last = before;
    op->count--;
}

void mpd_take(struct mpd_invocation *b)
{
    not_choosing(mpd_location);
    mpd_withdraw(b);
    b->next = mpd_current->serves;
    mpd_current->serves = b;
}

void *mpd_receive(struct mpd_cap cap, const char *location)
{
    mpd_lock();
    for (;;) {
        struct mpd_op *op = here(cap, location);
        struct mpd_invocation *b = op->kind == MPD_REMOTE ? mpd_remote->receive(op, location) : op->first;
        if (b) {
            mpd_take(b);
            mpd_unlock();
            return b;
        }
        struct mpd_waiter w = {.process = mpd_current};
        link_waiter(&w, op);
        if (op->kind == MPD_REMOTE)
            mpd_remote->watch(op, location);
        mpd_current->waiter = &w;
        wait_for("an invocation of ", location);
        w.process->waiter = NULL;
        if (w.given) {
            w.given->next = w.process->serves;
            w.process->serves = w.given;
            mpd_unlock();
            return w.given;
        }
    }
}

mpd_int mpd_count(struct mpd_cap cap, const char *location)
{
    mpd_lock();
    struct mpd_op *op = valid(cap, location);
    if (op->kind == MPD_ENDED)
        ended(location);
    mpd_int count = op->kind == MPD_REMOTE ? mpd_remote->count(op, location) : op->count;
    mpd_unlock();
    return count;
}

/* Invocations. */

void *mpd_block(size_t size, const char *location)
{
    mpd_location = location;
    struct mpd_invocation *b = pool_take(size);
    b->caller = NULL;
    b->co = NULL;
    b->origin = NULL;
    b->kept = NULL;
    b->size = (uint32_t)size;
    b->references = 1;
    b->replied = false;
    b->borrowed = false;
    return b;
}

void mpd_drop(void *block)
{
    struct mpd_invocation *next;
    for (struct mpd_invocation *b = block; b && drop_reference(&b->references); b = next) {
        next = b->origin;
        if (b->kept)
            free_kept(&b->kept);
        pool_give(b, b->size);
    }
}

struct mpd_text mpd_keep_text(void *block, struct mpd_text text)
{
    struct mpd_invocation *b = block;
    char *data = mpd_keep(&b->kept, (size_t)text.length);
    memcpy(data, text.data, (size_t)text.length);
    return (struct mpd_text){data, text.length};
}

struct mpd_array mpd_keep_array(void *block, const struct mpd_array *array, uint32_t size, int dims)
{
    struct mpd_invocation *b = block;
    mpd_int bounds[2 * MPD_DIMENSIONS];
    for (int i = 0; i < dims; i++) {
        bounds[2 * i] = array->d[i].low;
        bounds[2 * i + 1] = array->d[i].low + (mpd_int)array->d[i].count - 1;
    }
    struct mpd_array made = mpd_make_array(&b->kept, size, dims, bounds, mpd_location);
    mpd_assign_array(&made, array, size, dims, mpd_location);
    return made;
}

static void co_done(struct mpd_invocation *b)
{
    struct mpd_co *co = b->co;
    if (co->ended) {
        mpd_drop(b);
        if (!--co->pending)
            pool_give(co, sizeof *co);
        return;
    }
    b->next = NULL;
    *(co->first ? &co->last->next : &co->first) = b;
    co->last = b;
    if (co->waits) {
        make_ready(co->waits);
        co->waits = NULL;
    }
}

/* The invoker goes on. */
static void complete(struct mpd_invocation *b)
{
    b->replied = true;
    /* What forwarded counts as replied since then. */
    for (struct mpd_invocation *origin = b->origin; origin; b = origin, origin = b->origin)
        memcpy((char *)origin + b->of_origin, (char *)b + b->result, b->result_size);
    if (b->caller) {
        b->caller->called = NULL;
        make_ready(b->caller);
        b->caller = NULL;
    } else if (b->co) {
        co_done(b);
    } else if (b->borrowed) {
        mpd_remote->finish(b);
    }
}

static void serve_no_longer(struct mpd_invocation *b)
{
    for (struct mpd_invocation **at = &mpd_current->serves; *at; at = &(*at)->next) {
        if (*at == b) {
            *at = b->next;
            return;
        }
    }
}

void mpd_finish(void *block)
{
    struct mpd_invocation *b = block;
    mpd_lock();
    serve_no_longer(b);
    if (!b->replied)
        complete(b);
    mpd_drop(b);
    mpd_unlock();
}

/* What serves goes on with a copy: what it does to the parameters now is not the invoker's business. */
static void *mpd_replied(struct mpd_invocation *b)
{
    struct mpd_invocation *copy = pool_take(b->size);
    memcpy(copy, b, b->size);
    copy->references = 1;
    copy->replied = true;
    copy->caller = NULL;
    copy->co = NULL;
    copy->kept = NULL;
    copy->origin = b;
    return copy;
}

void mpd_reply(void *block)
{
    void **at = block;
    struct mpd_invocation *b = *at;
    if (!b || b->replied)
        return;
    mpd_lock();
    struct mpd_invocation *copy = mpd_replied(b);
    *at = copy;
    if (mpd_current->block == b) {
        mpd_current->block = copy;
    } else {
        serve_no_longer(b);
        copy->next = mpd_current->serves;
        mpd_current->serves = copy;
    }
    complete(b);
    mpd_unlock();
}

const char *mpd_called_at(const struct mpd_invocation *b)
{
    const struct mpd_process *p = b->caller ? b->caller : b->co ? b->co->waits : NULL;
    return p ? p->location : NULL;
}

static void invoke(struct mpd_invocation *b, struct mpd_op *op, const char *location)
{
    b->op = op;
    if (op->kind == MPD_IN)
        arrive(op, b);
    else if (op->kind == MPD_REMOTE)
        mpd_remote->invoke(b, op, location);
    else if (op->kind == MPD_ENDED)
        ended(location);
    else
        spawn(op, b, location);
}

static void free_instance(struct mpd_instance *i)
{
    free_kept(&i->kept);
    free_op_list(&i->ops);
}

/* Code of an instance by a process of another one: its memory stays until then. */
static void execute(struct mpd_instance *i, void (*code)(void *), void *block)
{
    mpd_lock();
    i->inside++;
    mpd_unlock();
    code(block);
    mpd_lock();
    if (!--i->inside && i->destroyed)
        free_instance(i);
    mpd_unlock();
}

void mpd_call(void *block, struct mpd_cap cap, const char *location)
{
    struct mpd_invocation *b = block;
    build_spare(location);
    mpd_lock();
    struct mpd_op *op = valid(cap, location);
    if (op->kind == MPD_NOOP) {
        mpd_unlock();
        return;
    }
    if (op->kind == MPD_PROC) {
        b->op = op;
        b->replied = true;
        mpd_unlock();
        execute(op->instance, op->code, block);
        return;
    }
    b->references = 2;
    b->caller = mpd_current;
    mpd_current->called = b;
    invoke(b, op, location);
    wait_for("the end of ", location);
    mpd_unlock();
}

void mpd_send(void *block, struct mpd_cap cap, const char *location)
{
    struct mpd_invocation *b = block;
    build_spare(location);
    mpd_lock();
    struct mpd_op *op = valid(cap, location);
    b->replied = true;
    if (op->kind == MPD_NOOP)
        mpd_drop(b);
    else
        invoke(b, op, location);
    mpd_unlock();
}

void mpd_forward(void *block, struct mpd_cap cap, void *for_block, size_t result, size_t of_origin, size_t result_size,
                 const char *location)
{
    struct mpd_invocation *b = block, *origin = for_block;
    if (!origin || origin->replied) {
        mpd_send(block, cap, location);
        return;
    }
    mpd_lock();
    struct mpd_op *op = valid(cap, location);
    origin->replied = true;
    b->origin = origin;
    b->result = (uint32_t)result;
    b->of_origin = (uint32_t)of_origin;
    b->result_size = (uint32_t)result_size;
    add_reference(&origin->references);
    b->op = op;
    if (op->kind == MPD_NOOP)
        mpd_finish(b);
    else
        invoke(b, op, location);
    mpd_unlock();
}

struct mpd_co *mpd_co_start(void)
{
    struct mpd_co *co = pool_take(sizeof *co);
    *co = (struct mpd_co){.pending = 0};
    return co;
}

void mpd_co_call(struct mpd_co *co, int arm, void *block, struct mpd_cap cap, const char *location)
{
    struct mpd_invocation *b = block;
    build_spare(location);
    mpd_lock();
    struct mpd_op *op = valid(cap, location);
    b->co = co;
    b->arm = (uint16_t)arm;
    b->references = 2;
    co->pending++;
    if (op->kind == MPD_NOOP) {
        b->op = op;
        mpd_finish(b);
    } else {
        invoke(b, op, location);
    }
    mpd_unlock();
}

void *mpd_co_wait(struct mpd_co *co, const char *location)
{
    if (!co->pending) /* only this process adds to it, or takes away */
        return NULL;
    mpd_lock();
    while (!co->first) {
        struct mpd_process *self = mpd_current;
        self->co = co;
        co->waits = self;
        wait_for("an arm of co", location);
        self->co = NULL;
    }
    struct mpd_invocation *ended = co->first;
    co->first = ended->next;
    co->pending--;
    mpd_unlock();
    return ended;
}

void mpd_co_end(struct mpd_co *co)
{
    if (!co->pending) { /* no other reference is left */
        pool_give(co, sizeof *co);
        return;
    }
    mpd_lock();
    while (co->first) {
        struct mpd_invocation *b = co->first;
        co->first = b->next;
        co->pending--;
        mpd_drop(b);
    }
    co->ended = true;
    if (!co->pending)
        pool_give(co, sizeof *co);
    mpd_unlock();
}

/* Resources. */

void *mpd_new_instance(size_t size, const char *name, void (*final)(void *))
{
    struct mpd_instance *i = mpd_allocate(size);
    i->serial = 1;
    i->name = name;
    i->final = final;
    return i;
}

static void run_initial(void *block)
{
    struct mpd_invocation *b = block;
    void (*code)(void *);
    memcpy(&code, b->values, sizeof code);
    code(block);
    mpd_reply_initial();
}

void mpd_reply_initial(void)
{
    mpd_lock();
    struct mpd_process *creator = mpd_current->creator;
    if (creator) {
        mpd_current->creator = NULL;
        creator->creates = NULL;
        make_ready(creator);
    }
    mpd_unlock();
}

_Static_assert(sizeof(void (*)(void)) <= sizeof(mpd_int[MPD_CO_VALUES]), "a function's address fits");

/* The creator executes the initial code itself, unless that may reply. */
void *mpd_create(void *block, void (*code)(void *), bool apart, struct mpd_instance *instance, const char *location)
{
    struct mpd_invocation *b = block;
    b->replied = true;
    if (!apart) {
        execute(instance, code, block);
        mpd_drop(b);
        return instance;
    }
    mpd_lock();
    struct mpd_op *op = mpd_make_op(instance, MPD_PROC, instance->name, run_initial, instance, NULL);
    memcpy(b->values, &code, sizeof code);
    b->op = op;
    struct mpd_process *p = spawn(op, block, location);
    p->creator = mpd_current;
    mpd_current->creates = p;
    wait_for("the initial code of ", location);
    mpd_unlock();
    return instance;
}

/* What a process that ends early has taken on ends as far as it has come. */
static void abandon(struct mpd_process *p)
{
    if (p->waiter && p->waiter->given) {
        p->waiter->given->next = p->serves;
        p->serves = p->waiter->given;
    }
    struct mpd_invocation *next, *own = p->block;
    for (struct mpd_invocation *b = p->serves; b; b = next) {
        next = b->next;
        if (!b->replied)
            complete(b);
        mpd_drop(b);
    }
    if (!own->replied)
        complete(own);
    mpd_drop(own);
    if (p->creator) {
        p->creator->creates = NULL;
        make_ready(p->creator);
    }
    free_op_list(&p->ops);
}

/* The process that serves its invocation continues; the result is dropped. */
static void kill_process(struct mpd_process *p)
{
    if (runs_elsewhere(p)) {
        doom(p);
        return;
    }
    if (p->queue)
        take_away(p->queue, p);
    else if (p->in)
        end_in(p->in);
    else if (p->waiter && p->waits)
        unlink_waiter(p->waiter);
    else if (p->called)
        p->called->caller = NULL;
    else if (p->co)
        p->co->waits = NULL;
    else if (p->creates)
        p->creates->creator = NULL;
    else if (p->destroys) {
        p->destroys->destroyer = NULL;
        p->destroys->inside--;
    } else if (p->naps)
        take_sleeper(p);
    if (!is_blocked(p))
        take_away(&ready, p);
    abandon(p);
    bury(p);
    p->next = free_processes;
    free_processes = p;
}

void mpd_destroy(struct mpd_rcap cap, const char *location)
{
    struct mpd_instance *i = cap.instance;
    if (!i)
        return;
    not_choosing(location);
    if (i->vm) {
        mpd_remote->destroy(i, location);
        return;
    }
    mpd_lock();
    if (i->ending || i->destroyed || cap.serial != i->serial)
        mpd_error(location, "this resource is destroyed already");
    i->ending = true;
    mpd_unlock();
    if (i->final)
        i->final(i);
    mpd_lock();
    i->destroyed = true;
    i->serial++;
    struct mpd_process *younger;
    bool own = false;
    for (struct mpd_process *p = oldest; p; p = younger) {
        younger = p->younger;
        if (p->op->instance != i)
            continue;
        if (p == mpd_current)
            own = true;
        else
            kill_process(p);
    }
    for (struct mpd_op *op = i->ops; op; op = op->next)
        end_op(op);
    if (i->dying) {
        i->inside++;
        i->destroyer = mpd_current;
        mpd_current->destroys = i;
        wait_for("the end of the processes of ", location);
        mpd_current->destroys = NULL;
        i->inside--;
    }
    if (!i->inside)
        free_instance(i);
    if (own) {
        abandon(mpd_current);
        finish();
    }
    mpd_unlock();
}

static struct mpd_instance *existing(struct mpd_rcap cap, const char *location)
{
    if (!cap.instance)
        mpd_error(location, "a capability is null");
    if (cap.instance->destroyed || cap.serial != cap.instance->serial)
        mpd_error(location, "a capability's resource no longer exists");
    return cap.instance;
}

struct mpd_cap mpd_export(struct mpd_rcap cap, int number, const char *location)
{
    return mpd_cap(existing(cap, location)->exports[number]);
}

struct mpd_array *mpd_export_array(struct mpd_rcap cap, int number, const char *location)
{
    struct mpd_instance *i = existing(cap, location);
    if (i->vm)
        mpd_error(location, "arrays of operations stay in their virtual machine");
    return i->exports[number];
}

/* The program. */

mpd_int mpd_cycles(void)
{
#if defined(__riscv)
    uint32_t v;
    __asm__ volatile("rdcycle %0" : "=r"(v)::"memory");
    return (mpd_int)v;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (mpd_int)((uint32_t)t.tv_sec * 1000000000u + (uint32_t)t.tv_nsec);
#endif
}

static void run_main(void *block)
{
    (void)block;
    mpd_main_initial();
    main_is_done = true;
}

/* Of a virtual machine that another one has created. */
static void run_vm(void *block)
{
    (void)block;
    mpd_globals_initial();
}

static struct mpd_op main_op = {.kind = MPD_PROC, .code = run_main};

int main(int argc, char **argv)
{
    mpd_argc = argc;
    mpd_argv = argv;
    clock_gettime(CLOCK_MONOTONIC, &started);
    main_op.name = mpd_main_name;
    if (mpd_manager && argc > 1 && !strcmp(argv[1], "mpdx")) {
        mpd_manager(argc, argv);
        main_op.code = run_vm;
    }
    mpd_now.loops = MPD_LOOPS;
    mpd_start(&main_op, mpd_block(sizeof(struct mpd_invocation), NULL), NULL);
    carry();
}
