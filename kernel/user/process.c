/* Processes and their threads (process.h). */
#include "user/process.h"

#include <errno.h>
#include <generated/mem.h>
#include <string.h>

#include "arch/accounting.h"
#include "arch/path.h"
#include "intr/call.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "user/archive.h"
#include "user/elf.h"
#include "vm/mmu.h"

extern char _ram_free[];

static SIMPLE_LOCK_CLASS(user_class, "user", SPL_SOFTCLOCK);
static MUTEX_CLASS(memory_class, "process memory");

struct simple_lock user_lock = SIMPLE_LOCK("user", user_class);
static struct process processes[USER_PROCESSES];
static struct user_thread threads[USER_THREADS];
static int last_id;

/* What those who wait for children of `parent` sleep on. */
static const void *children_of(const struct process *parent)
{
    return parent ? (const void *)parent : processes;
}

void user_init(void)
{
    uint32_t end = MAIN_RAM_BASE + MAIN_RAM_SIZE;
    uint32_t most = bootargs_number("user.pages", MAIN_RAM_SIZE / PAGE_SIZE, MAIN_RAM_SIZE / PAGE_SIZE);
    uint32_t begin = (uint32_t)_ram_free;
    pages_init(begin, most < (end - begin) / PAGE_SIZE ? begin + PAGE_MASK + most * PAGE_SIZE : end);
}

static int next_id(void)
{
    last_id = last_id == INT32_MAX ? 1 : last_id + 1;
    return last_id;
}

/* A thread that has exited holds a thread of the kernel until it is joined; those of `p`, or of all. */
static void join_exited(struct process *p)
{
    for (struct user_thread *t = threads; t < threads + USER_THREADS; t++) {
        crit_t s = simple_lock_enter(&user_lock);
        struct thread *exited = t->state == USER_EXITED && (!p || t->process == p) ? t->thread : 0;
        if (exited)
            t->thread = 0; /* nobody else joins it */
        simple_lock_leave(&user_lock, s);
        if (!exited)
            continue;
        thread_join(exited);
        s = simple_lock_enter(&user_lock);
        t->state = USER_FREE;
        simple_lock_leave(&user_lock, s);
    }
}

static void thread_begin(void *arg)
{
    struct user_thread *self = arg;
    struct frame frame = {.sp = self->sp, .a = {self->a0, self->a1}, .mepc = self->pc, .mstatus = MSTATUS_MPIE};
    curhart->thread->user = self;
    user_leave_kernel();
    user_enter(&frame);
}

/* A thread of `p`, not yet running, or 0 if there are too many. The caller holds user_lock. */
static struct user_thread *allocate_thread(struct process *p)
{
    for (struct user_thread *t = threads; t < threads + USER_THREADS; t++)
        if (t->state == USER_FREE) {
            *t = (struct user_thread){.state = USER_ALIVE, .process = p, .id = next_id()};
            p->threads++;
            return t;
        }
    return 0;
}

/* Let it run; false if the kernel has no thread left for it. The kernel's thread is known before it can end. */
static bool start_thread(struct user_thread *t)
{
    crit_t s = simple_lock_enter(&user_lock);
    t->thread = thread_create(thread_begin, t, PRI_NORMAL, t->process->bound, t->process->name);
    bool started = t->thread;
    simple_lock_leave(&user_lock, s);
    return started;
}

static void discard_thread(struct user_thread *t)
{
    crit_t s = simple_lock_enter(&user_lock);
    t->process->threads--;
    t->state = USER_FREE;
    simple_lock_leave(&user_lock, s);
}

int process_add_thread(struct process *p, uint32_t pc, uint32_t sp, uint32_t argument)
{
    join_exited(0);
    crit_t s = simple_lock_enter(&user_lock);
    struct user_thread *t = allocate_thread(p);
    simple_lock_leave(&user_lock, s);
    if (!t)
        return -EAGAIN;
    int id = t->id;
    t->pc = pc;
    t->sp = sp;
    t->a0 = argument;
    if (!start_thread(t)) {
        discard_thread(t);
        return -EAGAIN;
    }
    return id;
}

