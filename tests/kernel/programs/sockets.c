/*
 * What calls on sockets return without a peer at the other end, and with odd arguments: prints what is wrong, and exits
 * with 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/route.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "user/abi.h"

static int wrong;

static void expect(const char *what, long got, long wanted)
{
    if (got == wanted)
        return;
    printf("%s: %ld (errno %d) instead of %ld\n", what, got, errno, wanted);
    wrong = 1;
}

#define FAILS(call, error)                     \
    do {                                       \
        errno = 0;                             \
        expect(#call, (long)(call), -1);       \
        expect(#call ", errno", errno, error); \
    } while (0)

static struct sockaddr *address(struct sockaddr_in *of, const char *ip, unsigned port)
{
    *of = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    of->sin_addr.s_addr = inet_addr(ip);
    return (struct sockaddr *)of;
}

static void options(int fd)
{
    int value = -1;
    socklen_t length = sizeof value;
    expect("TCP_NODELAY at first", getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) | value, 0);
    value = 1;
    expect("setsockopt", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value), 0);
    value = 0;
    expect("getsockopt", getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length), 0);
    expect("TCP_NODELAY", value, 1);
    value = -1;
    expect("SO_ERROR", getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &length) | value, 0);
    expect("its length", length, sizeof value);
    FAILS(getsockopt(fd, SOL_SOCKET, 99, &value, &length), ENOPROTOOPT);
    FAILS(setsockopt(fd, SOL_SOCKET, SO_ERROR, &value, sizeof value), ENOPROTOOPT);
    FAILS(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value - 1), EINVAL);
    FAILS(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, (void *)16, sizeof value), EFAULT);
    length = 3;
    FAILS(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length), EINVAL);
}

static void names(int fd)
{
    struct sockaddr_in of, other;
    socklen_t length = sizeof of;
    FAILS(bind(fd, address(&of, "10.9.9.9", 7), sizeof of), EADDRNOTAVAIL);
    FAILS(bind(fd, address(&of, "0.0.0.0", 7), sizeof of - 1), EINVAL);
    expect("bind", bind(fd, address(&of, "0.0.0.0", 7), sizeof of), 0);
    FAILS(bind(fd, address(&of, "0.0.0.0", 8), sizeof of), EINVAL);
    expect("getsockname", getsockname(fd, (struct sockaddr *)&other, &length), 0);
    expect("its port", ntohs(other.sin_port), 7);
    expect("its family", other.sin_family, AF_INET);
    expect("its length", length, sizeof other);
    FAILS(getpeername(fd, (struct sockaddr *)&other, &length), ENOTCONN);
    int second = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    FAILS(bind(second, address(&of, "0.0.0.0", 7), sizeof of), EADDRINUSE);
    expect("bind of any port", bind(second, address(&of, "0.0.0.0", 0), sizeof of), 0);
    expect("getsockname", getsockname(second, (struct sockaddr *)&other, &length), 0);
    expect("a port that is chosen", ntohs(other.sin_port) >= 49152, 1);
    expect("close", close(second), 0);
}

static void listening(void)
{
    struct sockaddr_in of;
    socklen_t length = sizeof of;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    expect("O_NONBLOCK", !!(fcntl(fd, F_GETFL) & O_NONBLOCK), 1);
    expect("FD_CLOEXEC", fcntl(fd, F_GETFD), FD_CLOEXEC);
    FAILS(accept(fd, 0, 0), EINVAL);
    expect("bind", bind(fd, address(&of, "0.0.0.0", 9), sizeof of), 0);
    expect("listen", listen(fd, SOMAXCONN), 0);
    expect("listen again", listen(fd, 1), 0);
    FAILS(accept(fd, (struct sockaddr *)&of, &length), EAGAIN);
    FAILS(connect(fd, address(&of, "10.0.0.77", 7), sizeof of), EOPNOTSUPP);
    struct pollfd poll_of = {.fd = fd, .events = POLLIN | POLLOUT};
    expect("poll", poll(&poll_of, 1, 0), 0);
    expect("close", close(fd), 0);
}

static void connecting(void)
{
    struct sockaddr_in of;
    char byte = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    FAILS(read(fd, &byte, 1), ENOTCONN);
    FAILS(write(fd, &byte, 1), ENOTCONN);
    FAILS(connect(fd, address(&of, "11.0.0.1", 7), sizeof of), ENETUNREACH);
    FAILS(connect(fd, address(&of, "10.0.0.255", 7), sizeof of), EADDRNOTAVAIL);
    FAILS(connect(fd, address(&of, "10.0.0.77", 0), sizeof of), EADDRNOTAVAIL);
    of.sin_family = 99;
    FAILS(connect(fd, (struct sockaddr *)&of, sizeof of), EAFNOSUPPORT);
    FAILS(shutdown(fd, SHUT_RD), ENOTCONN);
    FAILS(shutdown(fd, SHUT_WR), ENOTCONN);
    FAILS(shutdown(fd, SHUT_RDWR), ENOTCONN);
    FAILS(shutdown(fd, SHUT_RDWR + 1), EINVAL);
    expect("fcntl", fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    FAILS(connect(fd, address(&of, "10.0.0.77", 7), sizeof of), EINPROGRESS);
    FAILS(connect(fd, address(&of, "10.0.0.77", 7), sizeof of), EALREADY);
    FAILS(write(fd, &byte, 1), EAGAIN);
    FAILS(read(fd, &byte, 1), EAGAIN);
    struct pollfd poll_of = {.fd = fd, .events = POLLIN | POLLOUT};
    expect("poll while it connects", poll(&poll_of, 1, 0), 0);
    expect("close", close(fd), 0);
}

/* Messages of several pieces, over the loop-back; there is no control data. */
static void messages(int type)
{
    struct sockaddr_in of;
    socklen_t length = sizeof of;
    int to = socket(AF_INET, type, 0), from = socket(AF_INET, type, 0), listens = to;
    char got[8] = {0};
    struct iovec out[] = {{"abc", 3}, {"", 0}, {"def", 3}}, in[] = {{got, 2}, {got + 4, 2}};
    struct msghdr one = {.msg_iov = out, .msg_iovlen = 3};
    struct msghdr other = {.msg_iov = in, .msg_iovlen = 2, .msg_name = &of, .msg_namelen = sizeof of};
    expect("bind", bind(to, address(&of, "127.0.0.1", 0), sizeof of), 0);
    expect("getsockname", getsockname(to, (struct sockaddr *)&of, &length), 0);
    if (type == SOCK_STREAM)
        expect("listen", listen(to, 1), 0);
    expect("connect", connect(from, (struct sockaddr *)&of, sizeof of), 0);
    if (type == SOCK_STREAM) {
        FAILS(accept4(listens, 0, 0, 1), EINVAL);
        to = accept4(listens, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
        expect("O_NONBLOCK", !!(fcntl(to, F_GETFL) & O_NONBLOCK), 1);
        expect("FD_CLOEXEC", fcntl(to, F_GETFD), FD_CLOEXEC);
        expect("close", close(listens), 0);
    }
    expect("sendmsg", sendmsg(from, &one, 0), 6);
    expect("poll", poll(&(struct pollfd){.fd = to, .events = POLLIN}, 1, -1), 1);
    expect("recvmsg", recvmsg(to, &other, 0), 4);
    expect("its bytes", memcmp(got, "ab\0\0cd\0\0", 8), 0);
    expect("the sender's name", (long)other.msg_namelen, type == SOCK_DGRAM ? (long)sizeof of : 0);
    expect("MSG_TRUNC", other.msg_flags, type == SOCK_DGRAM ? MSG_TRUNC : 0);
    if (type == SOCK_STREAM)
        expect("the rest", recvmsg(to, &other, 0), 2);
    FAILS(recvmsg(to, &other, MSG_DONTWAIT), EAGAIN);
    one.msg_iovlen = 1025;
    FAILS(sendmsg(from, &one, 0), EMSGSIZE);
    one = (struct msghdr){.msg_iov = out, .msg_iovlen = 3, .msg_control = got, .msg_controllen = 8};
    FAILS(sendmsg(from, &one, 0), EOPNOTSUPP);
    expect("close", close(from), 0);
    expect("close", close(to), 0);
}

/* What getaddrinfo returns, with the first address and port. */
static void resolves(const char *name, const char *service, int flags, int answer, in_addr_t address, unsigned port)
{
    struct addrinfo hints = {.ai_flags = flags, .ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = 0;
    int got = getaddrinfo(name, service, &hints, &found);
    expect(name ? name : service, got, answer);
    if (got || answer)
        return;
    const struct sockaddr_in *to = (const struct sockaddr_in *)found->ai_addr;
    expect("an address", (long)ntohl(to->sin_addr.s_addr), (long)address);
    expect("a port", ntohs(to->sin_port), (long)port);
    expect("no other", (long)found->ai_next, 0);
    freeaddrinfo(found);
}

static void names_of_hosts(void)
{
    resolves("10.0.0.7", "80", 0, 0, 0x0a000007, 80);
    resolves("localhost", "http", 0, 0, 0x7f000001, 80);
    resolves("LocalHost", 0, 0, 0, 0x7f000001, 0);
    resolves(0, "7", AI_PASSIVE, 0, 0, 7);
    resolves(0, "65535", 0, 0, 0x7f000001, 65535);
    resolves(0, 0, 0, EAI_NONAME, 0, 0);
    resolves("10.0.0.256", "80", AI_NUMERICHOST, EAI_NONAME, 0, 0);
    time_t before = time(0);
    resolves("nobody", "80", 0, EAI_AGAIN, 0, 0); /* without a name server, which is not waited for */
    expect("a name server that is not there is asked at once", time(0) - before < 2, 1);
    resolves("localhost", "80", AI_NUMERICHOST, EAI_NONAME, 0, 0);
    resolves("localhost", "65536", 0, EAI_SERVICE, 0, 0);
    resolves("localhost", "http", AI_NUMERICSERV, EAI_NONAME, 0, 0);
    resolves("localhost", "80", 0x8000, EAI_BADFLAGS, 0, 0);
}

/* A connection to this host itself. */
static void loop_back(void)
{
    struct sockaddr_in of;
    char byte = 7;
    int listening_fd = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    expect("bind", bind(listening_fd, address(&of, "127.0.0.1", 11), sizeof of), 0);
    expect("listen", listen(listening_fd, 1), 0);
    FAILS(connect(fd, address(&of, "127.0.0.1", 12), sizeof of), ECONNREFUSED);
    expect("close", close(fd), 0);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    expect("connect", connect(fd, address(&of, "127.0.0.1", 11), sizeof of), 0);
    int other = accept(listening_fd, 0, 0);
    expect("write", write(fd, &byte, 1), 1);
    byte = 0;
    expect("read", read(other, &byte, 1), 1);
    expect("the byte", byte, 7);
    expect("close", close(fd) | close(other) | close(listening_fd), 0);
}

static struct user_net_status status_of(int fd)
{
    struct user_net_status status = {99, 99, 99};
    expect("SIOCNETSTATUS", ioctl(fd, USER_SIOCNETSTATUS, &status), 0);
    return status;
}

static void check_pool(const struct user_mbuf_pool *p)
{
    expect("the most buffers", p->peak >= p->in_use, 1);
    expect("buffers for which there was no memory", (long)p->denied, 0);
    expect("waits for memory", (long)p->waits, 0);
    expect("pages that hold them", (p->in_use + p->free) * p->bytes <= p->pages * 4096, 1);
    expect("no more than the limit", p->in_use + p->free <= p->most, 1);
}

static struct user_mbuf_status mbufs_of(int fd)
{
    struct user_mbuf_status status;
    memset(&status, 99, sizeof status);
    expect("SIOCMBUFSTATUS", ioctl(fd, USER_SIOCMBUFSTATUS, &status), 0);
    check_pool(&status.mbufs);
    check_pool(&status.clusters);
    expect("room for a frame", status.clusters.bytes >= 1514, 1);
    expect("two rings of the interface", status.clusters.in_use >= 126, 1);
    return status;
}

/* What the network has in use: one more connection for each socket, and buffers for unread bytes. */
static void network_status(void)
{
    struct sockaddr_in of;
    int fd = socket(AF_INET, SOCK_STREAM, 0), other[4], pipes[2];
    struct user_net_status at_first = status_of(fd), now;
    expect("the address", (long)ntohl(at_first.address), 0x0a000002);
    for (int i = 0; i < 4; i++) {
        other[i] = socket(AF_INET, SOCK_STREAM, 0);
        expect("a connection more", (long)status_of(fd).connections, (long)at_first.connections + i + 1);
    }
    for (int i = 0; i < 4; i++)
        close(other[i]);
    now = status_of(fd);
    expect("connections that are closed", (long)now.connections, (long)at_first.connections);
    expect("buffers", (long)now.mbufs, (long)at_first.mbufs);
    expect("bind", bind(fd, address(&of, "127.0.0.1", 13), sizeof of) | listen(fd, 1), 0);
    int from = socket(AF_INET, SOCK_STREAM, 0);
    expect("connect", connect(from, address(&of, "127.0.0.1", 13), sizeof of), 0);
    int to = accept(fd, 0, 0);
    uint32_t before = status_of(fd).mbufs;
    char bytes[64] = "bytes";
    expect("write", write(from, bytes, sizeof bytes), sizeof bytes);
    int there = 0;
    for (int i = 0; i < 1000 && there < (int)sizeof bytes; i++)
        ioctl(to, FIONREAD, &there);
    expect("FIONREAD", there, sizeof bytes);
    expect("buffers of what nobody has read", status_of(fd).mbufs > before, 1);
    expect("the same buffers", (long)mbufs_of(fd).mbufs.in_use, (long)status_of(fd).mbufs);
    expect("read", read(to, bytes, sizeof bytes), sizeof bytes);
    FAILS(ioctl(fd, USER_SIOCNETSTATUS, 16), EFAULT);
    FAILS(ioctl(fd, USER_SIOCMBUFSTATUS, 16), EFAULT);
    expect("pipe", pipe(pipes), 0);
    FAILS(ioctl(pipes[0], USER_SIOCNETSTATUS, &now), ENOTTY);
    expect("close", close(fd) | close(from) | close(to) | close(pipes[0]) | close(pipes[1]), 0);
}

/* Datagrams to this host itself, and to an unused port. */
static void datagrams(void)
{
    struct sockaddr_in of, from;
    socklen_t length = sizeof from;
    char bytes[1500] = "four";
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), other = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    FAILS(listen(fd, 1), EOPNOTSUPP);
    FAILS(accept(fd, 0, 0), EOPNOTSUPP);
    FAILS(bind(fd, address(&of, "10.9.9.9", 13), sizeof of), EADDRNOTAVAIL);
    expect("bind", bind(fd, address(&of, "0.0.0.0", 13), sizeof of), 0);
    FAILS(bind(other, address(&of, "127.0.0.1", 13), sizeof of), EADDRINUSE);
    FAILS(write(fd, bytes, 4), EDESTADDRREQ);
    FAILS(sendto(fd, bytes, 4, 0, address(&of, "11.0.0.1", 7), sizeof of), ENETUNREACH);
    FAILS(sendto(fd, bytes, 4, 1, address(&of, "127.0.0.1", 7), sizeof of), EOPNOTSUPP);
    FAILS(sendto(fd, bytes, 4, 0, address(&of, "127.0.0.1", 7), sizeof of - 1), EINVAL);
    FAILS(sendto(fd, (void *)16, 4, 0, address(&of, "127.0.0.1", 7), sizeof of), EFAULT);
    FAILS(sendto(fd, bytes, 65508, 0, address(&of, "127.0.0.1", 7), sizeof of), EMSGSIZE);
    FAILS(getpeername(fd, (struct sockaddr *)&from, &length), ENOTCONN);
    FAILS(shutdown(fd, SHUT_RDWR), ENOTCONN);
    FAILS(recvfrom(fd, bytes, 4, 0, 0, 0), EAGAIN);
    FAILS(recv(fd, bytes, 4, 0x1000), EOPNOTSUPP);
    expect("connect", connect(other, address(&of, "127.0.0.1", 13), sizeof of), 0);
    expect("send", send(other, bytes, 4, 0), 4);
    expect("sendto", sendto(other, bytes, 0, MSG_DONTWAIT, address(&of, "10.0.0.2", 13), sizeof of), 0);
    struct pollfd poll_of = {.fd = fd, .events = POLLIN | POLLOUT};
    expect("poll", poll(&poll_of, 1, 1000), 1);
    expect("what there is", poll_of.revents, POLLIN | POLLOUT);
    memset(bytes, 0, sizeof bytes);
    expect("a look", recvfrom(fd, bytes, 2, MSG_PEEK, (struct sockaddr *)&from, &length), 2);
    expect("recvfrom", recvfrom(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &length), 4);
    expect("its bytes", strcmp(bytes, "four"), 0);
    expect("its length", length, sizeof from);
    expect("from where", ntohl(from.sin_addr.s_addr), 0x7f000001);
    expect("getsockname", getsockname(other, (struct sockaddr *)&of, &length), 0);
    expect("from which port", from.sin_port, of.sin_port);
    expect("sendto", sendto(fd, "back", 4, 0, (struct sockaddr *)&from, sizeof from), 4);
    expect("read", read(other, bytes, sizeof bytes), 4);
    of.sin_family = AF_UNSPEC;
    expect("connect to nobody", connect(other, (struct sockaddr *)&of, sizeof of), 0);
    FAILS(send(other, bytes, 4, 0), EDESTADDRREQ);
    expect("an empty one", recv(fd, bytes, 4, MSG_DONTWAIT), 0);
    expect("sendto", sendto(other, bytes, 4, 0, address(&of, "127.0.0.1", 13), sizeof of), 4);
    expect("poll", poll(&poll_of, 1, 1000), 1);
    FAILS(recvfrom(fd, (void *)16, 4, MSG_DONTWAIT, 0, 0), EFAULT);
    expect("close", close(fd) | close(other), 0);
}

/* A pair: both ways, its end, and invalid kinds of pairs. */
static void pair(void)
{
    int fd[2], there;
    char bytes[20000], got[20000];
    struct sockaddr of;
    socklen_t length = sizeof of;
    FAILS(socketpair(AF_INET, SOCK_STREAM, 0, fd), EOPNOTSUPP);
    FAILS(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), EPROTONOSUPPORT);
    FAILS(socketpair(99, SOCK_STREAM, 0, fd), EAFNOSUPPORT);
    FAILS(socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)16), EFAULT);
    expect("socketpair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
    expect("O_NONBLOCK", !!(fcntl(fd[1], F_GETFL) & O_NONBLOCK), 1);
    expect("FD_CLOEXEC", fcntl(fd[1], F_GETFD), FD_CLOEXEC);
    expect("getsockname", getsockname(fd[0], &of, &length), 0);
    expect("its family", of.sa_family, AF_UNIX);
    expect("its length", length, sizeof of.sa_family);
    FAILS(bind(fd[0], &of, sizeof of), EOPNOTSUPP);
    FAILS(read(fd[0], got, 4), EAGAIN);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    long went = write(fd[0], bytes, sizeof bytes), came = 0, n;
    expect("more than one call takes", went > 4096 && went < (long)sizeof bytes, 1);
    expect("FIONREAD", ioctl(fd[1], FIONREAD, &there) | (there != went), 0);
    expect("back", write(fd[1], "back", 4), 4);
    while ((n = read(fd[1], got + came, 3000)) > 0)
        came += n;
    expect("what came", came, went);
    expect("its bytes", memcmp(got, bytes, (size_t)went), 0);
    expect("shutdown", shutdown(fd[1], SHUT_WR), 0);
    expect("recv", recv(fd[0], got, 9, MSG_WAITALL), 4);
    expect("the end", read(fd[0], got, 9), 0);
    expect("close", close(fd[1]), 0);
    FAILS(send(fd[0], bytes, 4, MSG_NOSIGNAL), EPIPE);
    expect("close", close(fd[0]), 0);
}

