/* Options of sockets (socket.h). */
#include <errno.h>

#include "lib/minmax.h"
#include "net/in.h"
#include "net/socket.h"
#include "net/tcp.h"
#include "user/abi.h"

#define KEEP_SECONDS_MOST 32767
#define KEEP_COUNT_MOST 127

/* A number that may be set from 1 to `most`, and is stored multiplied by `scale`. */
static int option_number(uint32_t *kept, int *value, bool set, uint32_t most, uint32_t scale)
{
    if (!set)
        *value = (int)(*kept / scale);
    else if (*value < 1 || (uint32_t)*value > most)
        return -EINVAL;
    else
        *kept = (uint32_t)*value * scale;
    return 0;
}

static int flag(bool *kept, int *value, bool set)
{
    if (set)
        *kept = *value;
    else
        *value = *kept;
    return 0;
}

static int told(int *value, bool set, int is)
{
    if (set)
        return -ENOPROTOOPT;
    *value = is;
    return 0;
}

/* A buffer's size: room that bytes, or an announced window, already use is not withdrawn. */
static int size(struct socket *so, struct sockbuf *sb, int *value, bool set)
{
    if (!set) {
        *value = (int)sb->hiwat;
        return 0;
    }
    if (*value < 1)
        return -EINVAL;
    uint32_t wanted = MAX(MIN((uint32_t)*value, SO_BUFFER_MOST), SO_BUFFER_LEAST);
    bool begun = so->state & (SS_CONNECTED | SS_CONNECTING);
    sb->hiwat = begun ? MAX(sb->hiwat, wanted) : wanted;
    return 0;
}

static int keep_alive(struct socket *so, int *value, bool set)
{
    int error = flag(&so->keep_alive, value, set);
    if (set)
        tcp_keep_alive(so->tcb);
    return error;
}

static int error_of(struct socket *so, int *value, bool set)
{
    int error = told(value, set, -so->error);
    if (!error)
        so->error = 0;
    return error;
}

static int of_socket(struct socket *so, uint32_t name, void *value, bool set)
{
    switch (name) {
    case USER_SO_ACCEPTCONN: return told(value, set, !!(so->state & SS_LISTENS));
    case USER_SO_REUSEADDR: return flag(&so->reuse_address, value, set);
    case USER_SO_KEEPALIVE: return keep_alive(so, value, set);
    case USER_SO_OOBINLINE: return flag(&so->urgent_inline, value, set);
    case USER_SO_SNDBUF: return size(so, &so->snd, value, set);
    case USER_SO_RCVBUF: return size(so, &so->rcv, value, set);
    case USER_SO_ERROR: return error_of(so, value, set);
    case USER_SO_TYPE: return told(value, set, USER_SOCK_STREAM);
    default: return so_limits_option(&so->limits, name, value, set);
    }
}

static int of_tcp(struct socket *so, uint32_t name, int *value, bool set)
{
    struct tcpcb *tp = so->tcb;
    switch (name) {
    case USER_TCP_NODELAY: return flag(&so->no_delay, value, set);
    case USER_TCP_MAXSEG: return told(value, set, (int)tp->mss);
    case USER_TCP_KEEPIDLE: return option_number(&tp->keep_idle, value, set, KEEP_SECONDS_MOST, TCP_SLOW_HZ);
    case USER_TCP_KEEPINTVL: return option_number(&tp->keep_interval, value, set, KEEP_SECONDS_MOST, TCP_SLOW_HZ);
    case USER_TCP_KEEPCNT: return option_number(&tp->keep_count, value, set, KEEP_COUNT_MOST, 1);
    default: return -ENOPROTOOPT;
    }
}

int so_option(struct socket *so, uint32_t level, uint32_t name, void *value, bool set)
{
    int error = -ENOPROTOOPT;
    so_lock(&so->lock);
    if (level == USER_SOL_SOCKET)
        error = of_socket(so, name, value, set);
    else if (level == IPPROTO_TCP)
        error = of_tcp(so, name, value, set);
    so_unlock(&so->lock);
    return error;
}
