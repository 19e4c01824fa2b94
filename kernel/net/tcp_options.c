/* TCP: options (RFC 9293, 3.2; RFC 7323; RFC 2018). */
#include "arch/csr.h"
#include "dev/clock.h"
#include "lib/minmax.h"
#include "net/in.h"
#include "net/socket.h"
#include "net/tcp.h"

#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_MSS 2
#define OPTION_SCALE 3
#define OPTION_MAY_SACK 4
#define OPTION_SACK 5
#define OPTION_TIMES 8
#define MSS_OWN (IP_MTU - IP_HEADER - TCP_HEADER)
#define MSS_LEAST 64       /* of the peer: with less, segments would be mostly headers */
#define EIGHTHS_OF_TIME /* eighths of a tick of the slow timer in one of the timestamps' clock, times 2^16 */ \
    ((uint32_t)(((8ull * TCP_SLOW_HZ << TCP_TIME_SHIFT) << 16) / CLOCK_HZ))
#define AGE_SHIFT 24       /* cycles of a unit in which the age of TS.Recent is counted */
#define AGE_MOST ((24ull * 24 * 3600 * CLOCK_HZ) >> AGE_SHIFT) /* RFC 7323, 5.5 */

static void tcp_option_read(const uint8_t *option, uint32_t length, struct tcp_options *o)
{
    switch (option[0] << 8 | length) {
    case OPTION_MSS << 8 | 4: o->mss = get16(option + 2); return;
    case OPTION_SCALE << 8 | 3:
        o->has_scale = true;
        o->scale = (uint8_t)MIN(option[2], TCP_SCALE_MOST);
        return;
    case OPTION_MAY_SACK << 8 | 2: o->may_sack = true; return;
    case OPTION_TIMES << 8 | 10:
        o->has_times = true;
        o->time = get32(option + 2);
        o->echo = get32(option + 6);
        return;
    default: break;
    }
    if (option[0] != OPTION_SACK || (length - 2) % 8)
        return;
    for (uint32_t at = 2; at < length && o->blocks < TCP_SACK_BLOCKS; at += 8)
        o->block[o->blocks++] = (struct tcp_range){get32(option + at), get32(option + at + 4)};
}

/* A malformed option ends the list: the beginning of the next one is unknown. */
void tcp_options_read(const uint8_t *option, uint32_t bytes, struct tcp_options *o)
{
    *o = (struct tcp_options){0};
    for (uint32_t at = 0; at < bytes && option[at] != OPTION_END;) {
        if (option[at] == OPTION_NOP) {
            at++;
            continue;
        }
        uint32_t length = at + 1 < bytes ? option[at + 1] : 0;
        if (length < 2 || length > bytes - at)
            return;
        tcp_option_read(option + at, length, o);
        at += length;
    }
}

static uint32_t put_times(const struct tcpcb *tp, uint8_t *to)
{
    to[0] = OPTION_TIMES;
    to[1] = 10;
    put32(to + 2, tcp_time(tp));
    put32(to + 6, tp->ts_recent);
    return 10;
}

/* Offers all options; the answer to a SYN has those of the SYN. */
static uint32_t put_syn(const struct tcpcb *tp, uint8_t *to)
{
    bool asks = tp->state == TCPS_SYN_SENT;
    uint32_t n = 4;
    to[0] = OPTION_MSS;
    to[1] = 4;
    put16(to + 2, MSS_OWN);
    if (asks || tp->sacks) {
        to[n++] = OPTION_MAY_SACK;
        to[n++] = 2;
    }
    if (asks || tp->times)
        n += put_times(tp, to + n);
    if (asks || tp->scales) {
        to[n++] = OPTION_SCALE;
        to[n++] = 3;
        to[n++] = tp->rcv_scale;
    }
    while (n % 4)
        to[n++] = OPTION_NOP;
    return n;
}

uint32_t tcp_options_write(const struct tcpcb *tp, bool syn, uint8_t *to)
{
    uint32_t n = 0;
    if (syn)
        return put_syn(tp, to);
    if (tp->times) {
        to[n++] = OPTION_NOP;
        to[n++] = OPTION_NOP;
        n += put_times(tp, to + n);
    }
    uint32_t blocks = MIN(tp->told_count, (TCP_OPTIONS_MOST - n - 4) / 8);
    if (!blocks)
        return n;
    to[n++] = OPTION_NOP;
    to[n++] = OPTION_NOP;
    to[n++] = OPTION_SACK;
    to[n++] = (uint8_t)(2 + 8 * blocks);
    for (uint32_t i = 0; i < blocks; i++, n += 8) {
        put32(to + n, tp->told[i].first);
        put32(to + n + 4, tp->told[i].end);
    }
    return n;
}

void tcp_agree(struct tcpcb *tp, const struct tcp_options *o)
{
    tp->scales = o->has_scale;
    tp->times = o->has_times;
    tp->sacks = o->may_sack;
    tp->snd_scale = o->scale;
    if (!tp->scales)
        tp->rcv_scale = 0;
    if (tp->times) {
        tp->ts_recent = o->time;
        tp->ts_recent_at = (uint32_t)(cycles64() >> AGE_SHIFT);
    }
    tp->mss = MIN(tp->mss, MAX(o->mss ? o->mss : TCP_MSS_DEFAULT, MSS_LEAST)) - (tp->times ? TCP_TIMES_BYTES : 0);
}

void tcp_choose_scale(struct tcpcb *tp)
{
    uint32_t most = tp->inp.so->rcv.hiwat;
    for (tp->rcv_scale = 0; tp->rcv_scale < TCP_SCALE_MOST && TCP_WINDOW_MOST << tp->rcv_scale < most;)
        tp->rcv_scale++;
}

uint32_t tcp_time(const struct tcpcb *tp)
{
    return (uint32_t)(cycles64() >> TCP_TIME_SHIFT) + tp->time_offset;
}

uint32_t tcp_eighths_since(const struct tcpcb *tp, uint32_t time)
{
    uint32_t took = tcp_time(tp) - time;
    return took <= UINT16_MAX ? took * EIGHTHS_OF_TIME >> 16 : UINT32_MAX;
}

void tcp_take_time(struct tcpcb *tp, uint32_t time)
{
    if (!tcp_is_timely(tp, time))
        return;
    tp->ts_recent = time;
    tp->ts_recent_at = (uint32_t)(cycles64() >> AGE_SHIFT);
}

/* A TS.Recent that is older than 24 days is not compared, as the clock may have wrapped. */
bool tcp_is_timely(const struct tcpcb *tp, uint32_t time)
{
    return !seq_lt(time, tp->ts_recent) || (uint32_t)(cycles64() >> AGE_SHIFT) - tp->ts_recent_at > AGE_MOST;
}
