/*
 * orders: the load of paper `krp` on two nodes. Node 0 is a transaction server: a process for each connection
 * receives an order, works, and answers. Node 1 has the clients, each of which sends the next order when the last one
 * has been answered, for some time:
 *
 *   orders CLIENTS WORK MS         WORK: rounds of a hash over the order, some 25 cycles a word and round
 *
 * Node 0 prints a line for each connection, @orders clients=... orders=... first_us=... last_us=...
 *
 * Node 1 begins WARM_US later, as what is sent before the other node's interface is up is lost, and stays for
 * LINGER_US after the last order, as what its kernel has not sent then is lost.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/lib/system.h"

#define SERVER 0x0a000002u /* 10.0.0.2: node 0 */
#define PORT 5002
#define ORDER 256 /* bytes */
#define ANSWER 128
#define CLIENTS_MOST 64
#define TRIES 200
#define WARM_US 10000
#define LINGER_US 20000

static unsigned clients, work, ms;
static unsigned order[ORDER / sizeof(unsigned)], answer[ANSWER / sizeof(unsigned)];

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static unsigned long microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)now.tv_sec * 1000000 + (unsigned long)now.tv_nsec / 1000;
}

/* 1, 0 at the end, -1. */
static int read_whole(int fd, void *to, unsigned bytes)
{
    for (unsigned at = 0; at < bytes;) {
        ssize_t n = read(fd, (char *)to + at, bytes - at);
        if (n <= 0)
            return n < 0 || at ? -1 : 0;
        at += (unsigned)n;
    }
    return 1;
}

static unsigned hash(const unsigned *words, unsigned count, unsigned rounds)
{
    unsigned sum = 2166136261u;
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < count; i++)
            sum = (sum ^ words[i]) * 16777619u;
    return sum;
}

static int serve(int fd)
{
    unsigned long first = 0, last = 0, orders = 0;
    int more;
    while ((more = read_whole(fd, order, sizeof order)) > 0) {
        if (!orders)
            first = microseconds();
        answer[0] = order[0];
        answer[1] = hash(order, ORDER / sizeof *order, work);
        if (write(fd, answer, sizeof answer) != (ssize_t)sizeof answer)
            return fail("write");
        orders++;
        last = microseconds();
    }
    if (more < 0)
        return fail("read");
    char line[160];
    int n = snprintf(line, sizeof line, "@orders clients=%u work=%u orders=%lu first_us=%lu last_us=%lu\n", clients,
                     work, orders, first, last);
    return write(1, line, (size_t)n) == n ? 0 : 1;
}

static int wait_for_children(void)
{
    int status, wrong = 0;
    for (unsigned i = 0; i < clients; i++)
        wrong |= wait(&status) < 0 || status;
    return wrong;
}

static int take_orders(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&own, sizeof own) || listen(listening, CLIENTS_MOST))
        return fail("listen");
    for (unsigned i = 0; i < clients; i++) {
        int fd = accept(listening, 0, 0);
        pid_t of = fd < 0 ? -1 : fork();
        if (of < 0)
            return fail("a connection");
        if (!of)
            _exit(serve(fd));
        close(fd);
    }
    return wait_for_children();
}

static int connected(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    to.sin_addr.s_addr = htonl(SERVER);
    for (unsigned tries = 0;; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || !connect(fd, (struct sockaddr *)&to, sizeof to))
            return fd;
        if (errno != ECONNREFUSED || tries == TRIES)
            return -1;
        close(fd);
        usleep(5000); /* the other node has not begun */
    }
}

static int give_orders(int fd, unsigned number)
{
    unsigned long end = microseconds() + ms * 1000ul;
    for (unsigned n = 0; (long)(microseconds() - end) < 0; n++) {
        order[0] = number << 16 | n;
        if (write(fd, order, sizeof order) != (ssize_t)sizeof order || read_whole(fd, answer, sizeof answer) != 1)
            return fail("an order");
        if (answer[0] != order[0]) {
            printf("orders: the answer to another order\n");
            return 1;
        }
    }
    return close(fd) ? fail("close") : 0;
}

static int send_clients(void)
{
    usleep(WARM_US);
    for (unsigned i = 0; i < clients; i++) { /* one by one: only one packet waits for an address (net/arp.c) */
        int fd = connected();
        pid_t of = fd < 0 ? -1 : fork();
        if (of < 0)
            return fail("a connection");
        if (!of)
            _exit(give_orders(fd, i));
        close(fd);
    }
    int wrong = wait_for_children();
    usleep(LINGER_US);
    return wrong;
}

int main(int argc, char **argv)
{
    struct user_net_status status;
    clients = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    work = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    ms = argc > 3 ? (unsigned)atoi(argv[3]) : 20;
    if (!clients || clients > CLIENTS_MOST || !ms) {
        printf("usage: orders CLIENTS WORK MS, of clients 1 to %d\n", CLIENTS_MOST);
        return 2;
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || ioctl(fd, USER_SIOCNETSTATUS, &status))
        return fail("socket");
    close(fd);
    return ntohl(status.address) == SERVER ? take_orders() : send_clients();
}
