/* Paths, mounts, and operations by path (vfs.h). */
#include "fs/vfs.h"

#include <errno.h>
#include <string.h>

#include "lib/panic.h"
#include "mem/zone.h"

DEFINE_RW_LOCK(mount_table_lock, "mount table");
DEFINE_ZONE(path_zone, "path", PATH_MOST, 4, SPL_SOFTPREEMPT, 0);
static TAILQ_HEAD(mount_list,
                  mount) mounts = TAILQ_HEAD_INITIALIZER(mounts); /* the last mounted first; the root is the last */
static uint16_t mount_number;

static struct vnode *no_root(void)
{
    return 0;
}

struct vnode *(*vfs_caller_root)(void) = no_root;

static uint32_t no_size_most(void)
{
    return UINT32_MAX;
}

static void nothing_is_too_large(void) {}

uint32_t (*vfs_size_most)(void) = no_size_most;
void (*vfs_too_large)(void) = nothing_is_too_large;

static uint32_t no_clock(void)
{
    return 0;
}

uint32_t (*fs_clock)(void) = no_clock;

uint32_t fs_time(void)
{
    return fs_clock();
}

int uio_move(struct uio *uio, void *data, uint32_t n)
{
    assert(n <= uio->left);
    int error = uio->move(uio, data, n);
    if (!error) {
        uio->left -= n;
        uio->offset += n;
    }
    return error;
}

static int move_in_kernel(struct uio *uio, void *data, uint32_t n)
{
    if (uio->write)
        memcpy(data, uio->with, n);
    else
        memcpy(uio->with, data, n);
    uio->with = (uint8_t *)uio->with + n;
    return 0;
}

void uio_kernel(struct uio *uio, void *memory, uint32_t size, uint64_t offset, bool write)
{
    *uio = (struct uio){.offset = offset, .left = size, .write = write, .move = move_in_kernel, .with = memory};
}

/* Mounts ---------------------------------------------------------------------------------------------------------- */

static struct mount *root_mount(void)
{
    return TAILQ_LAST(&mounts, mount_list);
}

struct vnode *vfs_root(void)
{
    struct vnode *vp = 0;
    rw_lock_read(&mount_table_lock);
    struct mount *m = root_mount();
    if (m && m->ops->root(m, &vp))
        vp = 0;
    lock_done(&mount_table_lock);
    return vp;
}

int vfs_mount_root(struct mount *m)
{
    lock_write(&mount_table_lock);
    int error = TAILQ_EMPTY(&mounts) ? 0 : -EBUSY;
    if (!error) {
        m->covered = 0;
        m->number = ++mount_number;
        strcpy(m->path, "/");
        TAILQ_INSERT_HEAD(&mounts, m, link);
    }
    lock_done(&mount_table_lock);
    return error;
}

int vfs_mount(struct vnode *cwd, const char *path, struct mount *m)
{
    struct vnode *vp;
    int error = namei(cwd, path, true, &vp);
    if (error)
        return error;
    lock_write(&mount_table_lock);
    struct vnode *root = 0;
    struct vattr attr;
    vp->mount->ops->root(vp->mount, &root);
    lock_write(&vp->lock); /* rmdir checks with this lock held whether something is mounted */
    if (vp->type != VDIR)
        error = -ENOTDIR;
    else if (vp->mounted || vp == root)
        error = -EBUSY;
    else if (!(error = vp->ops->getattr(vp, &attr)) && !attr.nlink)
        error = -ENOENT;
    if (!error)
        vp->mounted = m;
    lock_done(&vp->lock);
    if (root)
        vrele(root);
    if (!error) {
        m->covered = vp;
        m->number = ++mount_number;
        strncpy(m->path, path, sizeof m->path - 1);
        TAILQ_INSERT_HEAD(&mounts, m, link);
    }
    lock_done(&mount_table_lock);
    if (error)
        vrele(vp);
    return error;
}

/* With the table locked for writing, so that no thread crosses a mount point. */
static int vfs_unmount_one(struct mount *m)
{
    struct vnode *covered = m->covered;
    struct mount *other, *next = TAILQ_NEXT(m, link);
    TAILQ_FOREACH(other, &mounts, link)
        if (other->covered && other->covered->mount == m)
            return -EBUSY;
    TAILQ_REMOVE(&mounts, m, link); /* before the mount is gone */
    int error = m->ops->unmount(m);
    if (error == -EBUSY) {
        if (next)
            TAILQ_INSERT_BEFORE(next, m, link);
        else
            TAILQ_INSERT_TAIL(&mounts, m, link);
        return error;
    }
    if (covered) {
        covered->mounted = 0;
        vrele(covered);
    }
    return error;
}

