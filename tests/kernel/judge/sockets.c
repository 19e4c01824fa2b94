/*
 * Sockets: pairs, and streams and datagrams over the loop-back: what calls return in each state of a connection, what
 * poll says, which flags do what. The program waits for whatever has to come first.
 */
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "say.h"

static char bytes[30000], got[sizeof bytes];
static volatile sig_atomic_t signals;

static void count(int number)
{
    (void)number;
    signals++;
}

static void show_state(const char *what, int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT | POLLPRI, 0};
    poll(&p, 1, 0);
    say("%s:%s%s%s%s%s", what, p.revents & POLLPRI ? " PRI" : "", p.revents & POLLIN ? " IN" : "",
        p.revents & POLLOUT ? " OUT" : "", p.revents & POLLERR ? " ERR" : "", p.revents & POLLHUP ? " HUP" : "");
}

/* Waits until there is something to read. */
static int comes(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, 10000);
}

static int comes_urgent(int fd)
{
    struct pollfd p = {fd, POLLPRI, 0};
    return poll(&p, 1, 10000);
}

static struct sockaddr *at(struct sockaddr_in *of, unsigned ip, unsigned port)
{
    *of = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    of->sin_addr.s_addr = htonl(ip);
    return (struct sockaddr *)of;
}

#define LOCAL 0x7f000001u

static unsigned port_of(int fd)
{
    struct sockaddr_in of;
    socklen_t length = sizeof of;
    getsockname(fd, (struct sockaddr *)&of, &length);
    return ntohs(of.sin_port);
}

/* What a connected socket can do; `to` is its other end, which `from` sends to. */
static void flags(const char *what, int from, int to)
{
    say("%s", what);
    fcntl(to, F_SETFL, O_NONBLOCK);
    SAID(recv(to, got, 10, 0));
    SAID(recv(to, got, 10, MSG_PEEK));
    fcntl(to, F_SETFL, 0);
    SAID(recv(to, got, 10, MSG_DONTWAIT));
    SAID(send(from, "0123456789", 10, MSG_DONTWAIT | MSG_NOSIGNAL));
    SAID(comes(to));
    SAID(recv(to, got, 4, MSG_PEEK));
    SAID(recv(to, got, 20, MSG_PEEK | MSG_DONTWAIT));
    SAID(recv(to, got, 0, 0));
    SAID(recv(to, got, 4, MSG_WAITALL));
    say("%.4s", got);
    SAID(recv(to, NOWHERE, 4, 0));
    SAID(send(from, NOWHERE, 4, 0));
    SAID(recv(to, got, 20, 0));
    say("%.6s", got);
    show_state("both are open", to);
}

/* The end of each half, of one end and of the other. */
static void ends_of(int a, int b)
{
    SAID(send(a, "12345", 5, 0));
    SAID(shutdown(a, SHUT_WR));
    SAID(comes(b));
    show_state("the other one sends no more", b);
    SAID(recv(b, got, 20, MSG_WAITALL));
    SAID(recv(b, got, 20, 0));
    SAID(recv(b, got, 20, MSG_PEEK));
    signals = 0;
    SAID(send(a, "x", 1, MSG_NOSIGNAL));
    say("signals %d", (int)signals);
    SAID(send(a, "x", 1, 0));
    SAID(write(a, "x", 1));
    say("signals %d", (int)signals);
    SAID(send(b, "back", 4, 0));
    SAID(recv(a, got, 4, MSG_WAITALL));
    SAID(shutdown(b, SHUT_WR));
    SAID(comes(a));
    SAID(recv(a, got, 4, 0));
    show_state("both have ended", a);
    SAID(shutdown(a, 3));
    SAID(close(a));
    SAID(close(b));
}

