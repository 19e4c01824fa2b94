/* The network's work is done where it arises (direct.h). */
#include <errno.h>

#include "net/socket.h"
#include "net/tcp.h"

int inet_call(struct socket *so, inet_fn *fn, void *arg)
{
    inet_enter();
    int error = fn(so, arg);
    inet_leave();
    return error;
}

void inet_output(struct socket *so)
{
    struct inpcb *inp = &so->tcb->inp;
    inet_enter();
    pcb_lock(&inp->lock);
    tcp_output(so->tcb);
    pcb_unlock(&inp->lock);
    inet_leave();
}

int inet_send(struct socket *so, struct mbuf *chain, bool urgent)
{
    so_lock(&so->lock);
    bool sends = so_append(so, chain, urgent);
    so_unlock(&so->lock);
    if (!sends)
        return -EPIPE;
    inet_output(so);
    return 0;
}

void inet_round(void (*fn)(unsigned database, void *arg), void *arg)
{
    inet_enter();
    fn(0, arg);
    inet_leave();
}
