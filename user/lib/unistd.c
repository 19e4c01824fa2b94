/* POSIX's calls on descriptors, files and identities (<unistd.h>, <fcntl.h>, <sys/stat.h>, <sys/mman.h>, <poll.h>). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/time.h>
#include <utime.h>

#include "user/lib/cancel.h"

#define CALL0(type, name, number)                              \
    type name(void)                                            \
    {                                                          \
        return (type)with_errno(system_call(number, 0, 0, 0)); \
    }
#define CALL1(type, name, number, A)                                     \
    type name(A a)                                                       \
    {                                                                    \
        return (type)with_errno(system_call(number, (uint32_t)a, 0, 0)); \
    }
#define CALL2(type, name, number, A, B)                                            \
    type name(A a, B b)                                                            \
    {                                                                              \
        return (type)with_errno(system_call(number, (uint32_t)a, (uint32_t)b, 0)); \
    }
#define CALL3(type, name, number, A, B, C)                                                   \
    type name(A a, B b, C c)                                                                 \
    {                                                                                        \
        return (type)with_errno(system_call(number, (uint32_t)a, (uint32_t)b, (uint32_t)c)); \
    }

#define CALL4(type, name, number, A, B, C, D)                                                                    \
    type name(A a, B b, C c, D d)                                                                                \
    {                                                                                                            \
        return (type)with_errno(system_call6(number, (uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d, 0, 0)); \
    }

/* The same, and a cancellation point. */
#define POINT1(type, name, number, A)                                     \
    type name(A a)                                                        \
    {                                                                     \
        return (type)with_errno(cancel_point(number, (uint32_t)a, 0, 0)); \
    }
#define POINT3(type, name, number, A, B, C)                                                   \
    type name(A a, B b, C c)                                                                  \
    {                                                                                         \
        return (type)with_errno(cancel_point(number, (uint32_t)a, (uint32_t)b, (uint32_t)c)); \
    }