/* A process with its first thread, or 0. */
static struct process *allocate(struct process *parent, const char *name, int bound, struct user_thread **first)
{
    join_exited(0);
    crit_t s = simple_lock_enter(&user_lock);
    struct process *p = processes;
    while (p < processes + USER_PROCESSES && p->state != PROCESS_FREE)
        p++;
    if (p == processes + USER_PROCESSES || !(*first = allocate_thread(p))) {
        simple_lock_leave(&user_lock, s);
        return 0;
    }
    *p = (struct process){.state = PROCESS_ALIVE, .id = (*first)->id, .parent = parent, .bound = bound, .threads = 1};
    simple_lock_leave(&user_lock, s);
    strlcpy(p->name, name, sizeof p->name);
    lock_init(&p->memory, &memory_class, p->name);
    return p;
}

/* The other way, for one that never ran. */
static void discard(struct process *p, struct user_thread *first)
{
    if (p->space.root)
        space_destroy(&p->space);
    lock_destroy(&p->memory);
    crit_t s = simple_lock_enter(&user_lock);
    first->state = USER_FREE;
    p->state = PROCESS_FREE;
    simple_lock_leave(&user_lock, s);
}

/* argc, argv and its strings on the stack (abi.h). */
static int push_arguments(struct space *space, const struct arguments *arguments, struct user_thread *first)
{
    uint32_t text = (USER_STACK_TOP - arguments->size) & ~3u;
    uint32_t vector[USER_ARGUMENT_COUNT + 2] = {arguments->count}; /* ends with a 0 */
    const char *at = arguments->text;
    for (unsigned i = 0; i < arguments->count; i++, at += strlen(at) + 1)
        vector[1 + i] = text + (uint32_t)(at - arguments->text);
    uint32_t size = (arguments->count + 2) * sizeof vector[0];
    first->sp = (text - size) & ~15u;
    first->a0 = arguments->count;
    first->a1 = first->sp + 4;
    int error = space_copy_out(space, text, arguments->text, arguments->size);
    return error ? error : space_copy_out(space, first->sp, vector, size);
}

static int load(struct process *p, const char *name, const struct arguments *arguments, struct user_thread *first)
{
    uint32_t size;
    struct elf_program program;
    const void *file = archive_find(name, &size);
    if (!file)
        return ENOENT;
    if (!space_init(&p->space))
        return ENOMEM;
    int error = elf_load(&p->space, file, size, &program);
    if (error)
        return error;
    error = space_grow(&p->space, USER_STACK_TOP - USER_STACK_SIZE, USER_STACK_TOP, PAGE_READ | PAGE_WRITE);
    if (error)
        return error == EEXIST ? ENOEXEC : error;
    p->break_begin = p->break_now = p->break_mapped = program.end;
    first->pc = program.entry;
    return push_arguments(&p->space, arguments, first);
}

int process_spawn(struct process *parent, const char *name, const struct arguments *arguments, int bound)
{
    struct user_thread *first;
    struct process *p = allocate(parent, name, bound, &first);
    if (!p)
        return -EAGAIN;
    int id = p->id, error = load(p, name, arguments, first);
    if (!error && !start_thread(first))
        error = EAGAIN;
    if (error) {
        discard(p, first);
        return -error;
    }
    return id;
}

void process_end(struct process *p, int status)
{
    crit_t s = simple_lock_enter(&user_lock);
    bool others = p->threads > 1;
    if (!p->ending) {
        p->status = status;
        p->ending = true;
        user_wake_all(p);
        thread_wakeup(children_of(p));
    }
    simple_lock_leave(&user_lock, s);
    if (others)
        hart_call(((1u << hart_count) - 1) & ~(1u << curhart->id), CALL_RETURN); /* those in user mode come and see that they shall end */
}

