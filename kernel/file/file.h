/*
 * Open files: what a descriptor (file/descriptors.h) refers to, whatever is behind it: a pipe, the terminal, a file of
 * a file system, a socket. Each kind fills in a table of operations; 4.3BSD's struct file and struct fileops.
 *
 * A file is counted: by each descriptor that refers to it, and by each call that uses it. The last one that goes closes
 * it. `offset` is shared by all of them (dup, fork): FILE_SEEKS says that there is one, and then the file's mutex is
 * held during read, write and seek, so two that read get different bytes.
 *
 * An operation may be 0: read, write and getdirentries give -EBADF then, ioctl -ENOTTY, seek -ESPIPE, the others
 * -EINVAL. It runs in the calling thread, without a simple lock, and may sleep. What it waits for without end it waits
 * for with thread_sleep_interruptibly, and gives -ERESTART when that is interrupted, or what was done, if anything was.
 * All return minus a number of <errno.h> for failure.
 *
 * Locking: file_lock, a simple lock at SPL_SOFTPREEMPT, guards the counts.
 */
#ifndef FILE_FILE_H
#define FILE_FILE_H

#include <stdbool.h>
#include <sys/queue.h>

#include "lock/lock.h"
#include "user/abi.h"
#include "vm/map.h"

/* A call that was interrupted: it is made again when the signal's action says so (SA_RESTART), else it is -EINTR. */
#ifndef ERESTART /* a host that runs its tests has one */
#define ERESTART 512
#endif
#define ERESTART_UNLESS_HANDLED 513 /* only if no handler ran */

/* A piece of user mode's memory, or of the kernel's, that bytes go to or come from. */
struct transfer {
    struct vm_map *map; /* 0: `at` is an address of the kernel */
    uint32_t at, left;
    bool has_some; /* bytes have been moved for this call before: a read that would wait gives -EAGAIN instead */
};

/* Move `n` bytes, at most t->left, between the kernel and the piece, which is so much shorter then. 0, or -EFAULT. */
int transfer_in(struct transfer *t, void *to, uint32_t n);
int transfer_out(struct transfer *t, const void *from, uint32_t n);

struct file;
struct vm_object;

struct file_ops {
    const char *name;
    /*
     * Bytes moved; 0 at the end. At f->offset, which the caller moves on, if the file seeks: then they use of `f` no
     * more than data, flags and offset, as pread and pwrite hand in a file of their own with another offset.
     */
    int (*read)(struct file *f, struct transfer *t);
    int (*write)(struct file *f, struct transfer *t);
    /* The last reference has gone: nobody uses the file any more. */
    void (*close)(struct file *f);
    int (*ioctl)(struct file *f, struct vm_map *map, uint32_t request, uint32_t argument);
    /* The new offset, not negative. 0 here, with FILE_SEEKS: any within the size that stat gives, or beyond. */
    int (*seek)(struct file *f, int32_t offset, int whence);
    int (*stat)(struct file *f, struct user_stat *to);
    /* Which of `events` (USER_POLLIN...), or of ERR and HUP, are so now. 0 here: in and out, always. */
    int (*poll)(struct file *f, int events);
    /* Struct user_dirents, whole ones, from entry f->offset on, which it moves on. Bytes; 0 at the end. */
    int (*getdirentries)(struct file *f, struct transfer *t);
    int (*truncate)(struct file *f, int32_t size);
    int (*sync)(struct file *f);
    /* What mmap maps, with a reference; *error otherwise. */
    struct vm_object *(*object)(struct file *f, int *error);
};

#define FILE_READ 1u /* open for it */
#define FILE_WRITE 2u
#define FILE_SEEKS 4u

struct file {
    const struct file_ops *ops;
    void *data; /* the operations' own */
    uint32_t references;
    uint32_t kind; /* FILE_READ... */
    volatile uint32_t flags; /* O_APPEND, O_NONBLOCK of <fcntl.h> */
    int32_t offset;
    uint8_t flock; /* LOCK_SH or LOCK_EX; 0: none (flock.h) */
    LIST_ENTRY(file) flock_link;
    struct lock lock;
};

/* A file with one reference; 0: memory is out. */
struct file *file_create(const struct file_ops *ops, void *data, uint32_t kind, uint32_t flags);
void file_reference(struct file *f);
void file_release(struct file *f); /* closes it when it was the last; may sleep */

int file_read(struct file *f, struct transfer *t);
int file_write(struct file *f, struct transfer *t); /* -EPIPE: the caller is to get the signal */
/* At `offset`, which need not be the file's own, and moves nothing. -ESPIPE; -EINVAL: below 0. */
int file_read_at(struct file *f, struct transfer *t, int32_t offset);
int file_write_at(struct file *f, struct transfer *t, int32_t offset);
int file_seek(struct file *f, int32_t offset, int whence);
int file_getdirentries(struct file *f, struct transfer *t);

/*
 * Whoever waits in poll or select looks again: a file's `poll` would say something else than before. Any level to
 * SPL_SOFTCLOCK.
 */
void poll_wakeup(void);
#endif
