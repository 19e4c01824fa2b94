/*
 * System calls on sockets (user/abi.h). The first socket starts the interface and TCP's timers. Internet addresses only, streams only;
 * what there is not is -EPROTONOSUPPORT, -EAFNOSUPPORT, -ENOPROTOOPT or -EOPNOTSUPP.
 */
#include <errno.h>
#include <fcntl.h>

#include "dev/clock.h"
#include "file/descriptors.h"
#include "lock/lock.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "net/net.h"
#include "net/socket.h"
#include "net/tcp.h"

#define LEAST_HZ 10 /* of the clock: TCP's fast timer runs at 5 */

DEFINE_MUTEX(start_lock, "network start");

static int start_network(void)
{
    static bool started;
    if (!if_ether_in_threads)
        return -EPROTONOSUPPORT; /* what takes blocking locks runs in threads (build option net) */
    if (clock_hz() < LEAST_HZ)
        return -EINVAL; /* without a clock there are no timers */
    mutex_lock(&start_lock);
    if (!started) {
        if_ether_start();
        tcp_timers_start();
        started = true;
    }
    mutex_unlock(&start_lock);
    return 0;
}

/* The socket of a descriptor, and its file with a reference; 0: *error says why. */
static struct socket *socket_of(struct process *p, uint32_t fd, struct file **f, int *error)
{
    *f = descriptor_file(descriptors_of(p), fd);
    *error = *f ? 0 : -EBADF;
    if (*f && (*f)->ops != &socket_ops) {
        file_release(*f);
        *error = -ENOTSOCK;
    }
    return *error ? 0 : (*f)->data;
}

static int address_in(struct vm_map *map, uint32_t at, uint32_t length, struct user_sockaddr_in *to)
{
    if (length < sizeof *to)
        return -EINVAL;
    int error = copyin(map, to, at, sizeof *to);
    return error ? error : to->family == USER_AF_INET ? 0 : -EAFNOSUPPORT;
}

static struct user_sockaddr_in address_of(uint32_t ip, uint32_t port)
{
    struct user_sockaddr_in of = {.family = USER_AF_INET};
    put16((uint8_t *)&of.port, port);
    put32((uint8_t *)&of.address, ip);
    return of;
}

/* To `at`, of the length that stands at `length_at`, which becomes the address's own; nowhere if `at` is 0. */
static int address_out(struct vm_map *map, uint32_t at, uint32_t length_at, const struct user_sockaddr_in *from)
{
    uint32_t length;
    if (!at)
        return 0;
    int error = copyin(map, &length, length_at, sizeof length);
    if (!error && (int32_t)length < 0)
        error = -EINVAL;
    if (!error)
        error = copyout(map, at, from, length < sizeof *from ? length : sizeof *from);
    length = sizeof *from;
    return error ? error : copyout(map, length_at, &length, sizeof length);
}

/* A descriptor for a socket, whose reference becomes its; or it goes, and so does the connection. */
static int open_descriptor(struct process *p, struct socket *so, uint32_t type)
{
    struct file *f = file_create(&socket_ops, so, FILE_READ | FILE_WRITE, type & USER_SOCK_NONBLOCK ? O_NONBLOCK : 0);
    if (!f) {
        struct inpcb *inp = &so->tcb->inp;
        pcb_lock(&inp->lock);
        if (!inp->closing)
            tcp_abort(so->tcb, 0);
        pcb_unlock(&inp->lock);
        in_pcb_release(inp);
        return -ENOMEM;
    }
    int fd = descriptor_open(descriptors_of(p), f, 0, type & USER_SOCK_CLOEXEC);
    if (fd < 0)
        file_release(f);
    return fd;
}

static int sys_socket(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    if (a[0] != USER_AF_INET)
        return -EAFNOSUPPORT;
    if ((a[1] & ~(USER_SOCK_NONBLOCK | USER_SOCK_CLOEXEC)) != USER_SOCK_STREAM || (a[2] && a[2] != IPPROTO_TCP))
        return -EPROTONOSUPPORT;
    int error = start_network();
    if (error)
        return error;
    struct socket *so = so_create();
    return so ? open_descriptor(p, so, a[1]) : -ENOBUFS;
}
SYSCALL(SYS_SOCKET, sys_socket);

