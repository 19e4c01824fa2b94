/*
 * System calls on sockets (user/abi.h). The first socket starts the interface and TCP's timers. Internet addresses
 * only, streams (socket.h), datagrams and raw ones of ICMP (datagram.h); all else gives -EPROTONOSUPPORT,
 * -EAFNOSUPPORT, -ENOPROTOOPT or -EOPNOTSUPP.
 */
#include <errno.h>
#include <fcntl.h>

#include "dev/clock.h"
#include "file/calls.h"
#include "file/descriptors.h"
#include "lib/minmax.h"
#include "lock/lock.h"
#include "net/datagram.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/pair.h"
#include "net/socket.h"
#include "net/tcp.h"

#define LEAST_HZ 10 /* of the clock: TCP's fast timer runs at 5 Hz */

DEFINE_MUTEX(start_lock, "network start");

static int start_network(void)
{
    static bool started;
    if (!if_ether_in_threads)
        return -EPROTONOSUPPORT; /* code that takes blocking locks needs threads (build option net) */
    if (clock_hz() < LEAST_HZ)
        return -EINVAL; /* without a clock there are no timers */
    mutex_lock(&start_lock);
    if (!started) {
        in_pcb_start(); /* here: two harts at their first connections could create two */
        if_ether_start();
        loop_start();
        tcp_timers_start();
        datagram_start();
        started = true;
    }
    mutex_unlock(&start_lock);
    return 0;
}

#if NFS /* kernel/Makefile: the sockets of NFS are the kernel's own */
int net_start(void)
{
    return start_network();
}
#endif

/*
 * A call on a socket, whose descriptor is its first argument; `file` has a reference. There is a function for streams,
 * one for datagrams and one for pairs.
 */
struct call {
    struct process *process;
    struct vm_map *map;
    const uint32_t *a;
    struct file *file;
    struct socket *so;
    struct datagram *datagram;
    struct pair_end *pair; /* two of the three are 0 */
};
typedef int call_fn(const struct call *c);

struct call_of { /* the three functions */
    call_fn *stream, *datagram, *pair;
};

static int on_socket(struct process *p, struct vm_map *map, const uint32_t *a, const struct call_of *of)
{
    struct file *f = descriptor_file(descriptors_of(p), a[0]);
    int error = f ? -ENOTSOCK : -EBADF;
    if (f && f->ops == &socket_ops)
        error = of->stream(&(struct call){p, map, a, f, f->data, 0, 0});
    else if (f && f->ops == &datagram_ops)
        error = of->datagram(&(struct call){p, map, a, f, 0, f->data, 0});
    else if (f && f->ops == &pair_ops)
        error = of->pair(&(struct call){p, map, a, f, 0, 0, f->data});
    if (f)
        file_release(f);
    return error;
}

static int is_not_for_it(const struct call *c)
{
    (void)c;
    return -EOPNOTSUPP;
}

