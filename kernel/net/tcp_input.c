/*
 * TCP: received segments (RFC 9293, 3.10.7). Each step below is one of the RFC's; a step that does not accept the
 * segment returns false, which ends its processing.
 */
#include <errno.h>

#include "lib/minmax.h"
#include "net/in.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/socket.h"
#include "net/tcp.h"

#define CHALLENGES_MOST 10 /* in a tick of the slow timer (RFC 5961, 5) */

struct segment {
    struct tcp_ends ends;
    struct mbuf *m; /* its data; 0: consumed */
    uint32_t seq, ack, length, window, urgent;
    uint32_t flags;
    bool fin_again; /* it had a FIN that was received before */
    uint32_t first; /* `seq` before old data is cut off */
    struct tcp_options options;
};

/* Answers a segment of no connection (RFC 9293, 3.5.2). */
static void refuse(const struct segment *s)
{
    if (s->flags & TH_RST)
        return;
    if (s->flags & TH_ACK)
        tcp_respond(&s->ends, s->ack, 0, TH_RST, 0);
    else
        tcp_respond(&s->ends, 0, s->seq + s->length + !!(s->flags & TH_SYN) + !!(s->flags & TH_FIN), TH_RST | TH_ACK,
                    0);
}

/* The segment may be forged: an acknowledgement makes the peer confirm it (RFC 5961). */
static void challenge(struct tcpcb *tp)
{
    if (tp->challenges < CHALLENGES_MOST) {
        tp->challenges++;
        tp->ack_now = true;
    }
}

/* Whether it is a valid segment; sets *s. m_data is at its data from here on. */
static bool parse(struct mbuf *m, uint32_t header, struct segment *s)
{
    uint8_t *ip = m->m_data, *tcp = ip + header;
    uint32_t length = m->m_len - header;
    uint32_t of_tcp = length >= TCP_HEADER ? (tcp[12] >> 4) * 4u : 0;
    if (m->m_next || of_tcp < TCP_HEADER || of_tcp > length ||
        in_cksum(tcp, length, in_pseudo_sum(ip, IPPROTO_TCP, length)))
        return false;
    *s = (struct segment){.ends = {get32(ip + 16), get32(ip + 12), (uint16_t)get16(tcp + 2), (uint16_t)get16(tcp)},
                          .m = m,
                          .seq = get32(tcp + 4),
                          .first = get32(tcp + 4),
                          .ack = get32(tcp + 8),
                          .length = length - of_tcp,
                          .window = get16(tcp + 14),
                          .urgent = tcp[13] & TH_URG ? get16(tcp + 18) : 0,
                          .flags = tcp[13]};
    tcp_options_read(tcp + TCP_HEADER, of_tcp - TCP_HEADER, &s->options);
    m_adj(m, header + of_tcp);
    m->m_len = s->length;
    bool to_one = loop_is(ip) ? loop_has(s->ends.laddr) : s->ends.laddr == net_own.ip; /* RFC 1122, 4.2.3.10 */
    return to_one && s->ends.faddr && s->ends.lport && s->ends.fport;
}

static void drop_data(struct segment *s)
{
    if (s->m)
        m_free(s->m);
    s->m = 0;
    s->length = 0;
    s->flags &= ~TH_FIN;
}

static void take_window(struct tcpcb *tp, const struct segment *s)
{
    tp->snd_wnd = s->window;
    tp->snd_wl1 = s->first;
    tp->snd_wl2 = s->flags & TH_ACK ? s->ack : tp->snd_una;
    tp->max_snd_wnd = MAX(tp->max_snd_wnd, s->window);
}

/* Takes the peer's parameters from a SYN. */
static void take_syn(struct tcpcb *tp, struct segment *s)
{
    tp->irs = s->seq;
    tp->rcv_nxt = tp->rcv_adv = s->seq + 1;
    tcp_agree(tp, &s->options);
    tp->cwnd = tcp_first_window(tp);
    s->seq++;
    s->flags &= ~TH_SYN;
}

static uint32_t receive_window(struct tcpcb *tp)
{
    struct socket *so = tp->inp.so;
    so_lock(&so->lock);
    uint32_t space = MIN(sb_space(&so->rcv), TCP_WINDOW_MOST << tp->rcv_scale);
    so_unlock(&so->lock);
    return MAX(space, seq_lt(tp->rcv_nxt, tp->rcv_adv) ? tp->rcv_adv - tp->rcv_nxt : 0);
}

