/* TCP: sending (RFC 9293, 3.8.6; RFC 1122, 4.2.3.4). */
#include <string.h>

#include "lib/minmax.h"
#include "net/in.h"
#include "net/net.h"
#include "net/socket.h"
#include "net/tcp.h"

#define IP_TTL 64
#define HEADERS (IP_HEADER + TCP_HEADER)

/* The flags of segments in each state. */
static const uint8_t flags_of[] = {
    [TCPS_CLOSED] = TH_RST | TH_ACK,
    [TCPS_LISTEN] = 0,
    [TCPS_SYN_SENT] = TH_SYN,
    [TCPS_SYN_RECEIVED] = TH_SYN | TH_ACK,
    [TCPS_ESTABLISHED] = TH_ACK,
    [TCPS_CLOSE_WAIT] = TH_ACK,
    [TCPS_FIN_WAIT_1] = TH_FIN | TH_ACK,
    [TCPS_CLOSING] = TH_FIN | TH_ACK,
    [TCPS_LAST_ACK] = TH_FIN | TH_ACK,
    [TCPS_FIN_WAIT_2] = TH_ACK,
    [TCPS_TIME_WAIT] = TH_ACK,
};

/* An empty packet with room for the headers before TCP's, and `bytes` after it; 0: out of memory. */
static struct mbuf *packet(uint32_t bytes)
{
    struct mbuf *m = m_get(IP_AT + HEADERS + bytes, M_PROTOCOL);
    if (!m) {
        NET_COUNT(no_mbuf);
        return 0;
    }
    m->m_data += IP_AT;
    m->m_len = HEADERS;
    return m;
}

/*
 * Fills in both headers, and sends the segment. The `options` bytes of options after them, and the data, are already
 * there.
 */
static void send(struct mbuf *m, const struct tcp_ends *ends, uint32_t seq, uint32_t ack, uint32_t flags,
                 uint32_t window, uint32_t urgent, uint32_t options)
{
    static uint32_t identification;
    uint8_t *ip = m->m_data, *tcp = ip + IP_HEADER;
    memset(ip, 0, HEADERS);
    ip[0] = 0x45;
    put16(ip + 2, m->m_len);
    put16(ip + 4, __atomic_fetch_add(&identification, 1, __ATOMIC_RELAXED));
    put16(ip + 6, IP_DONT_FRAGMENT); /* a router that cannot forward it reports that (RFC 1191) */
    ip[8] = IP_TTL;
    ip[9] = IPPROTO_TCP;
    put32(ip + 12, ends->laddr);
    put32(ip + 16, ends->faddr);
    put16(tcp, ends->lport);
    put16(tcp + 2, ends->fport);
    put32(tcp + 4, seq);
    put32(tcp + 8, flags & TH_ACK ? ack : 0);
    tcp[12] = (uint8_t)((TCP_HEADER + options) / 4 << 4);
    tcp[13] = (uint8_t)flags;
    put16(tcp + 14, window);
    put16(tcp + 18, urgent);
    uint32_t length = m->m_len - IP_HEADER;
    put16(tcp + 16, in_cksum(tcp, length, in_pseudo_sum(ip, IPPROTO_TCP, length)));
    NET_COUNT(tcp_out);
    ip_output(m, ends->faddr);
}

void tcp_respond(const struct tcp_ends *ends, uint32_t seq, uint32_t ack, uint32_t flags, uint32_t window)
{
    struct mbuf *m = packet(0);
    if (m)
        send(m, ends, seq, ack, flags, window, 0, 0);
}

/*
 * Sends a segment of the connection; its `options` bytes of options are already there. `up`: the number after the last
 * urgent byte, if that is not before the segment.
 */