#define POINT4(type, name, number, A, B, C, D)                                                                    \
    type name(A a, B b, C c, D d)                                                                                 \
    {                                                                                                             \
        return (type)with_errno(cancel_point6(number, (uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d, 0, 0)); \
    }

#define CALL5(type, name, number, A, B, C, D, E)                                                       \
    type name(A a, B b, C c, D d, E e)                                                                 \
    {                                                                                                  \
        return (type)with_errno(                                                                       \
            system_call6(number, (uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d, (uint32_t)e, 0)); \
    }

POINT3(ssize_t, read, SYS_READ, int, void *, size_t)
POINT3(ssize_t, write, SYS_WRITE, int, const void *, size_t)
POINT4(ssize_t, pread, SYS_PREAD, int, void *, size_t, off_t)
POINT4(ssize_t, pwrite, SYS_PWRITE, int, const void *, size_t, off_t)
POINT3(ssize_t, readv, SYS_READV, int, const struct iovec *, int)
POINT3(ssize_t, writev, SYS_WRITEV, int, const struct iovec *, int)
POINT1(int, close, SYS_CLOSE, int)
CALL3(off_t, lseek, SYS_LSEEK, int, off_t, int)
CALL1(int, dup, SYS_DUP, int)
CALL2(int, dup2, SYS_DUP2, int, int)
CALL3(int, dup3, SYS_DUP3, int, int, int)
CALL2(int, pipe2, SYS_PIPE2, int *, int)
POINT1(int, fsync, SYS_FSYNC, int)
CALL2(int, flock, SYS_FLOCK, int, int)
CALL2(int, ftruncate, SYS_FTRUNCATE, int, off_t)
CALL2(int, fchmod, SYS_FCHMOD, int, mode_t)
CALL3(int, fchown, SYS_FCHOWN, int, uid_t, gid_t)
CALL2(int, fstat, SYS_FSTAT, int, struct stat *)
CALL1(int, fchdir, SYS_FCHDIR, int)
CALL0(int, getdtablesize, SYS_GETDTABLESIZE)
POINT3(int, poll, SYS_POLL, struct pollfd *, nfds_t, int)

CALL2(int, stat, SYS_STAT, const char *, struct stat *)
CALL2(int, lstat, SYS_LSTAT, const char *, struct stat *)
CALL2(int, access, SYS_ACCESS, const char *, int)
CALL1(int, chdir, SYS_CHDIR, const char *)
CALL1(int, chroot, SYS_CHROOT, const char *)
CALL2(int, chmod, SYS_CHMOD, const char *, mode_t)
CALL3(int, chown, SYS_CHOWN, const char *, uid_t, gid_t)
CALL3(int, mknod, SYS_MKNOD, const char *, mode_t, dev_t)
CALL2(int, link, SYS_LINK, const char *, const char *)
CALL2(int, symlink, SYS_SYMLINK, const char *, const char *)
CALL3(ssize_t, readlink, SYS_READLINK, const char *, char *, size_t)
CALL1(int, unlink, SYS_UNLINK, const char *)
CALL2(int, rename, SYS_RENAME, const char *, const char *)
CALL2(int, truncate, SYS_TRUNCATE, const char *, off_t)
CALL2(int, mkdir, SYS_MKDIR, const char *, mode_t)
CALL1(int, rmdir, SYS_RMDIR, const char *)
CALL1(mode_t, umask, SYS_UMASK, mode_t)
CALL4(int, mount, SYS_MOUNT, const char *, const char *, int, const char *)
CALL2(int, unmount, SYS_UNMOUNT, const char *, int)

CALL4(int, fstatat, SYS_FSTATAT, int, const char *, struct stat *, int)
CALL3(int, mkdirat, SYS_MKDIRAT, int, const char *, mode_t)
CALL4(int, mknodat, SYS_MKNODAT, int, const char *, mode_t, dev_t)
CALL3(int, unlinkat, SYS_UNLINKAT, int, const char *, int)
CALL4(int, renameat, SYS_RENAMEAT, int, const char *, int, const char *)
CALL5(int, linkat, SYS_LINKAT, int, const char *, int, const char *, int)
CALL3(int, symlinkat, SYS_SYMLINKAT, const char *, int, const char *)
CALL4(ssize_t, readlinkat, SYS_READLINKAT, int, const char *, char *, size_t)
CALL4(int, faccessat, SYS_FACCESSAT, int, const char *, int, int)
CALL4(int, fchmodat, SYS_FCHMODAT, int, const char *, mode_t, int)
CALL5(int, fchownat, SYS_FCHOWNAT, int, const char *, uid_t, gid_t, int)

CALL0(pid_t, getpid, SYS_GETPID)
CALL0(pid_t, getppid, SYS_GETPPID)
CALL0(pid_t, getpgrp, SYS_GETPGRP)
CALL2(int, setpgid, SYS_SETPGID, pid_t, pid_t)
CALL0(pid_t, setsid, SYS_SETSID)
CALL1(pid_t, getpgid, SYS_GETPGID, pid_t)
CALL1(pid_t, getsid, SYS_GETSID, pid_t)
CALL0(uid_t, getuid, SYS_GETUID)
CALL0(uid_t, geteuid, SYS_GETEUID)
CALL0(gid_t, getgid, SYS_GETGID)
CALL0(gid_t, getegid, SYS_GETEGID)

CALL1(void *, sbrk, SYS_SBRK, ptrdiff_t)
CALL2(int, munmap, SYS_MUNMAP, void *, size_t)
CALL3(int, mprotect, SYS_MPROTECT, void *, size_t, int)
POINT3(int, msync, SYS_MSYNC, void *, size_t, int)

void sync(void)
{
    system_call(SYS_SYNC, 0, 0, 0);
}

int utimes(const char *path, const struct timeval both[2])
{
    return with_errno(system_call(SYS_UTIMES, (uint32_t)path, (uint32_t)both, 0));
}

int pipe(int to[2])
{
    return with_errno(system_call(SYS_PIPE, (uint32_t)to, 0, 0));
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return (void *)with_errno(system_call6(SYS_MMAP, (uint32_t)address, size, (uint32_t)protection, (uint32_t)flags,
                                           (uint32_t)fd, (uint32_t)offset));
}

int utime(const char *path, const struct utimbuf *to)
{
    struct timeval both[2];
    if (to) {
        both[0] = (struct timeval){.tv_sec = to->actime};
        both[1] = (struct timeval){.tv_sec = to->modtime};
    }
    return with_errno(system_call(SYS_UTIMES, (uint32_t)path, to ? (uint32_t)both : 0, 0));
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    return with_errno(cancel_point(SYS_OPEN, (uint32_t)path, (uint32_t)flags, (uint32_t)mode));
}

int openat(int directory, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    return with_errno(
        cancel_point6(SYS_OPENAT, (uint32_t)directory, (uint32_t)path, (uint32_t)flags, (uint32_t)mode, 0, 0));
}

int mkfifoat(int directory, const char *path, mode_t mode)
{
    return mknodat(directory, path, S_IFIFO | (mode & 0777), 0);
}

int utimensat(int directory, const char *path, const struct timespec both[2], int flags)
{
    return with_errno(
        system_call6(SYS_UTIMENSAT, (uint32_t)directory, (uint32_t)path, (uint32_t)both, (uint32_t)flags, 0, 0));
}

int futimens(int fd, const struct timespec both[2])
{
    if (fd == AT_FDCWD) {
        errno = EBADF;
        return -1;
    }
    return utimensat(fd, 0, both, 0);
}

int creat(const char *path, mode_t mode)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int fcntl(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    uint32_t argument = va_arg(more, uint32_t);
    va_end(more);
    int (*call)(unsigned, uint32_t, uint32_t, uint32_t) = command == F_SETLKW ? cancel_point : system_call;
    return with_errno(call(SYS_FCNTL, (uint32_t)fd, (uint32_t)command, argument));
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list more;
    va_start(more, request);
    uint32_t argument = va_arg(more, uint32_t);
    va_end(more);
    return with_errno(system_call(SYS_IOCTL, (uint32_t)fd, request, argument));
}

int select(int n, fd_set *reading, fd_set *writing, fd_set *exceptions, struct timeval *limit)
{
    return with_errno(cancel_point6(SYS_SELECT, (uint32_t)n, (uint32_t)reading, (uint32_t)writing, (uint32_t)exceptions,
                                    (uint32_t)limit, 0));
}

/* `call` with its own signal mask, only while it waits. */
static int masked(const sigset_t *mask, unsigned number, const uint32_t *a)
{
    return with_errno(cancel_point(SYS_MASKED, (uint32_t)mask, number, (uint32_t)a));
}

int pselect(int n, fd_set *reading, fd_set *writing, fd_set *exceptions, const struct timespec *limit,
            const sigset_t *mask)
{
    struct timeval t;
    if (limit) {
        if (limit->tv_nsec < 0 || limit->tv_nsec >= 1000000000) {
            errno = EINVAL;
            return -1;
        }
        t = (struct timeval){.tv_sec = limit->tv_sec, .tv_usec = (limit->tv_nsec + 999) / 1000};
        if (t.tv_usec == 1000000)
            t = (struct timeval){.tv_sec = limit->tv_sec + 1};
    }
    if (!mask)
        return select(n, reading, writing, exceptions, limit ? &t : 0);
    const uint32_t a[] = {(uint32_t)n, (uint32_t)reading, (uint32_t)writing, (uint32_t)exceptions,
                          limit ? (uint32_t)&t : 0};
    return masked(mask, SYS_SELECT, a);
}

/* The limit, rounded up to a millisecond. */
int ppoll(struct pollfd *of, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    int milliseconds = -1;
    if (limit && (limit->tv_sec < 0 || limit->tv_nsec < 0 || limit->tv_nsec >= 1000000000)) {
        errno = EINVAL;
        return -1;
    }
    if (limit)
        milliseconds = limit->tv_sec > INT_MAX / 1000 - 1
                           ? INT_MAX
                           : (int)limit->tv_sec * 1000 + (int)((limit->tv_nsec + 999999) / 1000000);
    if (!mask)
        return poll(of, count, milliseconds);
    const uint32_t a[] = {(uint32_t)of, count, (uint32_t)milliseconds, 0, 0};
    return masked(mask, SYS_POLL, a);
}

char *getcwd(char *to, size_t size)
{
    if (!size) {
        errno = EINVAL;
        return 0;
    }
    return with_errno(system_call(SYS_GETCWD, (uint32_t)to, size, 0)) < 0 ? 0 : to;
}

/* The only user is the superuser. */
static int to_itself(int id)
{
    if (!id)
        return 0;
    errno = EPERM;
    return -1;
}

int setuid(uid_t id)
{
    return to_itself(id);
}

int setgid(gid_t id)
{
    return to_itself(id);
}

int seteuid(uid_t id)
{
    return to_itself(id);
}

int setegid(gid_t id)
{
    return to_itself(id);
}

int getgroups(int size, gid_t *to)
{
    (void)size, (void)to;
    return 0;
}
