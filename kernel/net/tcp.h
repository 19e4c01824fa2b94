/*
 * TCP (RFC 9293) in 4.4BSD's shape (Wright and Stevens, TCP/IP Illustrated 2, chapters 24 to 30): slow start,
 * congestion avoidance, fast retransmit and recovery (RFC 5681, 6582), retransmission times (RFC 6298, in units of
 * the slow timer), delayed acknowledgements, the algorithms against small segments, window probes, checks against
 * blind resets and injection (RFC 5961), window scaling and timestamps with PAWS (RFC 7323), selective
 * acknowledgements (RFC 2018, 6675), urgent data (RFC 6093: the pointer is to the byte after it). Sequence numbers are
 * compared modulo 2^32.
 *
 *   tcp_input.c    received segments                tcp_timer.c   pffast_thread (200 ms) and pfslow_thread (500 ms)
 *   tcp_output.c   sending                          tcp_usrreq.c  requests of sockets
 *   tcp_options.c  options, read and written        tcp_sack.c    ranges received, here and by the peer
 *
 * Locking: the lock of a tcpcb's inpcb (in_pcb.h) guards all of it; callers of the functions below hold it.
 */
#ifndef NET_TCP_H
#define NET_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "net/in_pcb.h"
#include "net/mbuf.h"

#define TCP_HEADER 20
#define TCP_MSS_DEFAULT 536
#define TCP_WINDOW_MOST 65535u /* of the field in a header; scaled by at most 2^TCP_SCALE_MOST */
#define TCP_SCALE_MOST 14
#define TCP_OPTIONS_MOST 40
#define TCP_TIMES_BYTES 12 /* of the timestamps option, with its padding */

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
#define TH_URG 32u

/* Ticks of the slow timer: 500 ms. */
#define TCP_SLOW_HZ 2
enum { TCPT_REXMT, TCPT_PERSIST, TCPT_KEEP, TCPT_2MSL, TCP_TIMERS };
#define TCP_MSL_TICKS (30 * TCP_SLOW_HZ)
#define TCP_CONNECT_TICKS (75 * TCP_SLOW_HZ)
/*
 * A timer set to n ticks runs for n - 1 to n of them: so these are one more than the minimum times of RFC 6298 (2.1,
 * 2.4, 5.7).
 */
#define TCP_RTO_FIRST (1 * TCP_SLOW_HZ + 1)
#define TCP_RTO_LEAST (1 * TCP_SLOW_HZ + 1)
#define TCP_RTO_AFTER_LOSS (3 * TCP_SLOW_HZ + 1)
#define TCP_RTO_MOST (64 * TCP_SLOW_HZ)
#define TCP_RETRIES 12
/* Keep-alive (RFC 1122, 4.2.3.6): idle time before the first probe, number of probes, interval. */
#define TCP_KEEP_IDLE (7200 * TCP_SLOW_HZ)
#define TCP_KEEP_INTERVAL (75 * TCP_SLOW_HZ)
#define TCP_KEEP_COUNT 9
#define TCP_REASSEMBLY_MOST 64 /* out-of-order segments kept, for a buffer of the usual size */
#define TCP_SACK_BLOCKS 4      /* blocks that fit into an option */
#define TCP_SACKED_MOST 32     /* most ranges beyond a gap that are kept */
#define TCP_DUPLICATES 3       /* acknowledgements that indicate a loss */

/* A range of sequence numbers, without `end`. */
struct tcp_range {
    uint32_t first, end;
};

/* The options of a received segment. */
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
    bool sent_fin, fin_seen; /* fin_seen: the peer's is at fin_at */
    bool recovers; /* in recovery, until all up to `recover` is acknowledged */
    uint32_t fin_at;
    uint32_t mss;
    int soft_error; /* the last ICMP error since the peer's last segment (RFC 1122, 4.2.3.9), or 0 */
    struct socket *listening; /* of a connection not accepted yet: its listening socket, with a reference */
    /* Sending: acknowledged up to, next, highest sent; the peer's window and the segment that announced it. */
    uint32_t iss, snd_una, snd_nxt, snd_max, snd_wnd, snd_wl1, snd_wl2, max_snd_wnd;
    uint32_t cwnd, ssthresh, recover, duplicates;
    uint32_t sent_at; /* by tcp_time: when sequence numbers were last sent */
    uint32_t loss_max; /* snd_max before the first duplicate: without what RFC 3042 sends after it */
    /* Receiving: next, window, and the end of the offered window. */
    uint32_t irs, rcv_nxt, rcv_wnd, rcv_adv;
    bool rcv_urgent; /* an urgent byte was announced, the last one at rcv_up */
    uint32_t rcv_up;
    struct mbuf_list reassembly; /* in order of m_seq */
    uint32_t reassembled; /* how many */
    /* Options that both sides' SYNs had. */
    bool scales, times, sacks;
    uint8_t snd_scale, rcv_scale; /* of received windows, of sent ones */
    /* Timestamps (RFC 7323): offset of the clock; TS.Recent and its time of arrival; Last.ACK.sent. */
    uint32_t time_offset, ts_recent, ts_recent_at, last_ack_sent;
    /* Selective acknowledgements: ranges reported to the peer, the latest first; */
    struct tcp_range told[TCP_SACK_BLOCKS];
    uint32_t told_count;
    /* ranges that it has reported, in order, with gaps between them, all beyond snd_una; HighRxt, RescueRxt. */
    struct tcp_range sacked[TCP_SACKED_MOST];
    uint32_t sacked_count, high_rxt, rescue_rxt;
    uint32_t again; /* not 0: this many bytes from snd_nxt on are sent despite the congestion window */
    /* Timers count down; 0 is off. The time of the segment at rtt_seq is measured while rtt is not 0. */
    uint32_t timer[TCP_TIMERS], rto, retries;
    uint32_t rtt, rtt_seq, srtt, rttvar; /* ticks; srtt times 8, rttvar times 32 */
    uint32_t probes; /* of a closed window, since the peer's last segment */
    uint32_t orphan_probes; /* of one without a descriptor, since it last acknowledged data */
    uint32_t challenges; /* ACKs of RFC 5961 in this tick */
    uint32_t keep_idle, keep_interval, keep_count; /* ticks, ticks, probes */
    uint32_t keep_probes; /* since the peer's last segment */
};

