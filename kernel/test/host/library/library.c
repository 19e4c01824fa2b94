/* The kernel's TCP/IP as a library with simulated time (interlock_net.h), around the host tests' world. */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "test/host/library/interlock_net.h"

#include "lib/printf.h"

#include "test/host/tcp_world.h"

#define EXPORT __attribute__((visibility("default")))
#define SENT_MOST 4096u /* packets that no one has received; later ones are lost, as on a full interface */
#define FIRST_US 1000000
#define STEP_US 100000 /* divides the timers' periods */
#define HOURS_US 3600000000ll
#define AT_ADDRESS 0u /* in `user` */
#define AT_LENGTH 32u
#define AT_OPTION 40u
#define DATA_MOST (sizeof user - USER_DATA)

struct ilk_net {
    bool open, has_first;
    uint32_t first; /* option first= */
    int64_t us;     /* `now`, with its parts */
    unsigned objects;
    int flags[FILES]; /* as F_SETFL has set them */
};
static struct ilk_net the_net;

struct sent {
    struct sent *next;
    long long us;
    size_t bytes;
    uint8_t packet[];
};
static struct sent *sent_first, **sent_end = &sent_first;
static unsigned sent_count;

/* Time ------------------------------------------------------------------------------------------------------------- */

static void passes_until(struct ilk_net *net, int64_t us)
{
    uint32_t to = (uint32_t)(us / 1000);
    if (to != now)
        advance(to - now);
    net->us = us;
}

/* Until `us`, or when `has_come` is true after a step of time. */
static void waits_until(struct ilk_net *net, int64_t us, bool (*has_come)(const void *of), const void *of)
{
    while (net->us < us && !has_come(of)) {
        int64_t step = (net->us / STEP_US + 1) * STEP_US;
        passes_until(net, MIN(step, us));
    }
}

/* A close that lingers. */
static void sleeper_waits(void)
{
    static uint32_t waited;
    CHECK(limited); /* no other call waits */
    passes_until(&the_net, the_net.us + STEP_US);
    waited += STEP_US / 1000 * HZ / 1000;
    if (waited < limited_to)
        return;
    waited = 0;
    limited->over = true;
}

EXPORT int ilk_usleep(struct ilk_net *net, unsigned us)
{
    passes_until(net, net->us + us);
    return 0;
}

EXPORT int ilk_gettimeofday(struct ilk_net *net, struct timeval *time, struct timezone *unused)
{
    (void)unused;
    *time = (struct timeval){.tv_sec = net->us / 1000000, .tv_usec = net->us % 1000000};
    return 0;
}

/* The device ------------------------------------------------------------------------------------------------------- */

/* Whoever is asked for by ARP is there. */
static void is_on_the_wire(uint32_t ip)
{
    struct mbuf *m = m_get(IP_AT + 28, M_FRAME);
    if (!m)
        return;
    m->m_data += ETHER_HEADER;
    m->m_len = 28;
    memcpy(m->m_data, (const uint8_t[]){0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 1}, 14);
    put32(m->m_data + 14, ip);
    memcpy(m->m_data + 18, net_own.ether, 6);
    put32(m->m_data + 24, net_own.ip);
    arp_input(m);
}

static void frame_leaves(struct mbuf *m)
{
    uint32_t type = get16(m->m_data + 12), asked = type == ETHERTYPE_ARP ? get32(m->m_data + ETHER_HEADER + 24) : 0;
    if (type == ETHERTYPE_IP && sent_count < SENT_MOST) {
        size_t bytes = m->m_len - ETHER_HEADER;
        struct sent *s = malloc(sizeof *s + bytes);
        CHECK(s);
        *s = (struct sent){.us = MAX(the_net.us, (int64_t)now * 1000), .bytes = bytes};
        memcpy(s->packet, m->m_data + ETHER_HEADER, bytes);
        *sent_end = s;
        sent_end = &s->next;
        sent_count++;
    }
    m_free(m);
    if (asked && asked != net_own.ip)
        is_on_the_wire(asked);
}