int vfs_unmount(struct vnode *cwd, const char *path)
{
    struct vnode *vp;
    int error = namei(cwd, path, true, &vp);
    if (error)
        return error;
    struct mount *m = vp->mount;
    struct vnode *root = 0;
    m->ops->root(m, &root);
    bool is_root = vp == root, is_covering = m->covered;
    vrele(vp);
    if (root)
        vrele(root); /* from here on it may be gone */
    if (!is_root || !is_covering)
        return is_root ? -EBUSY : -EINVAL;
    lock_write(&mount_table_lock);
    bool there = false; /* another thread may have unmounted it already */
    const struct mount *other;
    TAILQ_FOREACH(other, &mounts, link)
        there |= other == m;
    error = there ? vfs_unmount_one(m) : -EINVAL;
    lock_done(&mount_table_lock);
    return error;
}

int vfs_unmount_all(void)
{
    int error = 0;
    lock_write(&mount_table_lock);
    while (!TAILQ_EMPTY(&mounts) && error != -EBUSY) {
        int e = vfs_unmount_one(TAILQ_FIRST(&mounts));
        error = e ? e : error;
    }
    lock_done(&mount_table_lock);
    return error;
}

int vfs_sync(void)
{
    int error = 0;
    lock_read(&mount_table_lock);
    struct mount *m;
    TAILQ_FOREACH(m, &mounts, link) {
        int e = m->ops->sync(m);
        error = error ? error : e;
    }
    lock_done(&mount_table_lock);
    return error;
}

/* Goes from a mount point to the root mounted there, as deep as mounts go. The reference moves along. */
static int cross_down(struct vnode **vpp)
{
    int error = 0;
    if (!(*vpp)->mounted) /* a test without the lock: a mount made just now counts as later */
        return 0;
    rw_lock_read(&mount_table_lock);
    while (!error && (*vpp)->mounted) {
        struct vnode *vp;
        error = (*vpp)->mounted->ops->root((*vpp)->mounted, &vp);
        vrele(*vpp);
        *vpp = error ? 0 : vp;
    }
    lock_done(&mount_table_lock);
    return error;
}

/* For "..": from the root of a mounted file system to its mount point. The root of the system is its own parent. */
static bool cross_up(struct vnode **vpp)
{
    bool top = false;
    lock_read(&mount_table_lock);
    for (;;) {
        struct mount *m = (*vpp)->mount;
        struct vnode *root;
        if (m->ops->root(m, &root))
            break;
        bool is_root = root == *vpp;
        vrele(root);
        if (!is_root)
            break;
        if (!m->covered) {
            top = true;
            break;
        }
        vhold(m->covered);
        vrele(*vpp);
        *vpp = m->covered;
    }
    lock_done(&mount_table_lock);
    return top;
}

/* Paths ----------------------------------------------------------------------------------------------------------- */

struct walk {
    struct vnode *at;  /* a reference */
    struct vnode *root; /* the caller's, with a reference, or null: the system's */
    char *path;        /* the rest of the path, in `buffer` */
    char *buffer;      /* from path_zone */
    unsigned links;
    bool follow;
    const char *last;  /* of a walk to the parent directory: the last component */
    uint32_t last_length;
};

static void walk_end(struct walk *w)
{
    if (w->at)
        vrele(w->at);
    if (w->root)
        vrele(w->root);
    zone_free(&path_zone, w->buffer);
}

/* Starts at the root, or at `cwd`. */
static int start_at(struct walk *w, struct vnode *cwd)
{
    struct vnode *vp = cwd && w->path[0] != '/' ? cwd : w->root;
    if (vp)
        vhold(vp);
    else if (!(vp = vfs_root()))
        return -ENOENT;
    if (w->at)
        vrele(w->at);
    w->at = vp;
    return 0;
}

