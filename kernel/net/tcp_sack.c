/*
 * TCP: selective acknowledgements. Receiving (RFC 2018): the ranges kept beyond gaps. Sending (RFC 6675): what the peer
 * has, what is lost, and how much is in flight (SetPipe, IsLost, NextSeg). The peer is not trusted: ranges of data that
 * has not been sent are ignored, and no more than TCP_SACKED_MOST of them are kept, the first ones.
 */
#include <string.h>

#include "lib/minmax.h"
#include "net/net.h"
#include "net/socket.h"
#include "net/tcp.h"

/* Receiving -------------------------------------------------------------------------------------------------------- */

/* The range of adjacent kept segments that contains `seq`: false if none does. */
static bool tcp_sack_range_of(const struct tcpcb *tp, uint32_t seq, struct tcp_range *of)
{
    for (const struct mbuf *m = STAILQ_FIRST(&tp->reassembly); m;) {
        *of = (struct tcp_range){m->m_seq, m->m_seq + m->m_len};
        while ((m = STAILQ_NEXT(m, m_nextpkt)) && m->m_seq == of->end)
            of->end += m->m_len;
        if (seq_leq(of->first, seq) && seq_lt(seq, of->end))
            return true;
    }
    return false;
}

void tcp_sack_keep(struct tcpcb *tp, uint32_t seq)
{
    struct tcp_range now[TCP_SACK_BLOCKS];
    uint32_t n = 1;
    if (!tp->sacks || !tcp_sack_range_of(tp, seq, &now[0]))
        return;
    for (uint32_t i = 0; i < tp->told_count && n < TCP_SACK_BLOCKS; i++)
        if (seq_lt(tp->told[i].first, now[0].first) || seq_lt(now[0].end, tp->told[i].end))
            now[n++] = tp->told[i];
    memcpy(tp->told, now, sizeof now);
    tp->told_count = n;
}

void tcp_sack_advance(struct tcpcb *tp)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < tp->told_count; i++)
        if (seq_lt(tp->rcv_nxt, tp->told[i].first))
            tp->told[n++] = tp->told[i];
    tp->told_count = n;
}

/* Sending ---------------------------------------------------------------------------------------------------------- */

void tcp_sack_forget(struct tcpcb *tp)
{
    tp->sacked_count = 0;
    tp->high_rxt = tp->snd_una;
}

/* Replaces ranges `from` to `to` by one, or, if they are equal, inserts a new one at `from`. */
static void tcp_sack_replace(struct tcpcb *tp, uint32_t from, uint32_t to, struct tcp_range with)
{
    if (from == to && tp->sacked_count == TCP_SACKED_MOST) {
        if (from == tp->sacked_count)
            return;
        tp->sacked_count--; /* drops the last one: the first are needed first */
    }
    memmove(tp->sacked + from + 1, tp->sacked + to, (tp->sacked_count - to) * sizeof *tp->sacked);
    tp->sacked[from] = with;
    tp->sacked_count += 1 + from - to;
}

/* Returns whether any of it is new. */
static bool tcp_sack_add(struct tcpcb *tp, struct tcp_range with)
{
    uint32_t from = 0, to;
    while (from < tp->sacked_count && seq_lt(tp->sacked[from].end, with.first))
        from++;
    for (to = from; to < tp->sacked_count && seq_leq(tp->sacked[to].first, with.end); to++) {
        const struct tcp_range *r = &tp->sacked[to];
        if (seq_leq(r->first, with.first) && seq_leq(with.end, r->end))
            return false;
        with.first = seq_lt(r->first, with.first) ? r->first : with.first;
        with.end = seq_lt(with.end, r->end) ? r->end : with.end;
    }
    tcp_sack_replace(tp, from, to, with);
    return true;
}

bool tcp_sack_take(struct tcpcb *tp, uint32_t ack, const struct tcp_options *o)
{
    bool is_new = false;
    for (uint32_t i = 0; tp->sacks && i < o->blocks; i++) {
        struct tcp_range r = o->block[i];
        uint32_t first = r.first - ack, end = r.end - ack; /* compared as distances, which do not wrap */
        if (first && first < end && end <= tp->snd_max - ack)
            is_new |= tcp_sack_add(tp, r);
    }
    return is_new;
}

/* If a range begins at snd_una, the peer has discarded it (RFC 2018, 8), and perhaps all others. */
void tcp_sack_acked(struct tcpcb *tp)
{
    uint32_t gone = 0;
    while (gone < tp->sacked_count && seq_leq(tp->sacked[gone].end, tp->snd_una))
        gone++;
    tp->sacked_count -= gone;
    memmove(tp->sacked, tp->sacked + gone, tp->sacked_count * sizeof *tp->sacked);
    if (tp->sacked_count && seq_leq(tp->sacked[0].first, tp->snd_una))
        tcp_sack_forget(tp);
    if (seq_lt(tp->high_rxt, tp->snd_una))
        tp->high_rxt = tp->snd_una;
}

