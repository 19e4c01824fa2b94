/*
 * The run-time system of MPD programs, as the code that the compiler makes sees it. Processes share one thread of the
 * operating system and give way where they wait, and in loops. Locations are strings "file:line:column".
 */
#ifndef MPD_H
#define MPD_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "csw.h"
#include "values.h"

struct mpd_process;
struct mpd_instance;

struct mpd_queue {
    struct mpd_process *head, *tail; /* where there is no head the tail means nothing */
};

/* Semaphores. */
struct mpd_sem {
    mpd_int value;
    struct mpd_queue waiting;
    const char *name;
};

/* What every switch needs first; each thread of the operating system has its own. */
#define MPD_POOL_SIZES 16
struct mpd_state {
    struct mpd_process *current;
    char *stack_limit;
    struct mpd_queue ready; /* these two where there is one thread */
    struct mpd_process *sleepers;
    int choosing; /* conditions of an input statement are being evaluated */
    int loops;    /* until it gives way */
    const char *location;
    int depth;          /* of the lock */
    int wakes;          /* threads to be woken once it gives up the lock */
    mpd_file held_file; /* whose lock it has */
    char *idle_context;
    struct mpd_process *spare; /* for the next process that this thread makes: its context is built without the lock */
    bool spare_is_built;
    void *pool[MPD_POOL_SIZES];
    int pooled[MPD_POOL_SIZES]; /* where there are several threads */
};
#define mpd_current mpd_now.current
#define mpd_location mpd_now.location

void mpd_sem_init(struct mpd_sem *s, const char *name, mpd_int value, const char *location);
/* An array of them; `values` may be null. */
void mpd_sem_array(struct mpd_array *to, const struct mpd_array *values, int dims, const char *name,
                   const char *location);
void mpd_wait(struct mpd_sem *s, const char *location);
void mpd_wake(struct mpd_sem *s);

/* What threads must not use together, besides all that the lock protects; nothing else is waited for meanwhile. */
enum mpd_exclusive { MPD_LIBRARY, MPD_FILES, MPD_RANDOM, MPD_POOL, MPD_EXCLUSIVES };

/* Of a file that is open. */
void mpd_usable(mpd_file file, const char *location);

/* How many threads of the operating system carry the processes: the way to mpd_now, P, V and the lock. */
#if MPD_THREADS > 1
#include "many.h"
#else
#include "one.h"
#endif

/*
 * Operations. An operation is served by a proc, which the invoking process executes itself unless the proc replies or
 * forwards (`apart`), or by input statements, which take invocations from its queue. A capability is valid as long as
 * its serial number is the operation's.
 */
/* Those that can be waited on come first; an operation that has ended keeps its memory while code may name it. */
enum mpd_kind { MPD_IN, MPD_NOOP, MPD_REMOTE, MPD_PROC, MPD_APART, MPD_ENDED };

struct mpd_invocation;
struct mpd_waiter;

struct mpd_wire;
typedef void *(*mpd_wire_block)(struct mpd_wire *w, void *block, bool out);

struct mpd_op {
    enum mpd_kind kind;
    uint32_t serial;
    const char *name;
    void (*code)(void *block); /* calls the proc with what the block says */
    void *self; /* the proc's resource */
    struct mpd_instance *instance;
    mpd_wire_block wire; /* how its invocations go to another virtual machine, or null */
    mpd_int count;
    struct mpd_invocation *first, *last; /* that wait to be taken */
    struct mpd_waiter *first_waiter, *last_waiter;
    uint32_t watchers; /* virtual machines that are told of the next invocation, a bit each */
    struct mpd_op *next; /* of the instance, or free */
};

struct mpd_cap {
    struct mpd_op *op; /* null: of none */
    uint32_t serial;
};

extern struct mpd_op mpd_noop;

#define MPD_HAS_PROC "this operation has a proc, which serves all its invocations"

struct mpd_op *mpd_make_op(struct mpd_instance *instance, enum mpd_kind kind, const char *name, void (*code)(void *),
                           void *self, mpd_wire_block wire);
void mpd_op_array(struct mpd_array *to, int dims, struct mpd_instance *instance, const char *name, mpd_wire_block wire);
/* At the end of their block. */
void mpd_free_op(struct mpd_op **op);
void mpd_free_ops(struct mpd_array *ops);

static inline struct mpd_cap mpd_cap(struct mpd_op *op)
{
    return (struct mpd_cap){op, op ? op->serial : 0};
}

static inline bool mpd_same_cap(struct mpd_cap a, struct mpd_cap b)
{
    return a.op == b.op && a.serial == b.serial;
}

