/* TCP: begin and end of connections, at their sockets' request (RFC 9293, 3.10). */
#include <errno.h>

#include "arch/csr.h"
#include "mem/zone.h"
#include "net/in.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/route.h"
#include "net/socket.h"
#include "net/tcp.h"

#define MSS_OWN (IP_MTU - IP_HEADER - TCP_HEADER)
#define ISS_CYCLES_SHIFT 8 /* RFC 6528: about 4 us per number */

DEFINE_ZONE(tcpcbs, "tcpcb", sizeof(struct tcpcb), _Alignof(struct tcpcb), SPL_SOFTPREEMPT, 0);

struct tcpcb *tcp_create(void)
{
    struct tcpcb *tp = zone_alloc(&tcpcbs);
    if (!tp)
        return 0;
    *tp = (struct tcpcb){.inp.references = 1,
                         .mss = MSS_OWN,
                         .rto = TCP_RTO_FIRST,
                         .ssthresh = TCP_WINDOW_MOST << TCP_SCALE_MOST,
                         .keep_idle = TCP_KEEP_IDLE,
                         .keep_interval = TCP_KEEP_INTERVAL,
                         .keep_count = TCP_KEEP_COUNT};
    STAILQ_INIT(&tp->reassembly);
    pcb_mutex_init(&tp->inp.lock);
    return tp;
}

static void forget_segments(struct tcpcb *tp)
{
    m_free_chain(STAILQ_FIRST(&tp->reassembly));
    STAILQ_INIT(&tp->reassembly);
    tp->reassembled = 0;
}

uint32_t tcp_in_use(void)
{
    return zone_counts(&tcpcbs).in_use;
}

void tcp_free(struct tcpcb *tp)
{
    forget_segments(tp);
    zone_free(&tcpcbs, tp);
}

void tcp_init_send(struct tcpcb *tp)
{
    tp->iss = (uint32_t)(cycles64() >> ISS_CYCLES_SHIFT) + in_pcb_hash(&tp->inp, 0);
    tp->snd_una = tp->snd_nxt = tp->snd_max = tp->recover = tp->high_rxt = tp->iss;
    tp->cwnd = tp->mss;
    tp->time_offset = in_pcb_hash(&tp->inp, 3); /* RFC 7323, 7.1 */
    tcp_choose_scale(tp);
}

void tcp_close(struct tcpcb *tp, int error)
{
    struct socket *listening = tp->listening;
    tp->state = TCPS_CLOSED;
    tp->listening = 0;
    tcp_cancel_timers(tp);
    forget_segments(tp);
    in_pcb_remove(&tp->inp);
    so_is_disconnected(tp->inp.so, error);
    if (listening) {
        so_unreserve(listening);
        in_pcb_release((struct inpcb *)listening->tcb);
    }
}

void tcp_abort(struct tcpcb *tp, int error)
{
    struct tcp_ends ends = {tp->inp.laddr, tp->inp.faddr, tp->inp.lport, tp->inp.fport};
    if (tp->state >= TCPS_SYN_RECEIVED && tp->state != TCPS_TIME_WAIT)
        tcp_respond(&ends, tp->snd_max, tp->rcv_nxt, TH_RST | TH_ACK, 0);
    tcp_close(tp, error);
}

int tcp_bind(struct tcpcb *tp, uint32_t laddr, uint32_t lport)
{
    if (tp->inp.lport || tp->state != TCPS_CLOSED)
        return -EINVAL;
    if (laddr && !loop_has(laddr))
        return -EADDRNOTAVAIL;
    if (!lport) {
        int error = in_pcb_choose_port(&tp->inp);
        if (error)
            return error;
        lport = tp->inp.lport;
        tp->inp.lport = 0;
    }
    return in_pcb_insert(&tp->inp, laddr, lport, 0, 0);
}

int tcp_listen(struct tcpcb *tp)
{
    int error = tp->inp.lport ? 0 : tcp_bind(tp, 0, 0);
    if (error || tp->state == TCPS_LISTEN)
        return error;
    if (tp->state != TCPS_CLOSED || tp->inp.closing)
        return -EINVAL;
    tp->state = TCPS_LISTEN;
    return 0;
}

int tcp_connect(struct tcpcb *tp, uint32_t faddr, uint32_t fport)
{
    if (tp->state == TCPS_LISTEN)
        return -EOPNOTSUPP;
    if (tp->state == TCPS_CLOSED && tp->inp.closing)
        return -EINVAL; /* its connection has ended */
    if (tp->state != TCPS_CLOSED)
        return tp->state == TCPS_SYN_SENT || tp->state == TCPS_SYN_RECEIVED ? -EALREADY : -EISCONN;
    if (!fport || !faddr || faddr == INADDR_BROADCAST || faddr == (net_own.ip | ~net_own.mask) || faddr >> 28 >= 0xe)
        return -EADDRNOTAVAIL;
    if (!loop_has(faddr) && !route_first_hop(faddr))
        return -ENETUNREACH;
    struct inpcb *inp = &tp->inp;
    uint32_t lport = inp->lport, laddr = faddr >> 24 == LOOPBACK_NET ? faddr : net_own.ip;
    if (!lport) {
        struct inpcb to = {.laddr = laddr, .faddr = faddr, .fport = (uint16_t)fport};
        int error = in_pcb_choose_port(&to);
        if (error)
            return error;
        lport = to.lport;
    }
    int error = in_pcb_insert(inp, laddr, lport, faddr, fport);
    if (error)
        return error;
    tcp_init_send(tp);
    tp->state = TCPS_SYN_SENT;
    tp->timer[TCPT_KEEP] = TCP_CONNECT_TICKS;
    tcp_output(tp);
    return 0;
}

void tcp_user_closed(struct tcpcb *tp, bool unread)
{
    switch (tp->state) {
    case TCPS_CLOSED:
    case TCPS_LISTEN:
    case TCPS_SYN_SENT: tcp_close(tp, 0); return;
    case TCPS_SYN_RECEIVED: tcp_abort(tp, 0); return; /* a simultaneous open that is not established yet */
    case TCPS_ESTABLISHED:
        if (unread) {
            tcp_abort(tp, 0); /* else the peer would believe that it was read: RFC 1122, 4.2.2.13 */
            return;
        }
        tp->state = TCPS_FIN_WAIT_1;
        break;
    case TCPS_CLOSE_WAIT:
        if (unread) {
            tcp_abort(tp, 0);
            return;
        }
        tp->state = TCPS_LAST_ACK;
        break;
    case TCPS_FIN_WAIT_1:
    case TCPS_CLOSING:
        if (unread)
            tcp_abort(tp, 0);
        return;
    case TCPS_FIN_WAIT_2:
        if (unread)
            tcp_abort(tp, 0);
        else if (tp->inp.so->state & SS_NO_DESCRIPTOR)
            tp->timer[TCPT_2MSL] = 2 * TCP_MSL_TICKS;
        return;
    default: return;
    }
    tcp_output(tp);
}
