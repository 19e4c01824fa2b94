/* Open files (file.h). */
#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "file/flock.h"
#include "lib/panic.h"
#include "mem/zone.h"

DEFINE_SIMPLE_LOCK(file_lock, "files", SPL_SOFTPREEMPT);
DEFINE_ZONE(files, "files", sizeof(struct file), _Alignof(struct file), SPL_SOFTPREEMPT, 0);
static MUTEX_CLASS(file_class, "file");

int transfer_in(struct transfer *t, void *to, uint32_t n)
{
    if (t->map && copyin(t->map, to, t->at, n))
        return -EFAULT;
    if (!t->map)
        memcpy(to, (const void *)(uintptr_t)t->at, n);
    t->at += n;
    t->left -= n;
    return 0;
}

int transfer_out(struct transfer *t, const void *from, uint32_t n)
{
    if (t->map && copyout(t->map, t->at, from, n))
        return -EFAULT;
    if (!t->map)
        memcpy((void *)(uintptr_t)t->at, from, n);
    t->at += n;
    t->left -= n;
    return 0;
}

struct file *file_create(const struct file_ops *ops, void *data, uint32_t kind, uint32_t flags)
{
    struct file *f = zone_alloc(&files);
    if (!f)
        return 0;
    *f = (struct file){.ops = ops, .data = data, .references = 1, .kind = kind, .flags = flags};
    lock_init(&f->lock, &file_class, ops->name);
    return f;
}

void file_reference(struct file *f)
{
    crit_t s = simple_lock_enter(&file_lock);
    if (!f->references++)
        panic("file_reference: the file, a %s, is closed", f->ops->name);
    simple_lock_leave(&file_lock, s);
}

void file_release(struct file *f)
{
    crit_t s = simple_lock_enter(&file_lock);
    bool last = !--f->references;
    simple_lock_leave(&file_lock, s);
    if (!last)
        return;
    if (f->flock)
        flock_end(f);
    if (f->ops->close)
        f->ops->close(f);
    lock_destroy(&f->lock);
    zone_free(&files, f);
}

/* For a file that seeks, holds its mutex and advances its offset. */
static int at_offset(struct file *f, struct transfer *t, int (*op)(struct file *, struct transfer *))
{
    if (!(f->kind & FILE_SEEKS))
        return op(f, t);
    lock_write(&f->lock);
    int n = op(f, t);
    if (n > 0)
        f->offset += n;
    lock_done(&f->lock);
    return n;
}

int file_read(struct file *f, struct transfer *t)
{
    if (!(f->kind & FILE_READ) || !f->ops->read)
        return -EBADF;
    return at_offset(f, t, f->ops->read);
}

int file_write(struct file *f, struct transfer *t)
{
    if (!(f->kind & FILE_WRITE) || !f->ops->write)
        return -EBADF;
    return at_offset(f, t, f->ops->write);
}

static int file_elsewhere(struct file *f, struct transfer *t, int32_t offset,
                          int (*op)(struct file *, struct transfer *))
{
    if (!(f->kind & FILE_SEEKS))
        return -ESPIPE;
    if (offset < 0)
        return -EINVAL;
    struct file at = {
        .ops = f->ops, .data = f->data, .kind = f->kind, .flags = f->flags & ~(uint32_t)O_APPEND, .offset = offset};
    return op(&at, t);
}

int file_read_at(struct file *f, struct transfer *t, int32_t offset)
{
    if (!(f->kind & FILE_READ) || !f->ops->read)
        return -EBADF;
    return file_elsewhere(f, t, offset, f->ops->read);
}

int file_write_at(struct file *f, struct transfer *t, int32_t offset)
{
    if (!(f->kind & FILE_WRITE) || !f->ops->write)
        return -EBADF;
    return file_elsewhere(f, t, offset, f->ops->write);
}

static int new_offset(struct file *f, int32_t offset, int whence)
{
    if (f->ops->seek)
        return f->ops->seek(f, offset, whence);
    struct user_stat st = {0};
    if (whence == SEEK_END) {
        int error = f->ops->stat ? f->ops->stat(f, &st) : -EINVAL;
        if (error)
            return error;
    } else if (whence != SEEK_SET && whence != SEEK_CUR) {
        return -EINVAL;
    }
    int64_t to = (int64_t)offset + (whence == SEEK_END ? st.size : whence == SEEK_CUR ? f->offset : 0);
    return to < 0 ? -EINVAL : to > INT32_MAX ? -EOVERFLOW : (int)to;
}

int file_seek(struct file *f, int32_t offset, int whence)
{
    if (!(f->kind & FILE_SEEKS))
        return -ESPIPE;
    lock_write(&f->lock);
    int to = new_offset(f, offset, whence);
    if (to >= 0)
        f->offset = to;
    lock_done(&f->lock);
    return to;
}

int file_getdirentries(struct file *f, struct transfer *t)
{
    if (!(f->kind & FILE_READ))
        return -EBADF;
    if (!f->ops->getdirentries)
        return -ENOTDIR;
    lock_write(&f->lock);
    int n = f->ops->getdirentries(f, t);
    lock_done(&f->lock);
    return n;
}
