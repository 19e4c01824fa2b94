/*
 * System calls on files by their paths (user/abi.h): from 4.3BSD's arguments to the functions of fs/vfs.h. There is one
 * user, root: modes and owners are stored but not checked, except for execve's and access's right to execute.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/descriptors.h"
#include "file/pipe.h"
#include "fs/vfs.h"
#include "fs/vnode_file.h"
#include "fs/vnode_pager.h"
#include "lib/minmax.h"
#include "lib/syscall.h"
#include "mem/page.h"
#include "proc/devices.h"
#include "proc/mounts.h"
#include "proc/process.h"

#define ID_MOST 0xffff /* of users and groups: <sys/stat.h> has 16 bits */
#define CWD ((uint32_t)AT_FDCWD)
#define TEXT_SIZE 32   /* of the names of a file system's type and of a device */

/* 0, or -EFAULT, -ENAMETOOLONG. */
static int copy_in_path(struct vm_map *map, uint32_t from, char *path)
{
    int error = copyinstr(map, path, from, USER_PATH_SIZE);
    return error == -E2BIG ? -ENAMETOOLONG : error;
}

/* A path, and where a relative one begins, with a reference. */
struct from {
    struct vnode *cwd;
    char path[USER_PATH_SIZE];
};

/*
 * The vnode of a descriptor, and a reference to its file, which keeps it. -EBADF; -EINVAL: no file of a file system.
 */
static int of_descriptor(struct process *p, uint32_t fd, struct file **f, struct vnode **vp)
{
    *f = descriptor_file(p->descriptors, fd);
    if (!*f)
        return -EBADF;
    *vp = vnode_of_file(*f);
    if (*vp)
        return 0;
    file_release(*f);
    return -EINVAL;
}

/* The vnode of a descriptor, or of the current directory, with a reference; *vp is null for the root of all. */
static int of_place(struct process *p, uint32_t fd, struct vnode **vp)
{
    struct file *f;
    if (fd == CWD) {
        *vp = process_directory(p);
        return 0;
    }
    int error = of_descriptor(p, fd, &f, vp);
    if (!error) {
        vhold(*vp);
        file_release(f);
    }
    return error;
}

/* Copies in a path relative to `directory`, a descriptor or CWD. -ENOENT: it is empty. */
static int from_user(struct process *p, struct vm_map *map, uint32_t directory, uint32_t at, struct from *from)
{
    from->cwd = 0;
    int error = copy_in_path(map, at, from->path);
    if (error || !from->path[0] || from->path[0] == '/')
        return error || from->path[0] ? error : -ENOENT;
    error = of_place(p, directory, &from->cwd);
    if (!error && from->cwd && from->cwd->type != VDIR) {
        vrele(from->cwd);
        error = -EINVAL;
    }
    if (error)
        from->cwd = 0;
    return error == -EINVAL ? -ENOTDIR : error;
}

static void from_end(struct from *from)
{
    if (from->cwd)
        vrele(from->cwd);
}

/* How a path is looked up. */
#define FOLLOW 1u          /* follow a symbolic link at its end, too */
#define IN_PLACE_IF_EMPTY 2u /* an empty path stands for `directory`, which may be any file */

static unsigned how_by(uint32_t flags)
{
    return (flags & AT_SYMLINK_NOFOLLOW ? 0 : FOLLOW) | (flags & USER_AT_EMPTY_PATH ? IN_PLACE_IF_EMPTY : 0);
}

/* The vnode that a path leads to, with a reference. */
static int file_calls_find(struct process *p, struct vm_map *map, uint32_t directory, uint32_t at, unsigned how,
                           struct vnode **vp)
{
    struct from from;
    int error = from_user(p, map, directory, at, &from);
    if (error == -ENOENT && how & IN_PLACE_IF_EMPTY) {
        error = of_place(p, directory, vp);
        return error || *vp ? error : namei(0, "/", false, vp);
    }
    if (!error)
        error = namei(from.cwd, from.path, how & FOLLOW, vp);
    from_end(&from);
    return error;
}

/*
 * The action of a call on a vnode, found by the path or the descriptor that is its first argument. A call whose path
 * begins at a descriptor has the same arguments, after the descriptor.
 */