static void send_of(struct tcpcb *tp, struct mbuf *m, uint32_t seq, uint32_t up, uint32_t flags, uint32_t window,
                    uint32_t options)
{
    uint32_t urgent = seq_lt(seq, up) ? MIN(up - seq, TCP_WINDOW_MOST) : 0;
    flags |= urgent ? TH_URG : 0;
    struct tcp_ends ends = {tp->inp.laddr, tp->inp.faddr, tp->inp.lport, tp->inp.fport};
    tp->last_ack_sent = tp->rcv_nxt;
    send(m, &ends, seq, tp->rcv_nxt, flags, flags & TH_SYN ? window : window >> tp->rcv_scale, urgent, options);
}

void tcp_probe(struct tcpcb *tp)
{
    struct mbuf *m = packet(TCP_OPTIONS_MOST);
    if (!m)
        return;
    uint32_t options = tcp_options_write(tp, false, m->m_data + HEADERS);
    m->m_len += options;
    send_of(tp, m, tp->snd_una - 1, tp->snd_una - 1, TH_ACK, tp->rcv_adv - tp->rcv_nxt, options);
}

/* The plan of one segment. */
struct plan {
    uint32_t offset, length; /* of the data, in the send buffer */
    uint32_t most;             /* limit of `length` */
    uint32_t flags, window, up; /* up: after the last urgent byte, or not after the segment's first */
    bool more; /* more is to be sent after it */
};

/*
 * Whether to announce the window to the peer: if it is at least two segments or half the buffer more than announced
 * before.
 */
static bool window_opens(const struct tcpcb *tp, uint32_t space, uint32_t hiwat)
{
    uint32_t offered = tp->rcv_adv - tp->rcv_nxt, open = MIN(space, TCP_WINDOW_MOST << tp->rcv_scale);
    uint32_t more = open > offered ? open - offered : 0;
    return more >= 2 * tp->mss || 2 * more >= hiwat;
}

/* The room for data in a segment with its options. */
static uint32_t segment_most(const struct tcpcb *tp)
{
    uint8_t options[TCP_OPTIONS_MOST];
    return tp->told_count ? tp->mss + (tp->times ? TCP_TIMES_BYTES : 0) - tcp_options_write(tp, false, options)
                          : tp->mss;
}

/* RFC 1122, 4.2.3.4: no small segment while data is unacknowledged, unless it is urgent. */
static bool data_goes(const struct tcpcb *tp, const struct socket *so, const struct plan *p)
{
    bool idle = tp->snd_max == tp->snd_una;
    if (!p->length)
        return false;
    bool hurries = idle || so->no_delay || so->urgent_to > p->offset;
    return p->length == p->most || (hurries && p->offset + p->length >= so->snd.cc) || tp->force ||
           p->length >= tp->max_snd_wnd / 2 || seq_lt(tp->snd_nxt, tp->snd_max) ||
           (p->flags & TH_FIN && p->offset + p->length == so->snd.cc);
}

/* How many bytes from snd_una on may be sent. */
static uint32_t send_window(const struct tcpcb *tp)
{
    uint32_t may = tp->cwnd;
    if (tp->again)
        may = tp->snd_nxt - tp->snd_una + tp->again;
    else if (tcp_sack_recovers(tp))
        may = tp->snd_max - tp->snd_una + tcp_sack_room(tp);
    else if (!tp->recovers && tp->snd_nxt == tp->snd_max) /* RFC 3042: new data for each duplicate acknowledgement */
        may += MIN(tp->duplicates, TCP_DUPLICATES - 1) * tp->mss;
    return MIN(tp->snd_wnd, may);
}

/* The window to announce: not a few bytes (RFC 1122, 4.2.3.3), and not less than was offered before. */
static uint32_t said_window(const struct tcpcb *tp, const struct socket *so, bool syn)
{
    uint32_t space = sb_space(&so->rcv), scale = syn ? 0 : tp->rcv_scale, offered = tp->rcv_adv - tp->rcv_nxt;
    uint32_t window = space < so->rcv.hiwat / 4 && space < tp->mss ? 0 : space;
    if (tp->state != TCPS_SYN_SENT && window < offered)
        window = offered;
    return MIN(window, TCP_WINDOW_MOST << scale) >> scale << scale;
}

