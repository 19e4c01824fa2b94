/*
 * Included by ping alone: it asks for a datagram socket of ICMP and control data, and gets a raw socket, whose packets
 * have what the control data would say (interfaces.c).
 */
#ifndef TOYBOX_IFADDRS_H
#define TOYBOX_IFADDRS_H

#include_next <ifaddrs.h>
#include <stddef.h>
#include <sys/socket.h>

#define SO_MARK 36 /* no socket has it */
#define SOL_IP IPPROTO_IP

struct cmsghdr {
    socklen_t cmsg_len;
    int cmsg_level, cmsg_type;
};
#define CMSG_DATA(c) ((unsigned char *)((struct cmsghdr *)(c) + 1))
#define CMSG_SPACE(bytes) (sizeof(struct cmsghdr) + (((bytes) + 3) & ~(size_t)3))
#define CMSG_FIRSTHDR(m) ((m)->msg_controllen >= sizeof(struct cmsghdr) ? (struct cmsghdr *)(m)->msg_control : 0)
#define CMSG_NXTHDR(m, c) ((struct cmsghdr *)0)

#define socket(family, type, protocol) (socket)(family, SOCK_RAW, protocol)
#define recvmsg echo_received
#define xsendto echo_sent
#define xsetsockopt(fd, level, name, value, size) \
    ((level) == IPPROTO_IP && (name) == IP_RECVTTL ? (void)0 : (xsetsockopt)(fd, level, name, value, size))

void echo_sent(int fd, void *message, size_t bytes, struct sockaddr *to);
ssize_t echo_received(int fd, struct msghdr *message, int flags);
#endif
