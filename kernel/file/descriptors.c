/* Descriptor tables (descriptors.h). */
#include "file/descriptors.h"

#include <errno.h>

#include "file/record_lock.h"
#include "lib/minmax.h"
#include "lock/lock_pair.h"
#include "mem/zone.h"

struct descriptor {
    struct lock lock;
    struct file *volatile file; /* 0: not open. Read without the lock, it is a hint */
    bool close_on_exec;
};

struct chunk {
    struct descriptor descriptor[DESCRIPTOR_CHUNK];
};

struct descriptors {
    struct chunk *chunk[DESCRIPTOR_CHUNKS]; /* set once, by atomic compare and swap */
    volatile uint32_t most; /* no new descriptor is opened from here on (RLIMIT_NOFILE) */
    volatile uint32_t hint; /* low half: none below it is free; high half: the number of closes, modulo 2^16 */
};

DEFINE_ZONE(tables, "descriptor-tables", sizeof(struct descriptors), _Alignof(struct descriptors), SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(chunks, "descriptors", sizeof(struct chunk), _Alignof(struct chunk), SPL_SOFTPREEMPT, 0);
static MUTEX_CLASS(descriptor_class, "descriptor");

struct descriptors *(*descriptors_of)(struct process *p);
uint32_t (*process_id_of)(const struct process *p);

static struct chunk *descriptors_chunk_of(struct descriptors *d, uint32_t fd)
{
    return fd < DESCRIPTORS_MOST ? __atomic_load_n(&d->chunk[fd / DESCRIPTOR_CHUNK], __ATOMIC_ACQUIRE) : 0;
}

/* 0: not allocated yet, so it is not open. */
static struct descriptor *descriptors_find(struct descriptors *d, uint32_t fd)
{
    struct chunk *c = descriptors_chunk_of(d, fd);
    return c ? &c->descriptor[fd % DESCRIPTOR_CHUNK] : 0;
}

static void chunk_free(struct chunk *c)
{
    for (unsigned i = 0; i < DESCRIPTOR_CHUNK; i++)
        lock_destroy(&c->descriptor[i].lock);
    zone_free(&chunks, c);
}

/* Returns the descriptor, and allocates it if needed. 0: memory is out. */
static struct descriptor *descriptors_make(struct descriptors *d, uint32_t fd)
{
    struct descriptor *it = descriptors_find(d, fd);
    if (it)
        return it;
    struct chunk *c = zone_alloc(&chunks), *none = 0;
    if (!c)
        return 0;
    for (unsigned i = 0; i < DESCRIPTOR_CHUNK; i++) {
        c->descriptor[i] = (struct descriptor){0};
        lock_init(&c->descriptor[i].lock, &descriptor_class, "descriptor");
    }
    if (!__atomic_compare_exchange_n(&d->chunk[fd / DESCRIPTOR_CHUNK], &none, c, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        chunk_free(c); /* another thread was first */
    return descriptors_find(d, fd);
}

struct descriptors *descriptors_create(void)
{
    struct descriptors *d = zone_alloc(&tables);
    if (!d)
        return 0;
    *d = (struct descriptors){.most = DESCRIPTORS_MOST};
    if (descriptors_make(d, 0))
        return d;
    zone_free(&tables, d);
    return 0;
}

void descriptors_destroy(struct descriptors *d)
{
    for (uint32_t i = 0; i < DESCRIPTOR_CHUNKS; i++) {
        struct chunk *c = d->chunk[i];
        if (!c)
            continue;
        for (unsigned n = 0; n < DESCRIPTOR_CHUNK; n++)
            if (c->descriptor[n].file) {
                record_locks_end(d, c->descriptor[n].file);
                file_release(c->descriptor[n].file);
            }
        chunk_free(c);
    }
    zone_free(&tables, d);
}

/* The file of a locked descriptor, with one more reference. */
static struct file *another(struct descriptor *it)
{
    struct file *f = it->file;
    if (f)
        file_reference(f);
    return f;
}

static bool copy_chunk(struct descriptors *child, struct chunk *c, uint32_t from)
{
    for (uint32_t n = 0; n < DESCRIPTOR_CHUNK; n++) {
        struct descriptor *it = &c->descriptor[n], *to;
        if (!it->file)
            continue;
        if (!(to = descriptors_make(child, from + n)))
            return false;
        lock_write(&it->lock);
        to->file = another(it);
        to->close_on_exec = it->close_on_exec;
        lock_done(&it->lock);
    }
    return true;
}

struct descriptors *descriptors_fork(struct descriptors *parent)
{
    struct descriptors *child = descriptors_create();
    if (child)
        child->most = parent->most;
    for (uint32_t i = 0; child && i < DESCRIPTOR_CHUNKS; i++) {
        struct chunk *c = descriptors_chunk_of(parent, i * DESCRIPTOR_CHUNK);
        if (c && !copy_chunk(child, c, i * DESCRIPTOR_CHUNK)) {
            descriptors_destroy(child);
            child = 0;
        }
    }
    return child;
}

#define HINT_MASK 0xffffu

/* After `fd` has become free. */
static void hint_closed(struct descriptors *d, uint32_t fd)
{
    uint32_t old = d->hint, new;
    do {
        uint32_t lowest = old & HINT_MASK;
        new = ((old & ~HINT_MASK) + HINT_MASK + 1) | MIN(fd, lowest);
    } while (!__atomic_compare_exchange_n(&d->hint, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

/*
 * `fd` was the first free one, from where the hint `old` says on; no effect if one was closed since the hint was
 * read.
 */
static void hint_opened(struct descriptors *d, uint32_t old, uint32_t fd)
{
    __atomic_compare_exchange_n(&d->hint, &old, (old & ~HINT_MASK) | (fd + 1), false, __ATOMIC_SEQ_CST,
                                __ATOMIC_RELAXED);
}

/* Where to begin the search for a free one, from `from` on. */
static uint32_t first_to_try(uint32_t hint, uint32_t from)
{
    return from > (hint & HINT_MASK) ? from : hint & HINT_MASK;
}

/* Close it, if it is open, refers to `only` (0: to any file) and, unless `any`, is marked close-on-exec. */
static int close_one(struct descriptors *d, uint32_t fd, bool any, const struct file *only)
{
    struct descriptor *it = descriptors_find(d, fd);
    if (!it)
        return -EBADF;
    lock_write(&it->lock);
    struct file *f = any || it->close_on_exec ? it->file : 0;
    if (only && f != only)
        f = 0;
    if (f)
        it->file = 0;
    lock_done(&it->lock);
    if (!f)
        return -EBADF;
    hint_closed(d, fd);
    record_locks_end(d, f);
    file_release(f);
    return 0;
}

void descriptors_limit(struct descriptors *d, uint32_t most)
{
    d->most = most;
}

uint32_t descriptors_most(const struct descriptors *d)
{
    return d->most;
}

void descriptors_exec(struct descriptors *d)
{
    for (uint32_t fd = 0; fd < DESCRIPTORS_MOST; fd++) {
        struct descriptor *it = descriptors_find(d, fd);
        if (!it)
            fd |= DESCRIPTOR_CHUNK - 1;
        else if (it->file)
            close_one(d, fd, false, 0);
    }
}

struct file *descriptor_file(struct descriptors *d, uint32_t fd)
{
    struct descriptor *it = descriptors_find(d, fd);
    if (!it)
        return 0;
    lock_read(&it->lock);
    struct file *f = another(it);
    lock_done(&it->lock);
    return f;
}

int descriptor_open(struct descriptors *d, struct file *f, uint32_t from, bool close_on_exec)
{
    uint32_t hint = d->hint;
    for (uint32_t fd = first_to_try(hint, from); fd < d->most; fd++) {
        struct descriptor *it = descriptors_make(d, fd);
        if (!it)
            return -ENOMEM;
        if (it->file)
            continue;
        lock_write(&it->lock);
        bool taken = it->file;
        if (!taken) {
            it->file = f;
            it->close_on_exec = close_on_exec;
        }
        lock_done(&it->lock);
        if (taken)
            continue;
        if (from <= (hint & HINT_MASK))
            hint_opened(d, hint, fd);
        return (int)fd;
    }
    return -EMFILE;
}

int descriptor_close(struct descriptors *d, uint32_t fd)
{
    return close_one(d, fd, true, 0);
}

int descriptor_close_file(struct descriptors *d, uint32_t fd, const struct file *f)
{
    return close_one(d, fd, true, f);
}

int descriptor_open_both(struct descriptors *d, struct vm_map *map, uint32_t to, struct file *f[2], bool close_on_exec)
{
    unsigned opened = 0;
    int fd[2], error = 0;
    for (unsigned i = 0; i < 2; i++)
        file_reference(f[i]); /* another thread may close a descriptor, and open it as another file */
    for (; opened < 2 && !error; opened += !error) {
        fd[opened] = descriptor_open(d, f[opened], 0, close_on_exec);
        error = fd[opened] < 0 ? fd[opened] : 0;
    }
    if (!error)
        error = copyout(map, to, fd, sizeof fd);
    for (unsigned i = 0; i < 2; i++) {
        if (i >= opened)
            file_release(f[i]); /* no descriptor holds this reference */
        else if (error)
            descriptor_close_file(d, (uint32_t)fd[i], f[i]);
        file_release(f[i]);
    }
    return error;
}

/* Duplicates one to another that is not open. -EAGAIN: it is open. */
static int dup_to(struct descriptor *from, struct descriptor *to, bool close_on_exec)
{
    lock_pair(&from->lock, &to->lock);
    int error = !from->file ? -EBADF : to->file ? -EAGAIN : 0;
    if (!error) {
        to->file = another(from);
        to->close_on_exec = close_on_exec;
    }
    lock_pair_done(&from->lock, &to->lock);
    return error;
}

int descriptor_dup(struct descriptors *d, uint32_t fd, uint32_t from, bool close_on_exec)
{
    struct descriptor *it = descriptors_find(d, fd);
    if (!it || !it->file)
        return -EBADF;
    uint32_t hint = d->hint;
    for (uint32_t to = first_to_try(hint, from); to < d->most; to++) {
        struct descriptor *other = descriptors_make(d, to);
        if (!other)
            return -ENOMEM;
        int error = other->file ? -EAGAIN : dup_to(it, other, close_on_exec);
        if (!error && from <= (hint & HINT_MASK))
            hint_opened(d, hint, to);
        if (error != -EAGAIN)
            return error ? error : (int)to;
    }
    return -EMFILE;
}

int descriptor_dup2(struct descriptors *d, uint32_t fd, uint32_t to, bool close_on_exec)
{
    struct descriptor *it = descriptors_find(d, fd), *other;
    if (!it || (to >= d->most && to != fd))
        return -EBADF;
    if (!(other = descriptors_make(d, to)))
        return -ENOMEM;
    lock_pair(&it->lock, &other->lock);
    struct file *f = it->file, *old = 0;
    if (f && it != other) {
        old = other->file;
        other->file = another(it);
        other->close_on_exec = close_on_exec;
    }
    lock_pair_done(&it->lock, &other->lock);
    if (old) {
        record_locks_end(d, old);
        file_release(old);
    }
    return f ? (int)to : -EBADF;
}

int descriptor_close_on_exec(struct descriptors *d, uint32_t fd, bool change, bool to)
{
    struct descriptor *it = descriptors_find(d, fd);
    if (!it)
        return -EBADF;
    lock_write(&it->lock);
    int was = it->file ? it->close_on_exec : -EBADF;
    if (was >= 0 && change)
        it->close_on_exec = to;
    lock_done(&it->lock);
    return was;
}