static inline struct tcpcb *tcb_of(struct inpcb *inp)
{
    return (struct tcpcb *)inp;
}

/* The congestion window at the beginning, and after an idle time (RFC 5681, 3.1 and 4.1). */
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

struct tcpcb *tcp_create(void); /* the caller sets the socket; one reference; 0: out of memory */
void tcp_free(struct tcpcb *tp); /* for in_pcb.c */
uint32_t tcp_in_use(void); /* number of connections */

void tcp_output(struct tcpcb *tp); /* sends all that may be sent now */
/* Retransmits a segment of at most `most` numbers from `seq` on. Returns how many; 0: out of memory. */
uint32_t tcp_output_again(struct tcpcb *tp, uint32_t seq, uint32_t most);
void tcp_probe(struct tcpcb *tp); /* a segment that the peer must answer: the number before snd_una */

/* Options (tcp_options.c). */
void tcp_options_read(const uint8_t *option, uint32_t bytes, struct tcp_options *o);
uint32_t tcp_options_write(const struct tcpcb *tp, bool syn, uint8_t *to); /* their length, a multiple of 4 */
void tcp_agree(struct tcpcb *tp, const struct tcp_options *o); /* with those of the peer's SYN */
void tcp_choose_scale(struct tcpcb *tp); /* for its own windows, by the size of its buffer */
uint32_t tcp_time(const struct tcpcb *tp); /* its clock of timestamps: 2^TCP_TIME_SHIFT cycles */
uint32_t tcp_eighths_since(const struct tcpcb *tp, uint32_t time); /* of a slow timer's tick; UINT32_MAX: long ago */
#define TCP_TIME_SHIFT 17 /* 1 to 3 ms (RFC 7323, 5.4: 1 ms to 1 s) */
bool tcp_is_timely(const struct tcpcb *tp, uint32_t time); /* PAWS */
void tcp_take_time(struct tcpcb *tp, uint32_t time); /* updates TS.Recent, unless that is later */

/* Selective acknowledgements (tcp_sack.c). Receiving: a segment with `seq` is beyond a gap; rcv_nxt has advanced. */
void tcp_sack_keep(struct tcpcb *tp, uint32_t seq);
void tcp_sack_advance(struct tcpcb *tp);
/* Sending: blocks received with `ack`, whether they are new; snd_una has advanced; drops all ranges. */
bool tcp_sack_take(struct tcpcb *tp, uint32_t ack, const struct tcp_options *o);
void tcp_sack_acked(struct tcpcb *tp);
void tcp_sack_forget(struct tcpcb *tp);
bool tcp_sack_lost(const struct tcpcb *tp); /* IsLost of snd_una */
void tcp_sack_begin(struct tcpcb *tp); /* begins recovery, with the segment at snd_una */
bool tcp_sack_recovers(const struct tcpcb *tp); /* whether by SACK */
uint32_t tcp_sack_room(const struct tcpcb *tp); /* bytes that may be sent now; 0: no segment */
void tcp_sack_gaps(struct tcpcb *tp); /* retransmits lost segments */
void tcp_sack_rest(struct tcpcb *tp); /* and, without new data, those that may be lost */
/* Bytes from `seq` on that the peer does not have; *seq advances to the first one. */
uint32_t tcp_sack_gap(const struct tcpcb *tp, uint32_t *seq);

/* Sends a segment without data between these ends, for no connection, or not recorded in it. */
struct tcp_ends {
    uint32_t laddr, faddr;
    uint16_t lport, fport;
};
void tcp_respond(const struct tcp_ends *ends, uint32_t seq, uint32_t ack, uint32_t flags, uint32_t window);

/* Ends a connection: removes it from the list, and notifies the socket. */
void tcp_close(struct tcpcb *tp, int error);
void tcp_abort(struct tcpcb *tp, int error); /* with a reset to the peer, if it knows the connection */

void tcp_init_send(struct tcpcb *tp); /* the initial sequence number, RFC 6528 */
void tcp_cancel_timers(struct tcpcb *tp);
void tcp_set_persist(struct tcpcb *tp);
void tcp_keep_alive(struct tcpcb *tp); /* the peer has sent a segment, or the socket's option has changed */
void tcp_timers_start(void); /* starts the two threads, once */

/* Requests of sockets: 0 or minus a number of <errno.h>. */
int tcp_bind(struct tcpcb *tp, uint32_t laddr, uint32_t lport);
int tcp_listen(struct tcpcb *tp);
int tcp_connect(struct tcpcb *tp, uint32_t faddr, uint32_t fport);
void tcp_user_closed(struct tcpcb *tp, bool unread); /* no more is sent; `unread`: unread data is lost */
#endif
