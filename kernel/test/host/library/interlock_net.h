/*
 * The kernel's TCP/IP as a shared library, libinterlock-net.so, for test programs of others: socket calls, a virtual
 * network device and a simulated clock. A library has one of the seven network kernels (README.md).
 *
 * - One stack at a time in a process, and one thread in it. Another stack begins with ilk_open after ilk_close.
 * - Errors: -1, and errno is set, to the host's numbers. Constants and structures are the host's (Linux, x86-64).
 * - No call waits: one that would fails with EAGAIN, connect with EINPROGRESS, whatever F_SETFL has set. Only poll,
 *   usleep, a close that lingers (SO_LINGER with a time), and netdev_receive take time.
 * - Time is simulated: it passes in those calls only, in microseconds since the stack's start at 1 s; its timers have
 *   steps of 200 and 500 ms.
 * - A packet is an IPv4 packet of at most 1,500 bytes that begins with its header. Every address is on the wire: ARP is
 *   answered for each.
 * - A panic, or a lock that a call does not release, ends the process with status 1 and a line on the standard output.
 */
#ifndef INTERLOCK_NET_H
#define INTERLOCK_NET_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>

struct ilk_net;

/*
 * Starts the stack. `options`, or 0, has words between spaces or commas:
 *   local=A.B.C.D  its address (192.168.0.1)
 *   first=N        the number of sequence with which it begins the first connection that the other side asks for
 * 0: an unknown word (EINVAL), or there is a stack (EBUSY).
 */
struct ilk_net *ilk_open(const char *options);
void ilk_close(struct ilk_net *net); /* its sockets, too */

/* Objects of the kernel in use: 0 when all sockets are closed, all connections ended, all packets consumed. */
unsigned ilk_left(struct ilk_net *net);

/* As in POSIX. `fd` is one of the stack's own descriptors, 0 to 63. */
int ilk_socket(struct ilk_net *net, int domain, int type, int protocol); /* AF_INET; SOCK_STREAM, SOCK_DGRAM */
int ilk_bind(struct ilk_net *net, int fd, const struct sockaddr *address, socklen_t length);
int ilk_listen(struct ilk_net *net, int fd, int backlog);
int ilk_accept(struct ilk_net *net, int fd, struct sockaddr *address, socklen_t *length);
int ilk_connect(struct ilk_net *net, int fd, const struct sockaddr *address, socklen_t length);
ssize_t ilk_read(struct ilk_net *net, int fd, void *to, size_t bytes);
ssize_t ilk_readv(struct ilk_net *net, int fd, const struct iovec *to, int count);
ssize_t ilk_recv(struct ilk_net *net, int fd, void *to, size_t bytes, int flags);
ssize_t ilk_recvfrom(struct ilk_net *net, int fd, void *to, size_t bytes, int flags, struct sockaddr *address,
                     socklen_t *length);
ssize_t ilk_recvmsg(struct ilk_net *net, int fd, struct msghdr *message, int flags); /* no control data */
ssize_t ilk_write(struct ilk_net *net, int fd, const void *from, size_t bytes);
ssize_t ilk_writev(struct ilk_net *net, int fd, const struct iovec *from, int count);
ssize_t ilk_send(struct ilk_net *net, int fd, const void *from, size_t bytes, int flags);
ssize_t ilk_sendto(struct ilk_net *net, int fd, const void *from, size_t bytes, int flags,
                   const struct sockaddr *address, socklen_t length);
ssize_t ilk_sendmsg(struct ilk_net *net, int fd, const struct msghdr *message, int flags);
int ilk_fcntl(struct ilk_net *net, int fd, int command, ...);            /* F_GETFL, F_SETFL */
int ilk_ioctl(struct ilk_net *net, int fd, unsigned long request, ...); /* FIONREAD, SIOCATMARK */
int ilk_close_fd(struct ilk_net *net, int fd);
int ilk_shutdown(struct ilk_net *net, int fd, int how);
int ilk_getsockopt(struct ilk_net *net, int fd, int level, int name, void *value, socklen_t *length);
int ilk_setsockopt(struct ilk_net *net, int fd, int level, int name, const void *value, socklen_t length);
int ilk_poll(struct ilk_net *net, struct pollfd *fds, nfds_t count, int ms); /* time passes until one is ready */

