/* System calls on descriptors and open files (user/abi.h). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "file/calls.h"
#include "file/descriptors.h"
#include "file/flock.h"
#include "file/record_lock.h"
#include "lib/minmax.h"

#define MOST_AT_ONCE 0x10000000u /* bytes: a result is not negative */
#define MOST_PIECES 1024u        /* of readv and writev */
#define AS_ONE 512u              /* bytes that writev writes at once; a pipe writes that many atomically */

void (*file_broken_pipe)(void);

static int read_or_write(struct file *f, bool write, struct vm_map *map, uint32_t at, uint32_t n, bool has_some)
{
    struct transfer t = {map, at, MIN(n, MOST_AT_ONCE), has_some};
    int result = write ? file_write(f, &t) : file_read(f, &t);
    if (result == -EPIPE)
        file_broken_pipe();
    return result;
}

static int on_one(struct process *p, bool write, struct vm_map *map, const uint32_t *a)
{
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    int result = read_or_write(f, write, map, a[1], a[2], false);
    file_release(f);
    return result;
}

static int sys_read(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return on_one(p, false, map, a);
}
SYSCALL(SYS_READ, sys_read);

static int sys_write(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return on_one(p, true, map, a);
}
SYSCALL(SYS_WRITE, sys_write);

static int on_one_at(struct process *p, bool write, struct vm_map *map, const uint32_t *a)
{
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    struct transfer t = {map, a[1], MIN(a[2], MOST_AT_ONCE), false};
    int result = write ? file_write_at(f, &t, (int32_t)a[3]) : file_read_at(f, &t, (int32_t)a[3]);
    file_release(f);
    return result;
}

static int sys_pread(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return on_one_at(p, false, map, a);
}
SYSCALL(SYS_PREAD, sys_pread);

static int sys_pwrite(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return on_one_at(p, true, map, a);
}
SYSCALL(SYS_PWRITE, sys_pwrite);

/*
 * Collects all pieces, if they are short, so that they are written at once and not mixed with others' (proc/README.md);
 * -1: they are not.
 */
static int calls_gather(struct vm_map *map, const uint32_t *a, char all[AS_ONE])
{
    uint32_t n = 0;
    if (a[2] > MOST_PIECES)
        return -1;
    for (uint32_t i = 0; i < a[2]; i++) {
        struct user_iovec piece;
        if (copyin(map, &piece, a[1] + i * sizeof piece, sizeof piece) || piece.size > AS_ONE - n ||
            copyin(map, all + n, piece.base, piece.size))
            return -1;
        n += piece.size;
    }
    return (int)n;
}

/* Checks that all pieces can be read, and that their total length fits in the result. */
static int check_pieces(struct vm_map *map, const uint32_t *a)
{
    uint32_t all = 0;
    if (a[2] > MOST_PIECES)
        return -EINVAL;
    for (uint32_t i = 0; i < a[2]; i++) {
        struct user_iovec piece;
        if (copyin(map, &piece, a[1] + i * sizeof piece, sizeof piece))
            return -EFAULT;
        if (piece.size > INT32_MAX - all)
            return -EINVAL;
        all += piece.size;
    }
    return 0;
}

/* Stops after the first piece that is not moved completely. */
static int on_pieces(struct process *p, bool write, struct vm_map *map, const uint32_t *a)
{
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    int done = 0, result = f ? check_pieces(map, a) : -EBADF;
    char all[AS_ONE];
    int n = !result && write ? calls_gather(map, a, all) : -1;
    if (n > 0) {
        result = read_or_write(f, true, 0, (uint32_t)(uintptr_t)all, (uint32_t)n, false);
        file_release(f);
        return result;
    }
    for (uint32_t i = 0; (!result || done) && i < a[2]; i++) {
        struct user_iovec piece;
        result = copyin(map, &piece, a[1] + i * sizeof piece, sizeof piece);
        if (result || (piece.size && (result = read_or_write(f, write, map, piece.base, piece.size, done)) < 0))
            break;
        done += result;
        if ((uint32_t)result < piece.size || done > (int)MOST_AT_ONCE)
            break;
    }
    if (f)
        file_release(f);
    return done || result >= 0 ? done : result;
}

static int sys_readv(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return on_pieces(p, false, map, a);
}
SYSCALL(SYS_READV, sys_readv);

static int sys_writev(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return on_pieces(p, true, map, a);
}
SYSCALL(SYS_WRITEV, sys_writev);

static int sys_close(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    return descriptor_close(descriptors_of(p), a[0]);
}
SYSCALL(SYS_CLOSE, sys_close);

static int sys_dup(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    return descriptor_dup(descriptors_of(p), a[0], 0, false);
}
SYSCALL(SYS_DUP, sys_dup);

static int sys_dup2(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    return descriptor_dup2(descriptors_of(p), a[0], a[1], false);
}
SYSCALL(SYS_DUP2, sys_dup2);