static void pairs(void)
{
    int fd[2], n = 0;
    socklen_t length = sizeof n;
    SAID(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    show_state("a new one", fd[0]);
    flags("a pair", fd[0], fd[1]);
    SAID(getsockopt(fd[0], SOL_SOCKET, SO_TYPE, &n, &length));
    say("type %d, length %u", n == SOCK_STREAM, (unsigned)length);
    SAID(send(fd[0], "abc", 3, 0));
    SAID(ioctl(fd[1], FIONREAD, &n));
    say("there are %d", n);
    SAID(recv(fd[1], got, 9, 0));
    ends_of(fd[0], fd[1]);
    SAID(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    SAID(send(fd[0], "unread", 6, 0));
    SAID(send(fd[1], "read", 4, 0));
    SAID(close(fd[1]));
    show_state("the other one went with something unread", fd[0]);
    SAID(recv(fd[0], got, 4, 0));
    SAID(recv(fd[0], got, 4, 0));
    SAID(recv(fd[0], got, 4, 0));
    SAID(send(fd[0], "x", 1, MSG_NOSIGNAL));
    SAID(close(fd[0]));
    SAID(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    SAID(shutdown(fd[0], SHUT_RD));
    SAID(send(fd[1], "x", 1, MSG_NOSIGNAL));
    SAID(recv(fd[0], got, 1, 0));
    show_state("one that receives no more", fd[0]);
    show_state("and the other", fd[1]);
    SAID(close(fd[0]));
    SAID(close(fd[1]));
    SAID(socketpair(AF_UNIX, SOCK_STREAM, 0, NOWHERE));
    SAID(socketpair(AF_INET, SOCK_STREAM, 0, fd));
}

static void streams(void)
{
    struct sockaddr_in of;
    int listening = socket(AF_INET, SOCK_STREAM, 0), a, b, other, value = 0;
    socklen_t length = sizeof value;
    SAID(accept(listening, 0, 0));
    SAID(bind(listening, at(&of, LOCAL, 0), sizeof of));
    SAID(listen(listening, 2));
    unsigned port = port_of(listening);
    other = socket(AF_INET, SOCK_STREAM, 0);
    SAID(bind(other, at(&of, 0, port), sizeof of));
    SAID(bind(other, at(&of, LOCAL, port), sizeof of));
    SAID(bind(other, at(&of, LOCAL + 1, port), sizeof of));
    SAID(close(other));
    a = socket(AF_INET, SOCK_STREAM, 0);
    SAID(send(a, "x", 1, MSG_NOSIGNAL));
    SAID(recv(a, got, 1, 0));
    SAID(connect(a, at(&of, LOCAL, port), sizeof of));
    SAID(connect(a, at(&of, LOCAL, port), sizeof of));
    SAID(comes(listening));
    b = accept(listening, 0, 0);
    flags("a connection", a, b);
    SAID(getsockopt(a, SOL_SOCKET, SO_ERROR, &value, &length));
    ends_of(a, b);
    SAID(close(listening));
    a = socket(AF_INET, SOCK_STREAM, 0);
    SAID(connect(a, at(&of, LOCAL, port), sizeof of));
    SAID(close(a));
}

static void a_reset(void)
{
    struct sockaddr_in of;
    int listening = socket(AF_INET, SOCK_STREAM, 0), a = socket(AF_INET, SOCK_STREAM, 0), b;
    bind(listening, at(&of, LOCAL, 0), sizeof of);
    listen(listening, 1);
    SAID(connect(a, at(&of, LOCAL, port_of(listening)), sizeof of));
    b = accept(listening, 0, 0);
    SAID(send(a, "unread", 6, 0));
    SAID(comes(b));
    SAID(close(b));
    SAID(comes(a));
    show_state("the other one went with something unread", a);
    SAID(recv(a, got, 4, 0));
    SAID(recv(a, got, 4, 0));
    SAID(send(a, "x", 1, MSG_NOSIGNAL));
    SAID(close(a));
    SAID(close(listening));
}

static void show_urgent(const char *what, int fd)
{
    int at_mark = -1, n = -1;
    fd_set exceptional;
    struct timeval none = {0};
    FD_ZERO(&exceptional);
    FD_SET(fd, &exceptional);
    SAID(ioctl(fd, FIONREAD, &n));
    SAID(ioctl(fd, SIOCATMARK, &at_mark));
    SAID(sockatmark(fd));
    SAID(select(fd + 1, 0, 0, &exceptional, &none));
    say("%d to the mark or the end, %s it", n, at_mark ? "at" : "not at");
    show_state(what, fd);
}

static void receive_to_mark(const char *what, int fd)
{
    SAID(recv(fd, got, 10, MSG_OOB | MSG_PEEK));
    SAID(recv(fd, got, 10, MSG_OOB));
    SAID(recv(fd, got, 10, MSG_OOB));
    SAID(recv(fd, got, 10, MSG_PEEK | MSG_DONTWAIT));
    show_urgent(what, fd);
    SAID(recv(fd, got, 10, MSG_WAITALL));
    say("%.2s", got);
    show_urgent(what, fd);
}

/* Urgent data, which is in line or not. */
static void urgent(int in_line)
{
    struct sockaddr_in of;
    socklen_t length = sizeof in_line;
    int listening = socket(AF_INET, SOCK_STREAM, 0), a = socket(AF_INET, SOCK_STREAM, 0), b, value = 7;
    bind(listening, at(&of, LOCAL, 0), sizeof of);
    listen(listening, 1);
    SAID(setsockopt(listening, SOL_SOCKET, SO_OOBINLINE, &in_line, sizeof in_line));
    SAID(recv(a, got, 1, MSG_OOB));
    SAID(connect(a, at(&of, LOCAL, port_of(listening)), sizeof of));
    b = accept(listening, 0, 0);
    SAID(getsockopt(b, SOL_SOCKET, SO_OOBINLINE, &value, &length));
    say("in line: %d", value);
    SAID(recv(b, got, 1, MSG_OOB));
    SAID(send(a, "abc", 3, MSG_OOB));
    SAID(comes_urgent(b));
    show_urgent("an urgent byte came", b);
    receive_to_mark("received to the mark", b);
    SAID(recv(b, got, 10, MSG_DONTWAIT));
    show_urgent("nothing behind the mark", b);
    SAID(send(a, "de", 2, MSG_OOB));
    SAID(comes_urgent(b));
    SAID(send(a, "fg", 2, 0));
    SAID(recv(b, got, 10, 0));
    say("%.1s", got);
    SAID(comes(b));
    SAID(recv(b, got, 1, 0));
    say("%.1s", got);
    show_urgent("behind the mark", b);
    SAID(close(a));
    SAID(close(b));
    SAID(close(listening));
}

static void datagrams(void)
{
    struct sockaddr_in of, own;
    socklen_t length = sizeof own;
    int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0), n = 0;
    SAID(bind(b, at(&of, LOCAL, 0), sizeof of));
    unsigned port = port_of(b);
    SAID(send(a, "x", 1, 0));
    SAID(connect(a, at(&of, LOCAL, port), sizeof of));
    getsockname(a, (struct sockaddr *)&own, &length);
    say("its own address is %s", own.sin_addr.s_addr == htonl(LOCAL) ? "told" : "not known");
    static const unsigned sizes[] = {0, 1, 1472, 1473, 20000};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        SAID(send(a, bytes, sizes[i], 0));
        SAID(comes(b));
        SAID(ioctl(b, FIONREAD, &n));
        say("there are %d", n);
        SAID(recv(b, got, sizeof got, MSG_PEEK));
        SAID(recv(b, got, sizeof got, MSG_WAITALL));
        SAID(memcmp(bytes, got, sizes[i]));
    }
    SAID(recv(b, got, 1, MSG_DONTWAIT));
    SAID(send(a, "x", 1, MSG_OOB));
    SAID(sendto(b, bytes, 65508, 0, at(&of, LOCAL, port_of(a)), sizeof of));
    SAID(sendto(b, "x", 1, 0, at(&of, 0xffffffff, 9), sizeof of));
    SAID(close(b));
    SAID(send(a, "x", 1, 0));
    SAID(comes(a));
    show_state("nobody is there", a);
    SAID(send(a, "x", 1, 0));
    SAID(close(a));
}

/* What a message of three pieces becomes; `to` is the other end of `from`. */
static void messages(const char *what, int from, int to)
{
    char parts[3][4] = {"ab", "", "cdef"};
    struct iovec out[] = {{parts[0], 2}, {parts[1], 0}, {parts[2], 4}}, in[] = {{got, 1}, {0, 0}, {got + 10, 3}};
    struct sockaddr_in name;
    struct msghdr one = {.msg_iov = out, .msg_iovlen = 3};
    struct msghdr other = {.msg_iov = in, .msg_iovlen = 3, .msg_name = &name, .msg_namelen = sizeof name};
    say("%s", what);
    memset(got, 0, sizeof got);
    SAID(recvmsg(to, &other, MSG_DONTWAIT));
    SAID(sendmsg(from, &one, MSG_NOSIGNAL));
    SAID(comes(to));
    SAID(recvmsg(to, &other, MSG_PEEK));
    SAID(recvmsg(to, &other, 0));
    say("%c, %.3s, flags %d, name of %u", got[0], got + 10, other.msg_flags == MSG_TRUNC, (unsigned)other.msg_namelen);
    SAID(recvmsg(to, &other, MSG_DONTWAIT));
    one.msg_iovlen = 1;
    SAID(sendmsg(from, &one, 0));
    SAID(comes(to));
    other.msg_namelen = sizeof name;
    SAID(recvmsg(to, &other, 0));
    say("flags %d, control %u", other.msg_flags, (unsigned)other.msg_controllen);
    one.msg_iovlen = 1025;
    SAID(sendmsg(from, &one, 0));
    SAID(recvmsg(to, &one, MSG_DONTWAIT));
    one.msg_iovlen = 2;
    in[0].iov_len = 0;
    other.msg_iovlen = 1;
    SAID(sendmsg(from, &one, 0));
    SAID(comes(to));
    SAID(recvmsg(to, &other, 0));
    SAID(recv(to, got, 9, MSG_DONTWAIT));
}

static void of_messages(void)
{
    struct sockaddr_in of, from;
    socklen_t length = sizeof from;
    int fd[2], a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
    bind(b, at(&of, LOCAL, 0), sizeof of);
    SAID(connect(a, at(&of, LOCAL, port_of(b)), sizeof of));
    messages("messages of datagrams", a, b);
    SAID(close(a));
    SAID(close(b));
    SAID(sendmsg(b, &(struct msghdr){0}, 0));
    SAID(recvmsg(b, &(struct msghdr){0}, 0));
    SAID(recvmsg(1, &(struct msghdr){0}, 0));
    SAID(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    messages("messages of a pair", fd[0], fd[1]);
    SAID(close(fd[0]));
    SAID(close(fd[1]));
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    bind(listening, at(&of, LOCAL, 0), sizeof of);
    listen(listening, 3);
    SAID(accept4(listening, 0, 0, 1));
    static const int all[] = {0, SOCK_NONBLOCK, SOCK_CLOEXEC, SOCK_NONBLOCK | SOCK_CLOEXEC};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        a = socket(AF_INET, SOCK_STREAM, 0);
        SAID(connect(a, at(&of, LOCAL, port_of(listening)), sizeof of));
        SAID(comes(listening));
        b = accept4(listening, (struct sockaddr *)&from, &length, all[i]);
        say("NONBLOCK %d, CLOEXEC %d, address of %u", !!(fcntl(b, F_GETFL) & O_NONBLOCK), fcntl(b, F_GETFD),
            (unsigned)length);
        if (!i)
            messages("messages of a connection", a, b);
        close(a);
        close(b);
    }
    SAID(close(listening));
}

int main(void)
{
    signal(SIGPIPE, count);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + (i >> 8));
    pairs();
    streams();
    a_reset();
    urgent(0);
    urgent(1);
    datagrams();
    of_messages();
    return 0;
}
