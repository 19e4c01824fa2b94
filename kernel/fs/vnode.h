/*
 * The interface of file systems: files as vnodes, which a file system fills in, so that others can stand beside ext2
 * (NFS).
 *
 * Locking, in the order in which locks are taken (paper `mach`, section 3.1: file structure, inode, buffer, device):
 *
 *   rename lock of a mount     only by rename between directories, around all that follows
 *   vnode                      a directory before what is in it; of two directories the one above first, else by
 *                              address
 *   vnode table's chains       the first reference and the last
 *   buffers                    fs/buf.h
 *
 * A reference keeps a vnode from becoming another file; its lock guards its contents. Operations state what they need.
 */
#ifndef FS_VNODE_H
#define FS_VNODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lock/lock.h"

enum vtype { VNON, VREG, VDIR, VBLK, VCHR, VLNK, VFIFO, VSOCK };

#define NAME_MOST 255 /* bytes of a name in a directory, without a final 0 */

/* Bits of a mode, as in <sys/stat.h> of any Unix. */
#define MODE_TYPE 0170000
#define MODE_BITS 07777

struct vnode;
struct mount;
struct blockdev; /* fs/buf.h */
struct vm_object; /* vm/object.h */

/* Times are seconds since 1970, negative before. */
struct vattr {
    enum vtype type;
    uint16_t mode; /* with its type */
    uint16_t nlink;
    uint32_t uid, gid;
    uint32_t ino;
    uint64_t size;   /* bytes */
    uint32_t blocks; /* of 512 bytes */
    uint32_t block_size;
    uint32_t rdev;
    int32_t atime, mtime, ctime;
};

#define ATTR_MODE 1
#define ATTR_OWNER 2
#define ATTR_ATIME 4
#define ATTR_MTIME 8
#define ATTR_TIMES (ATTR_ATIME | ATTR_MTIME)

/* Bytes that are copied to or from a program's memory, or the kernel's own. */
struct uio {
    uint64_t offset; /* in the file; advanced */
    uint32_t left;   /* bytes; counted down */
    bool write;      /* to the file */
    uint64_t most;   /* or 0: the largest file size that a write may reach */
    /*
     * Moves `n` bytes, at most `left`, between `data` and the other side: 0 or minus an error number. Leaves the counts
     * unchanged.
     */
    int (*move)(struct uio *uio, void *data, uint32_t n);
    uint64_t at; /* on the other side; advanced by `move` */
    void *with; /* for `move` */
};

int uio_move(struct uio *uio, void *data, uint32_t n); /* the same, and counts */
void uio_kernel(struct uio *uio, void *memory, uint32_t size, uint64_t offset, bool write);

/* One entry of a directory, as `readdir` passes it. */
struct dirent_out {
    uint32_t ino;
    uint64_t next; /* offset of the entry behind it */
    enum vtype type;
    uint32_t length;
    const char *name; /* without a final 0 */
};
/* False: stop, and pass this entry again next time. */
typedef bool dirent_fn(void *arg, const struct dirent_out *entry);

/*
 * Operations. All return 0 or minus an error number. `name` has `length` bytes, is not empty, and has no '/';
 * only `lookup` may get "." and "..". A vnode that is returned has a reference of the caller's own, and is not
 * locked.
 */
