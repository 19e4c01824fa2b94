/*
 * TCP (RFC 9293) in 4.4BSD's shape (Wright and Stevens, TCP/IP Illustrated 2, chapters 24 to 30): slow start,
 * congestion avoidance, fast retransmit and recovery (RFC 5681, 6582), retransmission times (RFC 6298, in units of
 * the slow timer), delayed acknowledgements, the algorithms against small segments, window probes, checks against
 * blind resets and injection (RFC 5961), window scaling and timestamps with PAWS (RFC 7323), selective
 * acknowledgements (RFC 2018, 6675). Numbers of sequences are compared modulo 2^32.
 *
 *   tcp_input.c    a segment that came              tcp_timer.c   pffast_thread (200 ms) and pfslow_thread (500 ms)
 *   tcp_output.c   what is to be sent now           tcp_usrreq.c  what sockets ask for
 *   tcp_options.c  options, read and written        tcp_sack.c    which ranges are there, here and on the other side
 *
 * Locking: all of a tcpcb is guarded by its inpcb's lock (in_pcb.h), which every function below is called with.
 */
#ifndef NET_TCP_H
#define NET_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "net/in_pcb.h"
#include "net/mbuf.h"

#define TCP_HEADER 20
#define TCP_MSS_DEFAULT 536
#define TCP_WINDOW_MOST 65535u /* of the field in a header; scaled by 2^TCP_SCALE_MOST at the most */
#define TCP_SCALE_MOST 14
#define TCP_OPTIONS_MOST 40
#define TCP_TIMES_BYTES 12 /* of the timestamps option, with what aligns it */

enum tcp_state {
    TCPS_CLOSED,
    TCPS_LISTEN,
    TCPS_SYN_SENT,
    TCPS_SYN_RECEIVED,
    TCPS_ESTABLISHED,
    TCPS_CLOSE_WAIT,
    TCPS_FIN_WAIT_1,
    TCPS_CLOSING,
    TCPS_LAST_ACK,
    TCPS_FIN_WAIT_2,
    TCPS_TIME_WAIT,
};

#define TH_FIN 1u
#define TH_SYN 2u
#define TH_RST 4u
#define TH_PUSH 8u
#define TH_ACK 16u

/* Ticks of the slow timer: 500 ms. */
#define TCP_SLOW_HZ 2
enum { TCPT_REXMT, TCPT_PERSIST, TCPT_KEEP, TCPT_2MSL, TCP_TIMERS };
#define TCP_MSL_TICKS (30 * TCP_SLOW_HZ)
#define TCP_CONNECT_TICKS (75 * TCP_SLOW_HZ)
/*
 * A timer that is set to n ticks runs between n - 1 and n of them: one more than the time that RFC 6298 (2.1, 2.4,
 * 5.7) asks for at least.
 */
#define TCP_RTO_FIRST (1 * TCP_SLOW_HZ + 1)
#define TCP_RTO_LEAST (1 * TCP_SLOW_HZ + 1)
#define TCP_RTO_AFTER_LOSS (3 * TCP_SLOW_HZ + 1)
#define TCP_RTO_MOST (64 * TCP_SLOW_HZ)
#define TCP_RETRIES 12
/* Of a connection that is to be kept alive (RFC 1122, 4.2.3.6): idle so long, probed so often, so far apart. */
#define TCP_KEEP_IDLE (7200 * TCP_SLOW_HZ)
#define TCP_KEEP_INTERVAL (75 * TCP_SLOW_HZ)
#define TCP_KEEP_COUNT 9
#define TCP_REASSEMBLY_MOST 64 /* segments that wait for one before them, of a buffer of the usual size */
#define TCP_SACK_BLOCKS 4      /* that an option has room for */
#define TCP_SACKED_MOST 32     /* ranges beyond a gap that are remembered */
#define TCP_DUPLICATES 3       /* acknowledgements that tell of a loss */

/* A range of sequence numbers, without `end`. */
struct tcp_range {
    uint32_t first, end;
};