static int sys_bind(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_sockaddr_in to;
    struct file *f;
    int error;
    struct socket *so = socket_of(p, a[0], &f, &error);
    if (!so)
        return error;
    error = address_in(map, a[1], a[2], &to);
    if (!error) {
        inet_enter();
        pcb_lock(&so->tcb->inp.lock);
        error = tcp_bind(so->tcb, get32((const uint8_t *)&to.address), get16((const uint8_t *)&to.port));
        pcb_unlock(&so->tcb->inp.lock);
        inet_leave();
    }
    file_release(f);
    return error;
}
SYSCALL(SYS_BIND, sys_bind);

static int sys_listen(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct file *f;
    int error, wanted = (int)a[1];
    struct socket *so = socket_of(p, a[0], &f, &error);
    if (!so)
        return error;
    inet_enter();
    pcb_lock(&so->tcb->inp.lock);
    so_lock(&so->lock);
    so->backlog = wanted < 1 ? 1 : wanted > SO_BACKLOG_MOST ? SO_BACKLOG_MOST : (uint32_t)wanted;
    so_unlock(&so->lock);
    error = tcp_listen(so->tcb);
    if (!error) {
        so_lock(&so->lock);
        so->state |= SS_LISTENS;
        so_unlock(&so->lock);
    }
    pcb_unlock(&so->tcb->inp.lock);
    inet_leave();
    file_release(f);
    return error;
}
SYSCALL(SYS_LISTEN, sys_listen);

/* The next connection of the queue, with the queue's reference; 0: *error says why. */
static struct socket *next_connection(struct socket *so, const struct file *f, int *error)
{
    struct socket *of = 0;
    *error = 0;
    so_lock(&so->lock);
    if (!(so->state & SS_LISTENS))
        *error = -EINVAL;
    while (!*error && !so->queue_first)
        *error = f->flags & O_NONBLOCK ? -EAGAIN : so_wait(so);
    if (!*error) {
        of = so->queue_first;
        so->queue_first = of->queue_next;
        if (!so->queue_first)
            so->queue_end = &so->queue_first;
        so->queued--;
    }
    so_unlock(&so->lock);
    return of;
}

static int sys_accept(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct file *f;
    int error, fd = 0;
    struct socket *so = socket_of(p, a[0], &f, &error);
    if (!so)
        return error;
    inet_enter();
    struct socket *of = next_connection(so, f, &error);
    if (of) {
        struct inpcb *inp = &of->tcb->inp;
        struct user_sockaddr_in from = address_of(inp->faddr, inp->fport);
        so_lock(&of->lock);
        of->state &= ~SS_NO_DESCRIPTOR;
        so_unlock(&of->lock);
        fd = open_descriptor(p, of, 0);
        error = fd < 0 ? fd : address_out(map, a[1], a[2], &from);
        if (fd >= 0 && error)
            descriptor_close(descriptors_of(p), (uint32_t)fd);
    }
    inet_leave();
    file_release(f);
    return error ? error : fd;
}
SYSCALL(SYS_ACCEPT, sys_accept);

/* Until it is connected or not; a second call after an interrupted one waits for the first one's connection. */
static int wait_for_connection(struct socket *so, const struct file *f)
{
    int error = 0;
    so_lock(&so->lock);
    while (!error && so->state & SS_CONNECTING)
        error = f->flags & O_NONBLOCK ? -EINPROGRESS : so_wait(so) ? -EINTR : 0;
    if (!error && !(so->state & SS_CONNECTED)) {
        error = so->error ? so->error : -ECONNABORTED;
        so->error = 0;
    }
    so_unlock(&so->lock);
    return error;
}

static int sys_connect(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct user_sockaddr_in to;
    struct file *f;
    int error;
    struct socket *so = socket_of(p, a[0], &f, &error);
    if (!so)
        return error;
    error = address_in(map, a[1], a[2], &to);
    if (!error) {
        inet_enter();
        pcb_lock(&so->tcb->inp.lock);
        so_lock(&so->lock);
        uint32_t was = so->state;
        if (!(was & (SS_CONNECTED | SS_CANTSEND)))
            so->state |= SS_CONNECTING; /* before an answer can come */
        so_unlock(&so->lock);
        error = tcp_connect(so->tcb, get32((const uint8_t *)&to.address), get16((const uint8_t *)&to.port));
        if (error && error != -EALREADY) {
            so_lock(&so->lock);
            so->state &= ~(SS_CONNECTING & ~was);
            so_unlock(&so->lock);
        }
        pcb_unlock(&so->tcb->inp.lock);
        if (!error)
            error = wait_for_connection(so, f);
        inet_leave();
    }
    file_release(f);
    return error;
}
SYSCALL(SYS_CONNECT, sys_connect);