/* Datagrams longer than a frame cross the loop-back unchanged, and a broadcast comes to this host, too. */
static void long_datagrams(void)
{
    static const unsigned sizes[] = {1472, 1473, 8192, 65507};
    static char bytes[65507], got[65508];
    struct sockaddr_in of;
    int fd = socket(AF_INET, SOCK_DGRAM, 0), other = socket(AF_INET, SOCK_DGRAM, 0), one = 1, there;
    expect("bind", bind(fd, address(&of, "0.0.0.0", 15), sizeof of), 0);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + (i >> 8));
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        expect("sendto", sendto(other, bytes, sizes[i], 0, address(&of, "127.0.0.1", 15), sizeof of), (long)sizes[i]);
        memset(got, 0, sizeof got);
        expect("a look", recv(fd, got, sizeof got, MSG_PEEK), (long)sizes[i]);
        expect("FIONREAD", ioctl(fd, FIONREAD, &there) | (there != (int)sizes[i]), 0);
        expect("recv", recv(fd, got, sizeof got, 0), (long)sizes[i]);
        expect("its bytes", memcmp(got, bytes, sizes[i]), 0);
    }
    FAILS(sendto(other, bytes, 4, 0, address(&of, "10.0.0.255", 15), sizeof of), EACCES);
    expect("SO_BROADCAST", setsockopt(other, SOL_SOCKET, SO_BROADCAST, &one, sizeof one), 0);
    expect("sendto", sendto(other, bytes, 3000, 0, address(&of, "10.0.0.255", 15), sizeof of), 3000);
    expect("recv", recv(fd, got, sizeof got, 0), 3000);
    expect("its bytes", memcmp(got, bytes, 3000), 0);
    expect("close", close(fd) | close(other), 0);
}

