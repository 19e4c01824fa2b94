/*
 * Sockets: pairs, and streams and datagrams over the loop-back: what calls return in each state of a connection, what
 * poll says, which flags do what. The program waits for whatever has to come first.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

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

static struct timespec began;

static void begins(void)
{
    clock_gettime(CLOCK_MONOTONIC, &began);
}

/* Whether so many milliseconds went by, at most a second more. */
static void took(const char *what, long most)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long ms = (now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000;
    say("%s: %s", what, ms < most ? "too early" : ms < most + 800 ? "in time" : "too late");
}

static int set_time(int fd, int name, long seconds, long microseconds)
{
    struct timeval t = {.tv_sec = seconds, .tv_usec = microseconds};
    return setsockopt(fd, SOL_SOCKET, name, &t, sizeof t);
}

static void show_times(int fd)
{
    struct timeval t[2] = {{7, 7}, {7, 7}};
    socklen_t length[2] = {sizeof t[0], sizeof t[1]};
    SAID(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t[0], &length[0]));
    SAID(getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t[1], &length[1]));
    say("receives for %ld.%06ld, sends for %ld.%06ld, %d", (long)t[0].tv_sec, (long)t[0].tv_usec, (long)t[1].tv_sec,
        (long)t[1].tv_usec, length[0] == sizeof t[0] && length[1] == sizeof t[1]);
}

static void show_numbers(int fd)
{
    static const int names[] = {SO_RCVLOWAT, SO_SNDLOWAT, SO_ERROR, SO_ACCEPTCONN};
    struct linger linger = {9, 9};
    socklen_t length = sizeof linger;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        int value = -1;
        socklen_t of = sizeof value;
        SAID(getsockopt(fd, SOL_SOCKET, names[i], &value, &of));
        say("%d", value);
    }
    SAID(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &length));
    say("lingers %d, for %d", linger.l_onoff, linger.l_linger);
}

static int linger(int fd, int on, int seconds)
{
    struct linger linger = {on, seconds};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

/* Values of the options, of a socket of any kind. */
static void limits_of(const char *what, int fd)
{
    int five = 5, none = 0, less = -1;
    say("%s", what);
    show_times(fd);
    show_numbers(fd);
    SAID(set_time(fd, SO_RCVTIMEO, 3, 200000));
    SAID(set_time(fd, SO_SNDTIMEO, 0, 100000));
    show_times(fd);
    SAID(set_time(fd, SO_RCVTIMEO, 1, 1000000));
    SAID(set_time(fd, SO_RCVTIMEO, 1, -1));
    SAID(set_time(fd, SO_SNDTIMEO, -1, 0));
    show_times(fd);
    SAID(set_time(fd, SO_RCVTIMEO, 0, 0));
    show_times(fd);
    SAID(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &five, sizeof five));
    SAID(setsockopt(fd, SOL_SOCKET, SO_LINGER, &five, sizeof five));
    SAID(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, NOWHERE, sizeof(struct timeval)));
    SAID(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &five, sizeof five));
    SAID(setsockopt(fd, SOL_SOCKET, SO_SNDLOWAT, &five, sizeof five));
    SAID(linger(fd, 7, 11));
    show_numbers(fd);
    SAID(linger(fd, 0, 3));
    SAID(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &none, sizeof none));
    show_numbers(fd);
    SAID(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &less, sizeof less));
    SAID(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &none, sizeof none));
    SAID(set_time(fd, SO_SNDTIMEO, 0, 0));
}

static void both_ends(int *a, int *b)
{
    struct sockaddr_in of;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    bind(listening, at(&of, LOCAL, 0), sizeof of);
    listen(listening, 1);
    *a = socket(AF_INET, SOCK_STREAM, 0);
    SAID(connect(*a, at(&of, LOCAL, port_of(listening)), sizeof of));
    *b = accept(listening, 0, 0);
    close(listening);
}