/* The packet arrives at once. -1: EMSGSIZE. */
int ilk_netdev_send(struct ilk_net *net, const void *packet, size_t bytes);
/*
 * The next packet that the stack has sent, in order, and when; waits for it for at most `wait_us` of its time, and sets
 * *bytes to 0 if there is none by then. *bytes is the room before, and the packet's length after. -1: EMSGSIZE.
 */
int ilk_netdev_receive(struct ilk_net *net, void *packet, size_t *bytes, long long *time_us, long long wait_us);

int ilk_usleep(struct ilk_net *net, unsigned us); /* timers of the stack run meanwhile */
int ilk_gettimeofday(struct ilk_net *net, struct timeval *time, struct timezone *unused);

/*
 * For packetdrill (--so_filename=libinterlock-net.so --so_flags=OPTIONS): fills in its table of calls, in its order.
 * Its calls are those above, but: gettimeofday advances the time by a microsecond, as packetdrill reads it until an
 * event's time has come; netdev_receive waits for 3 hours at most, and then returns a packet that is none, which ends
 * the test; epoll, pipe and splice fail with ENOSYS.
 */
struct ilk_calls {
    struct ilk_net *net;
    void (*free)(struct ilk_net *net);
    int (*socket)(struct ilk_net *net, int domain, int type, int protocol);
    int (*bind)(struct ilk_net *net, int fd, const struct sockaddr *address, socklen_t length);
    int (*listen)(struct ilk_net *net, int fd, int backlog);
    int (*accept)(struct ilk_net *net, int fd, struct sockaddr *address, socklen_t *length);
    int (*connect)(struct ilk_net *net, int fd, const struct sockaddr *address, socklen_t length);
    ssize_t (*read)(struct ilk_net *net, int fd, void *to, size_t bytes);
    ssize_t (*readv)(struct ilk_net *net, int fd, const struct iovec *to, int count);
    ssize_t (*recv)(struct ilk_net *net, int fd, void *to, size_t bytes, int flags);
    ssize_t (*recvfrom)(struct ilk_net *net, int fd, void *to, size_t bytes, int flags, struct sockaddr *address,
                        socklen_t *length);
    ssize_t (*recvmsg)(struct ilk_net *net, int fd, struct msghdr *message, int flags);
    ssize_t (*write)(struct ilk_net *net, int fd, const void *from, size_t bytes);
    ssize_t (*writev)(struct ilk_net *net, int fd, const struct iovec *from, int count);
    ssize_t (*send)(struct ilk_net *net, int fd, const void *from, size_t bytes, int flags);
    ssize_t (*sendto)(struct ilk_net *net, int fd, const void *from, size_t bytes, int flags,
                      const struct sockaddr *address, socklen_t length);
    ssize_t (*sendmsg)(struct ilk_net *net, int fd, const struct msghdr *message, int flags);
    int (*fcntl)(struct ilk_net *net, int fd, int command, ...);
    int (*ioctl)(struct ilk_net *net, int fd, unsigned long request, ...);
    int (*close)(struct ilk_net *net, int fd);
    int (*shutdown)(struct ilk_net *net, int fd, int how);
    int (*getsockopt)(struct ilk_net *net, int fd, int level, int name, void *value, socklen_t *length);
    int (*setsockopt)(struct ilk_net *net, int fd, int level, int name, const void *value, socklen_t length);
    int (*poll)(struct ilk_net *net, struct pollfd *fds, nfds_t count, int ms);
    int (*netdev_send)(struct ilk_net *net, const void *packet, size_t bytes);
    int (*netdev_receive)(struct ilk_net *net, void *packet, size_t *bytes, long long *time_us);
    int (*usleep)(struct ilk_net *net, unsigned us);
    int (*gettimeofday)(struct ilk_net *net, struct timeval *time, struct timezone *unused);
    int (*epoll_create)(struct ilk_net *net, int size);
    int (*epoll_ctl)(struct ilk_net *net, int epfd, int operation, int fd, struct epoll_event *event);
    int (*epoll_wait)(struct ilk_net *net, int epfd, struct epoll_event *events, int most, int ms);
    int (*pipe)(struct ilk_net *net, int fd[2]);
    int (*splice)(struct ilk_net *net, int from, off_t *at, int to, off_t *to_at, size_t bytes, unsigned flags);
};
void packetdrill_interface_init(const char *options, struct ilk_calls *calls);
#endif
