/*
 * netrace: connections over the loop-back whose ends close, shut down and reset them while others send, receive, and
 * connect: netrace [ROUNDS [CLIENTS]] (default 4, 3), by the seed of the run. Every byte that arrives is checked.
 * Prints @netrace connections=... bytes=... resets=... lost=...; the exit status is 0 if nothing wrong was delivered
 * and all packets' buffers are free again.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/lib/system.h"

#define PORT 7
#define CLIENTS_MOST 8
#define PIECE 3000
#define WAITS 150 /* of 20 ms: a first loss is repaired in 1.5 s */

static volatile unsigned connections, bytes, resets, wrong, serving;
static unsigned rounds = 4, clients = 3;
static int listening;

static unsigned next(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static unsigned char pattern(unsigned at, unsigned way)
{
    return (unsigned char)(at * 13 + (at >> 8) * 5 + way);
}

static void say(const char *what)
{
    printf("netrace: %s: errno %d\n", what, errno);
    wrong = 1;
}

/* The errors possible after the other end has closed, shut down or reset. */
static int is_an_end(int error)
{
    return error == EPIPE || error == ECONNRESET || error == ECONNREFUSED || error == ECONNABORTED || error == ENOTCONN;
}

static void count_end(void)
{
    __atomic_fetch_add(&resets, errno == ECONNRESET, __ATOMIC_RELAXED);
    if (!is_an_end(errno))
        say("a call");
}

/* Up to `most` bytes of the pattern, until nothing receives them any more. */
static void send_some(int fd, unsigned most, unsigned way)
{
    unsigned char piece[PIECE];
    for (unsigned at = 0; at < most;) {
        unsigned n = most - at < PIECE ? most - at : PIECE;
        for (unsigned i = 0; i < n; i++)
            piece[i] = pattern(at + i, way);
        ssize_t done = write(fd, piece, n);
        if (done < 0) {
            count_end();
            return;
        }
        at += (unsigned)done;
    }
}

/* Receives from byte `at` to the end, or up to byte `most`; returns how many came in all. */
static unsigned receive_some(int fd, unsigned at, unsigned most, unsigned way)
{
    unsigned char piece[PIECE];
    while (at < most) {
        ssize_t n = read(fd, piece, most - at < PIECE ? most - at : PIECE);
        if (n < 0)
            count_end();
        if (n <= 0)
            return at;
        for (unsigned i = 0; i < (unsigned)n; i++)
            if (piece[i] != pattern(at + i, way)) {
                say("a wrong byte");
                return at;
            }
        at += (unsigned)n;
        __atomic_fetch_add(&bytes, (unsigned)n, __ATOMIC_RELAXED);
    }
    return at;
}

struct end {
    int fd;
    unsigned seed, most;
};

/* Reports when it has sent all: a client that has sent all, too, would wait for more. */
static void *send_side(void *arg)
{
    const struct end *e = arg;
    send_some(e->fd, e->most, 2);
    shutdown(e->fd, SHUT_WR);
    return 0;
}

/* One connection of the server: sends and receives at once, and ends when both are done, or before. */
static void *serve(void *arg)
{
    struct end e = {(int)(intptr_t)arg, (unsigned)(intptr_t)arg * 77, 0};
    pthread_t sender;
    e.most = next(&e.seed, 20000);
    int both = !pthread_create(&sender, 0, send_side, &e);
    receive_some(e.fd, 0, next(&e.seed, 3) ? 100000 : next(&e.seed, 9000), 1);
    if (next(&e.seed, 2))
        shutdown(e.fd, SHUT_RDWR);
    if (!both)
        say("pthread_create");
    else if (next(&e.seed, 2))
        shutdown(e.fd, SHUT_WR);
    else
        shutdown(e.fd, SHUT_RDWR);
    if (both)
        pthread_join(sender, 0);
    if (close(e.fd))
        say("close");
    __atomic_fetch_sub(&serving, 1, __ATOMIC_RELEASE);
    return 0;
}

static void *accept_all(void *arg)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t of;
        int fd = accept(listening, 0, 0);
        if (fd < 0)
            return arg;
        __atomic_fetch_add(&connections, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&serving, 1, __ATOMIC_RELAXED);
        if (pthread_create(&of, &detached, serve, (void *)(intptr_t)fd)) {
            say("pthread_create");
            return arg;
        }
    }
}

static void *client_sends(void *arg)
{
    const struct end *e = arg;
    send_some(e->fd, e->most, 1);
    return 0;
}

static void *client(void *arg)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct end e = {.seed = (unsigned)(uintptr_t)arg};
    to.sin_addr.s_addr = htonl(0x7f000001);
    for (unsigned round = 0; round < rounds; round++) {
        e.fd = socket(AF_INET, SOCK_STREAM, 0);
        if (e.fd < 0) {
            say("socket");
            return 0;
        }
        if (connect(e.fd, (struct sockaddr *)&to, sizeof to)) {
            count_end();
            close(e.fd);
            continue;
        }
        pthread_t sender;
        unsigned how = next(&e.seed, 4);
        e.most = next(&e.seed, 20000);
        int both = how < 2 && !pthread_create(&sender, 0, client_sends, &e);
        if (how == 2)
            send_some(e.fd, e.most, 1);
        unsigned come = receive_some(e.fd, 0, next(&e.seed, 12000), 2);
        usleep(next(&e.seed, 2000));
        if (how != 3) /* else it closes at once */
            shutdown(e.fd, how == 1 ? SHUT_WR : SHUT_RDWR);
        if (how == 1)
            receive_some(e.fd, come, 100000, 2);
        if (how == 1)
            shutdown(e.fd, SHUT_RDWR);
        if (both)
            pthread_join(sender, 0);
        if (close(e.fd))
            say("close");
    }
    return 0;
}

static struct user_net_status counted(void)
{
    struct user_net_status counts = {0};
    if (ioctl(listening, USER_SIOCNETSTATUS, &counts))
        say("ioctl");
    return counts;
}

int main(int argc, char **argv)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    pthread_t acceptor, of[CLIENTS_MOST];
    unsigned seed = 1;
    getentropy(&seed, sizeof seed);
    rounds = argc > 1 ? (unsigned)atoi(argv[1]) : rounds;
    clients = argc > 2 ? (unsigned)atoi(argv[2]) : clients;
    if (!rounds || !clients || clients > CLIENTS_MOST) {
        printf("usage: netrace [ROUNDS [CLIENTS]], of clients 1 to %d\n", CLIENTS_MOST);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    listening = socket(AF_INET, SOCK_STREAM, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&own, sizeof own) || listen(listening, 8)) {
        say("listen");
        return 1;
    }
    struct user_net_status before = counted(), after;
    if (pthread_create(&acceptor, 0, accept_all, 0))
        say("pthread_create");
    for (unsigned i = 0; i < clients; i++)
        if (pthread_create(&of[i], 0, client, (void *)(uintptr_t)(seed + i * 7919)))
            say("pthread_create");
    for (unsigned i = 0; i < clients; i++)
        pthread_join(of[i], 0);
    unsigned tries = 0;
    do { /* unacknowledged data is retransmitted for a while */
        usleep(20000);
        after = counted();
    } while ((serving || after.mbufs > before.mbufs) && ++tries < WAITS);
    unsigned lost = after.mbufs - before.mbufs;
    if (serving || lost)
        wrong = 1;
    printf("@netrace connections=%u bytes=%u resets=%u serving=%u lost=%u left=%u\n", connections, bytes, resets,
           serving, lost, (unsigned)after.connections);
    _exit((int)wrong);
}
