/*
 * nc: sends standard input over a TCP connection, and writes what it receives to standard output:
 *
 *   nc HOST PORT       connects
 *   nc -l PORT         takes one connection
 *
 * The end of the input ends that half of the connection; nc ends when the other side has sent its last.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char buffer[4096];

static int fail(const char *what)
{
    fprintf(stderr, "nc: %s: %s\n", what, strerror(errno));
    return -1;
}

/* A socket bound or connected to the first address that accepts it; -1 after printing why. */
static int open_socket(const char *host, const char *port, int listens)
{
    struct addrinfo hints = {.ai_flags = listens ? AI_PASSIVE : 0, .ai_family = AF_INET, .ai_socktype = SOCK_STREAM},
                    *all;
    int error = getaddrinfo(host, port, &hints, &all), fd = -1;
    if (error) {
        fprintf(stderr, "nc: %s: %s\n", host ? host : port, gai_strerror(error));
        return -1;
    }
    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        if (fd >= 0 && (listens ? bind : connect)(fd, a->ai_addr, a->ai_addrlen)) {
            int was = errno;
            close(fd);
            errno = was;
            fd = -1;
        }
    }
    freeaddrinfo(all);
    return fd < 0 ? fail(listens ? port : host) : fd;
}

static int take_one(const char *port)
{
    int listening = open_socket(0, port, 1);
    if (listening < 0)
        return -1;
    if (listen(listening, 1))
        return fail("listen");
    int fd = accept(listening, 0, 0);
    close(listening);
    return fd < 0 ? fail("accept") : fd;
}

/* Copies available input of `from` to `to`. Bytes, 0 at the end, -1 after printing why. */
static int move(int from, int to)
{
    ssize_t n = read(from, buffer, sizeof buffer);
    if (n < 0)
        return fail("read");
    for (ssize_t done = 0, wrote; done < n; done += wrote)
        if ((wrote = write(to, buffer + done, (size_t)(n - done))) < 0)
            return fail("write");
    return (int)n;
}

int main(int argc, char **argv)
{
    int listens = argc == 3 && !strcmp(argv[1], "-l");
    if (argc != 3 || (!listens && argv[1][0] == '-')) {
        fprintf(stderr, "usage: nc HOST PORT | nc -l PORT\n");
        return 2;
    }
    int fd = listens ? take_one(argv[2]) : open_socket(argv[1], argv[2], 0);
    if (fd < 0)
        return 1;
    struct pollfd both[2] = {{.fd = fd, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    for (nfds_t watched = 2;;) {
        if (poll(both, watched, -1) < 0)
            return fail("poll"), 1;
        if (watched == 2 && both[1].revents) {
            int n = move(0, fd);
            if (n < 0)
                return 1;
            if (!n && shutdown(fd, SHUT_WR))
                return fail("shutdown"), 1;
            watched = n ? 2 : 1;
        }
        if (both[0].revents) {
            int n = move(fd, 1);
            if (n <= 0)
                return n < 0;
        }
    }
}
