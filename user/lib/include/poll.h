#ifndef _POLL_H
#define _POLL_H

#define POLLIN 1
#define POLLPRI 2
#define POLLOUT 4
#define POLLERR 8
#define POLLHUP 16
#define POLLNVAL 32

typedef unsigned long nfds_t;

struct pollfd {
    int fd;
    short events, revents;
};

#include <signal.h>

int poll(struct pollfd *of, nfds_t count, int milliseconds);
int ppoll(struct pollfd *of, nfds_t count, const struct timespec *limit, const sigset_t *mask);
#endif
