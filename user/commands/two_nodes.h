/*
 * The two sides of a measuring program on several nodes: node 0 serves, others call it. A node ends with its program,
 * and what its kernel has not sent is lost then, so a side stays for LINGER_US. Likewise what is sent before the other
 * node's interface is up is lost: callers begin WARM_US later, as a lost segment is sent again only after a second.
 */
#ifndef TWO_NODES_H
#define TWO_NODES_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/lib/system.h"

#define SERVER 0x0a000002u /* 10.0.0.2: node 0 */
#define TRIES 200
#define RETRY_US 5000
#define WARM_US 20000
#define LINGER_US 20000

static inline int fail(const char *what)
{
    perror(what);
    return 1;
}

/* The number of this node, -1 after printing why not. */
static inline int own_node(void)
{
    struct user_net_status status;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || ioctl(fd, USER_SIOCNETSTATUS, &status))
        return fail("socket"), -1;
    close(fd);
    return (int)(ntohl(status.address) - SERVER);
}

/* A socket that listens on the port, or -1. */
static inline int listens(unsigned port)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&own, sizeof own) || listen(fd, 1))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A connection to node 0's port whose writes are sent at once, or -1. */
static inline int calls(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    int on = 1;
    to.sin_addr.s_addr = htonl(SERVER);
    for (unsigned tries = 0;; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0)
            return -1;
        if (!connect(fd, (struct sockaddr *)&to, sizeof to))
            return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ? -1 : fd;
        close(fd);
        if (errno != ECONNREFUSED || tries == TRIES)
            return -1;
        usleep(RETRY_US);
    }
}
#endif
