/*
 * sendmsg, recvmsg and accept4 (sys/socket.h). A message goes through one buffer, so that it is one datagram, or one
 * write of a stream; without a copy if all but one of its pieces are empty.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/lib/cancel.h"
#include "user/lib/system.h"

static uint32_t word(const void *p)
{
    return (uint32_t)(uintptr_t)p;
}

/* The length of all pieces, or minus an error's number; *only is the one that has bytes, or 0. */
static ssize_t length_of(const struct msghdr *message, const struct iovec **only)
{
    size_t total = 0;
    *only = 0;
    if (message->msg_iovlen < 0 || message->msg_iovlen > IOV_MAX)
        return -EMSGSIZE;
    for (int i = 0; i < message->msg_iovlen; i++) {
        const struct iovec *piece = &message->msg_iov[i];
        if (piece->iov_len > SSIZE_MAX - total)
            return -EINVAL;
        if (piece->iov_len)
            *only = total ? 0 : piece;
        total += piece->iov_len;
    }
    return (ssize_t)total;
}

/* `copy` is freed before the thread ends, if that is what the call's result says. */
static int released(int result, void *copy)
{
    free(copy);
    if (result == -ECANCELED && cancel_act)
        cancel_act();
    return with_errno(result);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    const struct iovec *only;
    ssize_t length = length_of(message, &only);
    if (length >= 0 && message->msg_controllen)
        length = -EOPNOTSUPP;
    if (length < 0)
        return with_errno(length);
    char *copy = 0;
    if (!only && length) {
        size_t at = 0;
        if (!(copy = malloc((size_t)length)))
            return with_errno(-ENOBUFS);
        for (int i = 0; i < message->msg_iovlen; at += message->msg_iov[i++].iov_len)
            memcpy(copy + at, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    }
    int sent = cancellable6(SYS_SENDTO, (uint32_t)fd, word(only ? only->iov_base : copy), (uint32_t)length,
                            (uint32_t)flags, word(message->msg_name), message->msg_name ? message->msg_namelen : 0);
    return released(sent, copy);
}

/* Copies `bytes` of the buffer into the pieces. */
static void spread(const struct msghdr *message, const char *from, size_t bytes)
{
    for (int i = 0; bytes; i++) {
        const struct iovec *piece = &message->msg_iov[i];
        size_t n = piece->iov_len < bytes ? piece->iov_len : bytes;
        memcpy(piece->iov_base, from, n);
        from += n;
        bytes -= n;
    }
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    const struct iovec *only;
    ssize_t length = length_of(message, &only);
    int type;
    socklen_t of_type = sizeof type;
    if (length < 0)
        return with_errno(length);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &of_type))
        return -1;
    bool datagram = type == SOCK_DGRAM, named = datagram && message->msg_name;
    char *copy = 0;
    if (datagram || (!only && length)) { /* with a byte more a longer datagram shows */
        if (!(copy = malloc((size_t)length + datagram)))
            return with_errno(-ENOBUFS);
    }
    int got = cancellable6(SYS_RECVFROM, (uint32_t)fd,
                           word(copy   ? copy
                                : only ? only->iov_base
                                       : 0),
                           (uint32_t)length + datagram, (uint32_t)flags, named ? word(message->msg_name) : 0,
                           named ? word(&message->msg_namelen) : 0);
    if (got >= 0) {
        bool longer = got > length;
        got = longer ? (int)length : got;
        if (copy)
            spread(message, copy, (size_t)got);
        message->msg_flags = longer ? MSG_TRUNC : 0;
        message->msg_controllen = 0;
        if (!named)
            message->msg_namelen = 0;
    }
    return released(got, copy);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    return with_errno(cancel_point6(SYS_ACCEPT, (uint32_t)fd, word(address), word(length), (uint32_t)flags, 0, 0));
}
