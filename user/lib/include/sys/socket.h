/* Sockets (user/abi.h): streams and datagrams of the internet's protocols, and pairs. */
#ifndef _SYS_SOCKET_H
#define _SYS_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef uint32_t socklen_t;
typedef uint16_t sa_family_t;

struct sockaddr {
    sa_family_t sa_family;
    char sa_data[14];
};

/* Room for an address of any family. */
struct sockaddr_storage {
    sa_family_t ss_family;
    char ss_data[126];
} __attribute__((aligned(4)));

/* on, 0 seconds: close resets the connection; else it waits so long until the peer has all. */
struct linger {
    int l_onoff, l_linger;
};

/* Pieces of one message. There is no control data: sendmsg refuses it (EOPNOTSUPP), recvmsg returns none. */
struct msghdr {
    void *msg_name;
    socklen_t msg_namelen;
    struct iovec *msg_iov;
    int msg_iovlen;
    void *msg_control;
    socklen_t msg_controllen;
    int msg_flags;
};

#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_LOCAL AF_UNIX
#define AF_INET 2
#define AF_INET6 10 /* for programs that ask for it: EAFNOSUPPORT */
#define PF_UNSPEC AF_UNSPEC
#define PF_UNIX AF_UNIX
#define PF_LOCAL AF_LOCAL
#define PF_INET AF_INET
#define PF_INET6 AF_INET6
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3 /* of IPPROTO_ICMP: whole packets are received, and messages sent */
#define SOCK_CLOEXEC 0x40000
#define SOCK_NONBLOCK 0x4000
#define MSG_OOB 0x1
#define MSG_PEEK 0x2
#define MSG_TRUNC 0x20 /* of msg_flags alone: a datagram was longer */
#define MSG_WAITALL 0x40
#define MSG_DONTWAIT 0x80
#define MSG_NOSIGNAL 0x20000
#define SHUT_RD 0
#define SHUT_WR 1
#define SHUT_RDWR 2
#define SOL_SOCKET 0xffff
#define SO_ACCEPTCONN 0x2
#define SO_REUSEADDR 0x4
#define SO_KEEPALIVE 0x8
#define SO_BROADCAST 0x20
#define SO_LINGER 0x80 /* struct linger */
#define SO_OOBINLINE 0x100
#define SO_SNDBUF 0x1001
#define SO_RCVBUF 0x1002
#define SO_SNDLOWAT 0x1003
#define SO_RCVLOWAT 0x1004
#define SO_SNDTIMEO 0x1005 /* struct timeval */
#define SO_RCVTIMEO 0x1006
#define SO_ERROR 0x1007
#define SO_TYPE 0x1008
#define SOMAXCONN 128

int socket(int domain, int type, int protocol);
/* AF_UNIX and SOCK_STREAM only. */
int socketpair(int domain, int type, int protocol, int fd[2]);
int bind(int fd, const struct sockaddr *address, socklen_t length);
int listen(int fd, int backlog);
int accept(int fd, struct sockaddr *address, socklen_t *length);
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags); /* SOCK_NONBLOCK, SOCK_CLOEXEC */
int connect(int fd, const struct sockaddr *address, socklen_t length);
int shutdown(int fd, int how);
int getsockname(int fd, struct sockaddr *address, socklen_t *length);
int getpeername(int fd, struct sockaddr *address, socklen_t *length);
int setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int getsockopt(int fd, int level, int name, void *value, socklen_t *length);
/* EOPNOTSUPP: unsupported flags. A stream takes no address, and returns none. */
ssize_t sendto(int fd, const void *buffer, size_t length, int flags, const struct sockaddr *address,
               socklen_t of_address);
ssize_t recvfrom(int fd, void *buffer, size_t length, int flags, struct sockaddr *address, socklen_t *of_address);
ssize_t send(int fd, const void *buffer, size_t length, int flags);
ssize_t recv(int fd, void *buffer, size_t length, int flags);
int sockatmark(int fd);
/* The pieces are one datagram, or one write of a stream. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t recvmsg(int fd, struct msghdr *message, int flags);
#endif