/* Invocations. The block of one begins with this; arguments and result are behind it. */
struct mpd_co;
#define MPD_CO_VALUES 4

struct mpd_invocation {
    struct mpd_invocation *next;
    struct mpd_op *op;
    struct mpd_process *caller; /* waits for the end, or a reply; null: none does */
    struct mpd_co *co;
    struct mpd_invocation *origin; /* forwarded for this one */
    void *kept; /* memory that goes with the block */
    uint32_t arrival, size;
    uint32_t result, of_origin, result_size; /* where the results of this one and its origin are */
    int references;
    uint16_t arm;
    bool replied;
    bool borrowed; /* of another virtual machine, which gets the results */
    mpd_int values[MPD_CO_VALUES]; /* of the arm's quantifiers */
};

void *mpd_block(size_t size, const char *location);
void mpd_drop(void *block);
void mpd_call(void *block, struct mpd_cap cap, const char *location); /* until the end, or a reply */
const char *mpd_called_at(const struct mpd_invocation *b); /* null: no process waits for it */
void mpd_send(void *block, struct mpd_cap cap, const char *location);
/* For the invocation `for_block`; the offsets of both results, if there are any. */
void mpd_forward(void *block, struct mpd_cap cap, void *for_block, size_t result, size_t of_origin, size_t result_size,
                 const char *location);
void mpd_reply(void *block); /* the address of where the block is: it becomes a copy */
void mpd_finish(void *block); /* the end of what serves the invocation */
struct mpd_text mpd_keep_text(void *block, struct mpd_text text);
struct mpd_array mpd_keep_array(void *block, const struct mpd_array *array, uint32_t size, int dims);
mpd_int mpd_count(struct mpd_cap cap, const char *location);

/* A co statement. */
struct mpd_co *mpd_co_start(void);
void mpd_co_call(struct mpd_co *co, int arm, void *block, struct mpd_cap cap, const char *location);
void *mpd_co_wait(struct mpd_co *co, const char *location); /* null at the end; else drop it */
void mpd_co_end(struct mpd_co *co); /* earlier, too: what still runs is on its own */

/* An input statement: look at the invocations of its operations; if none is acceptable, wait on them and look again. */
struct mpd_in {
    struct mpd_waiter *waiters;
};

static inline void mpd_choose(void) /* from here on queues stay as they are, up to mpd_chosen */
{
    mpd_lock();
}

static inline void mpd_chosen(void)
{
    mpd_unlock();
}

struct mpd_invocation *mpd_first(struct mpd_cap cap, const char *location);
void mpd_awaken_waiters(struct mpd_op *op);
uint32_t mpd_arrivals(void); /* the number of the next invocation that comes */
void mpd_listen(struct mpd_in *in, struct mpd_cap cap, const char *location);
void mpd_in_wait(struct mpd_in *in, const char *location);
void mpd_take(struct mpd_invocation *invocation);
void mpd_withdraw(struct mpd_invocation *invocation); /* from its operation's queue */
void *mpd_receive(struct mpd_cap cap, const char *location); /* the first one */

/* Resources. Memory of an instance goes when it is destroyed. */
struct mpd_instance {
    uint32_t serial;
    bool ending, destroyed;
    int inside; /* invocations of its procs that others execute: they go on after its end */
    int dying; /* processes that other threads execute while it is destroyed, which waits for their end */
    struct mpd_process *destroyer;
    const char *name;
    void (*final)(void *self); /* may be null */
    struct mpd_op *ops;
    void *kept;
    void **exports; /* operations, or arrays of them */
    uint32_t export_count, export_arrays;
    int vm; /* whose it is; 0: this one's */
};

struct mpd_rcap {
    struct mpd_instance *instance;
    uint32_t serial;
};

void *mpd_new_instance(size_t size, const char *name, void (*final)(void *self));
void *mpd_create(void *block, void (*code)(void *block), bool apart, struct mpd_instance *instance,
                 const char *location); /* the instance */
void mpd_destroy(struct mpd_rcap cap, const char *location);
void mpd_destroy_op(struct mpd_cap cap, const char *location);
void mpd_reply_initial(void);
struct mpd_cap mpd_export(struct mpd_rcap cap, int number, const char *location);
struct mpd_array *mpd_export_array(struct mpd_rcap cap, int number, const char *location);

static inline struct mpd_rcap mpd_rcap(void *instance)
{
    struct mpd_instance *i = instance;
    return (struct mpd_rcap){i, i ? i->serial : 0};
}