/* The clock is moved, before the first connection, to the time at which its first number is the wanted one. */
static void first_number(struct ilk_net *net, const uint8_t *ip, size_t bytes)
{
    const uint8_t *tcp = ip + IP_HEADER;
    if (!net->has_first || bytes < IP_HEADER + TCP_HEADER || ip[9] != IPPROTO_TCP || (tcp[13] & (S | A)) != S)
        return;
    struct inpcb of = {.laddr = get32(ip + 16),
                       .faddr = get32(ip + 12),
                       .lport = (uint16_t)get16(tcp + 2),
                       .fport = (uint16_t)get16(tcp)};
    cycles_base = ((uint64_t)(net->first - in_pcb_hash(&of, 0)) << 8) - (uint64_t)now * MS_CYCLES;
    net->has_first = false;
}

static int fails(int error)
{
    errno = error;
    return -1;
}

EXPORT int ilk_netdev_send(struct ilk_net *net, const void *packet, size_t bytes)
{
    if (bytes > IP_MTU)
        return fails(EMSGSIZE);
    first_number(net, packet, bytes);
    memcpy(frame, net_own.ether, 6);
    memcpy(frame + 6, (const uint8_t[]){2, 0, 0, 0, 0, 1}, 6);
    put16(frame + 12, ETHERTYPE_IP);
    memcpy(frame_ip, packet, bytes);
    input_frame(ETHER_HEADER + (uint32_t)bytes);
    return 0;
}

static bool is_sent(const void *unused)
{
    (void)unused;
    return sent_first;
}

EXPORT int ilk_netdev_receive(struct ilk_net *net, void *packet, size_t *bytes, long long *time_us, long long wait_us)
{
    waits_until(net, net->us + wait_us, is_sent, 0);
    struct sent *s = sent_first;
    if (s && s->bytes > *bytes)
        return fails(EMSGSIZE);
    *bytes = s ? s->bytes : 0;
    if (!s)
        return 0;
    memcpy(packet, s->packet, s->bytes);
    *time_us = s->us;
    sent_first = s->next;
    if (!sent_first)
        sent_end = &sent_first;
    sent_count--;
    free(s);
    return 0;
}

/* Sockets ---------------------------------------------------------------------------------------------------------- */

static int result(int of)
{
    return of < 0 ? fails(-of) : of;
}

/* A constant of the host's, and the kernel's. */
struct same {
    int host, kernel;
};

static int translated(int from, const struct same *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i].host == from)
            return list[i].kernel;
    return -1;
}
#define TRANSLATED(from, list) translated(from, list, sizeof(list) / sizeof *(list))

EXPORT int ilk_socket(struct ilk_net *net, int domain, int type, int protocol)
{
    int kernel = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    int fd = CALL(sys_socket, (uint32_t)domain, (uint32_t)kernel | USER_SOCK_NONBLOCK, (uint32_t)protocol);
    if (fd >= 0)
        net->flags[fd] = O_RDWR | (type & SOCK_NONBLOCK ? O_NONBLOCK : 0);
    return result(fd);
}

/* The address at user + AT_ADDRESS; its length. Linux's structure is the kernel's. */
static uint32_t address_goes_in(const struct sockaddr *address, socklen_t length)
{
    uint32_t bytes = MIN(length, sizeof(struct user_sockaddr_in));
    memcpy(user + AT_ADDRESS, address, bytes);
    return bytes;
}

static void length_goes_in(const socklen_t *length)
{
    memcpy(user + AT_LENGTH, length, sizeof *length);
}

static void address_comes_out(struct sockaddr *address, socklen_t *length)
{
    socklen_t full, room = *length;
    memcpy(&full, user + AT_LENGTH, sizeof full);
    memcpy(address, user + AT_ADDRESS, MIN(room, full));
    *length = full;
}

EXPORT int ilk_bind(struct ilk_net *net, int fd, const struct sockaddr *address, socklen_t length)
{
    (void)net;
    uint32_t bytes = address_goes_in(address, length);
    return result(CALL(sys_bind, (uint32_t)fd, USER_AT + AT_ADDRESS, bytes));
}

EXPORT int ilk_listen(struct ilk_net *net, int fd, int backlog)
{
    (void)net;
    return result(CALL(sys_listen, (uint32_t)fd, (uint32_t)backlog));
}

EXPORT int ilk_accept(struct ilk_net *net, int fd, struct sockaddr *address, socklen_t *length)
{
    if (address)
        length_goes_in(length);
    int of =
        CALL(sys_accept, (uint32_t)fd, address ? USER_AT + AT_ADDRESS : 0, USER_AT + AT_LENGTH, USER_SOCK_NONBLOCK);
    if (of >= 0) {
        net->flags[of] = O_RDWR;
        if (address)
            address_comes_out(address, length);
    }
    return result(of);
}

