/*
 * Pipes: a buffer of a page between files that are read and files that are written. A write of up to PIPE_ATOMIC bytes
 * is never mixed with another's. A pipe with a name, a FIFO (pipe.h), exists while it is open.
 *
 * Locking: a pipe's simple lock guards all but the bytes in transit, which belong to the current reader or writer:
 * bytes are copied to and from user mode without a simple lock, as that may sleep. A thread that waits for its
 * turn, for bytes or for room, can be interrupted. fifos_lock guards the list of FIFOs and their `users`.
 */
#include "file/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "file/calls.h"
#include "file/descriptors.h"
#include "lib/minmax.h"
#include "mem/zone.h"
#include "sched/sched.h"

#define PIPE_SIZE PAGE_SIZE
#define PIPE_ATOMIC 512u

struct pipe {
    struct simple_lock lock;
    uint32_t page;
    uint32_t head, tail; /* written, read; run freely */
    bool reading, writing; /* a thread has its turn */
    uint32_t readers, writers;  /* files */
    uint32_t read_by, write_by; /* the number of opens so far */
    /* Of a FIFO: */
    const struct fifo_name *name;
    void *of;
    uint32_t users; /* files, and threads in open */
    LIST_ENTRY(pipe) next;
};

static SIMPLE_LOCK_CLASS(pipe_class, "pipe", SPL_SOFTPREEMPT);
static SIMPLE_LOCK_CLASS(fifos_class, "fifos", SPL_SOFTPREEMPT);
static struct simple_lock fifos_lock = SIMPLE_LOCK("fifos", fifos_class);
static LIST_HEAD(, pipe) fifos = LIST_HEAD_INITIALIZER(fifos);
DEFINE_ZONE(pipes, "pipes", sizeof(struct pipe), _Alignof(struct pipe), SPL_SOFTPREEMPT, 0);

static struct pipe *pipe_of(struct file *f)
{
    return f->data;
}

static int pipe_wait(struct pipe *p, const struct file *f)
{
    if (f->flags & O_NONBLOCK)
        return -EAGAIN;
    return thread_sleep_interruptibly(p, &p->lock) ? -ERESTART : 0;
}

static void pipe_changed(struct pipe *p)
{
    thread_wakeup(p);
    poll_wakeup();
}

static uint32_t contiguous(uint32_t from, uint32_t n)
{
    uint32_t rest = PIPE_SIZE - from % PIPE_SIZE;
    return MIN(n, rest);
}

static uint8_t *byte_at(struct pipe *p, uint32_t at)
{
    return (uint8_t *)page_pointer(p->page) + at % PIPE_SIZE;
}

static int copy_from(struct pipe *p, uint32_t from, uint32_t n, struct transfer *t)
{
    uint32_t first = contiguous(from, n);
    int error = transfer_out(t, byte_at(p, from), first);
    return error || first == n ? error : transfer_out(t, byte_at(p, from + first), n - first);
}

static int pipe_copy_to(struct pipe *p, uint32_t to, uint32_t n, struct transfer *t)
{
    uint32_t first = contiguous(to, n);
    int error = transfer_in(t, byte_at(p, to), first);
    return error || first == n ? error : transfer_in(t, byte_at(p, to + first), n - first);
}

static int pipe_read(struct file *f, struct transfer *t)
{
    struct pipe *p = pipe_of(f);
    int error = 0;
    uint32_t n = 0;
    if (!t->left)
        return 0;
    crit_t s = simple_lock_enter(&p->lock);
    while (p->reading || (p->head == p->tail && p->writers)) {
        if (error)
            break;
        error = t->has_some ? -EAGAIN : pipe_wait(p, f);
    }
    if (!p->reading && (p->head != p->tail || !p->writers)) /* the wait is over, even if it was also interrupted */
        error = 0;
    if (!error && p->head != p->tail) {
        p->reading = true;
        uint32_t from = p->tail;
        n = MIN(p->head - from, t->left);
        simple_lock_leave(&p->lock, s);
        error = copy_from(p, from, n, t);
        s = simple_lock_enter(&p->lock);
        p->reading = false;
        if (!error)
            p->tail += n;
        pipe_changed(p);
    }
    simple_lock_leave(&p->lock, s);
    return error ? error : (int)n;
}

/*
 * Returns the free room, once it is at least `least`. Called and returns with the lock held, released during the wait.
 */
