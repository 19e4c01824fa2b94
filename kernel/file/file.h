/*
 * Open files: what a descriptor (file/descriptors.h) refers to: a pipe, the terminal, a file of a file
 * system, a socket. Each kind provides a table of operations; 4.3BSD's struct file and struct fileops.
 *
 * A file is reference-counted: by each descriptor that refers to it, and by each call that uses it. Dropping the last
 * reference closes it. All share `offset` (dup, fork): FILE_SEEKS says that the file has one, and then the file's mutex
 * is held during read, write and seek, so two concurrent reads get different bytes.
 *
 * An operation may be 0: then read, write and getdirentries give -EBADF, ioctl -ENOTTY, seek -ESPIPE, the others
 * -EINVAL. It runs in the calling thread, without a simple lock, and may sleep. An unbounded wait must use
 * thread_sleep_interruptibly, and return -ERESTART when interrupted, or the part that was done, if any.
 * All return minus a number of <errno.h> on failure.
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

/* An interrupted call: it is repeated if the signal's action says so (SA_RESTART), else it gives -EINTR. */
#ifndef ERESTART /* hosts that run its tests may define it */
#define ERESTART 512
#endif
#define ERESTART_UNLESS_HANDLED 513 /* only if no handler ran */

/* A piece of user mode's memory, or of the kernel's, that bytes are copied to or from. */
struct transfer {
    struct vm_map *map; /* 0: `at` is a kernel address */
    uint32_t at, left;
    bool has_some; /* this call has moved bytes before: a read that would wait gives -EAGAIN instead */
};

/* Move `n` bytes, at most t->left, between the kernel and the piece, and advance it. 0, or -EFAULT. */
int transfer_in(struct transfer *t, void *to, uint32_t n);
int transfer_out(struct transfer *t, const void *from, uint32_t n);

struct file;
struct vm_object;

struct file_ops {
    const char *name;
    /*
     * Return the bytes moved; 0 at the end. At f->offset, which the caller advances, if the file seeks: they use only
     * data, flags and offset of `f`, as pread and pwrite pass in a file of their own with another offset.
     */
    int (*read)(struct file *f, struct transfer *t);
    int (*write)(struct file *f, struct transfer *t);
    /* The last reference has been dropped: no thread uses the file any more. */
    void (*close)(struct file *f);
    int (*ioctl)(struct file *f, struct vm_map *map, uint32_t request, uint32_t argument);
    /* The new offset, not negative. Without it, with FILE_SEEKS: any within the size that stat gives, or beyond. */
    int (*seek)(struct file *f, int32_t offset, int whence);
    int (*stat)(struct file *f, struct user_stat *to);
    /* Which of `events` (USER_POLLIN...), or of ERR and HUP, hold now. Without it: in and out, always. */
    int (*poll)(struct file *f, int events);
    /* Whole struct user_dirents, from entry f->offset on, which it advances. Returns bytes; 0 at the end. */
    int (*getdirentries)(struct file *f, struct transfer *t);
    int (*truncate)(struct file *f, int32_t size);
    int (*sync)(struct file *f);
    /* The object that mmap maps, with a reference; on failure sets *error. */
    struct vm_object *(*object)(struct file *f, int *error);
};

#define FILE_READ 1u /* open for reading */
#define FILE_WRITE 2u
#define FILE_SEEKS 4u

struct file {
    const struct file_ops *ops;
    void *data; /* for the operations' use */
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
void file_release(struct file *f); /* the last release closes it; may sleep */

int file_read(struct file *f, struct transfer *t);
int file_write(struct file *f, struct transfer *t); /* -EPIPE: the caller must send the signal */
/* At `offset`, instead of the file's own, which does not move. -ESPIPE; -EINVAL: below 0. */
int file_read_at(struct file *f, struct transfer *t, int32_t offset);
int file_write_at(struct file *f, struct transfer *t, int32_t offset);
int file_seek(struct file *f, int32_t offset, int whence);
int file_getdirentries(struct file *f, struct transfer *t);

/*
 * A file's `poll` would return something else than before: threads waiting in poll or select check again. Any level to
 * SPL_SOFTCLOCK.
 */
void poll_wakeup(void);
#endif