#define SOCKET_CALL(NUMBER, name, ...)                                              \
    static int sys_##name(struct process *p, struct vm_map *map, const uint32_t *a) \
    {                                                                               \
        return on_socket(p, map, a, &(const struct call_of){__VA_ARGS__});          \
    }                                                                               \
    SYSCALL(NUMBER, sys_##name)

/* fn(so, arg) with the connection's lock held, in the policy's context. */
struct step {
    inet_fn *fn;
    void *arg;
};

static int with_lock(struct socket *so, void *arg)
{
    const struct step *step = arg;
    struct inpcb *inp = &so->tcb->inp;
    pcb_lock(&inp->lock);
    int error = step->fn(so, step->arg);
    pcb_unlock(&inp->lock);
    return error;
}

static int on_connection(struct socket *so, inet_fn *fn, void *arg)
{
    return inet_call(so, with_lock, &(struct step){fn, arg});
}

static int address_in(struct vm_map *map, uint32_t at, uint32_t length, struct user_sockaddr_in *to)
{
    if (length < sizeof *to)
        return -EINVAL;
    int error = copyin(map, to, at, sizeof *to);
    return error ? error : to->family == USER_AF_INET ? 0 : -EAFNOSUPPORT;
}

static uint32_t ip_of(const struct user_sockaddr_in *a)
{
    return get32((const uint8_t *)&a->address);
}

static uint32_t port_of(const struct user_sockaddr_in *a)
{
    return get16((const uint8_t *)&a->port);
}

static struct user_sockaddr_in address_of(uint32_t ip, uint32_t port)
{
    struct user_sockaddr_in of = {.family = USER_AF_INET};
    put16((uint8_t *)&of.port, port);
    put32((uint8_t *)&of.address, ip);
    return of;
}

/* Copies an address to `at`, at most the length at `length_at`, which is set to the full length; not if `at` is 0. */
static int address_out(struct vm_map *map, uint32_t at, uint32_t length_at, const void *from, uint32_t bytes)
{
    uint32_t length;
    if (!at)
        return 0;
    int error = copyin(map, &length, length_at, sizeof length);
    if (!error && (int32_t)length < 0)
        error = -EINVAL;
    if (!error)
        error = copyout(map, at, from, MIN(length, bytes));
    length = bytes;
    return error ? error : copyout(map, length_at, &length, sizeof length);
}

/* Ends the connection of a socket that gets no descriptor. */
static int abandon(struct socket *so, void *arg)
{
    struct inpcb *inp = &so->tcb->inp;
    (void)arg;
    pcb_lock(&inp->lock);
    if (!inp->closing)
        tcp_abort(so->tcb, 0);
    pcb_unlock(&inp->lock);
    in_pcb_release(inp);
    return 0;
}

static struct file *file_of(const struct file_ops *ops, void *of, uint32_t type)
{
    return file_create(ops, of, FILE_READ | FILE_WRITE, type & USER_SOCK_NONBLOCK ? O_NONBLOCK : 0);
}

static int open_file(struct process *p, struct file *f, uint32_t type)
{
    int fd = descriptor_open(descriptors_of(p), f, 0, type & USER_SOCK_CLOEXEC);
    if (fd < 0)
        file_release(f);
    return fd;
}

/* A descriptor for a socket, whose reference it takes over; on an error, ends the connection and releases it. */
static int open_descriptor(struct process *p, struct socket *so, uint32_t type)
{
    struct file *f = file_of(&socket_ops, so, type);
    if (!f) {
        inet_call(so, abandon, 0);
        return -ENOMEM;
    }
    return open_file(p, f, type);
}

static int open_datagram(struct process *p, uint32_t type, bool raw)
{
    struct datagram *d = raw ? datagram_create_raw() : datagram_create();
    struct file *f = d ? file_of(&datagram_ops, d, type) : 0;
    if (d && !f)
        datagram_destroy(d);
    return f ? open_file(p, f, type) : d ? -ENOMEM : -ENOBUFS;
}

static int sys_socket(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    if (a[0] != USER_AF_INET)
        return -EAFNOSUPPORT;
    uint32_t type = a[1] & ~(USER_SOCK_NONBLOCK | USER_SOCK_CLOEXEC);
    if (!(type == USER_SOCK_STREAM && (!a[2] || a[2] == IPPROTO_TCP)) &&
        !(type == USER_SOCK_DGRAM && (!a[2] || a[2] == IPPROTO_UDP)) &&
        !(type == USER_SOCK_RAW && a[2] == IPPROTO_ICMP))
        return -EPROTONOSUPPORT;
    int error = start_network();
    if (error)
        return error;
    if (type != USER_SOCK_STREAM)
        return open_datagram(p, a[1], type == USER_SOCK_RAW);
    struct socket *so = so_create();
    return so ? open_descriptor(p, so, a[1]) : -ENOBUFS;
}
SYSCALL(SYS_SOCKET, sys_socket);

/* Creates both ends, with their descriptors at a[3]. The network is not started for them. */
static int sys_socketpair(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct file *end[2];
    if (a[0] != USER_AF_UNIX)
        return a[0] == USER_AF_INET ? -EOPNOTSUPP : -EAFNOSUPPORT;
    if ((a[1] & ~(USER_SOCK_NONBLOCK | USER_SOCK_CLOEXEC)) != USER_SOCK_STREAM || a[2] > 1)
        return -EPROTONOSUPPORT;
    int error = pair_create(end, a[1] & USER_SOCK_NONBLOCK ? O_NONBLOCK : 0);
    return error ? error : descriptor_open_both(descriptors_of(p), map, a[3], end, a[1] & USER_SOCK_CLOEXEC);
}
SYSCALL(SYS_SOCKETPAIR, sys_socketpair);

static int bind_to(struct socket *so, void *arg)
{
    const struct user_sockaddr_in *to = arg;
    return tcp_bind(so->tcb, ip_of(to), port_of(to));
}

static int bind_stream(const struct call *c)
{
    struct user_sockaddr_in to;
    int error = address_in(c->map, c->a[1], c->a[2], &to);
    return error ? error : on_connection(c->so, bind_to, &to);
}

static int bind_datagram(const struct call *c)
{
    struct user_sockaddr_in to;
    int error = address_in(c->map, c->a[1], c->a[2], &to);
    return error ? error : datagram_bind(c->datagram, ip_of(&to), port_of(&to));
}
SOCKET_CALL(SYS_BIND, bind, bind_stream, bind_datagram, is_not_for_it);

static int begin_to_listen(struct socket *so, void *arg)
{
    const int *wanted = arg;
    so_lock(&so->lock);
    so->backlog = *wanted < 1 ? 1 : MIN((uint32_t)*wanted, SO_BACKLOG_MOST);
    so_unlock(&so->lock);
    int error = tcp_listen(so->tcb);
    if (error)
        return error;
    so_lock(&so->lock);
    so->state |= SS_LISTENS;
    so_unlock(&so->lock);
    return 0;
}

static int listen_stream(const struct call *c)
{
    return on_connection(c->so, begin_to_listen, &(int){(int)c->a[1]});
}
SOCKET_CALL(SYS_LISTEN, listen, listen_stream, is_not_for_it, is_not_for_it);

/* The next connection of the queue, with the queue's reference; 0: the error is in *error. */
static struct socket *next_connection(struct socket *so, const struct file *f, int *error)
{
    struct socket *of = 0;
    struct waiting w;
    *error = 0;
    so_waiting(so, &w, !(f->flags & O_NONBLOCK), true);
    inet_enter();
    so_lock(&so->lock);
    if (!(so->state & SS_LISTENS))
        *error = -EINVAL;
    while (!*error && STAILQ_EMPTY(&so->queue))
        *error = so_wait(so, &w);
    if (!*error) {
        of = STAILQ_FIRST(&so->queue);
        STAILQ_REMOVE_HEAD(&so->queue, queue_link);
        so->queued--;
    }
    so_unlock(&so->lock);
    inet_leave();
    waiting_end(&w);
    return of;
}

static void has_descriptor(struct socket *so, bool has)
{
    so_lock(&so->lock);
    so->state = has ? so->state & ~SS_NO_DESCRIPTOR : so->state | SS_NO_DESCRIPTOR;
    so_unlock(&so->lock);
}

/* Puts a connection that gets no descriptor back at the head of its queue. */
static void accept_put_back(struct socket *so, struct socket *of, struct file *f)
{
    if (f) {
        f->data = 0; /* so that closing it does not close the socket */
        file_release(f);
    }
    has_descriptor(of, false);
    so_lock(&so->lock);
    STAILQ_INSERT_HEAD(&so->queue, of, queue_link);
    so->queued++;
    so_changed(so);
    so_unlock(&so->lock);
}

static int accepted(const struct call *c, struct socket *of)
{
    const struct inpcb *inp = &of->tcb->inp;
    struct user_sockaddr_in from = address_of(inp->faddr, inp->fport);
    struct file *f = file_of(&socket_ops, of, c->a[3]);
    has_descriptor(of, true);
    int fd = f ? descriptor_open(descriptors_of(c->process), f, 0, c->a[3] & USER_SOCK_CLOEXEC) : -ENOMEM;
    if (fd < 0) {
        accept_put_back(c->so, of, f);
        return fd;
    }
    int error = address_out(c->map, c->a[1], c->a[2], &from, sizeof from);
    if (error)
        descriptor_close(descriptors_of(c->process), (uint32_t)fd);
    return error ? error : fd;
}

static int accept_stream(const struct call *c)
{
    int error;
    if (c->a[3] & ~(USER_SOCK_NONBLOCK | USER_SOCK_CLOEXEC))
        return -EINVAL;
    struct socket *of = next_connection(c->so, c->file, &error);
    inet_enter();
    int fd = of ? accepted(c, of) : error;
    inet_leave();
    return fd;
}
SOCKET_CALL(SYS_ACCEPT, accept, accept_stream, is_not_for_it, is_not_for_it);

/*
 * Waits until it is connected, or failed; a call after an interrupted one waits for that one's connection. `unless`:
 * the error if it does not wait so long.
 */
static int wait_for_connection(struct socket *so, struct waiting *w, int unless)
{
    int error = 0;
    so_lock(&so->lock);
    while (!error && so->state & SS_CONNECTING)
        if ((error = so_wait(so, w)))
            error = error == -EAGAIN ? unless : -EINTR;
    if (!error && !(so->state & SS_CONNECTED)) {
        error = so->error ? so->error : -ECONNABORTED;
        so->error = 0;
    }
    so_unlock(&so->lock);
    return error;
}

static int begin_connection(struct socket *so, void *arg)
{
    const struct user_sockaddr_in *to = arg;
    so_lock(&so->lock);
    uint32_t was = so->state;
    if (!(was & (SS_CONNECTED | SS_CANTSEND)))
        so->state |= SS_CONNECTING; /* before an answer can come */
    so_unlock(&so->lock);
    int error = tcp_connect(so->tcb, ip_of(to), port_of(to));
    if (error && error != -EALREADY) {
        so_lock(&so->lock);
        so->state &= ~(SS_CONNECTING & ~was);
        so_unlock(&so->lock);
    }
    return error;
}

static int connect_stream(const struct call *c)
{
    struct user_sockaddr_in to;
    int error = address_in(c->map, c->a[1], c->a[2], &to);
    if (error)
        return error;
    struct waiting w;
    so_waiting(c->so, &w, !(c->file->flags & O_NONBLOCK), false);
    inet_enter();
    error = on_connection(c->so, begin_connection, &to);
    if (!error || (error == -EALREADY && !(c->file->flags & O_NONBLOCK)))
        error = wait_for_connection(c->so, &w, error ? error : -EINPROGRESS);
    inet_leave();
    waiting_end(&w);
    return error;
}

static int connect_datagram(const struct call *c)
{
    struct user_sockaddr_in to;
    int error = address_in(c->map, c->a[1], c->a[2], &to);
    if (error == -EAFNOSUPPORT && to.family == USER_AF_UNSPEC)
        return datagram_connect(c->datagram, 0, 0);
    return error ? error : datagram_connect(c->datagram, ip_of(&to), port_of(&to));
}
SOCKET_CALL(SYS_CONNECT, connect, connect_stream, connect_datagram, is_not_for_it);

static int socket_shut_down(struct socket *so, void *arg)
{
    const uint32_t *how = arg;
    so_lock(&so->lock);
    bool connected = so->state & SS_CONNECTED;
    bool sends = connected && *how != USER_SHUT_RD && !(so->state & SS_CANTSEND);
    if (connected && *how != USER_SHUT_WR)
        so->state |= SS_CANTRECEIVE;
    if (sends)
        so->state |= SS_CANTSEND;
    if (connected)
        so_changed(so);
    so_unlock(&so->lock);
    if (sends && !so->tcb->inp.closing)
        tcp_user_closed(so->tcb, false);
    return connected ? 0 : -ENOTCONN;
}

static int shutdown_stream(const struct call *c)
{
    return c->a[1] > USER_SHUT_RDWR ? -EINVAL : on_connection(c->so, socket_shut_down, &(uint32_t){c->a[1]});
}

static int shutdown_datagram(const struct call *c)
{
    uint32_t how = c->a[1];
    return how > USER_SHUT_RDWR ? -EINVAL : datagram_shut(c->datagram, how != USER_SHUT_WR, how != USER_SHUT_RD);
}
static int shutdown_pair(const struct call *c)
{
    uint32_t how = c->a[1];
    return how > USER_SHUT_RDWR ? -EINVAL : pair_shut(c->pair, how != USER_SHUT_WR, how != USER_SHUT_RD);
}
SOCKET_CALL(SYS_SHUTDOWN, shutdown, shutdown_stream, shutdown_datagram, shutdown_pair);

static int own_name(struct socket *so, void *arg)
{
    const struct inpcb *inp = &so->tcb->inp;
    *(struct user_sockaddr_in *)arg = address_of(inp->laddr, inp->lport);
    return 0;
}

static int peer_name(struct socket *so, void *arg)
{
    const struct inpcb *inp = &so->tcb->inp;
    *(struct user_sockaddr_in *)arg = address_of(inp->faddr, inp->fport);
    return inp->fport ? 0 : -ENOTCONN;
}

static int name_out(const struct call *c, inet_fn *which)
{
    struct user_sockaddr_in name;
    int error = on_connection(c->so, which, &name);
    return error ? error : address_out(c->map, c->a[1], c->a[2], &name, sizeof name);
}

/* An end of a pair has no name: only its family is returned. */
static int name_of_pair(const struct call *c)
{
    uint16_t family = USER_AF_UNIX;
    return address_out(c->map, c->a[1], c->a[2], &family, sizeof family);
}

static int getsockname_stream(const struct call *c)
{
    return name_out(c, own_name);
}

static int getsockname_datagram(const struct call *c)
{
    struct ends of = datagram_ends(c->datagram);
    struct user_sockaddr_in name = address_of(of.laddr, of.lport);
    return address_out(c->map, c->a[1], c->a[2], &name, sizeof name);
}
SOCKET_CALL(SYS_GETSOCKNAME, getsockname, getsockname_stream, getsockname_datagram, name_of_pair);

static int getpeername_stream(const struct call *c)
{
    return name_out(c, peer_name);
}

static int getpeername_datagram(const struct call *c)
{
    struct ends of = datagram_ends(c->datagram);
    struct user_sockaddr_in name = address_of(of.faddr, of.fport);
    return of.fport ? address_out(c->map, c->a[1], c->a[2], &name, sizeof name) : -ENOTCONN;
}
SOCKET_CALL(SYS_GETPEERNAME, getpeername, getpeername_stream, getpeername_datagram, name_of_pair);

/* Whether the call may wait, by its flags, among which `others` are allowed; else -EOPNOTSUPP. */
static int call_waits(const struct call *c, uint32_t others)
{
    uint32_t flags = c->a[3];
    return flags & ~(USER_MSG_DONTWAIT | others) ? -EOPNOTSUPP
                                                 : !(flags & USER_MSG_DONTWAIT) && !(c->file->flags & O_NONBLOCK);
}

/* On a connection the address is ignored, as in Linux. */
static int send_bytes(const struct call *c)
{
    struct transfer t = {.map = c->map, .at = c->a[1], .left = MIN(c->a[2], INT32_MAX)};
    bool urgent = c->so && c->a[3] & USER_MSG_OOB;
    int waits = call_waits(c, USER_MSG_NOSIGNAL | (urgent ? USER_MSG_OOB : 0));
    int n = waits < 0 ? waits : c->so ? so_send(c->so, &t, waits, urgent) : pair_send(c->pair, &t, waits);
    if (n == -EPIPE && !(c->a[3] & USER_MSG_NOSIGNAL))
        file_broken_pipe();
    return n;
}

static int receive_bytes(const struct call *c)
{
    struct transfer t = {.map = c->map, .at = c->a[1], .left = MIN(c->a[2], INT32_MAX)};
    bool urgent = c->so && c->a[3] & USER_MSG_OOB;
    int waits = call_waits(c, USER_MSG_PEEK | USER_MSG_WAITALL | (urgent ? USER_MSG_OOB : 0));
    bool peek = c->a[3] & USER_MSG_PEEK, all = c->a[3] & USER_MSG_WAITALL;
    if (waits < 0)
        return waits;
    if (urgent)
        return so_receive_urgent(c->so, &t, peek);
    return c->so ? so_receive(c->so, &t, waits, peek, all) : pair_receive(c->pair, &t, waits, peek, all);
}

/* To the address, if there is one. */
static int sendto_datagram(const struct call *c)
{
    struct user_sockaddr_in to = {0};
    struct transfer t = {.map = c->map, .at = c->a[1], .left = c->a[2]};
    int error = c->a[4] ? address_in(c->map, c->a[4], c->a[5], &to) : 0;
    int waits = call_waits(c, USER_MSG_NOSIGNAL); /* it never waits */
    if (!error && waits < 0)
        error = waits;
    if (!error && c->a[4] && !ip_of(&to))
        error = -EINVAL;
    return error ? error : datagram_send(c->datagram, &t, ip_of(&to), port_of(&to));
}
SOCKET_CALL(SYS_SENDTO, sendto, send_bytes, sendto_datagram, send_bytes);

static int recvfrom_datagram(const struct call *c)
{
    struct ends from = {0};
    struct transfer t = {.map = c->map, .at = c->a[1], .left = c->a[2]};
    int waits = call_waits(c, USER_MSG_PEEK | USER_MSG_WAITALL); /* returns one datagram */
    int n = waits < 0 ? waits : datagram_receive(c->datagram, &t, &from, waits, c->a[3] & USER_MSG_PEEK);
    struct user_sockaddr_in name = address_of(from.faddr, from.fport);
    int error = n >= 0 ? address_out(c->map, c->a[4], c->a[5], &name, sizeof name) : n;
    return error ? error : n;
}
SOCKET_CALL(SYS_RECVFROM, recvfrom, receive_bytes, recvfrom_datagram, receive_bytes);

struct option {
    uint32_t level, name;
    union {
        int number;
        struct user_timeval time;
        struct user_linger linger;
    } value;
    bool set;
};

static int do_option(struct socket *so, void *arg)
{
    struct option *o = arg;
    return so_option(so, o->level, o->name, &o->value, o->set);
}

static int option(const struct call *c, struct option *o)
{
    return c->so     ? on_connection(c->so, do_option, o)
           : c->pair ? pair_option(c->pair, o->level, o->name, &o->value, o->set)
                     : datagram_option(c->datagram, o->level, o->name, &o->value, o->set);
}

static int set_option(const struct call *c)
{
    struct option o = {.level = c->a[1], .name = c->a[2], .set = true};
    uint32_t bytes = so_option_bytes(o.level, o.name);
    if (c->a[4] < bytes)
        return -EINVAL;
    int error = copyin(c->map, &o.value, c->a[3], bytes);
    return error ? error : option(c, &o);
}
SOCKET_CALL(SYS_SETSOCKOPT, setsockopt, set_option, set_option, set_option);

static int get_option(const struct call *c)
{
    struct option o = {.level = c->a[1], .name = c->a[2]};
    uint32_t length, bytes = so_option_bytes(o.level, o.name);
    int error = copyin(c->map, &length, c->a[4], sizeof length);
    if (!error && length < bytes)
        error = -EINVAL;
    if (!error)
        error = option(c, &o);
    length = bytes;
    if (!error)
        error = copyout(c->map, c->a[3], &o.value, bytes);
    return error ? error : copyout(c->map, c->a[4], &length, sizeof length);
}
SOCKET_CALL(SYS_GETSOCKOPT, getsockopt, get_option, get_option, get_option);