typedef int (*on_vnode)(struct vnode *vp, struct vm_map *map, const uint32_t *a);

static int by_path(struct process *p, struct vm_map *map, uint32_t directory, const uint32_t *a, unsigned how,
                   on_vnode call)
{
    struct vnode *vp;
    int result = file_calls_find(p, map, directory, a[0], how, &vp);
    if (result)
        return result;
    result = call(vp, map, a);
    vrele(vp);
    return result;
}

static int by_descriptor(struct process *p, struct vm_map *map, const uint32_t *a, on_vnode call)
{
    struct file *f;
    struct vnode *vp;
    int result = of_descriptor(p, a[0], &f, &vp);
    if (result)
        return result;
    result = call(vp, map, a);
    file_release(f);
    return result;
}

static unsigned masked(const struct process *p, uint32_t mode)
{
    return mode & MODE_BITS & ~(uint32_t)p->umask;
}

/* Opening ---------------------------------------------------------------------------------------------------------- */

static int fifo_stat(void *vp, struct user_stat *to)
{
    return vnode_stat(vp, to);
}

static void fifo_release(void *vp)
{
    vrele(vp);
}

static const struct fifo_name vnode_fifo = {.stat = fifo_stat, .release = fifo_release};

static int open_vnode(struct vnode *vp, uint32_t kind, uint32_t flags, struct file **f)
{
    int error = 0;
    switch (vp->type) {
    case VREG:
    case VDIR:
        *f = vnode_file(vp, kind, flags);
        if (*f)
            return 0; /* the file takes over the reference */
        error = -ENOMEM;
        break;
    case VCHR: error = device_open(vp->rdev, kind, !(flags & O_NOCTTY), f); break;
    case VFIFO: return fifo_open(&vnode_fifo, vp, kind, flags & ~(uint32_t)O_NOCTTY, f); /* likewise */
    default: error = -ENXIO;
    }
    vrele(vp);
    if (!error)
        (*f)->flags = flags & ~(uint32_t)O_NOCTTY;
    return error;
}

static int open_at(struct process *p, struct vm_map *map, uint32_t directory, const uint32_t *a)
{
    static const uint8_t kinds[] = {
        [O_RDONLY] = FILE_READ, [O_WRONLY] = FILE_WRITE, [O_RDWR] = FILE_READ | FILE_WRITE, [O_ACCMODE] = 0};
    uint32_t flags = a[1], kind = kinds[flags & O_ACCMODE];
    struct from from;
    struct vnode *vp;
    struct file *f = 0;
    if (!kind)
        return -EINVAL;
    unsigned how = (flags & O_CREAT ? VFS_CREATE : 0) | (flags & O_EXCL ? VFS_EXCLUSIVE : 0) |
                   (flags & O_TRUNC ? VFS_TRUNCATE : 0) | (kind & FILE_WRITE || flags & O_TRUNC ? VFS_WRITE : 0) |
                   (flags & O_DIRECTORY ? VFS_DIRECTORY : 0) | (flags & O_NOFOLLOW ? VFS_NOFOLLOW : 0);
    int error = from_user(p, map, directory, a[0], &from);
    if (!error)
        error = vfs_open(from.cwd, from.path, how, masked(p, a[2]) & ~(unsigned)S_ISVTX, &vp);
    from_end(&from);
    if (!error)
        error = open_vnode(vp, kind, flags & (O_APPEND | O_NONBLOCK | O_SYNC | O_NOCTTY), &f);
    if (error)
        return error;
    int fd = descriptor_open(p->descriptors, f, 0, flags & O_CLOEXEC);
    if (fd < 0)
        file_release(f);
    return fd;
}

static int sys_open(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return open_at(p, map, CWD, a);
}
SYSCALL(SYS_OPEN, sys_open);

static int sys_openat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return open_at(p, map, a[0], a + 1);
}
SYSCALL(SYS_OPENAT, sys_openat);

/* Names ------------------------------------------------------------------------------------------------------------ */

static int mkdir_at(struct process *p, struct vm_map *map, uint32_t directory, const uint32_t *a)
{
    struct from from;
    int error = from_user(p, map, directory, a[0], &from);
    if (!error)
        error = vfs_make(from.cwd, from.path, VDIR, masked(p, a[1]), 0, 0);
    from_end(&from);
    return error;
}

