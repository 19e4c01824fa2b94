/* Processes and their threads (process.h). */
#include "user/process.h"

#include <errno.h>
#include <generated/mem.h>
#include <limits.h>
#include <string.h>

#include "arch/accounting.h"
#include "arch/path.h"
#include "intr/call.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "mem/zone.h"
#include "user/archive.h"
#include "user/syscall.h"
#include "vm/mmu.h"

extern char _ram_free[];

static SIMPLE_LOCK_CLASS(user_class, "user", SPL_SOFTCLOCK);
static MUTEX_CLASS(memory_class, "process memory");

struct simple_lock user_lock = SIMPLE_LOCK("user", user_class);
DEFINE_ZONE(processes, "processes", sizeof(struct process), _Alignof(struct process), SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(threads, "user-threads", sizeof(struct user_thread), _Alignof(struct user_thread), SPL_SOFTPREEMPT, 0);

static struct process *orphans;       /* children of the kernel */
static struct user_thread *exited;    /* nobody has joined them yet */
static unsigned process_count, thread_count;
static int last_id;

/* The children of `parent`, which is also what those who wait for them sleep on. */
static struct process **children_of(struct process *parent)
{
    return parent ? &parent->children : &orphans;
}

void user_init(void)
{
    uint32_t end = MAIN_RAM_BASE + MAIN_RAM_SIZE;
    uint32_t most = bootargs_number("user.pages", MAIN_RAM_SIZE / PAGE_SIZE, MAIN_RAM_SIZE / PAGE_SIZE);
    uint32_t begin = (uint32_t)_ram_free;
    vm_init(begin, end, most);
    syscall_init();
}

static int next_id(void)
{
    last_id = last_id == INT_MAX ? 1 : last_id + 1;
    return last_id;
}

/* A thread that has ended holds a thread of the kernel until it is joined, which waits for its last steps alone. */
static void join_exited(void)
{
    crit_t s = simple_lock_enter(&user_lock);
    while (exited) {
        struct user_thread *t = exited;
        exited = t->sibling; /* nobody else joins it */
        simple_lock_leave(&user_lock, s);
        thread_join(t->thread);
        s = simple_lock_enter(&user_lock);
        if (!--t->process->unjoined)
            thread_wakeup(&t->process->unjoined);
        thread_count--;
        simple_lock_leave(&user_lock, s);
        zone_free(&threads, t);
        s = simple_lock_enter(&user_lock);
    }
    simple_lock_leave(&user_lock, s);
}

static void thread_begin(void *arg)
{
    struct user_thread *self = arg;
    const struct user_start *start = &self->start;
    struct frame frame = {.sp = start->sp, .a = {start->a0, start->a1}, .mepc = start->pc, .mstatus = MSTATUS_MPIE};
    curhart->thread->user = self;
    user_leave_kernel();
    user_enter(&frame);
}

/* A thread of `p` that begins at `start`, with an id that is no other's. Gives that, or -ENOMEM, -EAGAIN. */
static int add_thread(struct process *p, const struct user_start *start)
{
    struct user_thread *t = zone_alloc(&threads);
    if (!t)
        return -ENOMEM;
    crit_t s = simple_lock_enter(&user_lock);
    int id = next_id();
    *t = (struct user_thread){.process = p, .id = id, .start = *start, .sibling = p->threads};
    /* it cannot end before the lock is free */
    t->thread = thread_create(thread_begin, t, PRI_NORMAL, p->bound, p->name);
    if (t->thread) {
        p->threads = t;
        p->alive++;
        p->unjoined++;
        thread_count++;
        if (!p->id)
            p->id = id;
    }
    bool there = t->thread;
    simple_lock_leave(&user_lock, s);
    if (there)
        return id;
    zone_free(&threads, t);
    return -EAGAIN;
}

int process_add_thread(struct process *p, uint32_t pc, uint32_t sp, uint32_t argument)
{
    join_exited();
    return add_thread(p, &(struct user_start){.pc = pc, .sp = sp, .a0 = argument});
}

static void adopt(struct process *p, struct process *parent)
{
    p->parent = parent;
    p->next = *children_of(parent);
    *children_of(parent) = p;
}

static void disown(struct process *p)
{
    struct process **at = children_of(p->parent);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
}

static void give_memory_back(struct process *p)
{
    if (p->space.map)
        space_destroy(&p->space);
    lock_destroy(&p->memory);
}

/* It gets its id with its first thread. Until then nobody else knows it. */
static int begin(struct process *p, const void *file, uint32_t size, const struct arguments *arguments)
{
    struct user_start start;
    if (!space_init(&p->space))
        return -ENOMEM;
    int error = program_load(&p->space, file, size, arguments, &start, &p->brk);
    if (error)
        return error;
    crit_t s = simple_lock_enter(&user_lock);
    adopt(p, p->parent);
    process_count++;
    simple_lock_leave(&user_lock, s);
    int id = add_thread(p, &start);
    if (id < 0) {
        s = simple_lock_enter(&user_lock);
        disown(p);
        process_count--;
        thread_wakeup(children_of(p->parent)); /* who saw it waits for nobody now */
        simple_lock_leave(&user_lock, s);
    }
    return id;
}

int process_start(struct process *parent, const char *name, const void *file, uint32_t size,
                  const struct arguments *arguments, int bound)
{
    join_exited();
    struct process *p = zone_alloc(&processes);
    if (!p)
        return -ENOMEM;
    *p = (struct process){.parent = parent, .bound = bound};
    strlcpy(p->name, name, sizeof p->name);
    lock_init(&p->memory, &memory_class, p->name);
    int id = begin(p, file, size, arguments);
    if (id < 0) {
        give_memory_back(p);
        zone_free(&processes, p);
    }
    return id;
}

int process_spawn(struct process *parent, const char *name, const struct arguments *arguments, int bound)
{
    uint32_t size;
    const void *file = archive_find(name, &size);
    return file ? process_start(parent, name, file, size, arguments, bound) : -ENOENT;
}

static void wake_all(const struct process *p)
{
    for (struct user_thread *t = p->threads; t; t = t->sibling)
        thread_wakeup(t);
}

void process_end(struct process *p, int status)
{
    crit_t s = simple_lock_enter(&user_lock);
    if (!p->ending) {
        p->status = status;
        p->ending = true;
        wake_all(p);
        thread_wakeup(children_of(p));
    }
    if (p->alive > 1) /* those in user mode come and see that they shall end */
        hart_call(((1u << hart_count) - 1) & ~(1u << curhart->id), CALL_RETURN);
    simple_lock_leave(&user_lock, s);
}

/* The children of one that is gone are the kernel's. The caller holds user_lock. */
static void give_away_children(struct process *p)
{
    for (struct process *c = p->children, *next; c; c = next) {
        next = c->next;
        adopt(c, 0);
        if (c->ended)
            thread_wakeup(children_of(0));
    }
    p->children = 0;
}

/* The thread is not one of its process any more. The caller holds user_lock. */
static void retire(struct user_thread *self)
{
    struct user_thread **at = &self->process->threads;
    while (*at != self)
        at = &(*at)->sibling;
    *at = self->sibling;
    self->process->alive--;
    self->sibling = exited;
    exited = self;
}

/* To count the thread out and to say that it has ended is one step: who sees none alive finds all to be joined. */
_Noreturn void user_thread_end(void)
{
    struct user_thread *self = user_self();
    struct process *p = self->process;
    crit_t s = simple_lock_enter(&user_lock);
    if (p->alive == 1) { /* nobody else is there who could start another */
        simple_lock_leave(&user_lock, s);
        give_memory_back(p);
        s = simple_lock_enter(&user_lock);
        p->ended = true;
        give_away_children(p);
        thread_wakeup(children_of(p->parent));
    }
    retire(self);
    simple_lock_leave(&user_lock, s);
    thread_exit();
}

/* A child that has ended, which nobody else finds any more: its id; 0 if none has, -ECHILD if there is none. */
static int take_ended(struct process *parent, struct process **ended)
{
    struct process *c = *children_of(parent);
    if (!c)
        return -ECHILD;
    while (c && !c->ended)
        c = c->next;
    if (!c)
        return 0;
    disown(c);
    *ended = c;
    return c->id;
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
    join_exited();
    s = simple_lock_enter(&user_lock);
    while (ended->unjoined) /* another hart is about to */
        thread_sleep(&ended->unjoined, &user_lock);
    process_count--;
    simple_lock_leave(&user_lock, s);
    *status = ended->status;
    zone_free(&processes, ended);
    return id;
}

int process_raise_break(struct process *p, int32_t bytes)
{
    mutex_lock(&p->memory);
    int result = program_raise_break(&p->space, &p->brk, bytes);
    mutex_unlock(&p->memory);
    return result;
}

bool process_none_left(void)
{
    join_exited();
    crit_t s = simple_lock_enter(&user_lock);
    bool none = !process_count && !thread_count;
    simple_lock_leave(&user_lock, s);
    return none;
}

USER_PATH void user_leave_kernel(void)
{
    struct process *p = user_self()->process;
    intr_disable();
    if (unlikely(p->ending)) {
        intr_enable();
        user_thread_end();
    }
    mmu_use(vm_map_pmap(p->space.map));
    account_switch(ACCOUNT_USER);
}
