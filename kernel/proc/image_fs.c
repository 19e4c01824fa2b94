/*
 * The archive and the devices as file systems (image_fs.h). Folders and devices always have a vnode, a file of the
 * archive while it is referenced. They do not change, so only vfs.c needs their locks.
 */
#include "proc/image_fs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/minmax.h"
#include "mem/zone.h"
#include "proc/archive.h"
#include "proc/devices.h"
#include "vm/pager.h"

#define FIRST_INODE 16 /* of the archive's files */
#define BLOCK 512u

struct node {
    struct vnode v;   /* first */
    const char *name; /* 0: a file of the archive */
    struct node *in;
    uint16_t number;
    const char *bytes;
    uint32_t size, references; /* of a file of the archive */
};

static RW_LOCK_CLASS(image_class, "image file");
static MUTEX_CLASS(image_rename_class, "image rename");
DEFINE_ZONE(archive_files, "archive-files", sizeof(struct node), _Alignof(struct node), SPL_SOFTPREEMPT, 0);

static const struct vnodeops image_ops;
static const struct mountops archive_ops, devices_ops;
static struct mount archive = {
    .ops = &archive_ops, .read_only = true, .rename_lock = LOCK("image rename", image_rename_class)};
static struct mount image_devices = {
    .ops = &devices_ops, .read_only = true, .rename_lock = LOCK("image rename", image_rename_class)};

#define VNODE(of, what, device) \
    {.ops = &image_ops, .mount = &(of), .type = (what), .rdev = (device), .lock = LOCK("image file", image_class)}
static struct node archive_root = {.v = VNODE(archive, VDIR, 0), .name = "/", .in = &archive_root, .number = 2};
static struct node devices_root = {.v = VNODE(image_devices, VDIR, 0), .name = "/", .in = &devices_root, .number = 2};
static struct node image_nodes[] = {
    {.v = VNODE(archive, VDIR, 0), .name = "dev", .in = &archive_root, .number = 3},
    {.v = VNODE(archive, VDIR, 0), .name = "mnt", .in = &archive_root, .number = 4},
    {.v = VNODE(image_devices, VCHR, DEVICE_CONSOLE), .name = "console", .in = &devices_root, .number = 3},
    {.v = VNODE(image_devices, VCHR, DEVICE_TTY), .name = "tty", .in = &devices_root, .number = 4},
    {.v = VNODE(image_devices, VCHR, DEVICE_NULL), .name = "null", .in = &devices_root, .number = 5},
    {.v = VNODE(image_devices, VCHR, DEVICE_ZERO), .name = "zero", .in = &devices_root, .number = 6},
};
#define NODES (sizeof image_nodes / sizeof image_nodes[0])
#define NODE(vp) ((struct node *)(vp))

static bool image_is_called(const char *name, const char *wanted, uint32_t length)
{
    return strlen(name) == length && !memcmp(name, wanted, length);
}

int archive_vnode(const char *path, struct vnode **vpp)
{
    uint32_t size;
    const char *bytes = archive_lookup(path, &size);
    struct node *n = bytes ? zone_alloc(&archive_files) : 0;
    if (!n)
        return bytes ? -ENOMEM : -ENOENT;
    *n = (struct node){.v = {.ops = &image_ops, .mount = &archive, .type = VREG},
                       .number = (uint16_t)(FIRST_INODE + archive_number(bytes)),
                       .bytes = bytes,
                       .size = size,
                       .references = 1};
    lock_init(&n->v.lock, &image_class, "image file");
    *vpp = &n->v;
    return 0;
}

static int image_lookup(struct vnode *dvp, const char *name, uint32_t length, struct vnode **vpp)
{
    struct node *d = NODE(dvp);
    *vpp = image_is_called(".", name, length) ? dvp : image_is_called("..", name, length) ? &d->in->v : 0;
    if (d == &archive_root && image_is_called("bin", name, length))
        *vpp = dvp;
    for (unsigned i = 0; i < NODES && !*vpp; i++)
        if (image_nodes[i].in == d && image_is_called(image_nodes[i].name, name, length))
            *vpp = &image_nodes[i].v;
    if (*vpp)
        return 0;
    if (d != &archive_root || length >= 2 * USER_NAME_SIZE)
        return -ENOENT;
    char text[2 * USER_NAME_SIZE];
    memcpy(text, name, length);
    text[length] = 0;
    return archive_vnode(text, vpp);
}

static int image_create(struct vnode *dvp, const char *name, uint32_t length, const struct vattr *attr,
                        const char *target, struct vnode **vpp)
{
    (void)attr, (void)target;
    if (image_lookup(dvp, name, length, vpp))
        return -EROFS;
    vrele(*vpp);
    *vpp = 0;
    return -EEXIST;
}

static int image_link(struct vnode *dvp, const char *name, uint32_t length, struct vnode *vp)
{
    (void)dvp, (void)name, (void)length, (void)vp;
    return -EROFS;
}

static int image_remove(struct vnode *dvp, const char *name, uint32_t length, bool directory)
{
    struct vnode *vp;
    (void)directory;
    int error = image_lookup(dvp, name, length, &vp);
    if (error)
        return error;
    vrele(vp);
    return -EROFS;
}