/* A SYN to a listening socket creates a connection, if its queue has room: that, with a reference, or 0. */
static struct tcpcb *listens(struct tcpcb *tp, struct segment *s)
{
    struct socket *listening = tp->inp.so;
    if (s->flags & TH_ACK || tp->state != TCPS_LISTEN)
        refuse(s);
    if (s->flags & (TH_RST | TH_ACK) || tp->state != TCPS_LISTEN || !(s->flags & TH_SYN) || !so_reserve(listening))
        return 0;
    struct socket *so = so_create();
    if (!so) {
        so_unreserve(listening);
        return 0;
    }
    struct tcpcb *new = so->tcb;
    struct inpcb *inp = &new->inp;
    so->no_delay = listening->no_delay;
    so->keep_alive = listening->keep_alive;
    so->urgent_inline = listening->urgent_inline;
    so->limits = listening->limits;
    so->snd.hiwat = listening->snd.hiwat;
    so->rcv.hiwat = listening->rcv.hiwat;
    new->keep_idle = tp->keep_idle;
    new->keep_interval = tp->keep_interval;
    new->keep_count = tp->keep_count;
    so->state = SS_CONNECTING | SS_NO_DESCRIPTOR;
    inp->laddr = s->ends.laddr;
    inp->lport = s->ends.lport;
    inp->faddr = s->ends.faddr;
    inp->fport = s->ends.fport;
    tcp_init_send(new);
    take_syn(new, s);
    take_window(new, s);
    new->state = TCPS_SYN_RECEIVED;
    new->timer[TCPT_KEEP] = TCP_CONNECT_TICKS;
    in_pcb_reference(&tp->inp);
    new->listening = listening;
    if (!in_pcb_insert(inp, s->ends.laddr, s->ends.lport, s->ends.faddr, s->ends.fport))
        return new;
    new->listening = 0; /* another thread has processed the same SYN */
    so_unreserve(listening);
    in_pcb_release(&tp->inp);
    in_pcb_release(inp);
    return 0;
}

/* The connection is established. If its SYN was retransmitted, the timeout is at least 3 s (RFC 6298, 5.7). */
static void is_established(struct tcpcb *tp)
{
    if (tp->retries)
        tp->rto = MAX(tp->rto, TCP_RTO_AFTER_LOSS);
    tp->retries = 0;
    tp->soft_error = 0;
    tp->timer[TCPT_REXMT] = 0;
    tp->state = TCPS_ESTABLISHED;
    tcp_keep_alive(tp);
}

/* False: the segment is completely processed. */
static bool syn_sent(struct tcpcb *tp, struct segment *s)
{
    bool acks = s->flags & TH_ACK;
    if (acks && (seq_leq(s->ack, tp->iss) || seq_lt(tp->snd_max, s->ack))) {
        refuse(s);
        return false;
    }
    if (s->flags & TH_RST) {
        if (acks)
            tcp_close(tp, -ECONNREFUSED);
        return false;
    }
    if (!(s->flags & TH_SYN))
        return false;
    take_syn(tp, s);
    tp->ack_now = true;
    tp->timer[TCPT_REXMT] = 0;
    if (acks) {
        tp->snd_una = s->ack;
        if (seq_lt(tp->snd_nxt, tp->snd_una))
            tp->snd_nxt = tp->snd_una;
        tp->rtt = 0;
        is_established(tp);
        so_is_connected(tp->inp.so);
    } else {
        tp->state = TCPS_SYN_RECEIVED; /* simultaneous open */
        tp->snd_nxt = tp->snd_una;     /* the SYN is sent again, with an acknowledgement */
    }
    take_window(tp, s);
    return true;
}