static int sys_mkdir(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return mkdir_at(p, map, CWD, a);
}
SYSCALL(SYS_MKDIR, sys_mkdir);

static int sys_mkdirat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return mkdir_at(p, map, a[0], a + 1);
}
SYSCALL(SYS_MKDIRAT, sys_mkdirat);

static int mknod_at(struct process *p, struct vm_map *map, uint32_t directory, const uint32_t *a)
{
    struct from from;
    enum vtype type;
    switch (a[1] & S_IFMT) {
    case 0:
    case S_IFREG: type = VREG; break;
    case S_IFCHR: type = VCHR; break;
    case S_IFBLK: type = VBLK; break;
    case S_IFIFO: type = VFIFO; break;
    default: return -EINVAL;
    }
    int error = from_user(p, map, directory, a[0], &from);
    if (!error)
        error = vfs_make(from.cwd, from.path, type, masked(p, a[1]), a[2] & 0xffff, 0);
    from_end(&from);
    return error;
}

static int sys_mknod(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return mknod_at(p, map, CWD, a);
}
SYSCALL(SYS_MKNOD, sys_mknod);

static int sys_mknodat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return mknod_at(p, map, a[0], a + 1);
}
SYSCALL(SYS_MKNODAT, sys_mknodat);

static int remove_name(struct process *p, struct vm_map *map, uint32_t directory, uint32_t at, bool is_directory)
{
    struct from from;
    int error = from_user(p, map, directory, at, &from);
    if (!error)
        error = vfs_remove(from.cwd, from.path, is_directory);
    from_end(&from);
    return error;
}

static int sys_unlink(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return remove_name(p, map, CWD, a[0], false);
}
SYSCALL(SYS_UNLINK, sys_unlink);

static int sys_rmdir(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return remove_name(p, map, CWD, a[0], true);
}
SYSCALL(SYS_RMDIR, sys_rmdir);

static int sys_unlinkat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return a[2] & ~(uint32_t)AT_REMOVEDIR ? -EINVAL : remove_name(p, map, a[0], a[1], a[2]);
}
SYSCALL(SYS_UNLINKAT, sys_unlinkat);

static int link_at(struct process *p, struct vm_map *map, uint32_t directory, uint32_t at, unsigned how,
                   uint32_t new_directory, uint32_t new_at)
{
    struct vnode *vp;
    struct from to;
    int error = file_calls_find(p, map, directory, at, how, &vp);
    if (error)
        return error;
    error = from_user(p, map, new_directory, new_at, &to);
    if (!error)
        error = vfs_link_vnode(vp, to.cwd, to.path);
    from_end(&to);
    vrele(vp);
    return error;
}

static int sys_link(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return link_at(p, map, CWD, a[0], 0, CWD, a[1]);
}
SYSCALL(SYS_LINK, sys_link);

static int sys_linkat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    if (a[4] & ~(uint32_t)AT_SYMLINK_FOLLOW)
        return -EINVAL;
    return link_at(p, map, a[0], a[1], a[4] ? FOLLOW : 0, a[2], a[3]);
}
SYSCALL(SYS_LINKAT, sys_linkat);

static int rename_at(struct process *p, struct vm_map *map, uint32_t directory, uint32_t at, uint32_t new_directory,
                     uint32_t new_at)
{
    struct from from, to = {0};
    int error = from_user(p, map, directory, at, &from);
    if (!error)
        error = from_user(p, map, new_directory, new_at, &to);
    if (!error)
        error = vfs_renameat(from.cwd, from.path, to.cwd, to.path);
    from_end(&from);
    from_end(&to);
    return error;
}

static int sys_rename(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return rename_at(p, map, CWD, a[0], CWD, a[1]);
}
SYSCALL(SYS_RENAME, sys_rename);

static int sys_renameat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return rename_at(p, map, a[0], a[1], a[2], a[3]);
}
SYSCALL(SYS_RENAMEAT, sys_renameat);

static int symlink_at(struct process *p, struct vm_map *map, uint32_t text_at, uint32_t directory, uint32_t at)
{
    struct from from;
    char text[USER_PATH_SIZE];
    int error = copy_in_path(map, text_at, text);
    if (error)
        return error;
    error = from_user(p, map, directory, at, &from);
    if (!error)
        error = vfs_make(from.cwd, from.path, VLNK, 0777, 0, text);
    from_end(&from);
    return error;
}

