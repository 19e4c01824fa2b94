/* Sockets (sys/socket.h), and addresses as text. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "user/lib/cancel.h"
#include "user/lib/system.h"

static uint32_t word(const void *p)
{
    return (uint32_t)(uintptr_t)p;
}

static int call(unsigned number, uint32_t a0, uint32_t a1, uint32_t a2)
{
    return with_errno(system_call(number, a0, a1, a2));
}

int socket(int domain, int type, int protocol)
{
    return call(SYS_SOCKET, (uint32_t)domain, (uint32_t)type, (uint32_t)protocol);
}

int socketpair(int domain, int type, int protocol, int fd[2])
{
    return with_errno(
        system_call6(SYS_SOCKETPAIR, (uint32_t)domain, (uint32_t)type, (uint32_t)protocol, word(fd), 0, 0));
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    return call(SYS_BIND, (uint32_t)fd, word(address), length);
}

int listen(int fd, int backlog)
{
    return call(SYS_LISTEN, (uint32_t)fd, (uint32_t)backlog, 0);
}

int accept(int fd, struct sockaddr *address, socklen_t *length)
{
    return with_errno(cancel_point(SYS_ACCEPT, (uint32_t)fd, word(address), word(length)));
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    return with_errno(cancel_point(SYS_CONNECT, (uint32_t)fd, word(address), length));
}

int shutdown(int fd, int how)
{
    return call(SYS_SHUTDOWN, (uint32_t)fd, (uint32_t)how, 0);
}

int getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
    return call(SYS_GETSOCKNAME, (uint32_t)fd, word(address), word(length));
}

int getpeername(int fd, struct sockaddr *address, socklen_t *length)
{
    return call(SYS_GETPEERNAME, (uint32_t)fd, word(address), word(length));
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    return with_errno(
        system_call6(SYS_SETSOCKOPT, (uint32_t)fd, (uint32_t)level, (uint32_t)name, word(value), length, 0));
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    return with_errno(
        system_call6(SYS_GETSOCKOPT, (uint32_t)fd, (uint32_t)level, (uint32_t)name, word(value), word(length), 0));
}

ssize_t send(int fd, const void *buffer, size_t length, int flags)
{
    return sendto(fd, buffer, length, flags, 0, 0);
}

ssize_t recv(int fd, void *buffer, size_t length, int flags)
{
    return recvfrom(fd, buffer, length, flags, 0, 0);
}

ssize_t sendto(int fd, const void *buffer, size_t length, int flags, const struct sockaddr *address,
               socklen_t of_address)
{
    if (!flags && !address)
        return write(fd, buffer, length);
    return with_errno(
        cancel_point6(SYS_SENDTO, (uint32_t)fd, word(buffer), length, (uint32_t)flags, word(address), of_address));
}

ssize_t recvfrom(int fd, void *buffer, size_t length, int flags, struct sockaddr *address, socklen_t *of_address)
{
    if (!flags && !address)
        return read(fd, buffer, length);
    return with_errno(cancel_point6(SYS_RECVFROM, (uint32_t)fd, word(buffer), length, (uint32_t)flags, word(address),
                                    word(of_address)));
}

/* Four decimal numbers separated by dots. */
int inet_aton(const char *text, struct in_addr *to)
{
    uint32_t address = 0;
    for (unsigned part = 0; part < 4; part++) {
        if (*text < '0' || *text > '9')
            return 0;
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        if (n > 255 || *end != (part < 3 ? '.' : 0))
            return 0;
        address = address << 8 | (uint32_t)n;
        text = end + 1;
    }
    to->s_addr = htonl(address);
    return 1;
}

in_addr_t inet_addr(const char *text)
{
    struct in_addr to;
    return inet_aton(text, &to) ? to.s_addr : INADDR_NONE;
}

char *inet_ntoa(struct in_addr address)
{
    static char text[16];
    uint32_t of = ntohl(address.s_addr);
    snprintf(text, sizeof text, "%u.%u.%u.%u", (unsigned)(of >> 24), (unsigned)(of >> 16 & 255),
             (unsigned)(of >> 8 & 255), (unsigned)(of & 255));
    return text;
}

int sockatmark(int fd)
{
    int at_mark;
    return ioctl(fd, SIOCATMARK, &at_mark) ? -1 : at_mark;
}
