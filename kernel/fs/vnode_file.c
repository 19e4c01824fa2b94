/*
 * Vnodes as open files (vnode_file.h). The file's mutex is held while its offset moves (file.h), and the vnode's lock
 * is taken after it.
 */
#include "fs/vnode_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fs/vfs.h"
#include "fs/vnode_pager.h"
#include "lib/minmax.h"
#include "mem/page.h"

#define OFFSET_MOST VFS_SIZE_MOST
#define BLOCK 512u
#define TOUCHED (16 * PAGE_SIZE)

/*
 * Called with the vnode's lock and a buffer's held, so that it must not fault (vnode_pager.h). Pages that are not
 * resident are copied by way of a kernel page (by_page).
 */
static int vnode_file_move(struct uio *uio, void *data, uint32_t n)
{
    struct transfer *t = uio->with;
    if (!t->map)
        return uio->write ? transfer_in(t, data, n) : transfer_out(t, data, n);
    int error = uio->write ? copyin_resident(t->map, data, t->at, n) : copyout_resident(t->map, t->at, data, n);
    if (error)
        return error;
    t->at += n;
    t->left -= n;
    return 0;
}

/*
 * Moves the next piece, at most up to the end of a page of the file, by way of a kernel page. Returns its bytes, or an
 * error.
 */
static int by_page(struct vnode *vp, struct uio *uio, bool append)
{
    struct transfer *t = uio->with;
    struct uio own;
    uint32_t page = page_alloc_raw(), room = PAGE_SIZE - (uint32_t)(uio->offset & PAGE_MASK);
    uint32_t n = MIN(uio->left, room);
    if (!page)
        return -ENOMEM;
    void *data = page_pointer(page);
    uio_kernel(&own, data, n, uio->offset, uio->write);
    own.most = uio->most;
    const struct transfer before = *t;
    int error = uio->write ? transfer_in(t, data, n) : 0;
    if (!error)
        error = uio->write ? vfs_write(vp, &own, append) : vfs_read(vp, &own);
    uint32_t done = n - own.left;
    if (!uio->write && done && transfer_out(t, data, done)) {
        error = -EFAULT;
        done = 0;
    }
    if (uio->write && done < n) { /* bytes taken and not written must be moved again */
        *t = before;
        t->at += done;
        t->left -= done;
    }
    page_free(page);
    uio->left -= done;
    uio->offset = done ? own.offset : uio->offset;
    return done ? (int)done : error;
}

/* The program's next pages are resident for a moment, if nothing takes them away. */
static int vnode_file_touch(const struct transfer *t, uint32_t size, unsigned rights)
{
    int error = vm_fault(t->map, t->at, rights);
    uint32_t end = t->at + MIN(size, TOUCHED);
    for (uint32_t at = (t->at & ~PAGE_MASK) + PAGE_SIZE; !error && at < end && at > t->at; at += PAGE_SIZE)
        if (vm_fault(t->map, at, rights))
            break;
    return error;
}

static int whole(struct vnode *vp, struct uio *uio, bool append)
{
    for (uint32_t left = 0;;) {
        struct transfer *t = uio->with;
        int error = uio->write ? vfs_write(vp, uio, append) : vfs_read(vp, uio);
        if (error != -EFAULT || !t->map)
            return error;
        if (uio->left != left) { /* it has advanced since the last time */
            left = uio->left;
            error = vnode_file_touch(t, left, uio->write ? PAGE_READ : PAGE_WRITE);
            if (error)
                return error == -ENOMEM ? error : -EFAULT;
            continue;
        }
        int n = by_page(vp, uio, append); /* they may be the file's own pages, which its lock blocks */
        if (n <= 0 || !uio->left)
            return n < 0 ? n : 0;
    }
}

/* Bytes that were moved count, whatever failed later. */
static int vnode_file_moved(uint32_t wanted, const struct uio *uio, int error)
{
    uint32_t n = wanted - uio->left;
    return n ? (int)n : error;
}

/*
 * `append`: the file system determines the offset, and how much there is room for. Nothing is written behind `most`
 * bytes of the file.
 */
static struct uio piece_of(const struct file *f, struct transfer *t, bool write, bool append, uint32_t most)
{
    uint32_t at = (uint32_t)f->offset, room = append ? UINT32_MAX : at < most ? most - at : 0, n = MIN(t->left, room);
    return (struct uio){.offset = at, .left = n, .write = write, .most = most, .move = vnode_file_move, .with = t};
}

static int vnode_read(struct file *f, struct transfer *t)
{
    struct uio uio = piece_of(f, t, false, false, OFFSET_MOST);
    uint32_t wanted = uio.left;
    return vnode_file_moved(wanted, &uio, whole(f->data, &uio, false));
}