/* Cuts the segment to the window. False: it is outside, or processed. */
static bool in_window(struct tcpcb *tp, struct segment *s)
{
    if (s->flags & TH_RST) {
        if (s->seq == tp->rcv_nxt)
            tcp_close(tp, tp->state == TCPS_SYN_RECEIVED ? -ECONNREFUSED : -ECONNRESET);
        else if (s->seq - tp->rcv_nxt < tp->rcv_wnd)
            challenge(tp);
        return false;
    }
    if (s->flags & TH_SYN) {
        if (tp->state == TCPS_SYN_RECEIVED && s->seq == tp->irs && !(s->flags & TH_ACK))
            tp->snd_nxt = tp->snd_una; /* this side's answer was lost */
        challenge(tp);
        return false;
    }
    if (seq_lt(s->seq, tp->rcv_nxt)) { /* it begins with old data */
        uint32_t old = tp->rcv_nxt - s->seq;
        tp->ack_now = true;
        if (old > s->length + (TCP_WINDOW_MOST << tp->rcv_scale))
            return false; /* too old for a delayed segment: ignore its acknowledgement */
        if (old > s->length || (old == s->length && !(s->flags & TH_FIN))) {
            s->fin_again = s->flags & TH_FIN;
            drop_data(s);
        } else {
            m_adj(s->m, old);
            s->length -= old;
        }
        s->seq = tp->rcv_nxt;
    }
    uint32_t end = s->seq + s->length - tp->rcv_nxt;
    if (end > tp->rcv_wnd) {
        uint32_t beyond = end - tp->rcv_wnd;
        tp->ack_now = true;
        if (beyond >= s->length) {
            if (s->seq != tp->rcv_nxt)
                return false;
            drop_data(s); /* a probe of a closed window: its acknowledgement counts */
        } else {
            s->length -= beyond;
            s->m->m_len = s->length;
            s->flags &= ~TH_FIN;
        }
    }
    return true;
}

/*
 * The round-trip time of a segment that `s` acknowledges, in eighths of a tick: by the echoed timestamp, if that is
 * plausible (RFC 7323, 4), else by `rtt`, which is one tick more than the time passed.
 */
static uint32_t round_trip(const struct tcpcb *tp, const struct segment *s)
{
    uint32_t took = tp->times && s->options.has_times ? tcp_eighths_since(tp, s->options.echo) : UINT32_MAX;
    if (took != UINT32_MAX)
        return MIN(took, 8 * TCP_RTO_MOST);
    return tp->rtt ? 8 * (tp->rtt - 1) : UINT32_MAX;
}

/* RFC 6298, 2, in ticks. */
static void measured(struct tcpcb *tp, const struct segment *s)
{
    uint32_t r = round_trip(tp, s);
    if (r == UINT32_MAX)
        return;
    if (tp->srtt) {
        int32_t delta = (int32_t)r - (int32_t)tp->srtt;
        tp->srtt = (uint32_t)MAX((int32_t)tp->srtt + delta / 8, 1);
        delta = delta < 0 ? -delta : delta;
        tp->rttvar += (uint32_t)delta - tp->rttvar / 4;
    } else {
        tp->srtt = MAX(r, 1);
        tp->rttvar = 2 * r;
    }
    tp->rtt = 0;
    uint32_t ticks = (tp->srtt + MAX(tp->rttvar, 8) + 7) / 8; /* and a partial one */
    tp->rto = MIN(MAX(ticks + 1, TCP_RTO_LEAST), TCP_RTO_MOST);
}

/* Retransmits the segment at snd_una, and nothing else. */
static void retransmit_first(struct tcpcb *tp)
{
    tp->timer[TCPT_REXMT] = 0;
    NET_COUNT(tcp_retransmits);
    tcp_output_again(tp, tp->snd_una, tp->mss);
}

static void begin_recovery(struct tcpcb *tp)
{
    tp->ssthresh = MAX((tp->loss_max - tp->snd_una) / 2, 2 * tp->mss);
    tp->recovers = true;
    tp->recover = tp->snd_max;
    if (tp->sacks) { /* RFC 6675, 5 */
        tp->cwnd = tp->ssthresh;
        tp->timer[TCPT_REXMT] = 0; /* restarts */
        tcp_sack_begin(tp);
    } else {
        retransmit_first(tp);
        tp->cwnd = tp->ssthresh + TCP_DUPLICATES * tp->mss;
    }
}

/*
 * A duplicate acknowledgement (RFC 5681, 3.2), or, with selective acknowledgements, one with new ranges (RFC 6675,
 * 2).
 */
static void duplicate(struct tcpcb *tp)
{
    if (tp->recovers) {
        if (!tp->sacks)
            tp->cwnd += tp->mss;
    } else {
        if (!tp->duplicates)
            tp->loss_max = tp->snd_max;
        tp->duplicates += tp->duplicates <= TCP_DUPLICATES;
        bool lost =
            tp->sacks ? tp->duplicates >= TCP_DUPLICATES || tcp_sack_lost(tp) : tp->duplicates == TCP_DUPLICATES;
        if (lost && seq_leq(tp->recover, tp->snd_una))
            begin_recovery(tp);
    }
    tcp_output(tp);
}