static int sys_symlink(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return symlink_at(p, map, a[0], CWD, a[1]);
}
SYSCALL(SYS_SYMLINK, sys_symlink);

static int sys_symlinkat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return symlink_at(p, map, a[0], a[1], a[2]);
}
SYSCALL(SYS_SYMLINKAT, sys_symlinkat);

/* A link made by another system may be longer than a path here, but not longer than a page. */
static int read_link(struct vnode *vp, struct vm_map *map, const uint32_t *a)
{
    uint32_t page = page_alloc_raw();
    if (!page)
        return -ENOMEM;
    int n = vfs_readlink(vp, page_pointer(page), MIN(a[2], PAGE_SIZE));
    if (n > 0 && copyout(map, a[1], page_pointer(page), (uint32_t)n))
        n = -EFAULT;
    page_free(page);
    return n;
}

static int readlink_at(struct process *p, struct vm_map *map, uint32_t directory, const uint32_t *a)
{
    return (int32_t)a[2] <= 0 ? -EINVAL : by_path(p, map, directory, a, 0, read_link);
}

static int sys_readlink(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return readlink_at(p, map, CWD, a);
}
SYSCALL(SYS_READLINK, sys_readlink);

static int sys_readlinkat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return readlink_at(p, map, a[0], a + 1);
}
SYSCALL(SYS_READLINKAT, sys_readlinkat);

/* Attributes ------------------------------------------------------------------------------------------------------- */

static int tell_stat(struct vnode *vp, struct vm_map *map, const uint32_t *a)
{
    struct user_stat st;
    int error = vnode_stat(vp, &st);
    return error ? error : copyout(map, a[1], &st, sizeof st);
}

static int sys_stat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return by_path(p, map, CWD, a, FOLLOW, tell_stat);
}
SYSCALL(SYS_STAT, sys_stat);

static int sys_lstat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return by_path(p, map, CWD, a, 0, tell_stat);
}
SYSCALL(SYS_LSTAT, sys_lstat);

static int sys_fstatat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    if (a[3] & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | USER_AT_EMPTY_PATH))
        return -EINVAL;
    return by_path(p, map, a[0], a + 1, how_by(a[3]), tell_stat);
}
SYSCALL(SYS_FSTATAT, sys_fstatat);

static int may_access(struct vnode *vp, struct vm_map *map, const uint32_t *a)
{
    struct vattr attr;
    (void)map;
    int error = vfs_getattr(vp, &attr);
    if (!error && a[1] & W_OK && vp->mount->read_only && vp->type != VCHR)
        error = -EROFS;
    if (!error && a[1] & X_OK && vp->type != VDIR && !(attr.mode & 0111))
        error = -EACCES;
    return error;
}

static int access_at(struct process *p, struct vm_map *map, uint32_t directory, const uint32_t *a, uint32_t flags)
{
    if (a[1] & ~(uint32_t)(R_OK | W_OK | X_OK) || flags & ~(uint32_t)(AT_EACCESS | AT_SYMLINK_NOFOLLOW))
        return -EINVAL;
    return by_path(p, map, directory, a, how_by(flags), may_access);
}

static int sys_access(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return access_at(p, map, CWD, a, 0);
}
SYSCALL(SYS_ACCESS, sys_access);

static int sys_faccessat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return access_at(p, map, a[0], a + 1, a[3]);
}
SYSCALL(SYS_FACCESSAT, sys_faccessat);

static int change_mode(struct vnode *vp, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    if (vp->type == VLNK)
        return -EOPNOTSUPP;
    return vfs_setattr(vp, &(struct vattr){.mode = a[1] & MODE_BITS}, ATTR_MODE);
}

static int sys_chmod(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return by_path(p, map, CWD, a, FOLLOW, change_mode);
}
SYSCALL(SYS_CHMOD, sys_chmod);

static int sys_fchmodat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    if (a[3] & ~(uint32_t)AT_SYMLINK_NOFOLLOW)
        return -EINVAL;
    return by_path(p, map, a[0], a + 1, how_by(a[3]), change_mode);
}
SYSCALL(SYS_FCHMODAT, sys_fchmodat);