static int wait_for_room(struct pipe *p, const struct file *f, uint32_t least)
{
    int error = 0;
    while (!error && p->readers && PIPE_SIZE - (p->head - p->tail) < least)
        error = pipe_wait(p, f);
    uint32_t room = PIPE_SIZE - (p->head - p->tail);
    return !p->readers ? -EPIPE : room >= least ? (int)room : error;
}

static int pipe_write(struct file *f, struct transfer *t)
{
    struct pipe *p = pipe_of(f);
    int error = 0, done = 0;
    crit_t s = simple_lock_enter(&p->lock);
    while (!error && p->writing)
        error = pipe_wait(p, f);
    if (error) {
        simple_lock_leave(&p->lock, s);
        return error;
    }
    p->writing = true;
    uint32_t least = t->left <= PIPE_ATOMIC ? t->left : 1;
    while (t->left && !error) {
        int room = wait_for_room(p, f, least);
        if (room < 0) {
            error = room;
            break;
        }
        uint32_t n = MIN(t->left, (uint32_t)room), to = p->head;
        simple_lock_leave(&p->lock, s);
        error = pipe_copy_to(p, to, n, t);
        s = simple_lock_enter(&p->lock);
        if (!error) {
            p->head += n;
            done += (int)n;
            pipe_changed(p);
        }
        least = 1;
    }
    p->writing = false;
    pipe_changed(p);
    simple_lock_leave(&p->lock, s);
    if (done && error == -EPIPE) /* the result does not report it */
        file_broken_pipe();
    return done ? done : error;
}

static void pipe_destroy(struct pipe *p)
{
    simple_lock_destroy(&p->lock);
    if (p->page)
        page_free(p->page);
    zone_free(&pipes, p);
}

/* Drops one user. */
static void fifo_leave(struct pipe *p)
{
    crit_t s = simple_lock_enter(&fifos_lock);
    bool last = !--p->users;
    if (last)
        LIST_REMOVE(p, next);
    simple_lock_leave(&fifos_lock, s);
    if (!last)
        return;
    p->name->release(p->of);
    pipe_destroy(p);
}

/* Closes an end. Returns whether it was the last one. */
static bool end_closed(struct pipe *p, uint32_t kind)
{
    crit_t s = simple_lock_enter(&p->lock);
    p->readers -= !!(kind & FILE_READ);
    p->writers -= !!(kind & FILE_WRITE);
    bool last = !p->readers && !p->writers;
    pipe_changed(p);
    simple_lock_leave(&p->lock, s);
    return last;
}

static void pipe_close(struct file *f)
{
    struct pipe *p = pipe_of(f);
    bool last = end_closed(p, f->kind);
    if (p->name)
        fifo_leave(p);
    else if (last)
        pipe_destroy(p);
}

static int pipe_poll(struct file *f, int events)
{
    struct pipe *p = pipe_of(f);
    crit_t s = simple_lock_enter(&p->lock);
    int now = 0;
    if (f->kind & FILE_READ) {
        if (p->head != p->tail)
            now |= USER_POLLIN;
        if (!p->writers && p->write_by != (uint32_t)f->offset) /* not before the first writer */
            now |= USER_POLLHUP;
    }
    if (f->kind & FILE_WRITE) {
        if (!p->readers)
            now |= USER_POLLERR;
        if (PIPE_SIZE - (p->head - p->tail) >= PIPE_ATOMIC)
            now |= USER_POLLOUT;
    }
    simple_lock_leave(&p->lock, s);
    return now & (events | USER_POLLHUP | USER_POLLERR);
}

static int pipe_stat(struct file *f, struct user_stat *to)
{
    struct pipe *p = pipe_of(f);
    if (p->name)
        return p->name->stat(p->of, to);
    *to = (struct user_stat){.mode = S_IFIFO | 0600, .nlink = 1, .blksize = PIPE_SIZE};
    to->size = (int32_t)(p->head - p->tail);
    return 0;
}

static int pipe_ioctl(struct file *f, struct vm_map *map, uint32_t request, uint32_t argument)
{
    struct pipe *p = pipe_of(f);
    int n = (int)(p->head - p->tail);
    return request == USER_FIONREAD ? copyout(map, argument, &n, sizeof n) : -ENOTTY;
}

static const struct file_ops pipe_ops = {.name = "pipe",
                                         .read = pipe_read,
                                         .write = pipe_write,
                                         .close = pipe_close,
                                         .ioctl = pipe_ioctl,
                                         .stat = pipe_stat,
                                         .poll = pipe_poll};