EXPORT int ilk_connect(struct ilk_net *net, int fd, const struct sockaddr *address, socklen_t length)
{
    (void)net;
    uint32_t bytes = address_goes_in(address, length);
    return result(CALL(sys_connect, (uint32_t)fd, USER_AT + AT_ADDRESS, bytes));
}

static const struct same message_flags[] = {{MSG_OOB, USER_MSG_OOB},
                                            {MSG_PEEK, USER_MSG_PEEK},
                                            {MSG_DONTWAIT, USER_MSG_DONTWAIT},
                                            {MSG_WAITALL, USER_MSG_WAITALL},
                                            {MSG_NOSIGNAL, USER_MSG_NOSIGNAL}};

/* Flags that the kernel has not are an unknown one. */
static uint32_t flags_of(int flags)
{
    uint32_t kernel = 0;
    for (unsigned i = 0; i < sizeof message_flags / sizeof *message_flags; i++) {
        kernel |= flags & message_flags[i].host ? (uint32_t)message_flags[i].kernel : 0;
        flags &= ~message_flags[i].host;
    }
    return kernel | (flags ? 0x80000000u : 0);
}

EXPORT ssize_t ilk_recvfrom(struct ilk_net *net, int fd, void *to, size_t bytes, int flags, struct sockaddr *address,
                            socklen_t *length)
{
    (void)net;
    if (address) {
        length_goes_in(length);
        memset(user + AT_ADDRESS, 0, sizeof(struct user_sockaddr_in));
    }
    int done = CALL(sys_recvfrom, (uint32_t)fd, USER_AT + USER_DATA, (uint32_t)MIN(bytes, DATA_MOST), flags_of(flags),
                    address ? USER_AT + AT_ADDRESS : 0, USER_AT + AT_LENGTH);
    if (done > 0)
        memcpy(to, user + USER_DATA, (size_t)done);
    if (done >= 0 && address)
        address_comes_out(address, length);
    return result(done);
}

EXPORT ssize_t ilk_recv(struct ilk_net *net, int fd, void *to, size_t bytes, int flags)
{
    return ilk_recvfrom(net, fd, to, bytes, flags, 0, 0);
}

EXPORT ssize_t ilk_read(struct ilk_net *net, int fd, void *to, size_t bytes)
{
    return ilk_recvfrom(net, fd, to, bytes, 0, 0, 0);
}

EXPORT ssize_t ilk_sendto(struct ilk_net *net, int fd, const void *from, size_t bytes, int flags,
                          const struct sockaddr *address, socklen_t length)
{
    (void)net;
    uint32_t at = address ? USER_AT + AT_ADDRESS : 0, address_bytes = address ? address_goes_in(address, length) : 0;
    ssize_t all = 0;
    do { /* a stream's bytes in pieces */
        uint32_t piece = (uint32_t)MIN(bytes - (size_t)all, DATA_MOST);
        memcpy(user + USER_DATA, (const uint8_t *)from + all, piece);
        int done = CALL(sys_sendto, (uint32_t)fd, USER_AT + USER_DATA, piece, flags_of(flags), at, address_bytes);
        if (done < 0)
            return all ? all : result(done);
        all += done;
        if ((uint32_t)done != piece)
            break;
    } while ((size_t)all < bytes);
    return all;
}

EXPORT ssize_t ilk_send(struct ilk_net *net, int fd, const void *from, size_t bytes, int flags)
{
    return ilk_sendto(net, fd, from, bytes, flags, 0, 0);
}

EXPORT ssize_t ilk_write(struct ilk_net *net, int fd, const void *from, size_t bytes)
{
    return ilk_sendto(net, fd, from, bytes, 0, 0, 0);
}

static size_t bytes_of(const struct iovec *v, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += v[i].iov_len;
    return sum;
}