/* Follows a symbolic link `vp` in the directory w->at, with `rest` of the path behind it. Takes over the reference. */
static int follow_link(struct walk *w, struct vnode *vp, const char *rest)
{
    uint32_t behind = strlen(rest);
    if (++w->links > LINKS_MOST) {
        vrele(vp);
        return -ELOOP;
    }
    memmove(w->buffer + PATH_MOST - 1 - behind, rest, behind + 1);
    lock_read(&vp->lock);
    uint32_t room = PATH_MOST - 1 - behind;
    int length = vp->ops->readlink(vp, w->buffer, room);
    lock_done(&vp->lock);
    vrele(vp);
    if (length < 0)
        return length;
    if ((uint32_t)length >= room)
        return -ENAMETOOLONG;
    memmove(w->buffer + length, w->buffer + PATH_MOST - 1 - behind, behind + 1);
    w->path = w->buffer;
    return length ? start_at(w, w->at) : -ENOENT;
}

static int vfs_step(struct walk *w, const char *name, uint32_t length, struct vnode **vpp)
{
    if (w->at->type != VDIR)
        return -ENOTDIR;
    if (length == 2 && name[0] == '.' && name[1] == '.' && (w->at == w->root || cross_up(&w->at))) {
        vhold(w->at);
        *vpp = w->at;
        return 0;
    }
    lock_read(&w->at->lock);
    int error = w->at->ops->lookup(w->at, name, length, vpp);
    lock_done(&w->at->lock);
    return error ? error : cross_down(vpp);
}

static bool is_dots(const char *name, uint32_t length)
{
    return name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.'));
}

/*
 * Follows the path; with `parent` to the directory of its last component, which w->last then holds; with `follow`, that
 * is no symbolic link.
 */
static int vfs_walk(struct walk *w, struct vnode *cwd, const char *path, bool follow, bool parent)
{
    *w = (struct walk){.follow = follow, .buffer = zone_alloc(&path_zone)};
    if (!w->buffer)
        return -ENOMEM;
    w->root = vfs_caller_root();
    uint32_t size = strlen(path) + 1;
    int error = size == 1 ? -ENOENT : size > PATH_MOST ? -ENAMETOOLONG : 0;
    if (!error) {
        memcpy(w->buffer, path, size);
        w->path = w->buffer;
        error = start_at(w, cwd);
    }
    while (!error) {
        while (*w->path == '/')
            w->path++;
        uint32_t length = strcspn(w->path, "/");
        const char *name = w->path, *rest = name + length;
        if (!length)
            break;
        if (length > NAME_MOST) {
            error = -ENAMETOOLONG;
            break;
        }
        bool last = !rest[strspn(rest, "/")];
        struct vnode *vp;
        if (parent && last) {
            w->last = name;
            w->last_length = length;
            if (w->at->type != VDIR)
                error = -ENOTDIR;
            if (error || !follow || vfs_step(w, name, length, &vp))
                break;
            if (vp->type != VLNK) {
                vrele(vp);
                break;
            }
            w->last = 0;
            error = follow_link(w, vp, rest);
            continue;
        }
        error = vfs_step(w, name, length, &vp);
        if (error)
            break;
        if (vp->type == VLNK && (!last || *rest || w->follow)) {
            error = follow_link(w, vp, rest);
            continue;
        }
        vrele(w->at);
        w->at = vp;
        w->path = (char *)rest;
        if (*rest && vp->type != VDIR)
            error = -ENOTDIR;
    }
    if (!error && parent && !w->last)
        error = -EEXIST; /* the root of the system: it has no name */
    if (error)
        walk_end(w);
    return error;
}

int namei(struct vnode *cwd, const char *path, bool follow, struct vnode **vpp)
{
    struct walk w;
    int error = vfs_walk(&w, cwd, path, follow, false);
    if (error)
        return error;
    *vpp = w.at;
    w.at = 0;
    walk_end(&w);
    return 0;
}

/* A path with a slash at its end can only mean a directory. */
static bool ends_in_slash(const struct walk *w)
{
    return w->last[w->last_length] == '/';
}

/*
 * The type of the file that the walk's last name means; a symbolic link is not followed. -EEXIST if it exists and
 * `type` is null; -ENOENT.
 */