/* Updates the congestion window after `acked` more bytes. */
static void opens(struct tcpcb *tp, uint32_t acked)
{
    if (!tp->recovers) {
        uint32_t more = tp->cwnd > tp->ssthresh ? MAX(tp->mss * tp->mss / tp->cwnd, 1) : MIN(acked, tp->mss);
        tp->cwnd = MIN(tp->cwnd + more, TCP_WINDOW_MOST << tp->snd_scale);
        return;
    }
    if (!seq_lt(tp->snd_una, tp->recover)) {
        tp->cwnd = MIN(tp->ssthresh, MAX(tp->snd_max - tp->snd_una, tp->mss) + tp->mss); /* RFC 6582, 3.2 */
        tp->recovers = false;
        return;
    }
    if (tp->sacked_count)
        return; /* the lost ranges are known */
    retransmit_first(tp);
    if (tp->sacks)
        return;
    tp->cwnd = MAX(tp->cwnd > acked ? tp->cwnd - acked : 0, tp->mss) + (acked >= tp->mss ? tp->mss : 0);
}

/* Removes acknowledged bytes from the buffer. Returns whether this side's FIN is acknowledged, too. */
static bool leave_buffer(struct tcpcb *tp, uint32_t acked)
{
    struct socket *so = tp->inp.so;
    so_lock(&so->lock);
    uint32_t of_data = MIN(acked, so->snd.cc);
    sb_drop(&so->snd, of_data);
    so->urgent_to -= MIN(of_data, so->urgent_to);
    if (of_data)
        so_changed(so);
    so_unlock(&so->lock);
    return tp->sent_fin && acked > of_data;
}

static void update_window(struct tcpcb *tp, const struct segment *s)
{
    /* RFC 9293; and one that acknowledges more is newer, even if it begins with old data. */
    bool newer = seq_lt(tp->snd_wl2, s->ack) || (tp->snd_wl2 == s->ack && seq_leq(tp->snd_wl1, s->first));
    if (newer && seq_leq(tp->snd_una, s->ack))
        take_window(tp, s);
}

/* An acknowledgement of no new data. */
static void no_more(struct tcpcb *tp, const struct segment *s, bool says_more)
{
    bool empty = s->ack == tp->snd_una && !s->length;
    if (tp->sacks ? says_more
                  : empty && !(s->flags & TH_FIN) && s->window == tp->snd_wnd && tp->snd_una != tp->snd_max &&
                        tp->timer[TCPT_REXMT])
        duplicate(tp);
    else if (empty && !tp->sacks)
        tp->duplicates = 0;
}

/* The next three return whether the connection continues. */
static bool syn_acknowledged(struct tcpcb *tp, struct segment *s)
{
    if (seq_leq(s->ack, tp->iss) || seq_lt(tp->snd_max, s->ack)) {
        refuse(s);
        return false;
    }
    /* The SYN is acknowledged, and its successor is next, even if there was no memory to send the SYN. */
    tp->snd_una++;
    if (seq_lt(tp->snd_nxt, tp->snd_una))
        tp->snd_nxt = tp->snd_una;
    measured(tp, s);
    is_established(tp);
    take_window(tp, s);
    struct socket *listening = tp->listening;
    so_is_connected(tp->inp.so);
    if (listening) {
        tp->listening = 0;
        in_pcb_reference(&tp->inp); /* the queue's */
        bool queued = so_queue(listening, tp->inp.so);
        in_pcb_release((struct inpcb *)listening->tcb);
        if (!queued) {
            tcp_abort(tp, -ECONNABORTED);
            in_pcb_release(&tp->inp); /* not the last: the caller holds one */
            return false;
        }
    }
    return true;
}

static bool fin_acknowledged(struct tcpcb *tp)
{
    if (tp->inp.so->state & SS_LINGERS) /* set with the connection's lock held, too */
        so_is_flushed(tp->inp.so);
    switch (tp->state) {
    case TCPS_FIN_WAIT_1:
        tp->state = TCPS_FIN_WAIT_2;
        if (tp->inp.so->state & SS_NO_DESCRIPTOR)
            tp->timer[TCPT_2MSL] = 2 * TCP_MSL_TICKS; /* limits the wait for a FIN that never comes */
        return true;
    case TCPS_CLOSING:
        tp->state = TCPS_TIME_WAIT;
        tcp_cancel_timers(tp);
        tp->timer[TCPT_2MSL] = 2 * TCP_MSL_TICKS;
        return true;
    case TCPS_LAST_ACK: tcp_close(tp, 0); return false;
    default: return true;
    }
}

