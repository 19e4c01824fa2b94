/*
 * sockrace: sockets over the loop-back that several threads open, connect, write, read, poll, shut down and close
 * without regard to each other: sockrace [OPERATIONS [THREADS [reset]]] (default 60, 4), by the seed of the run.
 * Every thread may use any socket of a common table, also one that another thread is just closing, or has closed. A
 * close with unread data, or before the connection is there, resets it; with `reset` every close does (SO_LINGER
 * without a time), and no thread shuts down sending, so that no connection waits for its end. Prints
 *
 *   @sockrace operations=... made=... accepted=... bytes=... resets=... polled=... lost=... left=...
 *
 * and ends with 1 if a call fails with an error that no state of a socket explains, a wrong byte is delivered,
 * packets' buffers are not free again at the end (lost), or, with `reset`, connections are left.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/lib/system.h"

#define PORT 7
#define SLOTS 6
#define THREADS_MOST 8
#define PIECE 2500
#define PATTERN 0x5a
#define ACCEPT_MS 4
#define WAITS 200 /* of 20 ms: lost segments, and connections of which an end is gone, are done by then */

static volatile int slot[SLOTS];
static volatile unsigned done, made, accepted, bytes, resets, polled, wrong;
static unsigned operations = 60, threads = 4;
static int listening, resetting;

#define COUNT(what, n) __atomic_fetch_add(&(what), (unsigned)(n), __ATOMIC_RELAXED)

static unsigned next(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void complain(const char *what)
{
    printf("sockrace: %s: errno %d\n", what, errno);
    wrong = 1;
}

/* What a socket may answer that is not connected yet or any more, is just being connected, or was closed. */
static void failed(const char *what)
{
    static const int states[] = {EAGAIN,      EBADF,    ENOTCONN, EPIPE,  ECONNRESET, ECONNREFUSED, ECONNABORTED,
                                 EINPROGRESS, EALREADY, EISCONN,  EINVAL, ENOBUFS,    EADDRNOTAVAIL};
    COUNT(resets, errno == ECONNRESET);
    for (unsigned i = 0; i < sizeof states / sizeof *states; i++)
        if (errno == states[i])
            return;
    complain(what);
}

/* Puts the socket into the table; the one that was there is closed. */
static void keeps(int fd, unsigned at)
{
    int before = __atomic_exchange_n(&slot[at], fd, __ATOMIC_ACQ_REL);
    if (before >= 0 && close(before))
        complain("close");
}

static void resets_at_close(int fd)
{
    struct linger none = {1, 0};
    if (resetting && setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none) && errno != EBADF)
        complain("setsockopt");
}

static void opens(unsigned at)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        if (errno != ENOBUFS && errno != ENOMEM)
            complain("socket");
        return;
    }
    COUNT(made, 1);
    resets_at_close(fd);
    if (connect(fd, (struct sockaddr *)&to, sizeof to))
        failed("connect");
    keeps(fd, at);
}

/* Waits for a connection for a while, as it takes some packets. */
static void accepts(unsigned at)
{
    struct pollfd one = {.fd = listening, .events = POLLIN};
    if (poll(&one, 1, ACCEPT_MS) < 0)
        complain("poll");
    int fd = accept(listening, 0, 0);
    if (fd < 0) {
        failed("accept");
        return;
    }
    COUNT(accepted, 1);
    keeps(fd, at);
}

/* Both ends of a connection, unless another thread takes one. */
static void pairs(unsigned at)
{
    opens(at);
    accepts((at + 1) % SLOTS);
}

static void sends(int fd, unsigned n)
{
    char piece[PIECE];
    memset(piece, PATTERN, n);
    if (send(fd, piece, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        failed("send");
}

static void receives(int fd, unsigned n)
{
    char piece[PIECE];
    ssize_t came = recv(fd, piece, n, MSG_DONTWAIT);
    if (came < 0)
        failed("recv");
    for (ssize_t i = 0; i < came; i++)
        if (piece[i] != PATTERN) {
            printf("sockrace: byte %ld of a read is %u\n", (long)i, (unsigned char)piece[i]);
            wrong = 1;
            return;
        }
    COUNT(bytes, came > 0 ? came : 0);
}

static void polls(int milliseconds)
{
    struct pollfd of[SLOTS + 1] = {{.fd = listening, .events = POLLIN}};
    for (unsigned i = 0; i < SLOTS; i++)
        of[i + 1] = (struct pollfd){.fd = slot[i], .events = POLLIN | POLLOUT};
    int n = poll(of, SLOTS + 1, milliseconds);
    if (n < 0)
        complain("poll");
    COUNT(polled, n > 0);
}

static void *races(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < operations; i++) {
        unsigned at = next(&seed, SLOTS), how = next(&seed, 16);
        int fd = slot[at];
        if (how < 2 || fd < 0)
            next(&seed, 4) ? pairs(at) : opens(at);
        else if (how < 3)
            keeps(-1, at);
        else if (how < 4)
            accepts(at);
        else if (how < 9)
            sends(fd, 1 + next(&seed, PIECE));
        else if (how < 13)
            receives(fd, 1 + next(&seed, PIECE));
        else if (how < 14)
            polls((int)next(&seed, 3));
        else if (how < 15 && shutdown(fd, resetting ? SHUT_RD : (int)next(&seed, 3)))
            failed("shutdown");
        else if (how == 15)
            usleep(next(&seed, 1500));
        COUNT(done, 1);
    }
    return 0;
}

static struct user_net_status counted(void)
{
    struct user_net_status counts = {0};
    if (ioctl(listening, USER_SIOCNETSTATUS, &counts))
        complain("ioctl");
    return counts;
}

/* Connections that nothing has accepted are closed, too. */
static void drains(void)
{
    for (int fd; (fd = accept(listening, 0, 0)) >= 0;)
        close(fd);
}

int main(int argc, char **argv)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    pthread_t of[THREADS_MOST];
    unsigned seed = 1, tries = 0, waits;
    getentropy(&seed, sizeof seed);
    operations = argc > 1 ? (unsigned)atoi(argv[1]) : operations;
    threads = argc > 2 ? (unsigned)atoi(argv[2]) : threads;
    resetting = argc > 3 && !strcmp(argv[3], "reset");
    if (!operations || !threads || threads > THREADS_MOST) {
        printf("usage: sockrace [OPERATIONS [THREADS [reset]]], of threads 1 to %d\n", THREADS_MOST);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&own, sizeof own) || listen(listening, 4)) {
        complain("listen");
        return 1;
    }
    resets_at_close(listening); /* and what it accepts */
    for (unsigned i = 0; i < SLOTS; i++)
        slot[i] = -1;
    struct user_net_status before = counted(), after;
    for (unsigned i = 0; i < SLOTS; i += 2)
        pairs(i);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&of[i], 0, races, (void *)(uintptr_t)(seed + i * 7919))) {
            complain("pthread_create");
            return 1;
        }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(of[i], 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slot[i] >= 0)
            receives(slot[i], PIECE);
        keeps(-1, i);
    }
    do { /* unacknowledged data is retransmitted for a while */
        drains();
        after = counted();
        waits = after.mbufs > before.mbufs || (resetting && after.connections > before.connections);
        if (waits)
            usleep(20000);
    } while (waits && ++tries < WAITS);
    unsigned lost = after.mbufs - before.mbufs, left = after.connections - before.connections;
    if (lost || (resetting && left))
        wrong = 1;
    printf("@sockrace operations=%u made=%u accepted=%u bytes=%u resets=%u polled=%u lost=%u left=%u\n", done, made,
           accepted, bytes, resets, polled, lost, left);
    _exit((int)wrong);
}
