/*
 * netload: servers in user mode under a flood of datagrams, for run=load on three nodes: netload PERIOD MS FROM.
 *
 * Node 0 has a thread that receives the datagrams which node 2 sends, a thread that answers the orders of a TCP
 * connection, and one that counts as long as it has a hart. Node 1 gives the next order when the last one has been
 * answered. What counts is in the MS milliseconds from cycle FROM on, whenever a thread runs again:
 *
 *   @netload period=... side=server ms=... datagrams=... orders=... counted=...
 *   @netload period=... side=caller ms=... answered=...
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "two_nodes.h"

#define PORT 5004
#define FLOOD_PORT 9
#define ORDER 64
#define PER_MS 60000u
#define END_US 30000 /* a node stays so long after the window */

static volatile uint32_t datagrams, orders, counted, answered;
static uint32_t window, from; /* cycles, and since reset */
static int tcp, udp;

/* Cycles since the window's begin; negative before it. */
static int32_t since(void)
{
    return (int32_t)(cycles() - from);
}

static int counts(void)
{
    int32_t now = since();
    return now >= 0 && now < (int32_t)window;
}

static void *receives(void *arg)
{
    char datagram[ORDER];
    while (recv(udp, datagram, sizeof datagram, 0) >= 0)
        datagrams += (uint32_t)counts();
    return arg;
}

/* 1 if the whole order has come. */
static int whole(int fd, char *order)
{
    ssize_t n;
    for (unsigned at = 0; at < ORDER; at += (unsigned)n)
        if ((n = read(fd, order + at, ORDER - at)) <= 0)
            return 0;
    return 1;
}

static void *answers(void *arg)
{
    char order[ORDER];
    int fd, on = 1;
    if ((fd = accept(tcp, 0, 0)) < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        fail("accept");
    else
        while (whole(fd, order) && write(fd, order, ORDER) == ORDER)
            orders += (uint32_t)counts();
    return arg;
}

static void *spends(void *arg)
{
    while (since() < 0)
        usleep(1000);
    while (since() < (int32_t)window)
        counted++;
    return arg;
}

static void *asks(void *arg)
{
    char order[ORDER];
    int fd = calls(PORT);
    if (fd < 0)
        fail("connect");
    else
        for (memset(order, 1, ORDER); write(fd, order, ORDER) == ORDER && whole(fd, order);)
            answered += (uint32_t)counts();
    return arg;
}

static int starts(void *(*fn)(void *))
{
    pthread_t of;
    return pthread_create(&of, 0, fn, 0) ? fail("pthread_create") : 0;
}

static void wait_until(uint32_t at)
{
    int32_t left = (int32_t)(at - cycles());
    if (left > 0)
        usleep((unsigned)left / (PER_MS / 1000));
}

int main(int argc, char **argv)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(FLOOD_PORT)};
    unsigned period = argc > 1 ? (unsigned)atoi(argv[1]) : 0, ms = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    int node = own_node();
    if (argc != 4 || !ms || ms > 10000) {
        printf("usage: netload PERIOD MS FROM, of ms 1 to 10000\n");
        return 2;
    }
    window = ms * PER_MS;
    from = (uint32_t)strtoul(argv[3], 0, 10);
    if (node < 0)
        return 1;
    if (node) {
        usleep(WARM_US);
        if (starts(asks))
            return 1;
    } else {
        tcp = listens(PORT);
        udp = socket(AF_INET, SOCK_DGRAM, 0);
        if (tcp < 0 || udp < 0 || bind(udp, (struct sockaddr *)&own, sizeof own))
            return fail("a socket");
        if (starts(receives) || starts(answers) || starts(spends))
            return 1;
    }
    if (since() > 0) {
        printf("netload: the window is to begin at cycle %lu, and that is over\n", (unsigned long)from);
        return 1;
    }
    wait_until(from + window + END_US * (PER_MS / 1000));
    if (node)
        printf("@netload period=%u side=caller ms=%u answered=%lu\n", period, ms, (unsigned long)answered);
    else
        printf("@netload period=%u side=server ms=%u datagrams=%lu orders=%lu counted=%lu\n", period, ms,
               (unsigned long)datagrams, (unsigned long)orders, (unsigned long)counted);
    _exit(0);
}
