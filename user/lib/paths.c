/*
 * Functions of paths and descriptors without a system call of their own: realpath, mkdtemp, mkfifo, lockf, preadv and
 * its like, statvfs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/lib/system.h"

#define LINKS_MOST 32

static bool failed(int error)
{
    errno = error;
    return false;
}

/* Appends the next component of *rest to `to`, a path without links. */
static bool step(char *to, char *rest, unsigned *links)
{
    char name[PATH_MAX], text[PATH_MAX], joined[PATH_MAX];
    struct stat s;
    char *from = rest + strspn(rest, "/");
    size_t n = strcspn(from, "/"), length = strlen(to);
    bool more = from[n];
    memcpy(name, from, n);
    name[n] = 0;
    memmove(rest, from + n, strlen(from + n) + 1);
    if (!n || !strcmp(name, "."))
        return true;
    if (!strcmp(name, "..")) {
        if (*to)
            *strrchr(to, '/') = 0;
        return true;
    }
    if (length + 1 + n >= PATH_MAX)
        return failed(ENAMETOOLONG);
    to[length] = '/';
    strcpy(to + length + 1, name);
    if (lstat(to, &s))
        return false;
    if (!S_ISLNK(s.st_mode))
        return !more || S_ISDIR(s.st_mode) || failed(ENOTDIR);
    ssize_t size = readlink(to, text, sizeof text - 1);
    if (size < 0)
        return false;
    text[size] = 0;
    if (++*links > LINKS_MOST)
        return failed(ELOOP);
    if ((size_t)size + strlen(rest) >= sizeof joined)
        return failed(ENAMETOOLONG);
    strcpy(joined, text);
    strcat(joined, rest);
    strcpy(rest, joined);
    to[*text == '/' ? 0 : length] = 0;
    return true;
}

char *realpath(const char *restrict path, char *restrict to)
{
    char rest[PATH_MAX], made[PATH_MAX] = "";
    unsigned links = 0;
    if (!path || !*path) {
        errno = path ? ENOENT : EINVAL;
        return 0;
    }
    if (strlen(path) >= sizeof rest) {
        errno = ENAMETOOLONG;
        return 0;
    }
    strcpy(rest, path);
    if (*path != '/' && (!getcwd(made, sizeof made) || !strcmp(made, "/")))
        *made = 0;
    while (rest[strspn(rest, "/")])
        if (!step(made, rest, &links))
            return 0;
    if (!*made)
        strcpy(made, "/");
    if (!to && !(to = malloc(PATH_MAX)))
        return 0;
    return strcpy(to, made);
}

char *mkdtemp(char *template)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t n = strlen(template);
    if (n < 6 || strcmp(template + n - 6, "XXXXXX")) {
        errno = EINVAL;
        return 0;
    }
    for (unsigned turn = 0; turn < 100; turn++) {
        uint8_t some[6];
        getrandom(some, sizeof some, 0);
        for (unsigned i = 0; i < sizeof some; i++)
            template[n - 6 + i] = letters[some[i] % (sizeof letters - 1)];
        if (!mkdir(template, 0700))
            return template;
        if (errno != EEXIST)
            break;
    }
    strcpy(template + n - 6, "XXXXXX");
    return 0;
}

int mkfifo(const char *path, mode_t mode)
{
    return mknod(path, S_IFIFO | (mode & 0777), 0);
}

int lockf(int fd, int how, off_t size)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = size};
    switch (how) {
    case F_LOCK: return fcntl(fd, F_SETLKW, &l);
    case F_TLOCK:
        if (!fcntl(fd, F_SETLK, &l))
            return 0;
        if (errno == EACCES)
            errno = EAGAIN;
        return -1;
    case F_ULOCK: l.l_type = F_UNLCK; return fcntl(fd, F_SETLK, &l);
    case F_TEST:
        l.l_type = F_RDLCK; /* as Linux: a read lock conflicts with no other */
        if (fcntl(fd, F_GETLK, &l))
            return -1;
        if (l.l_type == F_UNLCK || l.l_pid == getpid())
            return 0;
        errno = EACCES;
        return -1;
    default: errno = EINVAL; return -1;
    }
}

/* Piece by piece, up to the first that is not transferred whole. */
static ssize_t pieces(int fd, const struct iovec *v, int count, off_t offset, bool write)
{
    ssize_t done = 0;
    if (count < 0 || count > IOV_MAX) {
        errno = EINVAL;
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (!v[i].iov_len && i + 1 < count) /* one call reports the error */
            continue;
        ssize_t n = write ? pwrite(fd, v[i].iov_base, v[i].iov_len, offset + done)
                          : pread(fd, v[i].iov_base, v[i].iov_len, offset + done);
        if (n < 0)
            return done ? done : -1;
        done += n;
        if ((size_t)n < v[i].iov_len)
            break;
    }
    return done;
}

ssize_t preadv(int fd, const struct iovec *to, int count, off_t offset)
{
    return pieces(fd, to, count, offset, false);
}

ssize_t pwritev(int fd, const struct iovec *from, int count, off_t offset)
{
    return pieces(fd, from, count, offset, true);
}

static int told(int result, const struct user_statfs *is, struct statvfs *to)
{
    if (result < 0)
        return with_errno(result);
    *to = (struct statvfs){.f_bsize = is->block_size,
                           .f_frsize = is->block_size,
                           .f_blocks = is->blocks,
                           .f_bfree = is->blocks_free,
                           .f_bavail = is->blocks_free,
                           .f_files = is->files,
                           .f_ffree = is->files_free,
                           .f_favail = is->files_free,
                           .f_namemax = NAME_MAX};
    return 0;
}

int statvfs(const char *path, struct statvfs *to)
{
    struct user_statfs is;
    return told(system_call(SYS_STATFS, (uint32_t)path, (uint32_t)&is, 0), &is, to);
}

int fstatvfs(int fd, struct statvfs *to)
{
    struct user_statfs is;
    return told(system_call(SYS_FSTATFS, (uint32_t)fd, (uint32_t)&is, 0), &is, to);
}