static struct ifreq *named(const char *name)
{
    static struct ifreq of;
    of = (struct ifreq){0};
    strcpy(of.ifr_name, name);
    return &of;
}

static long address_of(const struct sockaddr *of)
{
    return ntohl(((const struct sockaddr_in *)of)->sin_addr.s_addr);
}

static void names_of_interfaces(void)
{
    char name[IFNAMSIZ];
    expect("lo", if_nametoindex("lo"), 1);
    expect("eth0", if_nametoindex("eth0"), 2);
    FAILS(if_nametoindex("eth00") ? 0 : -1, ENXIO);
    expect("the first", strcmp(if_indextoname(1, name), "lo"), 0);
    FAILS(if_indextoname(3, name) ? 0 : -1, ENXIO);
    struct if_nameindex *all = if_nameindex();
    expect("all", all && all[0].if_index == 1 && !strcmp(all[1].if_name, "eth0") && !all[2].if_index, 1);
    if_freenameindex(all);
    struct ifaddrs *of;
    expect("getifaddrs", getifaddrs(&of), 0);
    expect("loop-back", address_of(of->ifa_addr), 0x7f000001);
    expect("its flags", of->ifa_flags, IFF_UP | IFF_LOOPBACK | IFF_RUNNING);
    of = of->ifa_next;
    expect("broadcast", address_of(of->ifa_broadaddr), 0x0a0000ff);
    expect("mask", address_of(of->ifa_netmask), 0xffffff00);
    expect("the last", !of->ifa_next, 1);
}

