/* Reading directories: opendir and its like on getdirentries. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "user/lib/system.h"

#define BUFFER_SIZE 1024

struct __dir {
    int fd;
    int length, at; /* of the last read, in bytes */
    long where;     /* of the next entry */
    _Alignas(4) char buffer[BUFFER_SIZE];
};

DIR *fdopendir(int fd)
{
    struct stat s;
    if (fstat(fd, &s))
        return 0;
    if (!S_ISDIR(s.st_mode)) {
        errno = ENOTDIR;
        return 0;
    }
    DIR *d = malloc(sizeof *d);
    if (!d)
        return 0;
    d->fd = fd;
    d->length = d->at = 0;
    d->where = lseek(fd, 0, SEEK_CUR);
    return d;
}

DIR *opendir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    DIR *d = fdopendir(fd);
    if (!d)
        close(fd);
    return d;
}

struct dirent *readdir(DIR *d)
{
    if (d->at >= d->length) {
        int n = system_call(SYS_GETDIRENTRIES, (uint32_t)d->fd, (uint32_t)d->buffer, sizeof d->buffer);
        d->length = n == -ENOENT ? 0 : with_errno(n); /* a removed directory has no entries */
        d->at = 0;
        if (d->length <= 0)
            return 0;
    }
    struct dirent *entry = (struct dirent *)(d->buffer + d->at);
    d->at += entry->d_reclen;
    d->where = (long)entry->d_off;
    return entry;
}

void rewinddir(DIR *d)
{
    seekdir(d, 0);
}

long telldir(DIR *d)
{
    return d->where;
}

void seekdir(DIR *d, long where)
{
    lseek(d->fd, where, SEEK_SET);
    d->length = d->at = 0;
    d->where = where;
}

int dirfd(DIR *d)
{
    return d->fd;
}

int closedir(DIR *d)
{
    int fd = d->fd;
    free(d);
    return close(fd);
}