static struct pipe *pipe_new(void)
{
    struct pipe *p = zone_alloc(&pipes);
    if (!p)
        return 0;
    *p = (struct pipe){.lock = SIMPLE_LOCK("pipe", pipe_class), .page = page_alloc_raw()};
    if (p->page)
        return p;
    pipe_destroy(p);
    return 0;
}

/* Creates both ends, or neither. */
static int pipe_create(struct file *end[2])
{
    struct pipe *p = pipe_new();
    if (!p)
        return -ENOMEM;
    p->readers = p->writers = p->write_by = 1;
    end[0] = file_create(&pipe_ops, p, FILE_READ, 0);
    end[1] = end[0] ? file_create(&pipe_ops, p, FILE_WRITE, 0) : 0;
    if (end[1])
        return 0;
    if (end[0]) {
        p->writers = 0;
        file_release(end[0]);
    } else {
        pipe_destroy(p);
    }
    return -ENOMEM;
}

/* The pipe of that name, with one more user; inserts `made` if there is none. */
static struct pipe *fifo_enter(struct pipe *made, const struct fifo_name *name, void *of)
{
    struct pipe *p;
    crit_t s = simple_lock_enter(&fifos_lock);
    LIST_FOREACH(p, &fifos, next)
        if (p->name == name && p->of == of)
            break;
    if (!p) {
        p = made;
        p->name = name;
        p->of = of;
        LIST_INSERT_HEAD(&fifos, p, next);
    }
    p->users++;
    simple_lock_leave(&fifos_lock, s);
    return p;
}

/* Waits until another end has been opened, or for a signal. */
static int await_other(struct pipe *p, const uint32_t *opened)
{
    int error = 0;
    for (uint32_t before = *opened; !error && *opened == before;)
        error = thread_sleep_interruptibly(p, &p->lock) ? -ERESTART : 0;
    return error;
}

int fifo_open(const struct fifo_name *name, void *of, uint32_t kind, uint32_t flags, struct file **f)
{
    struct pipe *made = pipe_new(), *p = made ? fifo_enter(made, name, of) : 0;
    bool both = kind == (FILE_READ | FILE_WRITE), waits = !both && !(flags & O_NONBLOCK);
    if (p != made) {
        name->release(of); /* the pipe has one already */
        pipe_destroy(made);
    } else if (!p) {
        name->release(of);
        return -ENOMEM;
    }
    *f = file_create(&pipe_ops, p, kind, flags);
    if (!*f) {
        fifo_leave(p);
        return -ENOMEM;
    }
    int error = 0;
    crit_t s = simple_lock_enter(&p->lock);
    bool alone = !both && !(kind & FILE_READ ? p->writers : p->readers);
    if (alone && kind & FILE_WRITE && !waits)
        error = -ENXIO;
    bool is_open = !error;
    if (is_open) {
        p->readers += !!(kind & FILE_READ);
        p->read_by += !!(kind & FILE_READ);
        p->writers += !!(kind & FILE_WRITE);
        p->write_by += !!(kind & FILE_WRITE);
        (*f)->offset = kind & FILE_READ && alone && !waits ? (int32_t)p->write_by : 0;
        pipe_changed(p);
        if (alone && waits)
            error = await_other(p, kind & FILE_READ ? &p->write_by : &p->read_by);
    } else {
        (*f)->kind = 0; /* it is no open end */
    }
    simple_lock_leave(&p->lock, s);
    if (error)
        file_release(*f);
    return error;
}

/* Opens both ends, and stores their descriptors at `to`. */
static int open_pipe(struct process *process, struct vm_map *map, uint32_t to, uint32_t flags)
{
    struct file *end[2];
    int error = pipe_create(end);
    if (error)
        return error;
    for (unsigned i = 0; i < 2; i++)
        end[i]->flags |= flags & O_NONBLOCK;
    return descriptor_open_both(descriptors_of(process), map, to, end, flags & O_CLOEXEC);
}

static int sys_pipe(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return open_pipe(p, map, a[0], 0);
}
SYSCALL(SYS_PIPE, sys_pipe);

static int sys_pipe2(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return a[1] & ~(uint32_t)(O_NONBLOCK | O_CLOEXEC) ? -EINVAL : open_pipe(p, map, a[0], a[1]);
}
SYSCALL(SYS_PIPE2, sys_pipe2);