struct vnodeops {
    /* With dvp locked. -ENOENT. */
    int (*lookup)(struct vnode *dvp, const char *name, uint32_t length, struct vnode **vpp);
    /*
     * With dvp locked: makes a file of the attributes' type, mode, owner, rdev; a symbolic link with the text `target`.
     * -EEXIST.
     */
    int (*create)(struct vnode *dvp, const char *name, uint32_t length, const struct vattr *attr, const char *target,
                  struct vnode **vpp);
    int (*link)(struct vnode *dvp, const char *name, uint32_t length, struct vnode *vp); /* with dvp locked, vp not */
    /* With dvp locked; `directory`: rmdir, else unlink. */
    int (*remove)(struct vnode *dvp, const char *name, uint32_t length, bool directory);
    /* With neither directory locked. */
    int (*rename)(struct vnode *from, const char *name, uint32_t length, struct vnode *to, const char *new_name,
                  uint32_t new_length);
    /* With vp locked; read and readdir for reading at least. */
    int (*read)(struct vnode *vp, struct uio *uio);
    int (*write)(struct vnode *vp, struct uio *uio, bool append);
    int (*truncate)(struct vnode *vp, uint64_t size);
    int (*getattr)(struct vnode *vp, struct vattr *attr);
    int (*setattr)(struct vnode *vp, const struct vattr *attr, unsigned which);
    int (*readdir)(struct vnode *vp, uint64_t offset, dirent_fn *fn, void *arg);
    int (*readlink)(struct vnode *vp, char *text, uint32_t size); /* the length, or an error */
    int (*fsync)(struct vnode *vp);
    /* Take no lock that the caller may hold: one reference more, and one less, which may remove the file. */
    void (*hold)(struct vnode *vp);
    void (*release)(struct vnode *vp);
    /* Or 0. The object that mmap maps, with a reference; null with *error. Not locked. */
    struct vm_object *(*object)(struct vnode *vp, int *error);
    /* Or 0. The contents, if they are in memory and never change; else null. */
    const void *(*contents)(struct vnode *vp, uint32_t *size);
    /* Or 0. With vp locked for reading: as write, or -EAGAIN, with nothing done, if that lock is not enough. */
    int (*overwrite)(struct vnode *vp, struct uio *uio);
    /* Or 0. With vp locked: the device and sector of block `n` of the file (block_size of getattr). -EINVAL: a hole. */
    int (*place)(struct vnode *vp, uint32_t n, struct blockdev **device, uint32_t *sector);
};

struct vnode {
    const struct vnodeops *ops;
    struct mount *mount;
    struct mount *mounted; /* the file system that is mounted here; guarded by mount_table_lock */
    enum vtype type;
    bool swapped; /* its blocks are swap space (swap_file.h): not written, cut or mapped meanwhile. Guarded by `lock` */
    struct mapped *mapped; /* if it has a memory object (vnode_pager.h), else null. Guarded by `lock` */
    uint32_t rdev;
    struct lock lock;
    int map_error; /* for fsync: a page could not be written after its last mapping went. Guarded by `lock` */
    /*
     * If it is mapped; with the lock held exclusively. `flush`: writes changed pages of the object in this range, and
     * with `discard` drops the pages then. An error: some are as they were. `end`: the file ends at `size` now, and did
     * at `before`; clears all behind `size` in its pages.
     */
    int (*flush)(struct vnode *vp, uint64_t from, uint64_t to, bool discard);
    void (*end)(struct vnode *vp, uint64_t size, uint64_t before);
};

struct mount {
    const struct mountops *ops;
    TAILQ_ENTRY(mount) link;
    struct vnode *covered; /* where it is mounted; null: the root of the system */
    bool read_only;
    uint16_t number; /* st_dev: unique among mounted file systems */
    struct lock rename_lock;
    char path[64]; /* for statistics */
};

struct statfs_out {
    uint32_t block_size, blocks, blocks_free, files, files_free;
};

struct mountops {
    int (*root)(struct mount *m, struct vnode **vpp);
    int (*sync)(struct mount *m);
    /* -EBUSY: a file of it is in use, and nothing has changed. Else the mount is gone. */
    int (*unmount)(struct mount *m);
    void (*statfs)(struct mount *m, struct statfs_out *to);
};

static inline void vhold(struct vnode *vp)
{
    vp->ops->hold(vp);
}

static inline void vrele(struct vnode *vp)
{
    vp->ops->release(vp);
}

/* The kernel's clock, in seconds since 1970. */
uint32_t fs_time(void);
extern uint32_t (*fs_clock)(void);
#endif