static int image_rename(struct vnode *from, const char *name, uint32_t length, struct vnode *to, const char *new_name,
                        uint32_t new_length)
{
    (void)to, (void)new_name, (void)new_length;
    return image_remove(from, name, length, false);
}

static int image_read(struct vnode *vp, struct uio *uio)
{
    const struct node *n = NODE(vp);
    if (!n->bytes)
        return -EIO;
    uint32_t at = uio->offset < n->size ? (uint32_t)uio->offset : n->size, rest = n->size - at;
    return uio_move(uio, (void *)(n->bytes + at), MIN(uio->left, rest));
}

static int image_write(struct vnode *vp, struct uio *uio, bool append)
{
    (void)vp, (void)uio, (void)append;
    return -EROFS;
}

static int image_truncate(struct vnode *vp, uint64_t size)
{
    (void)vp, (void)size;
    return -EROFS;
}

static int image_getattr(struct vnode *vp, struct vattr *attr)
{
    const struct node *n = NODE(vp);
    *attr = (struct vattr){.type = vp->type, .nlink = 1, .ino = n->number, .block_size = BLOCK, .rdev = vp->rdev};
    attr->mode = vp->type == VDIR ? S_IFDIR | 0555 : vp->type == VCHR ? S_IFCHR | 0666 : S_IFREG | 0555;
    attr->size = n->size;
    attr->blocks = (n->size + BLOCK - 1) / BLOCK;
    return 0;
}

static int image_setattr(struct vnode *vp, const struct vattr *attr, unsigned which)
{
    (void)vp, (void)attr, (void)which;
    return -EROFS;
}

/* An offset is an index: the archive's files, then the nodes here. */
static int image_readdir(struct vnode *vp, uint64_t offset, dirent_fn *fn, void *arg)
{
    const struct node *d = NODE(vp);
    uint32_t at = (uint32_t)offset, files = 0;
    if (vp->type != VDIR)
        return -ENOTDIR;
    if (d == &archive_root) {
        const char *name;
        for (uint32_t next = 0; (name = archive_next(&next)); files++) {
            struct dirent_out out = {FIRST_INODE + files, files + 1, VREG, strlen(name), name};
            if (files >= at && !fn(arg, &out))
                return 0;
        }
    }
    for (uint32_t i = 0; i < NODES; i++) {
        struct dirent_out out = {image_nodes[i].number, files + i + 1, image_nodes[i].v.type,
                                 strlen(image_nodes[i].name), image_nodes[i].name};
        if (image_nodes[i].in == d && files + i >= at && !fn(arg, &out))
            return 0;
    }
    return 0;
}

static int image_readlink(struct vnode *vp, char *text, uint32_t size)
{
    (void)vp, (void)text, (void)size;
    return -EINVAL;
}

static int image_fsync(struct vnode *vp)
{
    (void)vp;
    return 0;
}

static void image_hold(struct vnode *vp)
{
    if (!NODE(vp)->name)
        __atomic_fetch_add(&NODE(vp)->references, 1, __ATOMIC_RELAXED);
}

static void image_release(struct vnode *vp)
{
    struct node *n = NODE(vp);
    if (n->name || __atomic_sub_fetch(&n->references, 1, __ATOMIC_ACQ_REL))
        return;
    lock_destroy(&vp->lock);
    zone_free(&archive_files, n);
}

static struct vm_object *object(struct vnode *vp, int *error)
{
    const struct node *n = NODE(vp);
    struct vm_object *it = n->bytes ? vm_object_of_bytes(n->bytes, n->size, VM_END / PAGE_SIZE) : 0;
    *error = it ? 0 : n->bytes ? -ENOMEM : -ENODEV;
    return it;
}

static const void *contents(struct vnode *vp, uint32_t *size)
{
    *size = NODE(vp)->size;
    return NODE(vp)->bytes;
}

static const struct vnodeops image_ops = {.lookup = image_lookup,
                                          .create = image_create,
                                          .link = image_link,
                                          .remove = image_remove,
                                          .rename = image_rename,
                                          .read = image_read,
                                          .write = image_write,
                                          .truncate = image_truncate,
                                          .getattr = image_getattr,
                                          .setattr = image_setattr,
                                          .readdir = image_readdir,
                                          .readlink = image_readlink,
                                          .fsync = image_fsync,
                                          .hold = image_hold,
                                          .release = image_release,
                                          .object = object,
                                          .contents = contents};

static int archive_root_of(struct mount *m, struct vnode **vpp)
{
    (void)m;
    *vpp = &archive_root.v;
    return 0;
}

static int devices_root_of(struct mount *m, struct vnode **vpp)
{
    (void)m;
    *vpp = &devices_root.v;
    return 0;
}

static int image_nothing(struct mount *m)
{
    (void)m;
    return 0;
}

static void image_statfs(struct mount *m, struct statfs_out *to)
{
    (void)m;
    *to = (struct statfs_out){.block_size = BLOCK};
}

static const struct mountops archive_ops = {
    .root = archive_root_of, .sync = image_nothing, .unmount = image_nothing, .statfs = image_statfs};
static const struct mountops devices_ops = {
    .root = devices_root_of, .sync = image_nothing, .unmount = image_nothing, .statfs = image_statfs};

struct mount *archive_mount(void)
{
    return &archive;
}

struct mount *devices_mount(void)
{
    return &image_devices;
}