static bool acknowledged(struct tcpcb *tp, struct segment *s)
{
    if (tp->state == TCPS_SYN_RECEIVED && !syn_acknowledged(tp, s))
        return false;
    if (seq_lt(tp->snd_max, s->ack) || seq_lt(s->ack, tp->snd_una - tp->max_snd_wnd)) { /* RFC 5961, 5.2 */
        challenge(tp);
        return false;
    }
    bool is_more = seq_lt(tp->snd_una, s->ack),
         says_more = tcp_sack_take(tp, is_more ? s->ack : tp->snd_una, &s->options);
    if (!is_more) {
        no_more(tp, s, says_more);
        return true;
    }
    uint32_t acked = s->ack - tp->snd_una;
    tp->duplicates = 0;
    if (!tp->rtt || seq_lt(tp->rtt_seq, s->ack))
        measured(tp, s);
    tp->retries = tp->orphan_probes = 0;
    tp->soft_error = 0;
    bool of_fin = leave_buffer(tp, acked);
    tp->snd_una = s->ack;
    if (seq_lt(tp->snd_nxt, tp->snd_una))
        tp->snd_nxt = tp->snd_una;
    tcp_sack_acked(tp);
    update_window(tp, s); /* before sending */
    if (seq_lt(tp->recover, tp->snd_una) && !tp->recovers)
        tp->recover = tp->snd_una;
    if (s->ack == tp->snd_max)
        tp->timer[TCPT_REXMT] = 0;
    else if (!tp->timer[TCPT_PERSIST])
        tp->timer[TCPT_REXMT] = tp->rto;
    opens(tp, acked);
    if (says_more && !tp->recovers)
        duplicate(tp); /* another gap */
    return !of_fin || fin_acknowledged(tp);
}

/* Passes the packet's data, next in sequence, to the socket. */
static void deliver(struct tcpcb *tp, struct mbuf *m)
{
    struct socket *so = tp->inp.so;
    tp->rcv_nxt += m->m_len;
    so_lock(&so->lock);
    if (so->state & SS_CANTRECEIVE) {
        m_free(m); /* no longer read */
    } else {
        sb_append(&so->rcv, m);
        so_urgent_came(so);
        so_changed(so);
    }
    so_unlock(&so->lock);
}

/* Removes the kept segment behind `before`; 0: the first. */
static void remove_after(struct tcpcb *tp, struct mbuf *before)
{
    if (before)
        STAILQ_REMOVE_AFTER(&tp->reassembly, before, m_nextpkt);
    else
        STAILQ_REMOVE_HEAD(&tp->reassembly, m_nextpkt);
}

/* Keeps a segment beyond a gap, without the bytes that its neighbours have. */
static void tcp_input_keep(struct tcpcb *tp, struct segment *s)
{
    struct mbuf *m = s->m, *before = 0, *next;
    s->m = 0;
    m->m_seq = s->seq;
    STAILQ_FOREACH(next, &tp->reassembly, m_nextpkt) {
        if (!seq_leq(next->m_seq, m->m_seq))
            break;
        uint32_t end = next->m_seq + next->m_len;
        if (seq_lt(m->m_seq, end)) {
            uint32_t both = end - m->m_seq;
            if (both >= m->m_len) {
                m_free(m);
                tcp_sack_keep(tp, s->seq);
                return;
            }
            m_adj(m, both);
            m->m_seq += both;
        }
        before = next;
    }
    for (struct mbuf *behind; next && seq_lt(next->m_seq, m->m_seq + m->m_len); next = behind) {
        uint32_t both = m->m_seq + m->m_len - next->m_seq;
        if (both < next->m_len) {
            m->m_len -= both; /* the next one has them */
            break;
        }
        behind = STAILQ_NEXT(next, m_nextpkt);
        remove_after(tp, before);
        m_free(next);
        tp->reassembled--;
    }
    if (tp->reassembled >= MAX(TCP_REASSEMBLY_MOST, tp->inp.so->rcv.hiwat / 512)) {
        m_free(m);
        return;
    }
    tp->reassembled++;
    if (before)
        STAILQ_INSERT_AFTER(&tp->reassembly, before, m, m_nextpkt);
    else
        STAILQ_INSERT_HEAD(&tp->reassembly, m, m_nextpkt);
    tcp_sack_keep(tp, s->seq);
}