static inline bool mpd_same_rcap(struct mpd_rcap a, struct mpd_rcap b)
{
    return a.instance == b.instance && a.serial == b.serial;
}

/* Processes. */
void mpd_start(struct mpd_op *op, void *block, const char *location);
_Noreturn void mpd_stop(mpd_int status);
_Noreturn void mpd_end(int status);
void mpd_nap(mpd_int milliseconds, const char *location);
mpd_int mpd_age(void); /* milliseconds since the beginning */

/*
 * Loops give way now and then. A procedure counts the rounds of its loops in a register, down from MPD_LOOPS, and adds
 * them up for its process at its end: a store each round would cost more than many a round does.
 */
#define MPD_LOOPS 10000
void mpd_give_way(void);

static inline void mpd_rounds(int left)
{
    if ((mpd_now.loops -= MPD_LOOPS - left) <= 0)
        mpd_give_way();
}

static inline bool mpd_more(int *rounds)
{
    return __builtin_expect(--*rounds >= 0, 1);
}

static inline void mpd_again(int *rounds)
{
    mpd_give_way();
    *rounds = MPD_LOOPS;
}

/* How many rounds behind this one a loop goes on for before it asks again, of `left`: they are counted already. */
static inline mpd_int mpd_ahead(int *rounds, uint32_t left)
{
    if (!mpd_more(rounds))
        mpd_again(rounds);
    uint32_t most = (uint32_t)*rounds, ahead = left < most ? left : most;
    *rounds -= (int)ahead;
    return (mpd_int)ahead;
}

/* Else the compiler makes one loop of the loop inside and the one around, which has a call that may change memory. */
#define MPD_KEEP(rounds) __asm__ volatile("" : "+r"(rounds))

/*
 * On entry of what has a frame of any size: looks before anything is written where no stack may be, and reports an
 * overflow on another stack.
 */
static inline __attribute__((always_inline)) void mpd_check(void)
{
    char *sp;
#if defined(__riscv)
    __asm__ volatile("mv %0, sp" : "=r"(sp)::"memory");
    if (__builtin_expect(sp < mpd_now.stack_limit, 0)) {
        __asm__ volatile("la sp, mpd_last_stack_end\n tail mpd_stk_overflow");
        __builtin_unreachable();
    }
#else
    __asm__ volatile("mov %%rsp, %0" : "=r"(sp)::"memory");
    if (__builtin_expect(sp < mpd_now.stack_limit, 0)) {
        __asm__ volatile("lea mpd_last_stack_end-8(%rip), %rsp\n jmp mpd_stk_overflow");
        __builtin_unreachable();
    }
#endif
}

static inline __attribute__((always_inline)) void mpd_enter(const char *location)
{
    mpd_location = location;
    mpd_check();
}

/* What expressions need for a while: freed with the statement that they are in. One list for each process. */
void *mpd_temporary(size_t size);
void *mpd_mark(void);
void mpd_release(void *mark);

/* A call of `f`, which does not wait, with room enough for the C library. */
void mpd_on_large_stack(void (*f)(void *), void *argument);

/* Memory of a component's variables; goes with the instance. */
void *mpd_keep(void **list, size_t size);

_Noreturn void mpd_error(const char *location, const char *what);
void *mpd_allocate(size_t size);
mpd_int mpd_cycles(void); /* a counter of time for `external`: cycles on the machine, nanoseconds on the host */

/* Other virtual machines, while there are some (remote.c). */
struct mpd_remote {
    void (*invoke)(struct mpd_invocation *b, struct mpd_op *op, const char *location);
    bool (*wait)(mpd_int milliseconds); /* nothing is ready; false: nothing will be, anywhere. -1: for any time */
    bool (*look)(mpd_int milliseconds);
    void (*end)(int status);
    mpd_int (*count)(struct mpd_op *op, const char *location);
    void (*destroy)(struct mpd_instance *i, const char *location);
    struct mpd_invocation *(*receive)(struct mpd_op *op, const char *location); /* null: there is none to be had */
    void (*watch)(struct mpd_op *op, const char *location); /* its waiters go on when there are more invocations */
    void (*tell)(struct mpd_op *op); /* those that watch it */
    void (*finish)(struct mpd_invocation *b); /* a borrowed one */
};
extern const struct mpd_remote *mpd_remote;

/* The program, which the compiler makes. */
void mpd_globals_initial(void);
extern void (*const mpd_manager)(int argc, char **argv); /* null: it has no virtual machines */
void mpd_main_initial(void);
extern void (*const mpd_main_final)(void); /* may be null */
extern const char *const mpd_main_name;
extern int mpd_argc;
extern char **mpd_argv;

#endif