/* In retransmission after a timeout, skips to the next bytes that the peer does not have. */
static uint32_t skip_sacked(struct tcpcb *tp)
{
    if (tp->again || !tp->sacked_count || !seq_lt(tp->snd_nxt, tp->snd_max))
        return UINT32_MAX;
    uint32_t bytes = tcp_sack_gap(tp, &tp->snd_nxt);
    return tp->snd_nxt + bytes == tp->snd_max ? UINT32_MAX : bytes;
}

/* Plans the next segment: returns whether there is one. With the socket's lock held. */
static bool planned(struct tcpcb *tp, const struct socket *so, struct plan *p)
{
    uint32_t gap = skip_sacked(tp), window = send_window(tp), unsent;
    *p = (struct plan){.flags = flags_of[tp->state], .most = segment_most(tp)};
    bool syn = p->flags & TH_SYN && tp->snd_una == tp->iss; /* not acknowledged */
    if (tp->snd_nxt != tp->iss)
        p->flags &= ~TH_SYN;
    if (tp->force && window)
        tp->timer[TCPT_PERSIST] = tp->retries = 0; /* the window has opened */
    else if (tp->force)
        window = 1;
    if (!window && !syn && so->snd.cc && tp->state >= TCPS_ESTABLISHED) {
        /* The window has closed: it is probed from now on, beginning where it closed. */
        tp->timer[TCPT_REXMT] = 0;
        tp->snd_nxt = seq_lt(tp->snd_una, tp->snd_nxt) ? tp->snd_una : tp->snd_nxt;
        if (!tp->timer[TCPT_PERSIST]) {
            tp->retries = 0;
            tcp_set_persist(tp);
        }
    }
    p->offset = syn ? 0 : tp->snd_nxt - tp->snd_una;
    unsent = !syn && so->snd.cc > p->offset ? so->snd.cc - p->offset : 0;
    if (!syn && window > p->offset)
        p->length = MIN(unsent, window - p->offset);
    if (p->length > MIN(p->most, gap)) {
        p->length = MIN(p->most, gap);
        p->more = true;
    }
    if (p->offset + p->length < so->snd.cc || syn || (tp->force && tp->timer[TCPT_PERSIST])) /* no FIN with a probe */
        p->flags &= ~TH_FIN;
    p->window = said_window(tp, so, p->flags & TH_SYN);
    p->up = tp->snd_una + (syn ? 0 : so->urgent_to);
    if (tp->again)
        return p->length || p->flags & TH_FIN;
    if (data_goes(tp, so, p) || tp->ack_now || so->urgent_new || p->flags & (TH_SYN | TH_RST))
        return true;
    if (p->flags & TH_FIN && (!tp->sent_fin || tp->snd_nxt == tp->snd_una))
        return true;
    if (p->flags & TH_ACK && tp->state >= TCPS_ESTABLISHED && window_opens(tp, sb_space(&so->rcv), so->rcv.hiwat))
        return true;
    if (so->snd.cc && !tp->timer[TCPT_REXMT] && !tp->timer[TCPT_PERSIST]) {
        tp->retries = 0;
        tcp_set_persist(tp);
    }
    return false;
}

