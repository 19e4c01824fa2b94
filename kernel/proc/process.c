/* Processes and their threads (process.h). */
#include "proc/process.h"

#include <errno.h>
#include <generated/mem.h>
#include <limits.h>
#include <string.h>

#include "arch/accounting.h"
#include "dev/clock.h"
#include "dev/console.h"
#include "file/descriptors.h"
#include "fs/vfs.h"
#include "fs/vnode_pager.h"
#include "intr/call.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "mem/zone.h"
#include "proc/arguments.h"
#include "sched/master.h"
#include "proc/console.h"
#include "proc/elf.h"
#include "proc/image_fs.h"
#include "proc/limits.h"
#include "proc/mounts.h"
#include "proc/signal.h"
#include "proc/syscall.h"
#include "proc/timers.h"
#include "vm/mmu.h"

#define STANDARD_FILES 3

extern char _ram_free[];

static SIMPLE_LOCK_CLASS(user_class, "user", SPL_SOFTCLOCK);
static MUTEX_CLASS(where_class, "process directory");

struct simple_lock user_lock = SIMPLE_LOCK("user", user_class);
DEFINE_ZONE(process_zone, "processes", sizeof(struct process), _Alignof(struct process), SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(threads, "user-threads", sizeof(struct user_thread), _Alignof(struct user_thread), SPL_SOFTPREEMPT, 0);

struct process_list processes;
static struct process_list orphans;    /* children of init */
static struct user_thread_list exited; /* not joined yet */
static unsigned process_count, process_thread_count;
static int last_id;

/* The children of `parent`; also the channel on which threads sleep that wait for them. */
static struct process_list *children_of(struct process *parent)
{
    return parent ? &parent->children : &orphans;
}

static struct descriptors *table_of(struct process *p)
{
    return p->descriptors;
}

/* A process's root stays valid while one of its threads is in the kernel: only another chroot releases it. */
static struct vnode *root_of_caller(void)
{
    struct user_thread *self = curhart->thread->user;
    struct process *p = self ? self->process : 0;
    if (!p || !p->root)
        return 0;
    mutex_lock(&p->where);
    struct vnode *vp = p->root;
    vhold(vp);
    mutex_unlock(&p->where);
    return vp;
}

struct vnode *process_directory(struct process *p)
{
    if (!p->cwd) /* no chdir so far; one by another thread counts as later */
        return 0;
    mutex_lock(&p->where);
    struct vnode *vp = p->cwd;
    vhold(vp);
    mutex_unlock(&p->where);
    return vp;
}

int process_change_directory(struct process *p, struct vnode *vp, bool root)
{
    if (vp->type != VDIR) {
        vrele(vp);
        return -ENOTDIR;
    }
    if (root)
        vhold(vp);
    mutex_lock(&p->where);
    struct vnode *old = p->cwd, *old_root = root ? p->root : 0;
    p->cwd = vp;
    if (root)
        p->root = vp;
    mutex_unlock(&p->where);
    if (old)
        vrele(old);
    if (old_root)
        vrele(old_root);
    return 0;
}

static void inherit_where(struct process *p, struct process *parent)
{
    p->umask = parent->umask;
    if (!parent->cwd && !parent->root)
        return;
    mutex_lock(&parent->where);
    p->cwd = parent->cwd;
    p->root = parent->root;
    if (p->cwd)
        vhold(p->cwd);
    if (p->root)
        vhold(p->root);
    mutex_unlock(&parent->where);
}

static uint32_t id_of(const struct process *p)
{
    return (uint32_t)p->id;
}

void user_init(void)
{
    uint32_t end = MAIN_RAM_BASE + MAIN_RAM_SIZE;
    uint32_t most =
        bootargs_number(BOOT_WITHIN(kernel, user_pages, MAIN_RAM_SIZE / PAGE_SIZE, MAIN_RAM_SIZE / PAGE_SIZE));
    uint32_t begin = (uint32_t)_ram_free;
    vm_init(begin, end, most);
    thread_limit = bootargs_number(BOOT_OR(kernel, threads, ALL_THREADS));
    descriptors_of = table_of;
    process_id_of = id_of;
    vfs_caller_root = root_of_caller;
    last_id = (int)bootargs_number(BOOT(kernel, user_id)) - 1;
    signals_init();
    limits_init();
    syscall_init();
}

static int next_id(void)
{
    last_id = last_id == INT_MAX ? INIT_ID + 1 : last_id + 1;
    return last_id;
}

struct process *process_find(int id)
{
    struct process *p;
    SLIST_FOREACH(p, &processes, all)
        if (p->id == id && id > 0)
            break;
    return p;
}

/* An ended thread holds a thread of the kernel until it is joined, which waits only for its last steps. */
static void join_exited(void)
{
    crit_t s = simple_lock_enter(&user_lock);
    struct user_thread *t;
    while ((t = SLIST_FIRST(&exited))) {
        SLIST_REMOVE_HEAD(&exited, sibling); /* no other thread joins it */
        simple_lock_leave(&user_lock, s);
        thread_join(t->thread);
        s = simple_lock_enter(&user_lock);
        if (!--t->process->unjoined)
            thread_wakeup(&t->process->unjoined);
        process_thread_count--;
        simple_lock_leave(&user_lock, s);
        zone_free(&threads, t);
        s = simple_lock_enter(&user_lock);
    }
    simple_lock_leave(&user_lock, s);
}

static void process_thread_begin(void *arg)
{
    struct user_thread *self = arg;
    struct frame frame = self->first;
    self->frame = &frame;
    curhart->thread->user = self;
    user_leave_kernel();
    user_enter(&frame);
}

static struct frame frame_of(const struct user_start *start)
{
    return (struct frame){
        .sp = start->sp, .a = {start->a0, start->a1, start->a2}, .mepc = start->pc, .mstatus = MSTATUS_MPIE};
}

/* A thread of `p` that begins with `frame`, with a unique id. Returns the id, or -ENOMEM, -EAGAIN. */
static int process_new_thread(struct process *p, const struct frame *frame, const struct user_thread *parent)
{
    struct user_thread *t = zone_alloc(&threads);
    if (!t)
        return -ENOMEM;
    crit_t s = simple_lock_enter(&user_lock);
    bool allowed = limits_allow_thread(parent ? parent->process : p);
    int id = next_id();
    *t = (struct user_thread){.process = p, .id = id, .first = *frame};
    if (parent)
        signals_fork(p, t, parent);
    bool is_first = !p->id;
    if (is_first) { /* before it runs: it may ask for its id at once */
        p->id = id;
        if (!p->group) {
            p->group = p->session = id;
            console_control(p);
        }
    }
    /* it cannot end before the lock is released */
    t->thread = p->ending || !allowed ? 0 : thread_create(process_thread_begin, t, PRI_NORMAL, p->bound, p->name);
    if (t->thread) {
        t->thread->timed = signals_are_timed(p);
        SLIST_INSERT_HEAD(&p->threads, t, sibling);
        p->alive++;
        p->unjoined++;
        process_thread_count++;
        if (p->lone)
            user_thread_attend(t);
    } else if (is_first) {
        p->id = 0;
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
    struct frame frame = frame_of(&(struct user_start){.pc = pc, .sp = sp, .a0 = argument});
    return process_new_thread(p, &frame, user_self());
}

static void adopt(struct process *p, struct process *parent)
{
    p->parent = parent;
    SLIST_INSERT_HEAD(children_of(parent), p, sibling);
}

static void disown(struct process *p)
{
    SLIST_REMOVE(children_of(p->parent), p, process, sibling);
}

static void process_unlist(struct process *p)
{
    SLIST_REMOVE(&processes, p, process, all);
    process_count--;
}

void (*process_ends)(struct process *p);

static void process_give_back(struct process *p)
{
    if (p->ports || p->task)
        process_ends(p);
    unix_enter();
    if (p->descriptors)
        descriptors_destroy(p->descriptors);
    if (p->space)
        space_release(p->space); /* with the mapped files */
    p->space = 0;
    p->map = 0;
    vnode_pager_sweep();
    if (p->cwd)
        vrele(p->cwd);
    if (p->root)
        vrele(p->root);
    unix_leave();
    p->cwd = p->root = 0;
    lock_destroy(&p->where);
}

/* The program's name, without its folder. */
static void set_name(struct process *p, const char *path)
{
    const char *slash = strrchr(path, '/');
    strlcpy(p->name, slash ? slash + 1 : path, sizeof p->name);
}

static struct process *process_allocate(struct process *parent, const char *name, int bound)
{
    join_exited();
    struct process *p = zone_alloc(&process_zone);
    if (!p)
        return 0;
    *p = (struct process){.parent = parent, .bound = bound};
    if (parent) {
        p->group = parent->group;
        p->session = parent->session;
    }
    set_name(p, name);
    lock_init(&p->where, &where_class, "process directory");
    limits_begin(p, parent);
    if (parent)
        inherit_where(p, parent);
    else
        p->umask = 022;
    return p;
}

/* A process gets its id with its first thread. Until then it cannot be found. Freed if that fails. */
static int process_begin_thread(struct process *p, const struct frame *frame, const struct user_thread *parent)
{
    crit_t s = simple_lock_enter(&user_lock);
    adopt(p, p->parent);
    SLIST_INSERT_HEAD(&processes, p, all);
    process_count++;
    simple_lock_leave(&user_lock, s);
    int id = process_new_thread(p, frame, parent);
    if (id < 0) {
        s = simple_lock_enter(&user_lock);
        disown(p);
        process_unlist(p);
        thread_wakeup(children_of(p->parent)); /* a waiter that saw it may have no child now */
        simple_lock_leave(&user_lock, s);
    }
    return id;
}

static int process_not_begun(struct process *p, int error)
{
    process_give_back(p);
    zone_free(&process_zone, p);
    return error;
}

/* The console as 0, 1 and 2. */
static bool open_standard(struct descriptors *d)
{
    for (unsigned i = 0; i < STANDARD_FILES; i++) {
        struct file *f = console_file();
        if (f && descriptor_open(d, f, i, false) >= 0)
            continue;
        if (f)
            file_release(f);
        return false;
    }
    return true;
}

/* Loads a program, with its own map and descriptors. 0, or an error: what is created by then stays in `p`. */
static int process_prepare(struct process *p, const struct elf_file *file, const struct arguments *arguments,
                           struct user_start *start)
{
    if (!p->parent && !console_terminal())
        return -EAGAIN;
    if (!(p->space = space_create()))
        return -ENOMEM;
    p->map = p->space->map;
    int error = program_load(p->map, file, arguments, start, &p->space->brk);
    if (error)
        return error;
    limits_of_space(p);
    p->descriptors = p->parent ? descriptors_fork(p->parent->descriptors) : descriptors_create();
    if (!p->descriptors || (!p->parent && !open_standard(p->descriptors)))
        return -ENOMEM;
    descriptors_exec(p->descriptors);
    return 0;
}

static int process_start_file(struct process *parent, const char *name, const struct elf_file *file,
                              const struct arguments *arguments, int bound)
{
    struct process *p = process_allocate(parent, name, bound);
    struct user_start start_at;
    if (!p)
        return -ENOMEM;
    p->has_execed = true;
    int error = process_prepare(p, file, arguments, &start_at);
    if (error)
        return process_not_begun(p, error);
    struct frame frame = frame_of(&start_at);
    if (parent) {
        crit_t s = simple_lock_enter(&user_lock);
        memcpy(p->action, parent->action, sizeof p->action);
        signals_exec(p, 0);
        simple_lock_leave(&user_lock, s);
    }
    int id = process_begin_thread(p, &frame, parent ? user_self() : 0);
    return id < 0 ? process_not_begun(p, id) : id;
}

struct process *process_shell(const char *name, struct space *space)
{
    struct process *p = process_allocate(0, name, ANY_HART);
    if (!p)
        return 0;
    p->has_execed = true;
    unix_enter();
    if (console_terminal())
        p->descriptors = descriptors_create();
    bool open = p->descriptors && open_standard(p->descriptors);
    unix_leave();
    if (!open) {
        process_not_begun(p, 0);
        return 0;
    }
    p->space = space;
    p->map = space->map;
    return p;
}

int process_shell_begin(struct process *p, const struct user_start *start)
{
    struct frame frame = frame_of(start);
    return process_begin_thread(p, &frame, 0);
}

void process_shell_drop(struct process *p)
{
    process_not_begun(p, 0);
}

int process_start(struct process *parent, const char *name, const void *file, uint32_t size,
                  const struct arguments *arguments, int bound)
{
    if (!parent)
        mounts_start();
    return process_start_file(parent, name, &(struct elf_file){.bytes = file, .size = size}, arguments, bound);
}

static int read_program(const struct elf_file *file, uint32_t at, void *to, uint32_t n)
{
    struct uio uio;
    uio_kernel(&uio, to, n, at, false);
    int error = vfs_read(file->with, &uio);
    return error ? error : uio.left ? -EIO : 0;
}

/*
 * An executable file, with a reference, and its contents. Programs that the kernel itself starts are searched for in
 * the archive, too.
 */
static int find_program(struct process *p, const char *path, struct vnode **vpp, struct elf_file *file)
{
    struct vattr attr;
    struct vnode *cwd = p && path[0] != '/' ? process_directory(p) : 0;
    int error = namei(cwd, path, true, vpp);
    if (cwd)
        vrele(cwd);
    if (error == -ENOENT && !p)
        error = archive_vnode(path, vpp);
    if (error)
        return error;
    error = (*vpp)->type != VREG ? -EACCES : vfs_getattr(*vpp, &attr);
    if (!error && !(attr.mode & 0111))
        error = -EACCES;
    if (error) {
        vrele(*vpp);
        return error;
    }
    *file = (struct elf_file){
        .size = attr.size < UINT32_MAX ? (uint32_t)attr.size : UINT32_MAX, .read = read_program, .with = *vpp};
    if ((*vpp)->ops->contents)
        file->bytes = (*vpp)->ops->contents(*vpp, &file->size);
    return 0;
}

#define SCRIPT_LINE 128 /* the part of the file's first line that is read */
#define SCRIPTS_MOST 4u /* a script's interpreter may be a script */

/* "#!INTERPRETER WORD" at the beginning of a file, as two strings within `line`. -ENOEXEC: it is none, or too long. */
static int parse_script(const struct elf_file *file, char line[SCRIPT_LINE], char **interpreter, char **word)
{
    uint32_t n = MIN(file->size, SCRIPT_LINE - 1);
    int error = 0;
    if (file->bytes)
        memcpy(line, file->bytes, n);
    else
        error = n ? file->read(file, 0, line, n) : 0;
    line[n] = 0;
    if (error || line[0] != '#' || line[1] != '!')
        return error ? error : -ENOEXEC;
    char *end = strchr(line, '\n');
    if (!end && n == SCRIPT_LINE - 1)
        return -ENOEXEC;
    if (!end)
        end = line + strlen(line);
    while (end > line + 2 && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = 0;
    *interpreter = line + 2 + strspn(line + 2, " \t");
    *word = *interpreter + strcspn(*interpreter, " \t");
    if (**word) {
        *(*word)++ = 0;
        *word += strspn(*word, " \t");
    }
    return **interpreter ? 0 : -ENOEXEC;
}

/* A program to load, and its arguments. */
struct loaded {
    struct vnode *vp;
    struct elf_file file;
    const struct arguments *arguments;
    struct arguments *own; /* 0: they are the caller's */
};

/* The program at `path`, or the interpreter of the script there. With references and memory until unload. */
static int find_loadable(struct process *p, const char *path, const struct arguments *arguments, struct loaded *l)
{
    char line[2][SCRIPT_LINE], *interpreter = 0, *word = 0;
    *l = (struct loaded){.arguments = arguments};
    for (unsigned depth = 0;; depth++) {
        char *into = line[depth % 2]; /* `path` lies in the other one */
        int error = find_program(p, path, &l->vp, &l->file);
        if (!error && parse_script(&l->file, into, &interpreter, &word))
            return 0; /* a program, or nothing that program_load takes */
        if (!error) {
            vrele(l->vp);
            error = depth == SCRIPTS_MOST ? -ELOOP : 0;
        }
        struct arguments *made = error ? 0 : arguments_create();
        if (!error)
            error = made ? arguments_for_script(made, l->arguments, interpreter, word, path) : -ENOMEM;
        if (l->own)
            arguments_destroy(l->own);
        l->arguments = l->own = made;
        if (error) {
            if (made)
                arguments_destroy(made);
            return error;
        }
        path = interpreter;
    }
}

static void unload(struct loaded *l)
{
    vrele(l->vp);
    if (l->own)
        arguments_destroy(l->own);
}

int process_spawn(struct process *parent, const char *name, const struct arguments *arguments, int bound)
{
    struct loaded l;
    if (!parent)
        mounts_start();
    unix_enter();
    int result = find_loadable(parent, name, arguments, &l);
    if (!result) {
        result = process_start_file(parent, name, &l.file, l.arguments, bound);
        unload(&l);
    }
    unix_leave();
    return result;
}

/* Sleeps until the child has left the space, or this thread is to end. */
static void lend(struct user_thread *self, struct process *p)
{
    crit_t s = simple_lock_enter(&user_lock);
    while (self->lends)
        if (thread_sleep_interruptibly(&self->lends, &user_lock) && signals_end_wait(self))
            break;
    struct process *c;
    SLIST_FOREACH(c, &p->children, sibling)
        if (c->lender == self)
            c->lender = 0;
    self->lends = false;
    self->thread->attention = true; /* a handler may be pending until now */
    simple_lock_leave(&user_lock, s);
}

/* The process has left the space that was lent to it. With user_lock held. */
static void return_space(struct process *p)
{
    if (!p->lender)
        return;
    p->lender->lends = false;
    thread_wakeup(&p->lender->lends);
    p->lender = 0;
}

/* 0, or -ENOMEM. */
static int share_space(struct process *child, struct process *parent, bool borrows)
{
    if (borrows)
        space_reference(parent->space);
    child->space = borrows ? parent->space : space_fork(parent->space);
    if (!child->space)
        return -ENOMEM;
    child->map = child->space->map;
    return 0;
}

int process_fork(bool borrows)
{
    struct user_thread *self = user_self();
    struct process *parent = self->process, *p = process_allocate(parent, parent->name, parent->bound);
    if (!p)
        return -ENOMEM;
    p->descriptors = descriptors_fork(parent->descriptors);
    int error = p->descriptors ? share_space(p, parent, borrows) : -ENOMEM;
    if (error)
        return process_not_begun(p, error);
    struct frame frame = *self->frame;
    frame.a[0] = 0;
    frame.mstatus = MSTATUS_MPIE;
    if (borrows) {
        p->lender = self;
        self->lends = true;
    }
    int id = process_begin_thread(p, &frame, self);
    if (id < 0) {
        self->lends = false;
        return process_not_begun(p, id);
    }
    if (borrows)
        lend(self, parent);
    return id;
}

void user_thread_attend(struct user_thread *t)
{
    thread_interrupt(t->thread);
    unsigned hart = (unsigned)*(volatile int *)&t->thread->hart;
    if (t->thread != curhart->thread && hart != curhart->id && thread_runs(t->thread))
        hart_call(1u << hart, CALL_RETURN);
}

void process_attend(struct process *p)
{
    struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling)
        user_thread_attend(t);
}

void process_end_locked(struct process *p, int status)
{
    if (p->ending || p->ended)
        return;
    p->status = status;
    p->ending = true;
    process_attend(p);
    thread_wakeup(&p->stopped);
    thread_wakeup(&p->alive);
}

void process_end(struct process *p, int status)
{
    crit_t s = simple_lock_enter(&user_lock);
    process_end_locked(p, status);
    simple_lock_leave(&user_lock, s);
}

void process_news(struct process *child)
{
    thread_wakeup(children_of(child->parent));
}

/*
 * The children of an ended process become init's, which would not continue stopped ones: they get SIGHUP, SIGCONT. The
 * caller holds user_lock.
 */
static void give_away_children(struct process *p)
{
    struct process *c, *next;
    SLIST_FOREACH_SAFE(c, &p->children, sibling, next) {
        adopt(c, 0);
        if (c->stopped) {
            signal_send(c, USER_SIGHUP, 0);
            signal_send(c, USER_SIGCONT, 0);
        }
        if (c->ended)
            thread_wakeup(children_of(0));
    }
    SLIST_INIT(&p->children);
}

/* Removes the thread from its process. The caller holds user_lock. */
static void retire(struct user_thread *self)
{
    struct process *p = self->process;
    SLIST_REMOVE(&p->threads, self, user_thread, sibling);
    p->alive--;
    p->user_ticks += self->user_ticks;
    p->ticks += self->thread->ticks;
    SLIST_INSERT_HEAD(&exited, self, sibling);
    if (p->lone)
        thread_wakeup(&p->alive);
    signals_pass_on(p, self, ~self->mask);
}

/* Its resources are freed: it is a zombie, or init's if its parent waits for none. The caller holds user_lock. */
static void become_zombie(struct process *p)
{
    p->ended = true;
    return_space(p);
    give_away_children(p);
    if (p->parent && signals_child(p, p->status)) {
        disown(p);
        process_news(p);
        adopt(p, 0);
    }
    process_news(p);
}

/* The count of live threads and the list to be joined change in one section: with none alive, all are on the list. */
_Noreturn void user_thread_end(void)
{
    struct user_thread *self = user_self();
    struct process *p = self->process;
    crit_t s = simple_lock_enter(&user_lock);
    if (p->alive == 1) { /* no other thread could start another */
        if (!p->ending)
            p->status = 0; /* it may still say that the process was stopped */
        p->ending = true;
        simple_lock_leave(&user_lock, s);
        signals_end(p);
        timers_end(p);
        if (p->session == p->id)
            console_hang_up(p);
        process_give_back(p);
        s = simple_lock_enter(&user_lock);
        become_zombie(p);
    }
    retire(self);
    simple_lock_leave(&user_lock, s);
    thread_exit();
}

/* Ends all other threads of the process. False: the process is ending, or another thread was first. */
static bool become_lone(struct user_thread *self, struct process *p)
{
    crit_t s = simple_lock_enter(&user_lock);
    bool first = !p->lone && !p->ending;
    if (first) {
        p->lone = self;
        struct user_thread *t;
        SLIST_FOREACH(t, &p->threads, sibling)
            if (t != self)
                user_thread_attend(t);
        thread_wakeup(&p->stopped);
        while (p->alive > 1 && !p->ending)
            thread_sleep(&p->alive, &user_lock);
        first = !p->ending;
        p->lone = 0;
    }
    simple_lock_leave(&user_lock, s);
    return first;
}

static void put_on(struct process *p, struct user_thread *self, const char *name, struct space *space)
{
    crit_t s = simple_lock_enter(&user_lock);
    set_name(p, name);
    p->space = space;
    p->map = space->map;
    p->has_execed = true;
    self->id = p->id;
    signals_exec(p, self);
    self->cancelled = false;
    return_space(p);
    simple_lock_leave(&user_lock, s);
    limits_of_space(p);
}

int process_exec(const char *name, const struct arguments *arguments)
{
    struct user_thread *self = user_self();
    struct process *p = self->process;
    struct user_start start;
    struct loaded l;
    int error = find_loadable(p, name, arguments, &l);
    if (error)
        return error;
    struct space *space = space_create(), *old = p->space;
    error = space ? program_load(space->map, &l.file, l.arguments, &start, &space->brk) : -ENOMEM;
    unload(&l);
    if (!error && !become_lone(self, p))
        error = -EINTR;
    if (error) {
        if (space)
            space_release(space);
        return error;
    }
    descriptors_exec(p->descriptors);
    timers_end(p);
    put_on(p, self, name, space);
    space_release(old);
    vnode_pager_sweep();
    struct frame *frame = self->frame, fresh = frame_of(&start);
    fresh.hart = frame->hart;
    *frame = fresh;
    return (int)start.a0;
}

struct signal_info process_status_info(int id, int status)
{
    int code = status == USER_W_GOES_ON                    ? USER_CLD_CONTINUED
               : (status & USER_WSTOPPED) == USER_WSTOPPED ? USER_CLD_STOPPED
               : status & USER_WSTOPPED                    ? USER_CLD_KILLED
                                                           : USER_CLD_EXITED;
    int value = code == USER_CLD_CONTINUED ? USER_SIGCONT
                : code == USER_CLD_KILLED  ? status & USER_WSTOPPED
                                           : status >> 8;
    return (struct signal_info){.code = code, .sender = id, .value = (uint32_t)value};
}

static bool is_meant(const struct process *c, const struct process *parent, int which)
{
    return which > 0 ? c->id == which : which == -1 || c->group == (which ? -which : parent->group);
}

/* A child with a status to report: its id; 0 if there is none, -ECHILD if there is no such child. */
static int news(struct process *parent, int which, int options, struct process **child)
{
    int result = -ECHILD;
    struct process *c;
    SLIST_FOREACH(c, children_of(parent), sibling) {
        if (!c->id || !is_meant(c, parent, which) || (c->ended && options & NOT_ENDED))
            continue;
        result = 0;
        if (c->ended || (options & USER_WUNTRACED && c->stopped && c->stop_is_news && !c->ending) ||
            (options & USER_WCONTINUED && c->going_on_is_news && !c->ending)) {
            *child = c;
            return c->id;
        }
    }
    return result;
}

/* Frees a child that has ended, and whose status is reported: no thread can find it any more. */
static void bury(struct process *c)
{
    join_exited();
    crit_t s = simple_lock_enter(&user_lock);
    while (c->unjoined) /* another hart is about to join them */
        thread_sleep(&c->unjoined, &user_lock);
    process_count--;
    simple_lock_leave(&user_lock, s);
    zone_free(&process_zone, c);
}

int process_wait(struct process *parent, int which, int options, int *status, struct user_rusage *usage)
{
    struct process *c = 0;
    crit_t s = simple_lock_enter(&user_lock);
    int id, error = 0;
    while (!(id = news(parent, which, options, &c)) && !(options & USER_WNOHANG) && !error)
        error = thread_sleep_interruptibly(children_of(parent), &user_lock);
    if (!id && error) /* a status that came with the signal (SIGCHLD) is not lost */
        id = -ERESTART;
    bool ended = id > 0 && c->ended, stays = options & USER_WNOWAIT;
    if (id > 0) {
        bool stopped = !ended && c->stopped;
        *status = ended ? c->status : stopped ? c->status << 8 | USER_WSTOPPED : USER_W_GOES_ON;
        if (usage)
            usage_of(c->user_ticks + c->children_user_ticks, c->ticks + c->children_ticks, usage);
        c->stop_is_news &= stays;
        c->going_on_is_news &= stays;
    }
    ended = ended && !stays;
    if (ended) {
        if (parent) {
            parent->children_user_ticks += c->user_ticks + c->children_user_ticks;
            parent->children_ticks += c->ticks + c->children_ticks;
        }
        disown(c);
        process_unlist(c);
        process_count++; /* until it is buried */
    }
    simple_lock_leave(&user_lock, s);
    if (ended)
        bury(c);
    return id;
}

void process_ticks(const struct process *p, uint32_t *user, uint32_t *all)
{
    *user = p->user_ticks;
    *all = p->ticks;
    const struct user_thread *t;
    SLIST_FOREACH(t, &p->threads, sibling) {
        *user += t->user_ticks;
        *all += t->thread->ticks;
    }
}

bool process_group_exists(int group, int session)
{
    const struct process *p;
    SLIST_FOREACH(p, &processes, all)
        if (p->group == group && p->session == session)
            return true;
    return false;
}

bool process_none_left(void)
{
    join_exited();
    vnode_pager_sweep();
    crit_t s = simple_lock_enter(&user_lock);
    bool none = !process_count && !process_thread_count;
    simple_lock_leave(&user_lock, s);
    if (none)
        vm_check_no_leak();
    return none;
}

void user_leave_kernel(void)
{
    intr_disable();
    while (unlikely(curhart->thread->looks)) {
        intr_enable();
        signals_attend();
        intr_disable();
    }
    crit_stay_open(); /* else calls in a loop keep interrupts masked, as thread switches do */
    mmu_use(vm_map_pmap(user_self()->process->map));
    account_switch(ACCOUNT_USER);
}