static int vnode_write(struct file *f, struct transfer *t)
{
    const struct vnode *vp = f->data;
    bool append = f->flags & O_APPEND;
    uint32_t limit = vp->type == VREG ? vfs_size_most() : UINT32_MAX;
    struct uio uio = piece_of(f, t, true, append, MIN(limit, OFFSET_MOST));
    uint32_t wanted = uio.left;
    bool none = t->left && (!limit || (!wanted && !append)); /* a uio whose `most` is 0 has no limit */
    int n = none ? -EFBIG : vnode_file_moved(wanted, &uio, whole(f->data, &uio, append));
    if (n == -EFBIG && limit < OFFSET_MOST)
        vfs_too_large();
    if (n > 0 && append)
        f->offset = (int32_t)(uio.offset - (uint32_t)n); /* the caller moves it on */
    int error = n > 0 && f->flags & O_SYNC ? vfs_fsync(f->data) : 0;
    return error ? error : n;
}

static void vnode_close(struct file *f)
{
    vrele(f->data);
}

int vnode_stat(struct vnode *vp, struct user_stat *to)
{
    struct vattr a;
    int error = vfs_getattr(vp, &a);
    if (error)
        return error;
    memset(to, 0, sizeof *to);
    if (a.size > OFFSET_MOST)
        return -EOVERFLOW;
    to->ino = (uint16_t)a.ino;
    to->dev = (int16_t)vp->mount->number;
    to->mode = a.mode;
    to->nlink = a.nlink;
    to->uid = (uint16_t)a.uid;
    to->gid = (uint16_t)a.gid;
    to->rdev = (int16_t)a.rdev;
    to->size = (int32_t)a.size;
    to->atime.seconds = a.atime;
    to->mtime.seconds = a.mtime;
    to->ctime.seconds = a.ctime;
    to->blksize = (int32_t)(a.block_size ? a.block_size : BLOCK);
    to->blocks = (int32_t)a.blocks;
    return 0;
}

static int vnode_file_stat(struct file *f, struct user_stat *to)
{
    return vnode_stat(f->data, to);
}

/*
 * Entries are collected in a page: the directory's buffer is not held while a page of user mode may be faulted in.
 */
struct entries {
    uint8_t *at;
    uint32_t left, done;
    uint64_t next; /* offset in the directory */
    bool full; /* there is a further entry */
};

static bool add_entry(void *arg, const struct dirent_out *from)
{
    static const uint8_t types[] = {
        [VFIFO] = 1, [VCHR] = 2, [VDIR] = 4, [VBLK] = 6, [VREG] = 8, [VLNK] = 10, [VSOCK] = 12};
    struct entries *to = arg;
    struct user_dirent *e = (struct user_dirent *)(to->at + to->done);
    uint32_t size = (sizeof *e + from->length + 4) & ~3u;
    to->full = size > to->left - to->done;
    if (to->full)
        return false;
    memset(e, 0, size);
    *e =
        (struct user_dirent){from->ino, (uint32_t)from->next, (uint16_t)size, types[from->type], (uint8_t)from->length};
    memcpy(e->name, from->name, from->length);
    to->done += size;
    to->next = from->next;
    return true;
}

static int vnode_entries(struct file *f, struct transfer *t)
{
    struct vnode *vp = f->data;
    if (vp->type != VDIR)
        return -ENOTDIR;
    uint32_t page = page_alloc_raw();
    if (!page)
        return -ENOMEM;
    struct entries to = {.at = page_pointer(page), .left = MIN(t->left, PAGE_SIZE)};
    int error = vfs_readdir(vp, (uint32_t)f->offset, add_entry, &to);
    if (!error && !to.done && to.full)
        error = -EINVAL;
    if (!error && to.done)
        error = transfer_out(t, to.at, to.done);
    page_free(page);
    if (!error && to.done)
        f->offset = (int32_t)to.next;
    return error ? error : (int)to.done;
}

int vnode_resize(struct vnode *vp, int32_t size)
{
    struct vattr attr;
    uint32_t limit = vfs_size_most();
    if (size < 0)
        return -EINVAL;
    if (vp->type == VREG && (uint32_t)size > limit) {
        int error = vfs_getattr(vp, &attr);
        if (error)
            return error;
        if ((uint32_t)size > attr.size) {
            vfs_too_large();
            return -EFBIG;
        }
    }
    return vfs_truncate(vp, (uint32_t)size);
}

static int vnode_truncate(struct file *f, int32_t size)
{
    return vnode_resize(f->data, size);
}

static int vnode_sync(struct file *f)
{
    return vfs_fsync(f->data);
}

static struct vm_object *vnode_object(struct file *f, int *error)
{
    struct vnode *vp = f->data;
    *error = -ENODEV;
    if (vp->ops->object)
        return vp->ops->object(vp, error);
    return vp->type == VREG ? vnode_pager_object(vp, error) : 0;
}

static const struct file_ops vnode_file_ops = {.name = "vnode",
                                               .read = vnode_read,
                                               .write = vnode_write,
                                               .close = vnode_close,
                                               .stat = vnode_file_stat,
                                               .getdirentries = vnode_entries,
                                               .truncate = vnode_truncate,
                                               .sync = vnode_sync,
                                               .object = vnode_object};

struct file *vnode_file(struct vnode *vp, uint32_t kind, uint32_t flags)
{
    return file_create(&vnode_file_ops, vp, kind | FILE_SEEKS, flags);
}

struct vnode *vnode_of_file(const struct file *f)
{
    return f->ops == &vnode_file_ops ? f->data : 0;
}