/* The options of a segment that came. */
struct tcp_options {
    uint32_t mss; /* 0: none */
    bool has_scale, has_times, may_sack;
    uint8_t scale;
    uint32_t time, echo;
    uint32_t blocks;
    struct tcp_range block[TCP_SACK_BLOCKS];
};

struct tcpcb {
    struct inpcb inp;
    enum tcp_state state;
    bool ack_now, delayed_ack, force; /* force: a byte beyond a closed window */
    bool sent_fin, fin_seen; /* fin_seen: the other side's is at fin_at */
    bool recovers; /* from a loss, until all up to `recover` is acknowledged */
    uint32_t fin_at;
    uint32_t mss;
    int soft_error; /* what ICMP has said since the other side was heard of (RFC 1122, 4.2.3.9), or 0 */
    struct socket *listening; /* of a connection that one of it will accept: with a reference */
    /* Sending: acknowledged up to, next, most that was sent; the other side's window and the segment that said it. */
    uint32_t iss, snd_una, snd_nxt, snd_max, snd_wnd, snd_wl1, snd_wl2, max_snd_wnd;
    uint32_t cwnd, ssthresh, recover, duplicates;
    uint32_t sent_at; /* by tcp_time: something that takes numbers */
    uint32_t loss_max; /* snd_max before the first duplicate: what RFC 3042 lets go after it does not count */
    /* Receiving: next, window, and the end of what has been offered. */
    uint32_t irs, rcv_nxt, rcv_wnd, rcv_adv;
    struct mbuf *reassembly; /* by m_nextpkt, in order of m_seq */
    uint32_t reassembled; /* how many */
    /* What both sides have agreed upon in their SYNs. */
    bool scales, times, sacks;
    uint8_t snd_scale, rcv_scale; /* of the windows that come and go */
    /* Timestamps (RFC 7323): what is added to the clock; TS.Recent and when it came; Last.ACK.sent. */
    uint32_t time_offset, ts_recent, ts_recent_at, last_ack_sent;
    /* Selective acknowledgements: the ranges that the other side is told of, the latest first; */
    struct tcp_range told[TCP_SACK_BLOCKS];
    uint32_t told_count;
    /* those that it has told us of, in order, with gaps between them, all beyond snd_una; HighRxt, RescueRxt. */
    struct tcp_range sacked[TCP_SACKED_MOST];
    uint32_t sacked_count, high_rxt, rescue_rxt;
    uint32_t again; /* not 0: this many bytes from snd_nxt on are sent whatever the window of congestion */
    /* Timers count down; 0 is off. The time of the segment at rtt_seq is measured while rtt is not 0. */
    uint32_t timer[TCP_TIMERS], rto, retries;
    uint32_t rtt, rtt_seq, srtt, rttvar; /* ticks; srtt times 8, rttvar times 32 */
    uint32_t probes; /* of a closed window, since the other side was heard of */
    uint32_t orphan_probes; /* of one whose socket nobody has, since it took something */
    uint32_t challenges; /* ACKs of RFC 5961 in this tick */
    uint32_t keep_idle, keep_interval, keep_count; /* ticks, ticks, probes */
    uint32_t keep_probes; /* since the other side was heard of */
};

static inline struct tcpcb *tcb_of(struct inpcb *inp)
{
    return (struct tcpcb *)inp;
}

/* Bytes that may be on their way at first, and after a pause (RFC 5681, 3.1 and 4.1). */
static inline uint32_t tcp_first_window(const struct tcpcb *tp)
{
    return tp->mss > 2190 ? 2 * tp->mss : tp->mss > 1095 ? 3 * tp->mss : 4 * tp->mss;
}

static inline bool seq_lt(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static inline bool seq_leq(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) <= 0;
}

struct tcpcb *tcp_create(void); /* with a socket to be set; one reference; 0: memory is out */
void tcp_free(struct tcpcb *tp); /* for in_pcb.c */
uint32_t tcp_in_use(void); /* how many there are */