static int sys_dup3(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    if (a[0] == a[1] || a[2] & ~(uint32_t)O_CLOEXEC)
        return -EINVAL;
    return descriptor_dup2(descriptors_of(p), a[0], a[1], a[2]);
}
SYSCALL(SYS_DUP3, sys_dup3);

static int sys_getdtablesize(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map, (void)a;
    return (int)descriptors_most(descriptors_of(p));
}
SYSCALL(SYS_GETDTABLESIZE, sys_getdtablesize);

#define CAN_CHANGE (O_APPEND | O_NONBLOCK | O_SYNC)

static int file_flags_of(const struct file *f)
{
    uint32_t both = f->kind & (FILE_READ | FILE_WRITE);
    return (int)f->flags | (both == (FILE_READ | FILE_WRITE) ? O_RDWR : both == FILE_WRITE ? O_WRONLY : O_RDONLY);
}

static int file_flags(struct descriptors *d, const uint32_t *a)
{
    struct file *f = descriptor_file(d, a[0]);
    if (!f)
        return -EBADF;
    int result = file_flags_of(f);
    if (a[1] == F_SETFL) {
        f->flags = (f->flags & ~(uint32_t)CAN_CHANGE) | (a[2] & CAN_CHANGE);
        result = 0;
    }
    file_release(f);
    return result;
}

static int record_lock(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct descriptors *d = descriptors_of(p);
    struct file *f = descriptor_file(d, a[0]);
    if (!f)
        return -EBADF;
    int result = record_lock_call(d, process_id_of(p), f, map, a[1], a[2]);
    if (!result && a[1] != F_GETLK) { /* if another thread closed it meanwhile, no later close would end the lock */
        struct file *now = descriptor_file(d, a[0]);
        if (now != f) {
            record_locks_end(d, f);
            result = -EBADF;
        }
        if (now)
            file_release(now);
    }
    file_release(f);
    return result;
}

static int dup_from(struct descriptors *d, uint32_t fd, uint32_t from, bool close_on_exec)
{
    if (from < descriptors_most(d))
        return descriptor_dup(d, fd, from, close_on_exec);
    return descriptor_close_on_exec(d, fd, false, false) < 0 ? -EBADF : -EINVAL;
}

static int sys_fcntl(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct descriptors *d = descriptors_of(p);
    switch (a[1]) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: return dup_from(d, a[0], a[2], a[1] == F_DUPFD_CLOEXEC);
    case F_GETFD: return descriptor_close_on_exec(d, a[0], false, false);
    case F_SETFD: {
        int was = descriptor_close_on_exec(d, a[0], true, a[2] & FD_CLOEXEC);
        return was < 0 ? was : 0;
    }
    case F_GETFL:
    case F_SETFL: return file_flags(d, a);
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW: return record_lock(p, map, a);
    default: return -EINVAL;
    }
}
SYSCALL(SYS_FCNTL, sys_fcntl);

static int sys_flock(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    int how = (int)(a[1] & ~(uint32_t)LOCK_NB);
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    int result = how != LOCK_SH && how != LOCK_EX && how != LOCK_UN ? -EINVAL : flock_set(f, how, !(a[1] & LOCK_NB));
    file_release(f);
    return result;
}
SYSCALL(SYS_FLOCK, sys_flock);

static int sys_lseek(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    int result = file_seek(f, (int32_t)a[1], (int)a[2]);
    file_release(f);
    return result;
}
SYSCALL(SYS_LSEEK, sys_lseek);

static int sys_fstat(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_stat to = {0};
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    int error = f->ops->stat ? f->ops->stat(f, &to) : -EINVAL;
    file_release(f);
    return error ? error : copyout(map, a[1], &to, sizeof to);
}
SYSCALL(SYS_FSTAT, sys_fstat);

static int sys_ioctl(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    int result = f->ops->ioctl ? f->ops->ioctl(f, map, a[1], a[2]) : -ENOTTY;
    file_release(f);
    return result;
}
SYSCALL(SYS_IOCTL, sys_ioctl);

static int sys_getdirentries(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    struct transfer t = {map, a[1], MIN(a[2], MOST_AT_ONCE), false};
    int result = file_getdirentries(f, &t);
    file_release(f);
    return result;
}
SYSCALL(SYS_GETDIRENTRIES, sys_getdirentries);

static int sys_fsync(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    int error = f->ops->sync ? f->ops->sync(f) : -EINVAL;
    file_release(f);
    return error;
}
SYSCALL(SYS_FSYNC, sys_fsync);

static int sys_ftruncate(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    if (!f)
        return -EBADF;
    int error = !(f->kind & FILE_WRITE) || !f->ops->truncate ? -EINVAL : f->ops->truncate(f, (int32_t)a[1]);
    file_release(f);
    return error;
}
SYSCALL(SYS_FTRUNCATE, sys_ftruncate);