static void close_gap(struct tcpcb *tp)
{
    struct mbuf *m;
    while ((m = STAILQ_FIRST(&tp->reassembly)) && seq_leq(m->m_seq, tp->rcv_nxt)) {
        STAILQ_REMOVE_HEAD(&tp->reassembly, m_nextpkt);
        tp->reassembled--;
        uint32_t old = tp->rcv_nxt - m->m_seq;
        if (old >= m->m_len) {
            m_free(m);
            continue;
        }
        m_adj(m, old);
        deliver(tp, m);
        tp->ack_now = true;
    }
    tcp_sack_advance(tp);
}

/* The peer has ended sending. */
static void finished(struct tcpcb *tp)
{
    tp->rcv_nxt++;
    tp->ack_now = true;
    so_cannot_receive(tp->inp.so);
    switch (tp->state) {
    case TCPS_SYN_RECEIVED:
    case TCPS_ESTABLISHED: tp->state = TCPS_CLOSE_WAIT; break;
    case TCPS_FIN_WAIT_1: tp->state = TCPS_CLOSING; break;
    case TCPS_FIN_WAIT_2:
        tp->state = TCPS_TIME_WAIT;
        tcp_cancel_timers(tp);
        tp->timer[TCPT_2MSL] = 2 * TCP_MSL_TICKS;
        break;
    default: break;
    }
}

static bool still_receives(const struct tcpcb *tp)
{
    return tp->state == TCPS_ESTABLISHED || tp->state == TCPS_FIN_WAIT_1 || tp->state == TCPS_FIN_WAIT_2;
}

/* The segment announces an urgent byte, which it need not have; a later one than before, and not received yet. */
static void take_urgent(struct tcpcb *tp, const struct segment *s)
{
    uint32_t up = s->first + s->urgent - 1;
    if (seq_lt(up, tp->rcv_nxt) || (tp->rcv_urgent && seq_leq(up, tp->rcv_up)))
        return;
    struct socket *so = tp->inp.so;
    tp->rcv_urgent = true;
    tp->rcv_up = up;
    so_lock(&so->lock);
    if (!(so->state & SS_CANTRECEIVE))
        so_urgent(so, so->rcv.cc + (up - tp->rcv_nxt));
    so_unlock(&so->lock);
}

static void data(struct tcpcb *tp, struct segment *s)
{
    if (!still_receives(tp)) {
        if (s->fin_again && tp->state == TCPS_TIME_WAIT) /* this side's acknowledgement was lost */
            tp->timer[TCPT_2MSL] = 2 * TCP_MSL_TICKS;
        return;
    }
    if (s->length && tp->inp.so->state & SS_NO_DESCRIPTOR && !tp->listening && tp->state >= TCPS_FIN_WAIT_1) {
        tcp_abort(tp, 0); /* it cannot be read any more: a reset (RFC 1122, 4.2.2.13) */
        return;
    }
    if (s->urgent)
        take_urgent(tp, s);
    if (s->flags & TH_FIN) {
        tp->fin_seen = true;
        tp->fin_at = s->seq + s->length;
    }
    if (s->length) {
        if (s->seq == tp->rcv_nxt) {
            tp->ack_now |= tp->delayed_ack || !STAILQ_EMPTY(&tp->reassembly); /* at least every other segment */
            tp->delayed_ack = true;
            struct mbuf *m = s->m;
            s->m = 0;
            deliver(tp, m);
            close_gap(tp);
        } else {
            tp->ack_now = true;
            tcp_input_keep(tp, s);
        }
    }
    if (tp->fin_seen && tp->fin_at == tp->rcv_nxt)
        finished(tp);
    else if (tp->fin_seen && s->flags & TH_FIN)
        tp->ack_now = true;
}

/* RFC 7323, 3.2 and 5.3. A SYN is not checked here: it is challenged anyway. */
static bool timely(struct tcpcb *tp, const struct segment *s)
{
    if (!tp->times || s->flags & (TH_RST | TH_SYN))
        return true;
    if (!s->options.has_times)
        return false;
    bool is = tcp_is_timely(tp, s->options.time);
    if (!is)
        challenge(tp); /* limited: each side may find the other's late */
    return is;
}

