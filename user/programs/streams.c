/*
 * streams: the TCP test of paper `mach` (section 4.7) on two nodes. Node 0 takes connections, reads and discards;
 * node 1 has as many processes as there are streams, each with a connection, which begin at once and write requests
 * of one size for some time:
 *
 *   streams SIZE STREAMS MS
 *
 * Node 0 prints a line for each stream, @stream size=... streams=... bytes=... first_bytes=... first_us=...
 * last_us=...: the end of the first read, of first_bytes, and that of the last one. The beginning and the end of
 * connections are not counted.
 *
 * A node ends with its program, and what its kernel has not sent is lost then: so a writer stays until the other side
 * has closed, and both nodes for LINGER_US more. Likewise what is sent before the other node's interface is up is lost:
 * node 1 begins WARM_US later, as a lost segment is sent again only after a second.
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
#define PORT 5001
#define SIZE_MOST 16384
#define STREAMS_MOST 32
#define TRIES 200
#define WARM_US 10000
#define LINGER_US 20000

static char buffer[SIZE_MOST];
static unsigned size, streams, ms;

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

static int wait_for_children(void)
{
    int status, wrong = 0;
    for (unsigned i = 0; i < streams; i++)
        wrong |= wait(&status) < 0 || status;
    return wrong;
}

/* A stream's reader: one line. */
static int discard(int fd)
{
    unsigned long first = 0, last = 0, bytes = 0, first_bytes = 0;
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer));) {
        if (n < 0)
            return fail("read");
        last = microseconds();
        if (!bytes) {
            first = last;
            first_bytes = (unsigned long)n;
        }
        bytes += (unsigned long)n;
    }
    char line[160];
    int n =
        snprintf(line, sizeof line, "@stream size=%u streams=%u bytes=%lu first_bytes=%lu first_us=%lu last_us=%lu\n",
                 size, streams, bytes, first_bytes, first, last);
    return write(1, line, (size_t)n) == n ? 0 : 1;
}

static int receive(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&own, sizeof own) || listen(listening, STREAMS_MOST))
        return fail("listen");
    for (unsigned i = 0; i < streams; i++) {
        int fd = accept(listening, 0, 0);
        if (fd < 0)
            return fail("accept");
        pid_t of = fork();
        if (of < 0)
            return fail("fork");
        if (!of)
            _exit(discard(fd));
        close(fd);
    }
    int wrong = wait_for_children();
    usleep(LINGER_US);
    return wrong;
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

/* A stream's writer: waits for the start signal. */
static int write_requests(int fd, int go)
{
    char byte = 0;
    if (read(go, &byte, 1) != 1)
        return fail("pipe");
    unsigned long end = microseconds() + ms * 1000ul;
    while ((long)(microseconds() - end) < 0)
        if (write(fd, buffer, size) != (ssize_t)size)
            return fail("write");
    if (shutdown(fd, SHUT_WR) || read(fd, &byte, 1))
        return fail("the end of a stream");
    return close(fd) ? fail("close") : 0;
}

static int send_all(void)
{
    int go[2];
    char bytes[STREAMS_MOST] = {0};
    if (pipe(go))
        return fail("pipe");
    usleep(WARM_US);
    for (unsigned i = 0; i < streams; i++) { /* one by one: only one packet waits for an address (net/arp.c) */
        int fd = connected();
        if (fd < 0)
            return fail("connect");
        pid_t of = fork();
        if (of < 0)
            return fail("fork");
        if (!of)
            _exit(write_requests(fd, go[0]));
        close(fd);
    }
    if (write(go[1], bytes, streams) != (ssize_t)streams)
        return fail("pipe");
    int wrong = wait_for_children();
    usleep(LINGER_US);
    return wrong;
}

int main(int argc, char **argv)
{
    size = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    streams = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    ms = argc > 3 ? (unsigned)atoi(argv[3]) : 100;
    if (!size || size > SIZE_MOST || !streams || streams > STREAMS_MOST || !ms) {
        printf("usage: streams SIZE STREAMS MS, of a size 1 to %d, streams 1 to %d\n", SIZE_MOST, STREAMS_MOST);
        return 2;
    }
    struct user_net_status status;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || ioctl(fd, USER_SIOCNETSTATUS, &status))
        return fail("socket");
    close(fd);
    return ntohl(status.address) == SERVER ? receive() : send_all();
}