static int sys_shutdown(struct process *p, struct vm_map *map, const uint32_t *a)
{
    (void)map;
    struct file *f;
    int error;
    struct socket *so = socket_of(p, a[0], &f, &error);
    if (!so)
        return error;
    inet_enter();
    pcb_lock(&so->tcb->inp.lock);
    so_lock(&so->lock);
    if (a[1] > USER_SHUT_RDWR)
        error = -EINVAL;
    else if (!(so->state & SS_CONNECTED))
        error = -ENOTCONN;
    bool sends = !error && a[1] != USER_SHUT_RD && !(so->state & SS_CANTSEND);
    if (!error && a[1] != USER_SHUT_WR)
        so->state |= SS_CANTRECEIVE;
    if (sends)
        so->state |= SS_CANTSEND;
    if (!error)
        so_changed(so);
    so_unlock(&so->lock);
    if (sends && !so->tcb->inp.closing)
        tcp_user_closed(so->tcb, false);
    pcb_unlock(&so->tcb->inp.lock);
    inet_leave();
    file_release(f);
    return error;
}
SYSCALL(SYS_SHUTDOWN, sys_shutdown);

static int name_of(struct process *p, struct vm_map *map, const uint32_t *a, bool peer)
{
    struct file *f;
    int error;
    struct socket *so = socket_of(p, a[0], &f, &error);
    if (!so)
        return error;
    inet_enter();
    pcb_lock(&so->tcb->inp.lock);
    const struct inpcb *inp = &so->tcb->inp;
    struct user_sockaddr_in of = peer ? address_of(inp->faddr, inp->fport) : address_of(inp->laddr, inp->lport);
    if (peer && !inp->fport)
        error = -ENOTCONN;
    pcb_unlock(&so->tcb->inp.lock);
    inet_leave();
    file_release(f);
    return error ? error : address_out(map, a[1], a[2], &of);
}

static int sys_getsockname(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return name_of(p, map, a, false);
}
SYSCALL(SYS_GETSOCKNAME, sys_getsockname);

static int sys_getpeername(struct process *p, struct vm_map *map, const uint32_t *a)
{
    return name_of(p, map, a, true);
}
SYSCALL(SYS_GETPEERNAME, sys_getpeername);

static int sys_setsockopt(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct file *f;
    int error, value = 0;
    struct socket *so = socket_of(p, a[0], &f, &error);
    if (!so)
        return error;
    if (a[1] != IPPROTO_TCP || a[2] != USER_TCP_NODELAY)
        error = -ENOPROTOOPT;
    else if (a[4] < sizeof value)
        error = -EINVAL;
    else
        error = copyin(map, &value, a[3], sizeof value);
    if (!error) {
        inet_enter();
        so_lock(&so->lock);
        so->no_delay = value;
        so_unlock(&so->lock);
        inet_leave();
    }
    file_release(f);
    return error;
}
SYSCALL(SYS_SETSOCKOPT, sys_setsockopt);

static int sys_getsockopt(struct process *p, struct vm_map *map, const uint32_t *a)
{
    struct file *f;
    int error, value = 0;
    uint32_t length = 0;
    struct socket *so = socket_of(p, a[0], &f, &error);
    if (!so)
        return error;
    bool of_error = a[1] == USER_SOL_SOCKET && a[2] == USER_SO_ERROR;
    if (!of_error && (a[1] != IPPROTO_TCP || a[2] != USER_TCP_NODELAY))
        error = -ENOPROTOOPT;
    if (!error)
        error = copyin(map, &length, a[4], sizeof length);
    if (!error && length < sizeof value)
        error = -EINVAL;
    if (!error) {
        inet_enter();
        so_lock(&so->lock);
        value = of_error ? -so->error : so->no_delay;
        if (of_error)
            so->error = 0;
        so_unlock(&so->lock);
        inet_leave();
        length = sizeof value;
        error = copyout(map, a[3], &value, sizeof value);
        if (!error)
            error = copyout(map, a[4], &length, sizeof length);
    }
    file_release(f);
    return error;
}
SYSCALL(SYS_GETSOCKOPT, sys_getsockopt);
