/*
 * tcptest: a TCP connection, bytes both ways, each checked. One node is the server, another one its client:
 *
 *   tcptest serve PORT [CONNECTIONS]            takes connections; reads what the client sends, sends as much back
 *   tcptest call ADDRESS PORT BYTES [SIZE]      sends BYTES in writes of SIZE (default 1000), reads the same back
 *
 * The bytes are a pattern of their position, a different one each way. Prints @tcptest side=... bytes=... us=... and
 * ends with 1 if a byte is wrong or missing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 16384

static unsigned char buffer[MOST];

static unsigned char pattern(unsigned at, unsigned way)
{
    return (unsigned char)(at * 31 + (at >> 8) * 7 + way);
}

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

/* 0, or 1 after printing why. */
static int send_all(int fd, unsigned bytes, unsigned size, unsigned way)
{
    for (unsigned at = 0; at < bytes;) {
        unsigned n = bytes - at < size ? bytes - at : size;
        for (unsigned i = 0; i < n; i++)
            buffer[i] = pattern(at + i, way);
        for (unsigned done = 0; done < n;) {
            ssize_t wrote = write(fd, buffer + done, n - done);
            if (wrote < 0)
                return fail("write");
            done += (unsigned)wrote;
        }
        at += n;
    }
    return 0;
}

/* Reads to the end of the input: the number of bytes, or -1 after printing why. */
static long receive_all(int fd, unsigned way)
{
    unsigned at = 0;
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)); at += (unsigned)n) {
        if (n < 0)
            return fail("read"), -1;
        for (unsigned i = 0; i < (unsigned)n; i++)
            if (buffer[i] != pattern(at + i, way)) {
                printf("byte %u is %u instead of %u\n", at + i, buffer[i], pattern(at + i, way));
                return -1;
            }
    }
    return (long)at;
}

static int serve(unsigned port, unsigned connections)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)}, from;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (listening < 0)
        return fail("socket");
    if (bind(listening, (struct sockaddr *)&own, sizeof own) || listen(listening, 16))
        return fail("listen");
    for (unsigned i = 0; i < connections; i++) {
        socklen_t length = sizeof from;
        int fd = accept(listening, (struct sockaddr *)&from, &length);
        if (fd < 0)
            return fail("accept");
        unsigned long began = microseconds();
        long bytes = receive_all(fd, 1);
        unsigned long took = microseconds() - began;
        if (bytes < 0 || send_all(fd, (unsigned)bytes, 1000, 2) || close(fd))
            return 1;
        printf("@tcptest side=server from=%s bytes=%ld us=%lu\n", inet_ntoa(from.sin_addr), bytes, took);
    }
    return close(listening) ? fail("close") : 0;
}

static int call(const char *address, unsigned port, unsigned bytes, unsigned size)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    if (!inet_aton(address, &to.sin_addr) || !size || size > MOST) {
        printf("tcptest: %s is no address, or %u no size (1 to %d)\n", address, size, MOST);
        return 2;
    }
    int fd, tries = 0;
    for (;; close(fd)) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0)
            return fail("socket");
        if (!connect(fd, (struct sockaddr *)&to, sizeof to))
            break;
        if (errno != ECONNREFUSED || ++tries == 50)
            return fail("connect");
        usleep(10000); /* the server has not begun */
    }
    unsigned long began = microseconds();
    if (send_all(fd, bytes, size, 1) || shutdown(fd, SHUT_WR))
        return fail("send");
    unsigned long sent = microseconds();
    long back = receive_all(fd, 2);
    unsigned long took = microseconds() - sent;
    if (back != (long)bytes) {
        printf("%ld bytes have come back instead of %u\n", back, bytes);
        return 1;
    }
    printf("@tcptest side=client bytes=%u size=%u us=%lu back_us=%lu tries=%d\n", bytes, size, sent - began, took,
           tries);
    return close(fd) ? fail("close") : 0;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && !strcmp(argv[1], "serve"))
        return serve((unsigned)atoi(argv[2]), argc > 3 ? (unsigned)atoi(argv[3]) : 1);
    if (argc >= 5 && !strcmp(argv[1], "call"))
        return call(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]),
                    argc > 5 ? (unsigned)atoi(argv[5]) : 1000);
    fprintf(stderr, "usage: tcptest serve PORT [CONNECTIONS] | tcptest call ADDRESS PORT BYTES [SIZE]\n");
    return 2;
}
