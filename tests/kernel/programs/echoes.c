/*
 * Echoes what comes to port 7, datagrams and one connection after the other, until a datagram says `end`:
 * prints @echoes connections=... bytes=... datagrams=... longest=...
 */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT 7

static char buffer[65536];
static unsigned connections, bytes, datagrams, longest;

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int bound(int type)
{
    struct sockaddr_in of = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int fd = socket(AF_INET, type, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&of, sizeof of)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Up to its end; 1: it broke. */
static int connection(int fd)
{
    ssize_t n;
    while ((n = read(fd, buffer, 16384)) > 0)
        for (ssize_t done = 0, wrote; done < n; done += wrote, bytes += (unsigned)wrote)
            if ((wrote = write(fd, buffer + done, (size_t)(n - done))) < 0)
                return fail("write");
    connections++;
    close(fd);
    return n < 0 ? fail("read") : 0;
}

/* 1: that was the end. */
static int datagram(int fd)
{
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    ssize_t n = recvfrom(fd, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &length);
    if (n < 0)
        return fail("recvfrom");
    if (n == 3 && !memcmp(buffer, "end", 3))
        return 1;
    datagrams++;
    longest = (unsigned)n > longest ? (unsigned)n : longest;
    if (sendto(fd, buffer, (size_t)n, 0, (struct sockaddr *)&from, length) != n)
        return fail("sendto");
    return 0;
}

int main(void)
{
    int stream = bound(SOCK_STREAM), other = bound(SOCK_DGRAM);
    if (stream < 0 || other < 0 || listen(stream, 4))
        return fail("a socket");
    struct pollfd both[2] = {{.fd = stream, .events = POLLIN}, {.fd = other, .events = POLLIN}};
    for (int over = 0; !over;) {
        if (poll(both, 2, -1) < 0)
            return fail("poll");
        if (both[1].revents)
            over = datagram(other);
        if (!over && both[0].revents) {
            int fd = accept(stream, 0, 0);
            if (fd < 0 || connection(fd))
                return fail("a connection");
        }
    }
    printf("@echoes connections=%u bytes=%u datagrams=%u longest=%u\n", connections, bytes, datagrams, longest);
    return 0;
}