/* Updates the connection for the segment. Returns the segment's first number. */
static uint32_t account(struct tcpcb *tp, struct plan *p)
{
    if (p->flags & TH_FIN && tp->sent_fin && tp->snd_nxt == tp->snd_max)
        tp->snd_nxt--; /* a FIN is retransmitted with its own number */
    bool is_new = p->length || p->flags & (TH_SYN | TH_FIN) || tp->timer[TCPT_PERSIST];
    uint32_t seq = is_new ? tp->snd_nxt : tp->snd_max;
    uint32_t takes = p->length + !!(p->flags & TH_SYN) + !!(p->flags & TH_FIN);
    if (takes)
        tp->sent_at = tcp_time(tp);
    if (!tp->force || !tp->timer[TCPT_PERSIST]) {
        tp->snd_nxt += takes;
        tp->sent_fin |= !!(p->flags & TH_FIN);
        if (seq_lt(tp->snd_max, tp->snd_nxt)) {
            tp->snd_max = tp->snd_nxt;
            if (!tp->rtt) {
                tp->rtt = 1;
                tp->rtt_seq = seq;
            }
        }
        if (takes && !tp->timer[TCPT_REXMT]) {
            tp->timer[TCPT_REXMT] = tp->rto;
            tp->timer[TCPT_PERSIST] = 0;
        }
    } else if (seq_lt(tp->snd_max, tp->snd_nxt + p->length)) {
        tp->snd_max = tp->snd_nxt + p->length;
    }
    if (seq_lt(tp->rcv_adv, tp->rcv_nxt + p->window))
        tp->rcv_adv = tp->rcv_nxt + p->window;
    tp->ack_now = tp->delayed_ack = false;
    return seq;
}

/* A bound for the options of a segment with data. */
static uint32_t options_most(const struct tcpcb *tp, const struct plan *p)
{
    return tp->told_count || p->flags & TH_SYN ? TCP_OPTIONS_MOST : TCP_TIMES_BYTES;
}

/* Sends one segment; returns whether another one may follow. */
static bool send_one(struct tcpcb *tp)
{
    struct socket *so = tp->inp.so;
    struct plan p;
    so_lock(&so->lock);
    bool goes = planned(tp, so, &p);
    struct mbuf *m = goes ? packet(p.length ? options_most(tp, &p) + p.length : TCP_OPTIONS_MOST) : 0;
    if (!m) {
        /* If memory is short, the timer tries again. */
        if (goes && !tp->timer[TCPT_REXMT] && !tp->timer[TCPT_PERSIST] &&
            (so->snd.cc || p.flags & (TH_SYN | TH_FIN) || tp->snd_una != tp->snd_max))
            tp->timer[TCPT_REXMT] = tp->rto;
        so_unlock(&so->lock);
        return false;
    }
    uint32_t options = tcp_options_write(tp, p.flags & TH_SYN, m->m_data + HEADERS);
    sb_copy(&so->snd, p.offset, p.length, m->m_data + HEADERS + options);
    m->m_len += options + p.length;
    if (p.length && p.offset + p.length == so->snd.cc)
        p.flags |= TH_PUSH;
    so->urgent_new = false;
    so_unlock(&so->lock);
    uint32_t seq = account(tp, &p);
    send_of(tp, m, seq, p.up, p.flags, p.window, options);
    return p.more;
}

uint32_t tcp_output_again(struct tcpcb *tp, uint32_t seq, uint32_t most)
{
    uint32_t next = tp->snd_nxt;
    if (!tp->snd_wnd)
        return 0; /* the closed window is probed */
    tp->rtt = 0;
    tp->snd_nxt = seq;
    tp->again = most;
    send_one(tp);
    tp->again = 0;
    uint32_t sent = tp->snd_nxt - seq;
    if (seq_lt(tp->snd_nxt, next))
        tp->snd_nxt = next;
    return sent;
}

void tcp_output(struct tcpcb *tp)
{
    if (tp->inp.closing || tp->state == TCPS_LISTEN || tp->state == TCPS_CLOSED)
        return;
    /* RFC 5681, 4.1: no acknowledgements pace the sending any more, and the network may have changed. */
    if (tp->snd_max == tp->snd_una && tcp_eighths_since(tp, tp->sent_at) > 8 * tp->rto)
        tp->cwnd = MIN(tp->cwnd, tcp_first_window(tp));
    if (tcp_sack_recovers(tp))
        tcp_sack_gaps(tp);
    while (send_one(tp))
        ;
    if (tcp_sack_recovers(tp))
        tcp_sack_rest(tp);
}