/* The children of one that is gone are the kernel's. The caller holds user_lock. */
static void give_away_children(struct process *p)
{
    for (struct process *c = processes; c < processes + USER_PROCESSES; c++)
        if (c->state != PROCESS_FREE && c->parent == p) {
            c->parent = 0;
            if (c->state == PROCESS_ENDED)
                thread_wakeup(children_of(0));
        }
}

_Noreturn void user_thread_end(void)
{
    struct user_thread *self = user_self();
    struct process *p = self->process;
    crit_t s = simple_lock_enter(&user_lock);
    bool last = !--p->threads;
    simple_lock_leave(&user_lock, s);
    if (last) { /* no other thread can come into being */
        space_destroy(&p->space);
        lock_destroy(&p->memory);
    }
    s = simple_lock_enter(&user_lock);
    self->state = USER_EXITED;
    if (last) {
        p->state = PROCESS_ENDED;
        give_away_children(p);
        thread_wakeup(children_of(p->parent));
    }
    simple_lock_leave(&user_lock, s);
    thread_exit();
}

/* A child that has ended, taken from the table: its id; 0 if none has, minus ECHILD if there is none at all. */
static int take_ended(const struct process *parent, struct process **ended)
{
    int result = -ECHILD;
    for (struct process *c = processes; c < processes + USER_PROCESSES; c++) {
        if (c->state == PROCESS_FREE || c->parent != parent)
            continue;
        result = 0;
        if (c->state == PROCESS_ENDED) {
            c->parent = c; /* nobody else finds it */
            *ended = c;
            return c->id;
        }
    }
    return result;
}

int process_wait(struct process *parent, int *status)
{
    struct process *ended = 0;
    crit_t s = simple_lock_enter(&user_lock);
    int id;
    while (!(id = take_ended(parent, &ended))) {
        if (parent && parent->ending) {
            id = -EINTR;
            break;
        }
        thread_sleep(children_of(parent), &user_lock);
    }
    simple_lock_leave(&user_lock, s);
    if (id < 0)
        return id;
    join_exited(ended);
    *status = ended->status;
    s = simple_lock_enter(&user_lock);
    ended->state = PROCESS_FREE;
    simple_lock_leave(&user_lock, s);
    return id;
}

int process_raise_break(struct process *p, int32_t bytes)
{
    mutex_lock(&p->memory);
    uint32_t old = p->break_now, limit = USER_STACK_TOP - USER_STACK_SIZE - PAGE_SIZE; /* a page between them faults */
    int result = bytes < 0 ? -EINVAL : (uint32_t)bytes > limit - old ? -ENOMEM : 0;
    while (!result && p->break_mapped < old + (uint32_t)bytes) {
        result = -space_grow(&p->space, p->break_mapped, p->break_mapped + PAGE_SIZE, PAGE_READ | PAGE_WRITE);
        if (!result)
            p->break_mapped += PAGE_SIZE;
    }
    if (!result)
        p->break_now = old + (uint32_t)bytes;
    mutex_unlock(&p->memory);
    return result ? result : (int)old;
}

bool process_none_left(void)
{
    join_exited(0);
    bool any = false;
    crit_t s = simple_lock_enter(&user_lock);
    for (struct process *p = processes; p < processes + USER_PROCESSES; p++)
        any |= p->state != PROCESS_FREE;
    for (struct user_thread *t = threads; t < threads + USER_THREADS; t++)
        any |= t->state != USER_FREE;
    simple_lock_leave(&user_lock, s);
    return !any;
}

void user_wake_all(struct process *p)
{
    for (struct user_thread *t = threads; t < threads + USER_THREADS; t++)
        if (t->state == USER_ALIVE && t->process == p)
            thread_wakeup(t);
}

USER_PATH void user_leave_kernel(void)
{
    struct process *p = user_self()->process;
    intr_disable();
    if (unlikely(p->ending)) {
        intr_enable();
        user_thread_end();
    }
    mmu_use(&p->space);
    account_switch(ACCOUNT_USER);
}