/* Updates TS.Recent from an expected segment (RFC 7323, 4.3). */
static void take_time(struct tcpcb *tp, const struct segment *s)
{
    if (tp->times && s->options.has_times && seq_leq(s->first, tp->last_ack_sent))
        tcp_take_time(tp, s->options.time);
}

static void process(struct tcpcb *tp, struct segment *s)
{
    tp->rcv_wnd = tp->state > TCPS_SYN_SENT ? receive_window(tp) : 0;
    if (tp->state == TCPS_SYN_SENT) {
        if (!syn_sent(tp, s) || tp->state == TCPS_SYN_RECEIVED)
            return;
        tp->rcv_wnd = receive_window(tp);
        if (!in_window(tp, s))
            return;
    } else {
        s->window <<= tp->snd_scale;
        if (!timely(tp, s) || !in_window(tp, s) || !(s->flags & TH_ACK) || !acknowledged(tp, s))
            return;
        take_time(tp, s);
        update_window(tp, s);
        tp->probes = 0;
        tcp_keep_alive(tp);
    }
    data(tp, s);
}

/* One that was only bound when it was found may be connected to another peer by now. */
static bool is_for(const struct inpcb *inp, const struct tcp_ends *ends)
{
    return !inp->fport || (inp->fport == ends->fport && inp->faddr == ends->faddr);
}

void tcp_input(struct mbuf *m, uint32_t header)
{
    struct segment s;
    NET_COUNT(tcp_in);
    if (!parse(m, header, &s)) {
        NET_COUNT(tcp_bad);
        m_free(m);
        return;
    }
    tcp_lock();
    struct inpcb *inp = in_pcb_lookup(s.ends.faddr, s.ends.fport, s.ends.laddr, s.ends.lport);
    if (!inp)
        inp = in_pcb_listener(s.ends.laddr, s.ends.lport);
    if (inp) {
        struct tcpcb *tp = tcb_of(inp), *new = 0;
        pcb_lock(&inp->lock);
        if (inp->closing || !is_for(inp, &s.ends)) {
            refuse(&s);
        } else if (!inp->fport) {
            new = listens(tp, &s);
        } else {
            process(tp, &s);
            tcp_output(tp);
        }
        pcb_unlock(&inp->lock);
        in_pcb_release(inp);
        if (new) {
            pcb_lock(&new->inp.lock);
            tcp_output(new);
            pcb_unlock(&new->inp.lock);
            in_pcb_release(&new->inp);
        }
    } else {
        NET_COUNT(tcp_no_port);
        refuse(&s);
    }
    tcp_unlock();
    drop_data(&s);
}

/* Retransmits too long segments as shorter ones (RFC 1191, 6.5); this does not indicate congestion. */
static void shorter_segments(struct tcpcb *tp, uint32_t mtu)
{
    uint32_t mss = mtu - IP_HEADER - TCP_HEADER - (tp->times ? TCP_TIMES_BYTES : 0);
    if (mss >= tp->mss)
        return;
    tp->mss = mss;
    tp->rtt = 0;
    tp->snd_nxt = tp->snd_una;
    tp->recovers = false;
    tcp_sack_forget(tp);
    tcp_output(tp);
}

/*
 * An ICMP error. It counts only if it is about unacknowledged data (RFC 5927, 4.1), and ends only an attempt to
 * connect: an established connection continues, and reports the error if it ends by itself.
 */
void tcp_told(const struct told *of)
{
    uint32_t seq = get32(of->header + 4);
    tcp_lock();
    struct inpcb *inp = in_pcb_lookup(of->faddr, get16(of->header + 2), of->laddr, get16(of->header));
    if (inp) {
        struct tcpcb *tp = tcb_of(inp);
        pcb_lock(&inp->lock);
        bool on_its_way = !inp->closing && inp->fport && seq - tp->snd_una < tp->snd_max - tp->snd_una;
        if (on_its_way && of->mtu && tp->state >= TCPS_ESTABLISHED)
            shorter_segments(tp, of->mtu);
        else if (on_its_way && of->hard && tp->state == TCPS_SYN_SENT)
            tcp_close(tp, of->error);
        else if (on_its_way)
            tp->soft_error = of->error;
        pcb_unlock(&inp->lock);
        in_pcb_release(inp);
    }
    tcp_unlock();
}