/* Fills the buffers of both ends; returns bytes. */
static long fills(int fd)
{
    long sent = 0, n;
    while ((n = send(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        sent += n;
    for (int tries = 0; tries < 20; tries++, usleep(10000)) /* what is on its way makes room */
        while ((n = send(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
            sent += n;
    return sent;
}

static void wakes(int number)
{
    (void)number;
}

/* Waits that end by themselves: 100 ms for what does not come. */
static void limited(const char *what, int a, int b, int kind)
{
    struct itimerval soon = {.it_value.tv_usec = 50000};
    say("%s", what);
    SAID(set_time(b, SO_RCVTIMEO, 0, 100000));
    begins();
    SAID(recv(b, got, 10, 0));
    took("nothing came", 100);
    begins();
    SAID(read(b, got, 10));
    took("nothing came", 100);
    begins();
    SAID(recv(b, got, 10, MSG_DONTWAIT));
    took("it did not wait", 0);
    SAID(set_time(b, SO_RCVTIMEO, -1, 0));
    SAID(recv(b, got, 10, 0));
    SAID(set_time(b, SO_RCVTIMEO, 5, 0));
    SAID(setitimer(ITIMER_REAL, &soon, 0));
    begins();
    SAID(recv(b, got, 10, 0));
    took("a signal came", 50);
    SAID(set_time(b, SO_RCVTIMEO, 0, 100000));
    SAID(send(a, "12345678", 8, 0));
    SAID(comes(b));
    if (kind != SOCK_DGRAM) {
        begins();
        SAID(recv(b, got, 10, MSG_WAITALL));
        took("too little came", 100);
        SAID(set_time(a, SO_SNDTIMEO, 0, 100000));
        say("%d", fills(a) > 0);
        begins();
        SAID(send(a, "x", 1, 0));
        took("no room came", 100);
    }
    SAID(recv(b, got, 10, 0));
    SAID(close(a));
    SAID(close(b));
}

/* SO_RCVLOWAT: what receives waits for more than there is. */
static void at_least(const char *what, int a, int b, int polled)
{
    int five = 5;
    say("%s", what);
    SAID(setsockopt(b, SOL_SOCKET, SO_RCVLOWAT, &five, sizeof five));
    SAID(set_time(b, SO_RCVTIMEO, 0, 100000));
    SAID(send(a, "abc", 3, 0));
    usleep(50000);
    if (polled)
        show_state("three of five", b);
    begins();
    SAID(recv(b, got, 10, MSG_PEEK | MSG_DONTWAIT));
    SAID(recv(b, got, 3, 0));
    took("as many as were asked for", 0);
    SAID(send(a, "abc", 3, 0));
    begins();
    SAID(recv(b, got, 10, 0));
    took("three of five", 100);
    SAID(send(a, "abcd", 4, 0));
    SAID(send(a, "e", 1, 0));
    SAID(recv(b, got, 10, 0));
    SAID(send(a, "abc", 3, 0));
    usleep(50000);
    SAID(recv(b, got, 10, MSG_DONTWAIT));
    SAID(send(a, "abc", 3, 0));
    SAID(shutdown(a, SHUT_WR));
    SAID(comes(b));
    begins();
    SAID(recv(b, got, 10, 0));
    took("three and the end", 0);
    SAID(close(a));
    SAID(close(b));
}

static void waits_for_connections(void)
{
    struct sockaddr_in of;
    int listening = socket(AF_INET, SOCK_STREAM, 0), a, b, c, five = 5;
    bind(listening, at(&of, LOCAL, 0), sizeof of);
    listen(listening, 1);
    SAID(set_time(listening, SO_RCVTIMEO, 0, 100000));
    SAID(set_time(listening, SO_SNDTIMEO, 0, 300000));
    SAID(setsockopt(listening, SOL_SOCKET, SO_RCVLOWAT, &five, sizeof five));
    SAID(linger(listening, 1, 4));
    begins();
    SAID(accept(listening, 0, 0));
    took("nobody came", 100);
    a = socket(AF_INET, SOCK_STREAM, 0);
    SAID(connect(a, at(&of, LOCAL, port_of(listening)), sizeof of));
    SAID(comes(listening));
    b = accept(listening, 0, 0);
    show_times(b);
    show_numbers(b);
    show_numbers(listening);
    SAID(close(a));
    SAID(close(b));
    for (int i = 0; i < 2; i++) { /* more than wait to be accepted, in Linux, too */
        a = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(a, at(&of, LOCAL, port_of(listening)), sizeof of);
        usleep(10000);
    }
    c = socket(AF_INET, SOCK_STREAM, 0);
    SAID(set_time(c, SO_SNDTIMEO, 0, 200000));
    begins();
    SAID(connect(c, at(&of, LOCAL, port_of(listening)), sizeof of));
    took("no answer", 200);
    begins();
    SAID(connect(c, at(&of, LOCAL, port_of(listening)), sizeof of));
    took("no answer", 200);
    SAID(close(c));
    SAID(close(listening));
}

/* What the other end sees of a close with and without delay. */
static void lingers(void)
{
    int a, b;
    both_ends(&a, &b);
    SAID(linger(a, 1, 0));
    SAID(send(a, "abc", 3, 0));
    SAID(comes(b));
    SAID(close(a));
    usleep(50000);
    show_state("a reset", b);
    SAID(recv(b, got, 10, 0));
    SAID(recv(b, got, 10, 0));
    SAID(recv(b, got, 10, 0));
    SAID(close(b));
    both_ends(&a, &b);
    SAID(linger(a, 1, 0));
    SAID(linger(a, 0, 0));
    SAID(close(a));
    SAID(comes(b));
    show_state("an end", b);
    SAID(recv(b, got, 10, 0));
    SAID(close(b));
    both_ends(&a, &b);
    SAID(linger(a, 1, 5));
    SAID(send(a, "abc", 3, 0));
    begins();
    SAID(close(a));
    took("all arrives at once", 0);
    SAID(recv(b, got, 10, 0));
    SAID(recv(b, got, 10, 0));
    SAID(close(b));
    both_ends(&a, &b);
    long sent = fills(a), came = 0, n;
    SAID(linger(a, 1, 1));
    begins();
    SAID(close(a));
    took("the other one does not read", 1000);
    while ((n = recv(b, got, sizeof got, 0)) > 0)
        came += n;
    say("it reads the rest: %d, then %ld", came == sent, n);
    SAID(close(b));
    both_ends(&a, &b);
    sent = fills(a);
    SAID(linger(a, 1, 6));
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        close(a);
        usleep(400000);
        while ((n = recv(b, got, sizeof got, 0)) > 0)
            came += n;
        _exit(0);
    }
    close(b);
    usleep(100000);
    begins();
    SAID(close(a));
    took("the other one reads later", 200);
    waitpid(child, 0, 0);
    both_ends(&a, &b);
    fills(a);
    SAID(linger(a, 1, 6));
    fflush(stdout);
    child = fork();
    if (!child)
        _exit(0);
    close(a);
    begins();
    waitpid(child, 0, 0);
    took("a process that ends", 0);
    SAID(close(b));
}

static void limits(void)
{
    int a, b, fd[2], one = 1; /* else a segment waits for a delayed acknowledgement */
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = wakes, .sa_flags = SA_RESTART}, 0);
    a = socket(AF_INET, SOCK_STREAM, 0);
    limits_of("options of a stream", a);
    close(a);
    a = socket(AF_INET, SOCK_DGRAM, 0);
    limits_of("options of datagrams", a);
    close(a);
    socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
    limits_of("options of a pair", fd[0]);
    limited("limits of a pair", fd[0], fd[1], SOCK_STREAM);
    socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
    at_least("a pair that waits for more", fd[0], fd[1], 0);
    both_ends(&a, &b);
    limited("limits of a connection", a, b, SOCK_STREAM);
    both_ends(&a, &b);
    SAID(setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    at_least("a connection that waits for more", a, b, 1);
    struct sockaddr_in of;
    a = socket(AF_INET, SOCK_DGRAM, 0);
    b = socket(AF_INET, SOCK_DGRAM, 0);
    bind(b, at(&of, LOCAL, 0), sizeof of);
    connect(a, at(&of, LOCAL, port_of(b)), sizeof of);
    limited("limits of datagrams", a, b, SOCK_DGRAM);
    waits_for_connections();
    lingers();
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
    limits();
    return 0;
}
