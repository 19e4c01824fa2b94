#ifndef _SYS_UIO_H
#define _SYS_UIO_H

#include <sys/types.h>

struct iovec {
    void *iov_base;
    size_t iov_len;
};

ssize_t readv(int fd, const struct iovec *to, int count);
ssize_t writev(int fd, const struct iovec *from, int count);
ssize_t preadv(int fd, const struct iovec *to, int count, off_t offset);
ssize_t pwritev(int fd, const struct iovec *from, int count, off_t offset);
#endif