static int type_of_last(const struct walk *w, enum vtype *type)
{
    struct vnode *vp;
    lock_read(&w->at->lock);
    int error = w->at->ops->lookup(w->at, w->last, w->last_length, &vp);
    lock_done(&w->at->lock);
    if (error)
        return error;
    if (type)
        *type = vp->type;
    vrele(vp);
    return type ? 0 : -EEXIST;
}

static int vfs_make_node(struct vnode *cwd, const char *path, enum vtype type, unsigned mode, uint32_t rdev,
                         const char *target, bool follow)
{
    static const uint16_t modes[] = {[VREG] = 0100000, [VDIR] = 040000,  [VBLK] = 060000,  [VCHR] = 020000,
                                     [VLNK] = 0120000, [VFIFO] = 010000, [VSOCK] = 0140000};
    struct vattr attr = {.type = type, .mode = modes[type] | (mode & MODE_BITS), .rdev = rdev};
    struct walk w;
    if (target && !*target)
        return -ENOENT;
    int error = vfs_walk(&w, cwd, path, follow, true);
    if (error)
        return error;
    struct vnode *vp = 0;
    if (is_dots(w.last, w.last_length))
        error = follow ? -ENOENT : -EEXIST; /* vfs_open did not find it, nor will it, in a removed directory */
    else if (type != VDIR && ends_in_slash(&w))
        error = follow ? -EISDIR : type_of_last(&w, 0); /* for open: as below */
    if (!error) {
        lock_write(&w.at->lock);
        error = w.at->ops->create(w.at, w.last, w.last_length, &attr, target, &vp);
        lock_done(&w.at->lock);
    }
    if (vp)
        vrele(vp);
    walk_end(&w);
    return error;
}

int vfs_make(struct vnode *cwd, const char *path, enum vtype type, unsigned mode, uint32_t rdev, const char *target)
{
    return vfs_make_node(cwd, path, type, mode, rdev, target, false);
}

/*
 * For a path that ends in a slash, if a missing file is to be made: no file can have that name (-EISDIR, as Linux). 0:
 * the last component is "." or "..".
 */
static int open_as_directory(struct vnode *cwd, const char *path)
{
    struct walk w;
    int error = vfs_walk(&w, cwd, path, false, true);
    if (error)
        return error == -EEXIST ? -EISDIR : error;
    error = is_dots(w.last, w.last_length) ? 0 : -EISDIR;
    walk_end(&w);
    return error;
}

int vfs_open(struct vnode *cwd, const char *path, unsigned flags, unsigned mode, struct vnode **vpp)
{
    bool exclusive = (flags & (VFS_CREATE | VFS_EXCLUSIVE)) == (VFS_CREATE | VFS_EXCLUSIVE), made = false;
    struct vattr attr;
    uint32_t size = flags & VFS_CREATE ? strlen(path) : 0;
    int error = size && path[size - 1] == '/' ? open_as_directory(cwd, path) : 0;
    if (error)
        return error;
    for (;;) { /* until no thread makes or removes it between search and creation */
        error = namei(cwd, path, !exclusive && !(flags & VFS_NOFOLLOW), vpp);
        if (error != -ENOENT || !(flags & VFS_CREATE))
            break;
        error = vfs_make_node(cwd, path, VREG, mode, 0, 0, !exclusive);
        made = !error;
        if (error && (error != -EEXIST || exclusive))
            return error;
    }
    if (error)
        return error;
    struct vnode *vp = *vpp;
    if (exclusive && !made)
        error = -EEXIST;
    else if (vp->type == VLNK)
        error = -ELOOP;
    else if (flags & VFS_DIRECTORY && vp->type != VDIR)
        error = -ENOTDIR;
    else if (flags & (VFS_CREATE | VFS_WRITE | VFS_TRUNCATE) && vp->type == VDIR)
        error = -EISDIR;
    else if (vp->type == VREG && (error = vfs_getattr(vp, &attr)))
        ;
    else if (vp->type == VREG && attr.size > VFS_SIZE_MOST)
        error = -EOVERFLOW;
    else if (flags & VFS_WRITE && vp->type == VREG && vp->mount->read_only)
        error = -EROFS;
    else if (flags & VFS_TRUNCATE && vp->type == VREG)
        error = vfs_truncate(vp, 0);
    if (error)
        vrele(vp);
    return error;
}