/* All requests, on a descriptor of either kind. */
static void interfaces(int type)
{
    int fd = socket(AF_INET, type, 0);
    struct ifreq *of = named("eth0"), both[2];
    expect("SIOCGIFADDR", ioctl(fd, SIOCGIFADDR, of), 0);
    expect("the address", address_of(&of->ifr_addr), 0x0a000002);
    expect("SIOCGIFNETMASK", ioctl(fd, SIOCGIFNETMASK, of), 0);
    expect("the mask", address_of(&of->ifr_netmask), 0xffffff00);
    expect("SIOCGIFBRDADDR", ioctl(fd, SIOCGIFBRDADDR, of), 0);
    expect("all hosts", address_of(&of->ifr_broadaddr), 0x0a0000ff);
    expect("SIOCGIFFLAGS", ioctl(fd, SIOCGIFFLAGS, of), 0);
    expect("the flags", of->ifr_flags, USER_IFF_UP | USER_IFF_BROADCAST | USER_IFF_RUNNING);
    expect("SIOCGIFMTU", ioctl(fd, SIOCGIFMTU, of) | of->ifr_mtu, 1500);
    expect("SIOCGIFINDEX", ioctl(fd, SIOCGIFINDEX, of) | of->ifr_ifindex, 2);
    expect("SIOCGIFNAME", ioctl(fd, SIOCGIFNAME, of) | strcmp(of->ifr_name, "eth0"), 0);
    expect("SIOCGIFHWADDR", ioctl(fd, SIOCGIFHWADDR, of) | memcmp(of->ifr_hwaddr.sa_data, "\2ILK\0\2", 6), 0);
    struct ifconf list = {.ifc_len = 100, .ifc_req = both};
    expect("SIOCGIFCONF", ioctl(fd, SIOCGIFCONF, &list) | list.ifc_len, 2 * sizeof *both);
    expect("the second", strcmp(both[1].ifr_name, "eth0") | (address_of(&both[1].ifr_addr) != 0x0a000002), 0);
    list.ifc_len = 63;
    expect("room for one", ioctl(fd, SIOCGIFCONF, &list) | list.ifc_len, sizeof *both);
    list.ifc_len = -1;
    expect("no room", ioctl(fd, SIOCGIFCONF, &list) | list.ifc_len, 0);
    expect("USER_IFF_LOOPBACK", ioctl(fd, SIOCGIFFLAGS, of = named("lo")) | (of->ifr_flags & USER_IFF_LOOPBACK), 8);
    FAILS(ioctl(fd, SIOCSIFADDR, of), EOPNOTSUPP);
    FAILS(ioctl(fd, SIOCGIFADDR, named("eth1")), ENODEV);
    FAILS(ioctl(fd, SIOCGIFADDR, 16), EFAULT);
    FAILS(ioctl(fd, SIOCGIFCONF, 16), EFAULT);
    FAILS(ioctl(fd, 0x8999, named("eth0")), ENOTTY);
    FAILS(ioctl(fd, SIOCSIFADDR, named("eth0")), EAFNOSUPPORT);
    static const char *const wrong_ones[] = {"0.0.0.0", "10.0.0.255", "10.0.0.0", "127.0.0.1", "224.0.0.1"};
    for (unsigned i = 0; i < sizeof wrong_ones / sizeof *wrong_ones; i++) {
        of = named("eth0");
        address((struct sockaddr_in *)&of->ifr_addr, wrong_ones[i], 0);
        FAILS(ioctl(fd, SIOCSIFADDR, of), EINVAL);
    }
    static const char *const wrong_masks[] = {"0.0.0.0", "255.0.255.0", "255.255.255.254", "255.255.255.255"};
    for (unsigned i = 0; i < sizeof wrong_masks / sizeof *wrong_masks; i++) {
        of = named("eth0");
        address((struct sockaddr_in *)&of->ifr_netmask, wrong_masks[i], 0);
        FAILS(ioctl(fd, SIOCSIFNETMASK, of), EINVAL);
    }
    of = named("eth0");
    of->ifr_flags = 0;
    expect("down", ioctl(fd, SIOCSIFFLAGS, of) | ioctl(fd, SIOCGIFFLAGS, of) | (of->ifr_flags & USER_IFF_UP), 0);
    of->ifr_flags = IFF_UP;
    expect("up", ioctl(fd, SIOCSIFFLAGS, of) | ioctl(fd, SIOCGIFFLAGS, of) | (of->ifr_flags & USER_IFF_UP), 1);
    expect("close", close(fd), 0);
}

