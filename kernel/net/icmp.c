/*
 * ICMP (RFC 792): answers echo requests, in the packet that they came in; passes errors about packets that this host
 * has sent to the protocol that sent them.
 */
#include <errno.h>
#include <string.h>

#include "arch/csr.h"
#include "dev/clock.h"
#include "lib/minmax.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/route.h"

#define ECHO_REPLY 0
#define ECHO_REQUEST 8
#define QUOTED 8 /* bytes after the header of the packet that the error is about */
#define ICMP_HEADER 8
#define REPLY_TTL 64
#define ERRORS_MOST 20 /* in a tenth of a second */

void (*icmp_answer)(uint32_t from, uint32_t number, uint32_t bytes, bool right);
void (*icmp_to_raw)(const struct mbuf *m);

static uint8_t pattern(uint32_t number, uint32_t at)
{
    return (uint8_t)(number * 7 + at);
}

bool icmp_ask(uint32_t to, uint32_t number, uint32_t bytes)
{
    struct mbuf *m =
        bytes <= IP_MTU - IP_HEADER - ICMP_HEADER ? m_get(IP_AT + IP_HEADER + ICMP_HEADER + bytes, M_PROTOCOL) : 0;
    if (!m) {
        NET_COUNT(no_mbuf);
        return false;
    }
    m->m_data += IP_AT;
    m->m_len = IP_HEADER + ICMP_HEADER + bytes;
    uint8_t *ip = m->m_data, *icmp = ip + IP_HEADER;
    memset(ip, 0, IP_HEADER + ICMP_HEADER);
    ip[0] = 0x45;
    put16(ip + 2, m->m_len);
    put16(ip + 4, number);
    ip[8] = REPLY_TTL;
    ip[9] = IPPROTO_ICMP;
    put32(ip + 12, net_own.ip);
    put32(ip + 16, to);
    icmp[0] = ECHO_REQUEST;
    put16(icmp + 6, number);
    for (uint32_t i = 0; i < bytes; i++)
        icmp[ICMP_HEADER + i] = pattern(number, i);
    put16(icmp + 2, in_cksum(icmp, ICMP_HEADER + bytes, 0));
    ip_output(m, to);
    return true;
}

static void answered(const uint8_t *icmp, uint32_t length, uint32_t from)
{
    uint32_t number = get16(icmp + 6), bytes = length - ICMP_HEADER;
    bool right = !icmp[1] && !get16(icmp + 4);
    for (uint32_t i = 0; i < bytes; i++)
        right &= icmp[ICMP_HEADER + i] == pattern(number, i);
    icmp_answer(from, number, bytes, right);
}

static bool is_to_one(const uint8_t *ip)
{
    return loop_is(ip) ? loop_has(get32(ip + 16)) : get32(ip + 16) == net_own.ip;
}

/* Whether one more error may be sent now: a flood must not cause another one. */
static bool icmp_may_send(void)
{
    static uint32_t tenth, count; /* not atomic: two harts may miscount, which does no harm */
    uint32_t now = (uint32_t)(cycles64() / (CLOCK_HZ / 10));
    if (__atomic_exchange_n(&tenth, now, __ATOMIC_RELAXED) != now)
        __atomic_store_n(&count, 0, __ATOMIC_RELAXED);
    return __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) < ERRORS_MOST;
}

void icmp_error(struct mbuf *m, uint32_t type, uint32_t code)
{
    icmp_error_at(m, type, code, 0);
}

void icmp_error_at(struct mbuf *m, uint32_t type, uint32_t code, uint32_t at)
{
    const uint8_t *ip = m->m_data;
    uint32_t header = (ip[0] & 0xf) * 4u, from = get32(ip + 12), quoted = MIN(m->m_len, header + QUOTED);
    bool looped = loop_is(ip), to_one = is_to_one(ip) && from;
    bool tells = ip[9] == IPPROTO_ICMP && (m->m_len <= header || ip[header] != ECHO_REQUEST);
    struct mbuf *n =
        to_one && !tells && icmp_may_send() ? m_get(IP_AT + IP_HEADER + ICMP_HEADER + quoted, M_PROTOCOL) : 0;
    if (n) {
        n->m_data += IP_AT;
        n->m_len = IP_HEADER + ICMP_HEADER + quoted;
        uint8_t *to = n->m_data, *icmp = to + IP_HEADER;
        memset(to, 0, IP_HEADER + ICMP_HEADER);
        to[0] = 0x45;
        put16(to + 2, n->m_len);
        to[8] = REPLY_TTL;
        to[9] = IPPROTO_ICMP;
        put32(to + 12, looped ? get32(ip + 16) : net_own.ip);
        put32(to + 16, from);
        icmp[0] = (uint8_t)type;
        icmp[1] = (uint8_t)code;
        icmp[4] = (uint8_t)at;
        memcpy(icmp + ICMP_HEADER, ip, quoted);
        put16(icmp + 2, in_cksum(icmp, ICMP_HEADER + quoted, 0));
        NET_COUNT(icmp_errors);
        ip_output(n, from);
    }
    m_free(m);
}