int vfs_link_vnode(struct vnode *vp, struct vnode *cwd, const char *new_path)
{
    struct walk w;
    int error = vfs_walk(&w, cwd, new_path, false, true);
    if (!error) {
        if (is_dots(w.last, w.last_length))
            error = -EEXIST;
        else if (ends_in_slash(&w))
            error = type_of_last(&w, 0);
        if (!error) {
            lock_write(&w.at->lock);
            error = w.at->ops->link(w.at, w.last, w.last_length, vp);
            lock_done(&w.at->lock);
        }
        walk_end(&w);
    }
    return error;
}

int vfs_link(struct vnode *cwd, const char *path, const char *new_path)
{
    struct vnode *vp;
    int error = namei(cwd, path, false, &vp);
    if (error)
        return error;
    error = vfs_link_vnode(vp, cwd, new_path);
    vrele(vp);
    return error;
}

int vfs_remove(struct vnode *cwd, const char *path, bool directory)
{
    struct walk w;
    int error = vfs_walk(&w, cwd, path, false, true);
    if (error)
        return error != -EEXIST ? error : directory ? -EBUSY : -EISDIR;
    if (is_dots(w.last, w.last_length)) {
        error = directory ? w.last_length == 1 ? -EINVAL : -ENOTEMPTY : -EISDIR;
    } else if (!directory && ends_in_slash(&w)) {
        enum vtype type = VNON;
        error = type_of_last(&w, &type);
        if (!error)
            error = type == VDIR ? -EISDIR : -ENOTDIR;
    }
    if (!error) {
        lock_write(&w.at->lock);
        error = w.at->ops->remove(w.at, w.last, w.last_length, directory);
        lock_done(&w.at->lock);
    }
    walk_end(&w);
    return error;
}

int vfs_renameat(struct vnode *cwd, const char *path, struct vnode *new_cwd, const char *new_path)
{
    struct walk from, to;
    int error = vfs_walk(&from, cwd, path, false, true);
    if (error)
        return error == -EEXIST ? -EBUSY : error;
    error = vfs_walk(&to, new_cwd, new_path, false, true);
    if (error) {
        walk_end(&from);
        return error == -EEXIST ? -EBUSY : error;
    }
    if (is_dots(from.last, from.last_length) || is_dots(to.last, to.last_length))
        error = -EINVAL;
    else if (from.at->mount != to.at->mount)
        error = -EXDEV;
    if (!error && (ends_in_slash(&from) || ends_in_slash(&to))) {
        enum vtype type = VNON;
        error = type_of_last(&from, &type);
        if (!error && type != VDIR)
            error = -ENOTDIR;
    }
    if (!error)
        error = from.at->ops->rename(from.at, from.last, from.last_length, to.at, to.last, to.last_length);
    walk_end(&from);
    walk_end(&to);
    return error;
}

/* Operations with the lock held ---------------------------------------------------------------------------------- */

int vfs_getattr(struct vnode *vp, struct vattr *attr)
{
    lock_read(&vp->lock);
    int error = vp->ops->getattr(vp, attr);
    lock_done(&vp->lock);
    return error;
}

int vfs_setattr(struct vnode *vp, const struct vattr *attr, unsigned which)
{
    lock_write(&vp->lock);
    int error = vp->ops->setattr(vp, attr, which);
    lock_done(&vp->lock);
    return error;
}

static uint64_t vfs_size_of(struct vnode *vp)
{
    struct vattr attr;
    return vp->ops->getattr(vp, &attr) ? 0 : attr.size;
}

/*
 * These bytes of a mapped file are about to be written: pages that contain them are written and dropped. If one of them
 * cannot be written, as the disk is full, the call fails: it would overwrite the new bytes later. Behind the file's end
 * its last page may have data that must not be seen when the file grows.
 */
static int write_under_maps(struct vnode *vp, uint64_t from, uint64_t left, bool append)
{
    uint64_t size = vfs_size_of(vp);
    if (append)
        from = size;
    if (from + left > size)
        vp->end(vp, size, size);
    return left ? vp->flush(vp, from, from + left, true) : 0;
}

int vfs_truncate(struct vnode *vp, uint64_t size)
{
    lock_write(&vp->lock);
    uint64_t before = vp->mapped ? vfs_size_of(vp) : 0;
    if (vp->mapped && size > before)
        vp->end(vp, before, before);
    int error = vp->ops->truncate(vp, size);
    if (vp->mapped && !error && size < before)
        vp->end(vp, size, before);
    lock_done(&vp->lock);
    return error;
}