/* Whether a list has as many entries as it says, and writes no more than there is room for. */
static unsigned listed(int fd, unsigned long request, uint32_t *to, size_t words, unsigned room)
{
    struct user_list list = {(uint32_t)(uintptr_t)to, room, 0};
    memset(to, 0x5a, (room + 1) * words * sizeof *to);
    expect("a list", ioctl(fd, request, &list), 0);
    if (list.count <= room)
        expect("its end", to[list.count * words], 0x5a5a5a5a);
    expect("its room", to[room * words], 0x5a5a5a5a);
    return list.count;
}

static void lists(void)
{
    static uint32_t to[2000];
    struct rtentry r = {.rt_flags = RTF_UP | RTF_GATEWAY};
    int fd = socket(AF_INET, SOCK_DGRAM, 0), raw = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    const struct user_route *route = (void *)to;
    const struct user_socket *s = (void *)to;
    const struct user_count *count = (void *)to;
    expect("one route", listed(fd, USER_SIOCROUTES, to, sizeof *route / 4, 4), 1);
    expect("it", route->to == htonl(0x0a000000) && route->mask == htonl(0xffffff00) && route->flags == RTF_UP, 1);
    address((struct sockaddr_in *)&r.rt_dst, "192.168.7.0", 0);
    address((struct sockaddr_in *)&r.rt_genmask, "255.255.255.0", 0);
    address((struct sockaddr_in *)&r.rt_gateway, "10.0.0.9", 0);
    expect("SIOCADDRT", ioctl(fd, SIOCADDRT, &r), 0);
    FAILS(ioctl(fd, SIOCADDRT, &r), EEXIST);
    expect("two routes", listed(fd, USER_SIOCROUTES, to, sizeof *route / 4, 1), 2);
    expect("both", listed(fd, USER_SIOCROUTES, to, sizeof *route / 4, 3), 2);
    expect("the other", route[1].gateway == htonl(0x0a000009) && route[1].flags == (RTF_UP | RTF_GATEWAY), 1);
    expect("SIOCDELRT", ioctl(fd, SIOCDELRT, &r), 0);
    FAILS(ioctl(fd, SIOCDELRT, &r), ESRCH);
    r.rt_dst.sa_family = AF_UNIX;
    FAILS(ioctl(fd, SIOCADDRT, &r), EAFNOSUPPORT);
    FAILS(ioctl(fd, SIOCADDRT, 16), EFAULT);
    FAILS(ioctl(fd, USER_SIOCROUTES, 16), EFAULT);
    unsigned most = listed(fd, USER_SIOCSOCKETS, to, sizeof *s / 4, 60), found = 0;
    for (unsigned i = 0; i < most; i++)
        found += s[i].type == SOCK_RAW && s[i].port == htons(IPPROTO_ICMP);
    expect("a raw socket", found, 1);
    int more[60]; /* more than one buffer of the kernel describes */
    for (unsigned i = 0; i < 60; i++)
        expect("socket", (more[i] = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)) > 0, 1);
    expect("60 more", listed(fd, USER_SIOCSOCKETS, to, sizeof *s / 4, 200), most + 60);
    for (unsigned i = 0; i < 60; i++)
        expect("raw", s[most + i].type == SOCK_RAW && !close(more[i]), 1);
    expect("none wanted", listed(fd, USER_SIOCSOCKETS, to, sizeof *s / 4, 0), most);
    most = listed(fd, USER_SIOCNETCOUNTS, to, sizeof *count / 4, 100);
    expect("the first counter", most > 40 && !strcmp(count->name, "received"), 1);
    expect("close", close(fd) | close(raw), 0);
}

