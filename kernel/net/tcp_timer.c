/*
 * TCP's timers, in two threads, as their work takes locks (paper `mach`, 4.4): pffast_thread sends delayed
 * acknowledgements, every 200 ms; pfslow_thread counts each connection's timers down, every 500 ms.
 */
#include <errno.h>

#include "dev/clock.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "net/net.h"
#include "net/socket.h"
#include "net/tcp.h"
#include "sched/sched.h"

#define FAST_HZ 5
#define RETRY_SHIFT_MOST 6

void tcp_cancel_timers(struct tcpcb *tp)
{
    for (unsigned i = 0; i < TCP_TIMERS; i++)
        tp->timer[i] = 0;
}

static uint32_t backed_off(const struct tcpcb *tp)
{
    return MIN(tp->rto << MIN(tp->retries, RETRY_SHIFT_MOST), TCP_RTO_MOST);
}

/* Ends a connection without an answer: with the ICMP error received meanwhile, if any. */
static void give_up(struct tcpcb *tp)
{
    tcp_abort(tp, tp->soft_error ? tp->soft_error : -ETIMEDOUT);
}

void tcp_set_persist(struct tcpcb *tp)
{
    tp->timer[TCPT_PERSIST] = backed_off(tp);
    tp->retries += tp->retries < TCP_RETRIES;
}

/* RFC 6298, 5; RFC 5681, 3.1. The time of a retransmitted segment is not measured. */
static void retransmit(struct tcpcb *tp)
{
    if (++tp->retries > TCP_RETRIES) {
        give_up(tp);
        return;
    }
    uint32_t flight = tp->snd_max - tp->snd_una;
    tp->ssthresh = flight / 2 > 2 * tp->mss ? flight / 2 : 2 * tp->mss;
    tp->cwnd = tp->mss;
    tp->recovers = false;
    tp->recover = tp->snd_max;
    tp->duplicates = tp->rtt = 0;
    tp->snd_nxt = tp->snd_una;
    tcp_sack_forget(tp); /* the peer may have discarded it (RFC 2018, 8) */
    tp->timer[TCPT_REXMT] = backed_off(tp);
    NET_COUNT(tcp_retransmits);
    tcp_output(tp);
}

/*
 * Without limit while the peer answers and a descriptor has the socket (RFC 1122, 4.2.2.17), else as often as data is
 * retransmitted.
 */
static void probe(struct tcpcb *tp)
{
    tp->orphan_probes += !!(tp->inp.so->state & SS_NO_DESCRIPTOR);
    if (++tp->probes > TCP_RETRIES || tp->orphan_probes > TCP_RETRIES) {
        give_up(tp);
        return;
    }
    tcp_set_persist(tp);
    tp->force = true;
    tcp_output(tp);
    tp->force = false;
}

void tcp_keep_alive(struct tcpcb *tp)
{
    if (tp->state < TCPS_ESTABLISHED)
        return; /* the timer limits the attempt */
    tp->keep_probes = 0;
    tp->timer[TCPT_KEEP] = tp->inp.so->keep_alive && tp->state != TCPS_TIME_WAIT ? tp->keep_idle : 0;
}

/* The connection was not established in time; or it has been idle, and is probed with an old number. */
static void tcp_timer_keep(struct tcpcb *tp)
{
    if (tp->state < TCPS_ESTABLISHED || ++tp->keep_probes > tp->keep_count) {
        give_up(tp);
        return;
    }
    tcp_probe(tp);
    tp->timer[TCPT_KEEP] = tp->keep_interval;
}

static void slow(struct inpcb *inp)
{
    struct tcpcb *tp = tcb_of(inp);
    tp->challenges = 0;
    tp->rtt += !!tp->rtt;
    for (unsigned i = 0; i < TCP_TIMERS && !inp->closing; i++) {
        if (!tp->timer[i] || --tp->timer[i])
            continue;
        switch (i) {
        case TCPT_REXMT: retransmit(tp); break;
        case TCPT_PERSIST: probe(tp); break;
        case TCPT_KEEP: tcp_timer_keep(tp); break;
        default: tcp_close(tp, 0);
        }
    }
}

static void fast(struct inpcb *inp)
{
    struct tcpcb *tp = tcb_of(inp);
    if (tp->delayed_ack || tp->ack_now) { /* ack_now: there was no memory to send it */
        tp->ack_now = true;
        tcp_output(tp);
    }
}

struct rounds {
    uint32_t hz;
    void (*fn)(struct inpcb *inp);
    const char *name;
};
static const struct rounds pffast = {FAST_HZ, fast, "pffast_thread"}, pfslow = {TCP_SLOW_HZ, slow, "pfslow_thread"};

struct round {
    void (*fn)(struct inpcb *inp);
    struct inpcb *marker;
};

static void tcp_timer_round_of(unsigned database, void *arg)
{
    const struct round *round = arg;
    in_pcb_each(database, round->marker, round->fn);
}

static void rounds_thread(void *arg)
{
    const struct rounds *r = arg;
    struct inpcb marker = {0};
    for (;;) {
        thread_delay(clock_hz() / r->hz);
        if (r == &pfslow) {
            inet_enter();
            ip_slow();
            inet_leave();
        }
        inet_round(tcp_timer_round_of, &(struct round){r->fn, &marker});
    }
}

void tcp_timers_start(void)
{
    if (!thread_create(rounds_thread, (void *)&pffast, PRI_INTERRUPT, ANY_HART, pffast.name) ||
        !thread_create(rounds_thread, (void *)&pfslow, PRI_INTERRUPT, ANY_HART, pfslow.name))
        panic("no thread is free for the network's timers");
}