int vfs_read(struct vnode *vp, struct uio *uio)
{
    int error = 0;
    lock_read(&vp->lock);
    if (vp->mapped) {
        lock_done(&vp->lock);
        lock_write(&vp->lock);
        if (vp->mapped && uio->left) /* an error: the file has older bytes than a mapping shows */
            error = vp->flush(vp, uio->offset, uio->offset + uio->left, false);
    }
    if (!error)
        error = vp->type == VDIR ? -EISDIR : vp->ops->read(vp, uio);
    lock_done(&vp->lock);
    return error;
}

int vfs_write(struct vnode *vp, struct uio *uio, bool append)
{
    int error = -EAGAIN;
    if (vp->ops->overwrite && !append) {
        lock_read(&vp->lock);
        if (!vp->mapped)
            error = vp->ops->overwrite(vp, uio);
        lock_done(&vp->lock);
    }
    if (error != -EAGAIN)
        return error;
    lock_write(&vp->lock);
    error = vp->mapped ? write_under_maps(vp, uio->offset, uio->left, append) : 0;
    if (!error)
        error = vp->ops->write(vp, uio, append);
    lock_done(&vp->lock);
    return error;
}

int vfs_fsync(struct vnode *vp)
{
    lock_write(&vp->lock);
    int error = vp->mapped ? vp->flush(vp, 0, UINT64_MAX, false) : 0, e = vp->ops->fsync(vp);
    error = error ? error : vp->map_error;
    vp->map_error = 0;
    lock_done(&vp->lock);
    return error ? error : e;
}

int vfs_readdir(struct vnode *vp, uint64_t offset, dirent_fn *fn, void *arg)
{
    lock_read(&vp->lock);
    int error = vp->ops->readdir(vp, offset, fn, arg);
    lock_done(&vp->lock);
    return error;
}

int vfs_readlink(struct vnode *vp, char *text, uint32_t size)
{
    lock_read(&vp->lock);
    int error = vp->ops->readlink(vp, text, size);
    lock_done(&vp->lock);
    return error;
}

int vfs_statfs(struct vnode *vp, struct statfs_out *to)
{
    vp->mount->ops->statfs(vp->mount, to); /* a file of it is in use, so it stays */
    return 0;
}

/* Goes upwards, and looks for each directory's number in its parent. */
struct look_for {
    uint32_t number, length;
    char name[NAME_MOST];
};

static bool is_it(void *arg, const struct dirent_out *entry)
{
    struct look_for *look = arg;
    if (entry->ino != look->number || is_dots(entry->name, entry->length))
        return true;
    look->length = entry->length;
    memcpy(look->name, entry->name, entry->length);
    return false;
}

int vfs_getcwd(struct vnode *cwd, char *path, uint32_t size)
{
    struct look_for *look = zone_alloc(&path_zone);
    if (!look)
        return -ENOMEM;
    uint32_t at = size; /* the path is built from its end */
    int error = size < 2 ? -ERANGE : 0;
    struct vnode *vp = cwd, *root = vfs_caller_root();
    vhold(vp);
    if (!error)
        path[--at] = 0;
    while (!error) {
        if (vp == root || cross_up(&vp))
            break;
        struct vattr attr;
        struct vnode *up = 0;
        error = vfs_getattr(vp, &attr);
        look->number = attr.ino;
        look->length = 0;
        if (!error) {
            lock_read(&vp->lock);
            error = vp->ops->lookup(vp, "..", 2, &up);
            lock_done(&vp->lock);
        }
        if (!error)
            error = vfs_readdir(up, 0, is_it, look);
        if (!error && (!look->length || look->length + 1 > at))
            error = look->length ? -ERANGE : -ENOENT;
        if (!error) {
            at -= look->length;
            memcpy(path + at, look->name, look->length);
            path[--at] = '/';
        }
        if (up) {
            vrele(vp);
            vp = up;
        }
    }
    vrele(vp);
    if (root)
        vrele(root);
    zone_free(&path_zone, look);
    if (error)
        return error;
    if (at == size - 1) {
        if (!at)
            return -ERANGE;
        path[--at] = '/';
    }
    memmove(path, path + at, size - at);
    return size - at - 1;
}
