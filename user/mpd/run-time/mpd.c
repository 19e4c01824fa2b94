/* Processes, semaphores, invocations, and how a program ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpd.h"

#if defined(__riscv)
#define STACK_SIZE (8192 + 448) /* no multiple of a cache's way: else all stacks would share its lines */
#else
#define STACK_SIZE 65536
#endif
#define INT_SIZE 12
#define MAX_PROCESSES 1000 /* the distribution's default */

struct mpd_process {
    struct mpd_process *next;                /* in the queue that it is in */
    struct mpd_process *older, *younger;     /* among all there are */
    char *stack;
    struct mpd_invocation *block;
    struct mpd_sem *waits_for;
    const char *location; /* where */
};

struct mpd_process *mpd_current;
char *mpd_current_stack;
const char *mpd_location;
int mpd_loops = MPD_LOOPS;

static struct mpd_queue ready;
static struct mpd_process *free_processes, *oldest, *youngest;
static int processes;
static bool main_is_done, final_has_begun;

_Noreturn static void end(int status)
{
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
    fflush(stdout);
    say((const char *[]){location ? location : "mpd", ": ", what, "\n", NULL});
    exit(1);
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

void *mpd_allocate(size_t size)
{
    void *made = calloc(1, size);
    if (!made)
        mpd_error(mpd_location, "there is no memory left");
    return made;
}

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

static void append(struct mpd_queue *q, struct mpd_process *p)
{
    p->next = NULL;
    if (q->tail)
        q->tail->next = p;
    else
        q->head = p;
    q->tail = p;
}

static struct mpd_process *take(struct mpd_queue *q)
{
    struct mpd_process *p = q->head;
    if (p) {
        q->head = p->next;
        if (!q->head)
            q->tail = NULL;
    }
    return p;
}

/* The life of a process. */

static void spawn(struct mpd_invocation *block, const char *location);

static void report(void)
{
    int blocked = 0;
    for (struct mpd_process *p = oldest; p; p = p->younger)
        blocked += p->waits_for != NULL;
    if (!blocked)
        return;
    char count[INT_SIZE];
    say((const char *[]){"mpd: ", decimal(blocked, count), blocked == 1 ? " process is" : " processes are",
                         " blocked at the end:\n", NULL});
    for (struct mpd_process *p = oldest; p; p = p->younger) {
        if (p->waits_for)
            say((const char *[]){"mpd:   ", p->block->name, " waits for ", p->waits_for->name, " at ", p->location,
                                 "\n", NULL});
    }
}

static void run_final(void *block)
{
    (void)block;
    mpd_main_final();
}

/* Nothing is ready: the main resource's final code is executed, then the program ends. */
static struct mpd_process *quiescent(void)
{
    if (!final_has_begun && mpd_main_final) {
        final_has_begun = true;
        spawn(mpd_block(sizeof(struct mpd_invocation), run_final, "final code", NULL), NULL);
        return take(&ready);
    }
    fflush(stdout);
    report();
    end(main_is_done ? 0 : 1);
}

static void run(struct mpd_process *p, char *save)
{
    mpd_current = p;
    mpd_current_stack = p->stack;
    mpd_chg_context(p->stack, save);
}

/* Goes on with the next process that is ready. The current one is in a queue. */
static void give_up(void)
{
    struct mpd_process *self = mpd_current, *p = take(&ready);
    if (!p)
        p = quiescent();
    if (p != self)
        run(p, self->stack);
}

_Noreturn static void finish(void)
{
    struct mpd_process *self = mpd_current;
    *(self->older ? &self->older->younger : &oldest) = self->younger;
    *(self->younger ? &self->younger->older : &youngest) = self->older;
    struct mpd_process *p = take(&ready);
    if (!p)
        p = quiescent();
    /* Only now: quiescent() takes a stack, and this one is in use. */
    self->next = free_processes;
    free_processes = self;
    run(p, NULL);
    __builtin_unreachable();
}

static void begin(long process, long b, long c, long d)
{
    (void)b;
    (void)c;
    (void)d;
    struct mpd_process *self = (struct mpd_process *)process;
    struct mpd_invocation *block = self->block;
    block->code(block);
    if (block->co) {
        struct mpd_co *co = block->co;
        *(co->first ? &co->last->next : &co->first) = block;
        co->last = block;
        mpd_V(&co->done);
    } else if (block->done) {
        mpd_V(block->done);
    } else {
        free(block);
    }
    finish();
}

static void spawn(struct mpd_invocation *block, const char *location)
{
    struct mpd_process *p = free_processes;
    if (p) {
        free_processes = p->next;
    } else {
        if (processes == MAX_PROCESSES)
            mpd_error(location, "there are too many processes");
        processes++;
        p = mpd_allocate(sizeof *p);
        p->stack = aligned_alloc(16, STACK_SIZE);
        if (!p->stack)
            mpd_error(location, "there is no memory left for a process");
    }
    p->block = block;
    p->waits_for = NULL;
    p->older = youngest;
    p->younger = NULL;
    *(youngest ? &youngest->younger : &oldest) = p;
    youngest = p;
    mpd_build_context(begin, p->stack, STACK_SIZE, (long)p, 0, 0, 0);
    append(&ready, p);
}

void mpd_give_way(void)
{
    mpd_loops = MPD_LOOPS;
    append(&ready, mpd_current);
    give_up();
}

/* Semaphores. */

void mpd_sem_init(struct mpd_sem *s, const char *name, mpd_int value, const char *location)
{
    if (value < 0)
        mpd_error(location, "a semaphore's first value is negative");
    *s = (struct mpd_sem){.value = value, .name = name};
}

void mpd_wait(struct mpd_sem *s, const char *location)
{
    struct mpd_process *self = mpd_current;
    mpd_location = location;
    self->waits_for = s;
    self->location = location;
    append(&s->waiting, self);
    give_up();
}

void mpd_wake(struct mpd_sem *s)
{
    struct mpd_process *p = take(&s->waiting);
    p->waits_for = NULL;
    append(&ready, p);
}

/* Invocations. */

void *mpd_block(size_t size, void (*code)(void *), const char *name, const char *location)
{
    mpd_location = location;
    struct mpd_invocation *made = mpd_allocate(size);
    made->code = code;
    made->name = name;
    return made;
}

void mpd_free_block(void *block)
{
    free(block);
}

void mpd_send(void *block, const char *location)
{
    spawn(block, location);
}

void mpd_call(void *block, const char *location)
{
    struct mpd_sem done = {.name = "the end of what it has created"};
    ((struct mpd_invocation *)block)->done = &done;
    spawn(block, location);
    mpd_P(&done, location);
}

void mpd_co_start(struct mpd_co *co)
{
    *co = (struct mpd_co){.done = {.name = "an arm of co"}};
}

void mpd_co_call(struct mpd_co *co, int arm, void *block, const char *location)
{
    struct mpd_invocation *invocation = block;
    invocation->co = co;
    invocation->arm = arm;
    co->pending++;
    spawn(invocation, location);
}

struct mpd_invocation *mpd_co_wait(struct mpd_co *co, const char *location)
{
    if (!co->pending)
        return NULL;
    mpd_P(&co->done, location);
    struct mpd_invocation *ended = co->first;
    co->first = ended->next;
    co->pending--;
    return ended;
}

/* Arithmetic and output. */

mpd_int mpd_divide(mpd_int a, mpd_int b, const char *location)
{
    if (!b)
        mpd_error(location, "division by zero");
    return b == -1 ? (mpd_int)(0 - (uint32_t)a) : a / b;
}

mpd_int mpd_remainder(mpd_int a, mpd_int b, const char *location)
{
    if (!b)
        mpd_error(location, "division by zero");
    return b == -1 ? 0 : a % b;
}

mpd_int mpd_power(mpd_int a, mpd_int b, const char *location)
{
    if (b < 0)
        mpd_error(location, "an integer to a negative power");
    uint32_t result = 1, base = (uint32_t)a;
    for (uint32_t n = (uint32_t)b; n; n >>= 1) {
        if (n & 1)
            result *= base;
        base *= base;
    }
    return (mpd_int)result;
}

void mpd_write_string(const char *text)
{
    fputs(text, stdout);
}

void mpd_write_int(mpd_int n)
{
    char text[INT_SIZE];
    mpd_write_string(decimal(n, text));
}

void mpd_write_bool(bool b)
{
    mpd_write_string(b ? "true" : "false");
}

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

int main(void)
{
    spawn(mpd_block(sizeof(struct mpd_invocation), run_main, mpd_main_name, NULL), NULL);
    run(take(&ready), NULL);
}