EXPORT ssize_t ilk_recvmsg(struct ilk_net *net, int fd, struct msghdr *message, int flags)
{
    size_t bytes = MIN(bytes_of(message->msg_iov, message->msg_iovlen), DATA_MOST);
    uint8_t *all = malloc(bytes + 1), *at = all;
    CHECK(all);
    ssize_t done = ilk_recvfrom(net, fd, all, bytes, flags, message->msg_name, &message->msg_namelen), left = done;
    for (size_t i = 0; left > 0; i++) {
        size_t piece = MIN((size_t)left, message->msg_iov[i].iov_len);
        memcpy(message->msg_iov[i].iov_base, at, piece);
        at += piece;
        left -= (ssize_t)piece;
    }
    free(all);
    message->msg_controllen = 0;
    message->msg_flags = 0;
    return done;
}

EXPORT ssize_t ilk_readv(struct ilk_net *net, int fd, const struct iovec *to, int count)
{
    return ilk_recvmsg(net, fd, &(struct msghdr){.msg_iov = (struct iovec *)to, .msg_iovlen = (size_t)count}, 0);
}

EXPORT ssize_t ilk_sendmsg(struct ilk_net *net, int fd, const struct msghdr *message, int flags)
{
    size_t bytes = bytes_of(message->msg_iov, message->msg_iovlen), at = 0;
    uint8_t *all = malloc(bytes + 1);
    CHECK(all);
    for (size_t i = 0; i < message->msg_iovlen; at += message->msg_iov[i++].iov_len)
        memcpy(all + at, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    ssize_t done = ilk_sendto(net, fd, all, bytes, flags, message->msg_name, message->msg_namelen);
    free(all);
    return done;
}

EXPORT ssize_t ilk_writev(struct ilk_net *net, int fd, const struct iovec *from, int count)
{
    return ilk_sendmsg(net, fd, &(struct msghdr){.msg_iov = (struct iovec *)from, .msg_iovlen = (size_t)count}, 0);
}

static bool is_open(int fd)
{
    return fd >= 0 && fd < FILES && files[fd];
}

EXPORT int ilk_fcntl(struct ilk_net *net, int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    int flags = va_arg(args, int);
    va_end(args);
    if (!is_open(fd))
        return fails(EBADF);
    if (command == F_GETFL)
        return net->flags[fd];
    if (command != F_SETFL)
        return fails(EINVAL);
    net->flags[fd] = O_RDWR | (flags & O_NONBLOCK);
    return 0;
}

EXPORT int ilk_ioctl(struct ilk_net *net, int fd, unsigned long request, ...)
{
    static const struct same requests[] = {{FIONREAD, USER_FIONREAD}, {SIOCATMARK, USER_SIOCATMARK}};
    va_list args;
    (void)net;
    va_start(args, request);
    int *value = va_arg(args, int *);
    va_end(args);
    if (!is_open(fd))
        return fails(EBADF);
    int kernel = TRANSLATED((int)request, requests);
    if (kernel == -1)
        return fails(ENOTTY);
    struct file *f = descriptor_file(0, (uint32_t)fd);
    int error = f->ops->ioctl ? f->ops->ioctl(f, 0, (uint32_t)kernel, USER_AT + AT_OPTION) : -ENOTTY;
    file_release(f);
    if (!error)
        memcpy(value, user + AT_OPTION, sizeof *value);
    return result(checked(error));
}

EXPORT int ilk_close_fd(struct ilk_net *net, int fd)
{
    (void)net;
    return result(k_close(fd));
}

EXPORT int ilk_shutdown(struct ilk_net *net, int fd, int how)
{
    (void)net;
    return result(k_shutdown(fd, (uint32_t)how));
}

/* The kernel's level and name of an option; false: it has none such. */
static bool option_of(int level, int name, uint32_t kernel[2])
{
    static const struct same of_sockets[] = {{SO_ACCEPTCONN, USER_SO_ACCEPTCONN},
                                             {SO_REUSEADDR, USER_SO_REUSEADDR},
                                             {SO_KEEPALIVE, USER_SO_KEEPALIVE},
                                             {SO_BROADCAST, USER_SO_BROADCAST},
                                             {SO_LINGER, USER_SO_LINGER},
                                             {SO_OOBINLINE, USER_SO_OOBINLINE},
                                             {SO_SNDBUF, USER_SO_SNDBUF},
                                             {SO_RCVBUF, USER_SO_RCVBUF},
                                             {SO_RCVLOWAT, USER_SO_RCVLOWAT},
                                             {SO_ERROR, USER_SO_ERROR},
                                             {SO_TYPE, USER_SO_TYPE}};
    static const struct same of_tcp[] = {{1, USER_TCP_NODELAY}, /* of <netinet/tcp.h>, which is not the kernel's */
                                         {2, USER_TCP_MAXSEG},
                                         {4, USER_TCP_KEEPIDLE},
                                         {5, USER_TCP_KEEPINTVL},
                                         {6, USER_TCP_KEEPCNT}};
    int is = level == SOL_SOCKET ? TRANSLATED(name, of_sockets) : level == IPPROTO_TCP ? TRANSLATED(name, of_tcp) : -1;
    kernel[0] = level == SOL_SOCKET ? USER_SOL_SOCKET : IPPROTO_TCP;
    kernel[1] = (uint32_t)is;
    return is != -1;
}

EXPORT int ilk_getsockopt(struct ilk_net *net, int fd, int level, int name, void *value, socklen_t *length)
{
    uint32_t option[2];
    (void)net;
    if (!option_of(level, name, option))
        return fails(ENOPROTOOPT);
    length_goes_in(length);
    int error = CALL(sys_getsockopt, (uint32_t)fd, option[0], option[1], USER_AT + AT_OPTION, USER_AT + AT_LENGTH);
    if (!error) {
        memcpy(length, user + AT_LENGTH, sizeof *length);
        memcpy(value, user + AT_OPTION, *length);
    }
    return result(error);
}

EXPORT int ilk_setsockopt(struct ilk_net *net, int fd, int level, int name, const void *value, socklen_t length)
{
    uint32_t option[2];
    (void)net;
    if (!option_of(level, name, option))
        return fails(ENOPROTOOPT);
    uint32_t bytes = MIN(length, sizeof(struct user_linger));
    memcpy(user + AT_OPTION, value, bytes);
    return result(CALL(sys_setsockopt, (uint32_t)fd, option[0], option[1], USER_AT + AT_OPTION, bytes));
}

struct polled {
    struct pollfd *fds;
    nfds_t count;
};

static int ready(const struct polled *of)
{
    int n = 0;
    for (nfds_t i = 0; i < of->count; i++) {
        struct pollfd *p = &of->fds[i];
        p->revents = p->fd >= 0 ? POLLNVAL : 0;
        if (is_open(p->fd)) {
            struct file *f = descriptor_file(0, (uint32_t)p->fd);
            int is = checked(f->ops->poll(f, p->events));
            p->revents = (short)(is & (p->events | POLLERR | POLLHUP));
            file_release(f);
        }
        n += !!p->revents;
    }
    return n;
}

static bool one_is_ready(const void *of)
{
    return ready(of);
}

EXPORT int ilk_poll(struct ilk_net *net, struct pollfd *fds, nfds_t count, int ms)
{
    const struct polled of = {fds, count};
    if (ms < 0)
        return one_is_ready(&of) ? ready(&of) : fails(EAGAIN); /* no one else could make it ready */
    waits_until(net, net->us + ms * 1000ll, one_is_ready, &of);
    return ready(&of);
}

/* Beginning and end ------------------------------------------------------------------------------------------------ */

static void kernel_says(const char *text, unsigned n)
{
    fwrite(text, 1, n, stderr);
}

/* False: an unknown word. */
static bool understands(struct ilk_net *net, const char *options)
{
    char word[64];
    int n;
    unsigned a[4], end;
    for (; sscanf(options += strspn(options, " ,"), "%63[^ ,]%n", word, &n) == 1; options += n) {
        char *number_ends;
        if (sscanf(word, "local=%u.%u.%u.%u%n", &a[0], &a[1], &a[2], &a[3], &end) == 4 && !word[end] &&
            (a[0] | a[1] | a[2] | a[3]) < 256) {
            net_own.ip = a[0] << 24 | a[1] << 16 | a[2] << 8 | a[3];
        } else if (!strncmp(word, "first=", 6) && word[6]) {
            net->first = (uint32_t)strtoull(word + 6, &number_ends, 0);
            net->has_first = true;
            if (*number_ends)
                return false;
        } else {
            return false;
        }
    }
    return true;
}

EXPORT struct ilk_net *ilk_open(const char *options)
{
    struct ilk_net *net = &the_net;
    if (net->open) {
        errno = EBUSY;
        return 0;
    }
    *net = (struct ilk_net){.us = FIRST_US};
    net_own = (struct net_address){{2, 'I', 'L', 'K', 0, 2}, 0xc0a80001, 0}; /* without a mask all are neighbours */
    if (!understands(net, options ? options : "")) {
        errno = EINVAL;
        return 0;
    }
    kprintf_sink = kernel_says;
    if_transmit = frame_leaves;
    sleeps = sleeper_waits;
    now = FIRST_US / 1000;
    CHECK_EQUAL(start_network(), 0);
    net->objects = objects;
    net->open = true;
    return net;
}

EXPORT void ilk_close(struct ilk_net *net)
{
    uint8_t packet[IP_MTU];
    size_t bytes;
    long long us;
    for (int fd = 0; fd < FILES; fd++)
        if (files[fd])
            k_close(fd);
    for (bytes = sizeof packet; !ilk_netdev_receive(net, packet, &bytes, &us, 0) && bytes;)
        bytes = sizeof packet;
    net->open = false;
}

EXPORT unsigned ilk_left(struct ilk_net *net)
{
    return objects - net->objects;
}

/* packetdrill ------------------------------------------------------------------------------------------------------ */

static int drill_gettimeofday(struct ilk_net *net, struct timeval *time, struct timezone *unused)
{
    passes_until(net, net->us + 1);
    return ilk_gettimeofday(net, time, unused);
}

static int drill_receive(struct ilk_net *net, void *packet, size_t *bytes, long long *time_us)
{
    size_t room = *bytes;
    int error = ilk_netdev_receive(net, packet, bytes, time_us, 3 * HOURS_US);
    if (error || *bytes)
        return error;
    memset(packet, 0, room);
    *(uint8_t *)packet = 4 << 4; /* a header of no length */
    *bytes = IP_HEADER;
    *time_us = net->us;
    return 0;
}

static int no_epoll(struct ilk_net *net, int size)
{
    (void)net, (void)size;
    return fails(ENOSYS);
}

static int no_epoll_ctl(struct ilk_net *net, int epfd, int operation, int fd, struct epoll_event *event)
{
    (void)net, (void)epfd, (void)operation, (void)fd, (void)event;
    return fails(ENOSYS);
}

static int no_epoll_wait(struct ilk_net *net, int epfd, struct epoll_event *events, int most, int ms)
{
    (void)net, (void)epfd, (void)events, (void)most, (void)ms;
    return fails(ENOSYS);
}

static int no_pipe(struct ilk_net *net, int fd[2])
{
    (void)net, (void)fd;
    return fails(ENOSYS);
}

static int no_splice(struct ilk_net *net, int from, off_t *at, int to, off_t *to_at, size_t bytes, unsigned flags)
{
    (void)net, (void)from, (void)at, (void)to, (void)to_at, (void)bytes, (void)flags;
    return fails(ENOSYS);
}

EXPORT void packetdrill_interface_init(const char *options, struct ilk_calls *calls)
{
    struct ilk_net *net = ilk_open(options);
    if (!net) {
        perror("libinterlock-net.so: --so_flags takes local=A.B.C.D and first=NUMBER");
        exit(1);
    }
    *calls = (struct ilk_calls){.net = net,
                                .free = ilk_close,
                                .socket = ilk_socket,
                                .bind = ilk_bind,
                                .listen = ilk_listen,
                                .accept = ilk_accept,
                                .connect = ilk_connect,
                                .read = ilk_read,
                                .readv = ilk_readv,
                                .recv = ilk_recv,
                                .recvfrom = ilk_recvfrom,
                                .recvmsg = ilk_recvmsg,
                                .write = ilk_write,
                                .writev = ilk_writev,
                                .send = ilk_send,
                                .sendto = ilk_sendto,
                                .sendmsg = ilk_sendmsg,
                                .fcntl = ilk_fcntl,
                                .ioctl = ilk_ioctl,
                                .close = ilk_close_fd,
                                .shutdown = ilk_shutdown,
                                .getsockopt = ilk_getsockopt,
                                .setsockopt = ilk_setsockopt,
                                .poll = ilk_poll,
                                .netdev_send = ilk_netdev_send,
                                .netdev_receive = drill_receive,
                                .usleep = ilk_usleep,
                                .gettimeofday = drill_gettimeofday,
                                .epoll_create = no_epoll,
                                .epoll_ctl = no_epoll_ctl,
                                .epoll_wait = no_epoll_wait,
                                .pipe = no_pipe,
                                .splice = no_splice};
}