static int sys_fchmod(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return by_descriptor(p, map, a, change_mode);
}
SYSCALL(SYS_FCHMOD, sys_fchmod);

/* -1 (of 16 bits or 32): unchanged. */
static int file_calls_chown(struct vnode *vp, struct vm_map *map, const uint32_t *a)
{
    struct vattr attr;
    (void)map;
    int error = vfs_getattr(vp, &attr);
    if ((a[1] & ID_MOST) != ID_MOST)
        attr.uid = a[1] & ID_MOST;
    if ((a[2] & ID_MOST) != ID_MOST)
        attr.gid = a[2] & ID_MOST;
    return error ? error : vfs_setattr(vp, &attr, ATTR_OWNER);
}

static int sys_chown(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return by_path(p, map, CWD, a, FOLLOW, file_calls_chown);
}
SYSCALL(SYS_CHOWN, sys_chown);

static int sys_fchownat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    if (a[4] & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | USER_AT_EMPTY_PATH))
        return -EINVAL;
    return by_path(p, map, a[0], a + 1, how_by(a[4]), file_calls_chown);
}
SYSCALL(SYS_FCHOWNAT, sys_fchownat);

static int sys_fchown(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return by_descriptor(p, map, a, file_calls_chown);
}
SYSCALL(SYS_FCHOWN, sys_fchown);

static bool is_time(const struct user_timeval *t)
{
    return t->microseconds >= 0 && t->microseconds < 1000000;
}

/* The nearest time that a file can have. */
static int32_t file_time(int64_t seconds)
{
    return seconds < INT32_MIN ? INT32_MIN : seconds > INT32_MAX ? INT32_MAX : (int32_t)seconds;
}

static int sys_utimes(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct vnode *vp;
    struct user_timeval both[2];
    struct vattr attr = {.atime = fs_time(), .mtime = fs_time()};
    int error = a[1] ? copyin(map, both, a[1], sizeof both) : 0;
    if (!error && a[1] && (!is_time(&both[0]) || !is_time(&both[1])))
        error = -EINVAL;
    if (!error)
        error = file_calls_find(p, map, CWD, a[0], FOLLOW, &vp);
    if (error)
        return error;
    if (a[1]) {
        attr.atime = file_time(both[0].seconds);
        attr.mtime = file_time(both[1].seconds);
    }
    error = vfs_setattr(vp, &attr, ATTR_TIMES);
    vrele(vp);
    return error;
}
SYSCALL(SYS_UTIMES, sys_utimes);

/* One of utimensat's two times, if it is to be set: sets its bit in `which`. -EINVAL. */
static int set_time(const struct user_timespec *t, unsigned bit, int32_t *to, unsigned *which)
{
    if (t->nanoseconds == USER_UTIME_OMIT)
        return 0;
    *which |= bit;
    if (t->nanoseconds != USER_UTIME_NOW)
        *to = file_time(t->seconds);
    return t->nanoseconds == USER_UTIME_NOW || (t->nanoseconds >= 0 && t->nanoseconds < 1000000000) ? 0 : -EINVAL;
}

/* Without a path it is futimens. If both times are UTIME_OMIT, the file is not looked up, as in Linux. */
static int sys_utimensat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct vnode *vp;
    struct user_timespec both[2];
    struct vattr attr = {.atime = fs_time(), .mtime = fs_time()};
    unsigned which = a[2] ? 0 : ATTR_TIMES;
    int error = a[2] ? copyin(map, both, a[2], sizeof both) : 0;
    if (!error && a[2])
        error = set_time(&both[0], ATTR_ATIME, &attr.atime, &which);
    if (!error && a[2])
        error = set_time(&both[1], ATTR_MTIME, &attr.mtime, &which);
    if (error || !which)
        return error;
    if (a[3] & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | USER_AT_EMPTY_PATH) || (!a[1] && a[3]))
        return -EINVAL;
    if (a[1] || a[0] == CWD)
        error = file_calls_find(p, map, a[0], a[1], how_by(a[3]), &vp);
    else
        error = of_place(p, a[0], &vp);
    if (error)
        return error;
    error = vfs_setattr(vp, &attr, which);
    vrele(vp);
    return error;
}
SYSCALL(SYS_UTIMENSAT, sys_utimensat);