/* The error of a code of ICMP_UNREACHABLE; sets *hard. */
static int icmp_error_of(uint32_t code, bool *hard)
{
    *hard = code == 2 || code == 3; /* no such protocol, or no socket has the port */
    if (*hard)
        return -ECONNREFUSED;
    return code == 0 || code == 6 || code == 11 ? -ENETUNREACH : -EHOSTUNREACH;
}

/* Whether it is an error about a packet of this host that may have a socket; then reports it. */
static bool icmp_tells(const uint8_t *icmp, uint32_t length)
{
    const uint8_t *ip = icmp + ICMP_HEADER;
    uint32_t room = length - ICMP_HEADER, header = room ? (ip[0] & 0xf) * 4u : 0;
    struct told of = {.error = -EHOSTUNREACH};
    if (!if_ether_in_threads ||
        (icmp[0] != ICMP_UNREACHABLE && icmp[0] != ICMP_TIME_EXCEEDED && icmp[0] != ICMP_PARAMETER_PROBLEM))
        return false;
    if (header < IP_HEADER || ip[0] >> 4 != 4 || room < header + QUOTED || !loop_has(get32(ip + 12)) ||
        get16(ip + 6) & IP_OFFSET) /* only the first fragment has ports */
        return false;
    if (icmp[0] == ICMP_UNREACHABLE)
        of.error = icmp_error_of(icmp[1], &of.hard);
    if (icmp[0] == ICMP_UNREACHABLE && icmp[1] == ICMP_TOO_LONG)
        of.mtu = MAX(get16(icmp + 6), IP_MTU_LEAST);
    of.laddr = get32(ip + 12);
    of.faddr = get32(ip + 16);
    of.header = ip + header;
    if (ip[9] == IPPROTO_TCP)
        tcp_told(&of);
    else if (ip[9] == IPPROTO_UDP && udp_told)
        udp_told(&of);
    return true;
}

/* A router's redirect of a packet that this host has sent: of hosts, as of networks (RFC 1122, 3.2.2.2). */
static bool icmp_redirects(const uint8_t *icmp, uint32_t length, uint32_t from)
{
    const uint8_t *ip = icmp + ICMP_HEADER;
    if (!if_ether_in_threads || icmp[0] != ICMP_REDIRECT || icmp[1] > 3 || length < ICMP_HEADER + IP_HEADER ||
        ip[0] >> 4 != 4 || get32(ip + 12) != net_own.ip)
        return false;
    route_redirect(get32(ip + 16), get32(icmp + 4), from);
    return true;
}

void icmp_input(struct mbuf *m, uint32_t header)
{
    uint8_t *ip = m->m_data, *icmp = ip + header;
    uint32_t length = m->m_len - header, from = get32(ip + 12); /* of the first mbuf */
    NET_COUNT(icmp_in);
    if (length < ICMP_HEADER || in_cksum_packet(m, header, 0)) {
        NET_COUNT(icmp_bad);
        m_free(m);
        return;
    }
    if (icmp_to_raw)
        icmp_to_raw(m);
    bool looped = loop_is(ip), to_one = is_to_one(ip);
    if (to_one && icmp[0] == ECHO_REPLY && icmp_answer && !m->m_next) {
        answered(icmp, length, from);
        m_free(m);
        return;
    }
    if (to_one && icmp_tells(icmp, length)) {
        NET_COUNT(icmp_told);
        m_free(m);
        return;
    }
    if (to_one && icmp_redirects(icmp, length, from)) {
        NET_COUNT(icmp_redirects);
        m_free(m);
        return;
    }
    /* Requests to all hosts, or from a host without an address, get no answer (RFC 1122, 3.2.1.3 and 3.2.2.6). */
    if (icmp[0] != ECHO_REQUEST || icmp[1] || !to_one || !from) {
        NET_COUNT(icmp_ignored);
        m_free(m);
        return;
    }
    NET_COUNT(icmp_echo);
    icmp[0] = ECHO_REPLY;
    put16(icmp + 2, 0);
    put16(icmp + 2, in_cksum_packet(m, header, 0));
    uint32_t to = header > IP_HEADER ? ip_options_answer(m, header) : from;
    ip = m->m_data;
    put32(ip + 12, looped ? get32(ip + 16) : net_own.ip);
    put32(ip + 16, to);
    put16(ip + 6, 0);
    ip[8] = REPLY_TTL;
    ip_output(m, to);
}