void tcp_output(struct tcpcb *tp); /* all that may be sent now */
/* One segment of at most `most` numbers from `seq` on, which has been sent before: how many; 0: memory is out. */
uint32_t tcp_output_again(struct tcpcb *tp, uint32_t seq, uint32_t most);
void tcp_probe(struct tcpcb *tp); /* a segment that the other side has to answer: the number before snd_una */

/* Options (tcp_options.c). */
void tcp_options_read(const uint8_t *option, uint32_t bytes, struct tcp_options *o);
uint32_t tcp_options_write(const struct tcpcb *tp, bool syn, uint8_t *to); /* their length, a multiple of 4 */
void tcp_agree(struct tcpcb *tp, const struct tcp_options *o); /* with those of the other side's SYN */
void tcp_choose_scale(struct tcpcb *tp); /* of its own windows, by the size of its buffer */
uint32_t tcp_time(const struct tcpcb *tp); /* its clock of timestamps: 2^TCP_TIME_SHIFT cycles */
uint32_t tcp_eighths_since(const struct tcpcb *tp, uint32_t time); /* of a slow timer's tick; UINT32_MAX: long ago */
#define TCP_TIME_SHIFT 17 /* 1 to 3 ms (RFC 7323, 5.4: 1 ms to 1 s) */
bool tcp_is_timely(const struct tcpcb *tp, uint32_t time); /* PAWS */
void tcp_take_time(struct tcpcb *tp, uint32_t time); /* TS.Recent, unless that is later */

/* Selective acknowledgements (tcp_sack.c). Receiving: a segment with `seq` waits behind a gap; rcv_nxt has advanced. */
void tcp_sack_keep(struct tcpcb *tp, uint32_t seq);
void tcp_sack_advance(struct tcpcb *tp);
/* Sending: blocks that came with `ack`, whether they say something new; snd_una has advanced; all is forgotten. */
bool tcp_sack_take(struct tcpcb *tp, uint32_t ack, const struct tcp_options *o);
void tcp_sack_acked(struct tcpcb *tp);
void tcp_sack_forget(struct tcpcb *tp);
bool tcp_sack_lost(const struct tcpcb *tp); /* IsLost of snd_una */
void tcp_sack_begin(struct tcpcb *tp); /* recovery, with the segment at snd_una */
bool tcp_sack_recovers(const struct tcpcb *tp); /* by these means */
uint32_t tcp_sack_room(const struct tcpcb *tp); /* bytes that may be sent now; 0: no segment */
void tcp_sack_gaps(struct tcpcb *tp); /* sends what is lost */
void tcp_sack_rest(struct tcpcb *tp); /* and when no more is new, what may be */
/* Bytes from `seq` on that the other side does not have; *seq advances to the first one. */
uint32_t tcp_sack_gap(const struct tcpcb *tp, uint32_t *seq);

/* A segment without data to `to`, as from `from`; it is of no connection, or of one that is not told. */
struct tcp_ends {
    uint32_t laddr, faddr;
    uint16_t lport, fport;
};
void tcp_respond(const struct tcp_ends *ends, uint32_t seq, uint32_t ack, uint32_t flags, uint32_t window);

/* The end of a connection: the list has it no more, and the socket is told. */
void tcp_close(struct tcpcb *tp, int error);
void tcp_abort(struct tcpcb *tp, int error); /* with a reset to the other side, if it knows of the connection */

void tcp_init_send(struct tcpcb *tp); /* the first number of sequence, RFC 6528 */
void tcp_cancel_timers(struct tcpcb *tp);
void tcp_set_persist(struct tcpcb *tp);
void tcp_keep_alive(struct tcpcb *tp); /* the other side has been heard of, or the socket's option is another */
void tcp_timers_start(void); /* the two threads, once */

/* What sockets ask for: 0 or minus a number of <errno.h>. */
int tcp_bind(struct tcpcb *tp, uint32_t laddr, uint32_t lport);
int tcp_listen(struct tcpcb *tp);
int tcp_connect(struct tcpcb *tp, uint32_t faddr, uint32_t fport);
void tcp_user_closed(struct tcpcb *tp, bool unread); /* no more is sent; `unread`: nor read, though something waits */
#endif
