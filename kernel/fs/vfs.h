/*
 * File names: from a path to a vnode across all mounted file systems, and the operations that programs request by path.
 * Paths have been copied from the program into the kernel already.
 *
 * mount_table_lock, a read/write lock, is held for reading while a path crosses a mount point, down or up, and for
 * writing by mount and unmount, across I/O (paper `mach`, section 3.2).
 *
 * `cwd` is where a path begins that does not begin with '/'. All return 0 or minus an error number; there is one user,
 * root, so permissions are stored but not checked. A path that begins with '/' begins at the caller's root, and leads
 * nowhere above it.
 */
#ifndef FS_VFS_H
#define FS_VFS_H

#include "fs/vnode.h"

#define PATH_MOST 1024 /* with the final 0, and with the text of symbolic links */
#define LINKS_MOST 8   /* symbolic links on a path */
#define VFS_SIZE_MOST 0x7fffffffu /* of a file that can be opened: off_t has 32 bits */

void vfs_init(void);

int vfs_mount_root(struct mount *m);
int vfs_mount(struct vnode *cwd, const char *path, struct mount *m); /* -ENOTDIR, -EBUSY: something is mounted there */
int vfs_unmount(struct vnode *cwd, const char *path); /* -EBUSY: in use; the root too */
int vfs_unmount_all(void); /* the last mounted first */
int vfs_sync(void);
struct vnode *vfs_root(void); /* with a reference, or null before anything is mounted */

/*
 * The caller's root, with a reference, or null: the root of the system. Set by the process layer (4.3BSD's
 * u_rdir).
 */
extern struct vnode *(*vfs_caller_root)(void);

/*
 * Set by the process layer, too: how large the caller may make a file (4.3BSD's RLIMIT_FSIZE; UINT32_MAX: no limit),
 * and what happens when it tries to exceed that, besides -EFBIG.
 */
extern uint32_t (*vfs_size_most)(void);
extern void (*vfs_too_large)(void);

/* The file, with a reference, not locked. `follow`: a symbolic link at the end is followed. */
int namei(struct vnode *cwd, const char *path, bool follow, struct vnode **vpp);

#define VFS_CREATE 1 /* if it is not there */
#define VFS_EXCLUSIVE 2 /* it must not be there */
#define VFS_TRUNCATE 4
#define VFS_WRITE 8
#define VFS_DIRECTORY 16 /* it must be one */
#define VFS_NOFOLLOW 32 /* a symbolic link at the end is -ELOOP */

int vfs_open(struct vnode *cwd, const char *path, unsigned flags, unsigned mode, struct vnode **vpp);
int vfs_make(struct vnode *cwd, const char *path, enum vtype type, unsigned mode, uint32_t rdev, const char *target);
int vfs_link(struct vnode *cwd, const char *path, const char *new_path);
int vfs_link_vnode(struct vnode *vp, struct vnode *cwd, const char *new_path); /* the same for a vnode found already */
int vfs_remove(struct vnode *cwd, const char *path, bool directory);
int vfs_renameat(struct vnode *cwd, const char *path, struct vnode *new_cwd, const char *new_path);
int vfs_getattr(struct vnode *vp, struct vattr *attr);
int vfs_setattr(struct vnode *vp, const struct vattr *attr, unsigned which);
int vfs_truncate(struct vnode *vp, uint64_t size);
int vfs_read(struct vnode *vp, struct uio *uio);
int vfs_write(struct vnode *vp, struct uio *uio, bool append);
int vfs_fsync(struct vnode *vp);
int vfs_readdir(struct vnode *vp, uint64_t offset, dirent_fn *fn, void *arg);
int vfs_readlink(struct vnode *vp, char *text, uint32_t size);
int vfs_statfs(struct vnode *vp, struct statfs_out *to);
int vfs_getcwd(struct vnode *vp, char *path, uint32_t size);

static inline int vfs_rename(struct vnode *cwd, const char *path, const char *new_path)
{
    return vfs_renameat(cwd, path, cwd, new_path);
}
#endif