/* Gaps below this number are lost: three ranges or more than two segments are beyond them (IsLost). */
static uint32_t tcp_sack_lost_end(const struct tcpcb *tp)
{
    uint32_t bytes = 0;
    for (uint32_t i = tp->sacked_count, ranges = 1; i--; ranges++) {
        bytes += tp->sacked[i].end - tp->sacked[i].first;
        if (ranges >= TCP_DUPLICATES || bytes > (TCP_DUPLICATES - 1) * tp->mss)
            return tp->sacked[i].first;
    }
    return tp->snd_una;
}

bool tcp_sack_lost(const struct tcpcb *tp)
{
    return seq_lt(tp->snd_una, tcp_sack_lost_end(tp));
}

bool tcp_sack_recovers(const struct tcpcb *tp)
{
    return tp->recovers && tp->sacks;
}

/* SetPipe: bytes neither received nor lost, and retransmitted ones. */
static uint32_t tcp_sack_pipe(const struct tcpcb *tp)
{
    uint32_t lost = tcp_sack_lost_end(tp), pipe = 0, first = tp->snd_una;
    for (uint32_t i = 0; i <= tp->sacked_count; i++) {
        uint32_t end = i < tp->sacked_count ? tp->sacked[i].first : tp->snd_max;
        if (seq_lt(lost, end))
            pipe += end - first;
        if (seq_lt(first, tp->high_rxt))
            pipe += (seq_lt(end, tp->high_rxt) ? end : tp->high_rxt) - first;
        first = i < tp->sacked_count ? tp->sacked[i].end : end;
    }
    return pipe;
}

uint32_t tcp_sack_room(const struct tcpcb *tp)
{
    uint32_t pipe = tcp_sack_pipe(tp);
    return tp->cwnd >= pipe + tp->mss ? tp->cwnd - pipe : 0;
}

uint32_t tcp_sack_gap(const struct tcpcb *tp, uint32_t *seq)
{
    for (uint32_t i = 0; i < tp->sacked_count; i++) {
        if (seq_lt(*seq, tp->sacked[i].first))
            return tp->sacked[i].first - *seq;
        if (seq_lt(*seq, tp->sacked[i].end))
            *seq = tp->sacked[i].end;
    }
    return seq_lt(*seq, tp->snd_max) ? tp->snd_max - *seq : 0;
}

static bool tcp_sack_again(struct tcpcb *tp, uint32_t seq, uint32_t bytes)
{
    uint32_t sent = tcp_output_again(tp, seq, MIN(bytes, tp->mss));
    if (!sent)
        return false;
    NET_COUNT(tcp_retransmits);
    tp->high_rxt = seq + sent;
    return true;
}

/* Retransmits gaps below `end` that have not been retransmitted, as far as they fit. */
static void tcp_sack_gaps_below(struct tcpcb *tp, uint32_t end)
{
    for (bool sent = true; sent && tcp_sack_room(tp);) {
        uint32_t seq = tp->high_rxt, bytes = tcp_sack_gap(tp, &seq);
        sent = bytes && seq_lt(seq, end) && tcp_sack_again(tp, seq, bytes);
    }
}

void tcp_sack_begin(struct tcpcb *tp)
{
    uint32_t seq = tp->snd_una;
    tp->high_rxt = seq;
    tcp_sack_again(tp, seq, tcp_sack_gap(tp, &seq));
    tp->rescue_rxt = tp->high_rxt;
}

void tcp_sack_gaps(struct tcpcb *tp)
{
    tcp_sack_gaps_below(tp, tcp_sack_lost_end(tp)); /* NextSeg, 1 */
}

void tcp_sack_rest(struct tcpcb *tp)
{
    uint32_t high = tp->sacked_count ? tp->sacked[tp->sacked_count - 1].end : tp->snd_una;
    tcp_sack_gaps_below(tp, high); /* 3 */
    if (!tcp_sack_room(tp) || !seq_lt(tp->rescue_rxt, tp->snd_una) || !seq_lt(high, tp->snd_max))
        return;
    uint32_t last = MIN(tp->snd_max - high, tp->mss), before = tp->high_rxt; /* 4: the end may be lost */
    if (tcp_sack_again(tp, tp->snd_max - last, last))
        tp->rescue_rxt = tp->recover;
    tp->high_rxt = before;
}
