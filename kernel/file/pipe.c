/*
 * Pipes: a buffer of a page between a file that is read and one that is written. A write of up to PIPE_ATOMIC bytes is
 * never mixed with another's.
 *
 * Locking: a pipe's simple lock guards all but the bytes between, which belong to the one that writes, or reads, at the
 * time: bytes are copied to and from user mode without a simple lock, as that may sleep. A thread that waits for its
 * turn, for bytes or for room, can be interrupted.
 */
#include <errno.h>
#include <fcntl.h>
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
    bool reading, writing; /* somebody's turn */
    bool no_reader, no_writer;
};

static SIMPLE_LOCK_CLASS(pipe_class, "pipe", SPL_SOFTPREEMPT);
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
    while (p->reading || (p->head == p->tail && !p->no_writer)) {
        if (error)
            break;
        error = t->has_some ? -EAGAIN : pipe_wait(p, f);
    }
    if (!p->reading && (p->head != p->tail || p->no_writer)) /* it has come, whatever else has */
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
 * What there is room for, once there is for `least`. Called and returns with the lock, which is let go while it waits.
 */
static int wait_for_room(struct pipe *p, const struct file *f, uint32_t least)
{
    int error = 0;
    while (!error && !p->no_reader && PIPE_SIZE - (p->head - p->tail) < least)
        error = pipe_wait(p, f);
    uint32_t room = PIPE_SIZE - (p->head - p->tail);
    return p->no_reader ? -EPIPE : room >= least ? (int)room : error;
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
    if (done && error == -EPIPE) /* the result does not say it */
        file_broken_pipe();
    return done ? done : error;
}

static void pipe_close(struct file *f)
{
    struct pipe *p = pipe_of(f);
    crit_t s = simple_lock_enter(&p->lock);
    if (f->kind & FILE_READ)
        p->no_reader = true;
    else
        p->no_writer = true;
    bool last = p->no_reader && p->no_writer;
    pipe_changed(p);
    simple_lock_leave(&p->lock, s);
    if (!last)
        return;
    simple_lock_destroy(&p->lock);
    page_free(p->page);
    zone_free(&pipes, p);
}

static int pipe_poll(struct file *f, int events)
{
    struct pipe *p = pipe_of(f);
    crit_t s = simple_lock_enter(&p->lock);
    int now = 0;
    if (f->kind & FILE_READ) {
        if (p->head != p->tail)
            now |= USER_POLLIN;
        if (p->no_writer)
            now |= USER_POLLHUP;
    } else if (p->no_reader) {
        now |= USER_POLLERR;
    } else if (PIPE_SIZE - (p->head - p->tail) >= PIPE_ATOMIC) {
        now |= USER_POLLOUT;
    }
    simple_lock_leave(&p->lock, s);
    return now & (events | USER_POLLHUP | USER_POLLERR);
}

static int pipe_stat(struct file *f, struct user_stat *to)
{
    struct pipe *p = pipe_of(f);
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

/* Both ends, or neither. */
static int pipe_create(struct file *end[2])
{
    struct pipe *p = zone_alloc(&pipes);
    if (!p)
        return -ENOMEM;
    *p = (struct pipe){.lock = SIMPLE_LOCK("pipe", pipe_class), .page = page_alloc_raw()};
    end[0] = p->page ? file_create(&pipe_ops, p, FILE_READ, 0) : 0;
    end[1] = end[0] ? file_create(&pipe_ops, p, FILE_WRITE, 0) : 0;
    if (end[1])
        return 0;
    if (end[0]) {
        p->no_writer = true;
        file_release(end[0]);
        return -ENOMEM;
    }
    if (p->page)
        page_free(p->page);
    zone_free(&pipes, p);
    return -ENOMEM;
}

/* Both ends, with their descriptors at `to`. */
static int open_pipe(struct process *process, struct vm_map *map, uint32_t to, uint32_t flags)
{
    struct descriptors *d = descriptors_of(process);
    struct file *end[2];
    unsigned opened = 0;
    int fd[2], error = pipe_create(end);
    if (error)
        return error;
    for (unsigned i = 0; i < 2; i++)
        end[i]->flags |= flags & O_NONBLOCK;
    for (unsigned i = 0; i < 2; i++)
        file_reference(end[i]); /* another thread may close a descriptor, and open it as something else */
    for (; opened < 2 && !error; opened += !error) {
        fd[opened] = descriptor_open(d, end[opened], 0, flags & O_CLOEXEC);
        error = fd[opened] < 0 ? fd[opened] : 0;
    }
    if (!error)
        error = copyout(map, to, fd, sizeof fd);
    for (unsigned i = 0; i < 2; i++) {
        if (i >= opened)
            file_release(end[i]); /* no descriptor has it */
        else if (error)
            descriptor_close_file(d, (uint32_t)fd[i], end[i]);
        file_release(end[i]);
    }
    return error;
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