/* An echo to the own host, and its answer. */
static void raw(void)
{
    static unsigned char echo[] = {8, 0, 0xf7, 0xfd, 0, 1, 0, 1};
    unsigned char got[100];
    struct sockaddr_in of;
    socklen_t length = sizeof of;
    int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), value;
    FAILS(socket(AF_INET, SOCK_RAW, IPPROTO_UDP), EPROTONOSUPPORT);
    FAILS(send(fd, echo, sizeof echo, 0), EDESTADDRREQ);
    FAILS(listen(fd, 1), EOPNOTSUPP);
    value = 256;
    FAILS(setsockopt(fd, IPPROTO_IP, USER_IP_TTL, &value, sizeof value), EINVAL);
    value = 9;
    expect("IP_TTL", setsockopt(fd, IPPROTO_IP, USER_IP_TTL, &value, sizeof value), 0);
    expect("sendto", sendto(fd, echo, sizeof echo, 0, address(&of, "127.0.0.1", 0), sizeof of), sizeof echo);
    expect("the echo", recv(fd, got, sizeof got, 0), 20 + sizeof echo);
    expect("its TTL", got[8], 9);
    expect("the answer", recvfrom(fd, got, sizeof got, 0, (struct sockaddr *)&of, &length), 20 + sizeof echo);
    expect("its type", got[20], 0);
    expect("its sender", address_of((struct sockaddr *)&of), 0x7f000001);
    expect("close", close(fd), 0);
}

int main(void)
{
    int ends[2], fd = socket(AF_INET, SOCK_STREAM, 0);
    expect("socket", fd, 3);
    FAILS(socket(AF_INET + 1, SOCK_STREAM, 0), EAFNOSUPPORT);
    FAILS(socket(AF_INET, SOCK_DGRAM + 1, 0), EPROTONOSUPPORT);
    FAILS(socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT);
    FAILS(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP + 1), EPROTONOSUPPORT);
    options(fd);
    names(fd);
    expect("pipe", pipe(ends), 0);
    FAILS(listen(ends[0], 1), ENOTSOCK);
    FAILS(listen(99, 1), EBADF);
    FAILS(lseek(fd, 0, SEEK_SET), ESPIPE);
    expect("close", close(fd), 0);
    network_status(); /* before there are connections that stay for a while */
    listening();
    connecting();
    loop_back();
    datagrams();
    long_datagrams();
    names_of_interfaces();
    interfaces(SOCK_STREAM);
    interfaces(SOCK_DGRAM);
    lists();
    raw();
    pair();
    messages(SOCK_DGRAM);
    messages(SOCK_STREAM);
    names_of_hosts();
    printf("@sockets wrong=%d\n", wrong);
    return wrong;
}