static int file_calls_truncate(struct vnode *vp, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    return vnode_resize(vp, (int32_t)a[1]);
}

static int sys_truncate(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return (int32_t)a[1] < 0 ? -EINVAL : by_path(p, map, CWD, a, FOLLOW, file_calls_truncate);
}
SYSCALL(SYS_TRUNCATE, sys_truncate);

static int sys_umask(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    int old = p->umask;
    p->umask = a[0] & 0777;
    return old;
}
SYSCALL(SYS_UMASK, sys_umask);

/* Current directory and root --------------------------------------------------------------------------------------- */

static int sys_chdir(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct vnode *vp;
    int error = file_calls_find(p, map, CWD, a[0], FOLLOW, &vp);
    return error ? error : process_change_directory(p, vp, false);
}
SYSCALL(SYS_CHDIR, sys_chdir);

static int sys_fchdir(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct file *f;
    struct vnode *vp;
    (void)map;
    int error = of_descriptor(p, a[0], &f, &vp);
    if (error)
        return error == -EINVAL ? -ENOTDIR : error;
    vhold(vp);
    error = process_change_directory(p, vp, false);
    file_release(f);
    return error;
}
SYSCALL(SYS_FCHDIR, sys_fchdir);

static int sys_chroot(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct vnode *vp;
    int error = file_calls_find(p, map, CWD, a[0], FOLLOW, &vp);
    return error ? error : process_change_directory(p, vp, true);
}
SYSCALL(SYS_CHROOT, sys_chroot);

static int sys_getcwd(struct process *p, struct vm_map *map, const uint32_t *a)
{
    char path[USER_PATH_SIZE];
    struct vnode *cwd = process_directory(p);
    if (!cwd)
        cwd = vfs_caller_root();
    if (!cwd)
        cwd = vfs_root();
    int n = vfs_getcwd(cwd, path, MIN(a[1], sizeof path));
    vrele(cwd);
    return n < 0 ? n : copyout(map, a[0], path, (uint32_t)n + 1) ? -EFAULT : n + 1;
}
SYSCALL(SYS_GETCWD, sys_getcwd);

/* File systems ----------------------------------------------------------------------------------------------------- */

static int sys_sync(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)p, (void)map, (void)a;
    int error = vnode_pager_sync(), e = vfs_sync();
    return error ? error : e;
}
SYSCALL(SYS_SYNC, sys_sync);

static int sys_mount(struct process *p, struct vm_map *map, const uint32_t *a)
{
    char type[TEXT_SIZE], device[TEXT_SIZE];
    struct from from;
    struct mount *m;
    int error = copyinstr(map, type, a[0], sizeof type);
    if (!error)
        error = copyinstr(map, device, a[3], sizeof device);
    if (error)
        return error == -E2BIG ? -ENODEV : error;
    error = from_user(p, map, CWD, a[1], &from);
    if (!error)
        error = mount_device(type, device, a[2] & USER_MNT_RDONLY, &m);
    if (!error && (error = vfs_mount(from.cwd, from.path, m)))
        m->ops->unmount(m);
    from_end(&from);
    return error;
}
SYSCALL(SYS_MOUNT, sys_mount);

static int sys_unmount(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct from from;
    int error = from_user(p, map, CWD, a[0], &from);
    if (!error)
        error = vfs_unmount(from.cwd, from.path);
    from_end(&from);
    return error;
}
SYSCALL(SYS_UNMOUNT, sys_unmount);

static int tell_statfs(struct vnode *vp, struct vm_map *map, const uint32_t *a)
{
    struct statfs_out it;
    int error = vfs_statfs(vp, &it);
    struct user_statfs told = {it.block_size, it.blocks, it.blocks_free, it.files, it.files_free};
    return error ? error : copyout(map, a[1], &told, sizeof told);
}

static int sys_statfs(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return by_path(p, map, CWD, a, FOLLOW, tell_statfs);
}
SYSCALL(SYS_STATFS, sys_statfs);

static int sys_fstatfs(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return by_descriptor(p, map, a, tell_statfs);
}
SYSCALL(SYS_FSTATFS, sys_fstatfs);
