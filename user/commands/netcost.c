/*
 * netcost: what TCP costs between two nodes, for the experiment tcp-cost. Node 0 serves, node 1 calls:
 *
 *   netcost segments COUNT BYTES   writes COUNT times BYTES, each a segment of its own as far as windows allow; node 0
 *                                  reads all of it
 *   netcost echo ROUNDS            a byte to node 0, whose program sends it back, and the next one when it is there
 *
 * Node 0 prints @netcost bytes=..., node 1 @netcost rounds=... min=... p50=... max=... for echo: cycles from the write
 * to the return of the read. What segments cost is seen from outside: the cycles of each node that were not idle.
 */
#include <stdlib.h>
#include <string.h>

#include "two_nodes.h"

#define PORT 5003
#define BYTES_MOST 16384
#define ROUNDS_MOST 1000

static char buffer[BYTES_MOST];
static uint32_t took[ROUNDS_MOST];

static int serve(int echoes)
{
    int fd, one = 1, listening = listens(PORT);
    unsigned long bytes = 0;
    ssize_t n;
    if (listening < 0 || (fd = accept(listening, 0, 0)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
        return fail("a connection");
    for (; (n = read(fd, buffer, sizeof buffer)) > 0; bytes += (unsigned long)n)
        if (echoes && write(fd, buffer, (size_t)n) != n)
            return fail("write");
    if (n < 0 || close(fd))
        return fail("read");
    printf("@netcost bytes=%lu\n", bytes);
    usleep(LINGER_US);
    return 0;
}

/* All is sent, and the other side has closed. */
static int ends(int fd)
{
    if (shutdown(fd, SHUT_WR) || read(fd, buffer, 1) || close(fd))
        return fail("the end");
    usleep(LINGER_US);
    return 0;
}

static int send_segments(int fd, unsigned count, unsigned bytes)
{
    for (unsigned i = 0; i < count; i++)
        if (write(fd, buffer, bytes) != (ssize_t)bytes)
            return fail("write");
    return ends(fd);
}

static int less(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int send_echoes(int fd, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        char sent = (char)i, back = 0;
        uint32_t before = cycles();
        if (write(fd, &sent, 1) != 1 || read(fd, &back, 1) != 1)
            return fail("a byte");
        took[i] = cycles() - before;
        if (back != sent) {
            printf("netcost: another byte has come back\n");
            return 1;
        }
    }
    qsort(took, rounds, sizeof *took, less);
    printf("@netcost rounds=%u min=%lu p50=%lu max=%lu\n", rounds, (unsigned long)took[0],
           (unsigned long)took[(rounds - 1) / 2], (unsigned long)took[rounds - 1]);
    return ends(fd);
}

int main(int argc, char **argv)
{
    int echoes = argc == 3 && !strcmp(argv[1], "echo"), segments = argc == 4 && !strcmp(argv[1], "segments");
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0, bytes = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    if (!count || (!echoes && !segments) || (echoes && count > ROUNDS_MOST) ||
        (segments && (!bytes || bytes > BYTES_MOST))) {
        printf("usage: netcost segments COUNT BYTES | netcost echo ROUNDS, of bytes 1 to %d, rounds 1 to %d\n",
               BYTES_MOST, ROUNDS_MOST);
        return 2;
    }
    int node = own_node();
    if (node <= 0)
        return node < 0 ? 1 : serve(echoes);
    usleep(WARM_US);
    int fd = calls(PORT);
    if (fd < 0)
        return fail("connect");
    return echoes ? send_echoes(fd, count) : send_segments(fd, count, bytes);
}
