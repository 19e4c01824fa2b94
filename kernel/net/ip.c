/* IP: checks received packets and passes them on, and sends (RFC 791); ip_reassembly.c has fragments. */
#include <string.h>

#include "net/if_ether.h"
#include "net/in.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/policy.h"
#include "net/route.h"

static const uint8_t ETHER_TO_ALL[ETHER_ADDRESS] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
#define MORE_OR_OFFSET (IP_MORE | IP_OFFSET)
#define GROUP 1 /* in the first byte of an Ethernet address: a group's */

bool ip_is_all(uint32_t ip)
{
    return ip == INADDR_BROADCAST || ip == (net_own.ip | ~net_own.mask);
}

/* Whether it is for this host. A packet to one host in a frame to all is dropped (RFC 1122, 3.3.6). */
static bool is_ours(const struct mbuf *m, uint32_t to)
{
    if (loop_is(m->m_data))
        return true;
    if (to == net_own.ip)
        return !(m->m_data[-ETHER_HEADER] & GROUP);
    return ip_is_all(to);
}

bool ip_is_other_host(uint32_t ip)
{
    return ip >> 24 && ip >> 28 < 0xe && !loop_has(ip) && ip != (net_own.ip & net_own.mask) && !ip_is_all(ip);
}

/* Whether its source address is valid. 0 is a host that does not know its address yet. */
static bool has_sender(const uint8_t *ip)
{
    uint32_t from = get32(ip + 12);
    return loop_is(ip) ? loop_has(from) : !from || ip_is_other_host(from);
}

/* The length of its header if the packet is valid and for this host, else 0, and the reason is counted. */
static uint32_t checked(struct mbuf *m)
{
    const uint8_t *p = m->m_data;
    if (m->m_len < IP_HEADER) {
        NET_COUNT(ip_short);
        return 0;
    }
    uint32_t header = (p[0] & 0xf) * 4u, length = get16(p + 2), to = get32(p + 16);
    uint32_t there = m_packet_length(m); /* m_next comes from this host only, without padding */
    if (p[0] >> 4 != 4 || header < IP_HEADER || header > m->m_len || length < header || length > there ||
        (m->m_next && length < there))
        NET_COUNT(ip_bad);
    else if (in_cksum(p, header, 0))
        NET_COUNT(ip_checksum);
    else if (!is_ours(m, to))
        NET_COUNT(ip_other);
    else if (!has_sender(p))
        NET_COUNT(ip_bad);
    else {
        if (!m->m_next)
            m->m_len = length; /* the rest is padding of the frame */
        return header;
    }
    return 0;
}

void ip_input(struct mbuf *m)
{
    NET_COUNT(ip_in);
    ip_lock();
    uint32_t header = checked(m);
    ip_unlock();
    if (!header) {
        m_free(m);
        return;
    }
    if (header > IP_HEADER && !ip_options_pass(m, header))
        return;
    if (get16(m->m_data + 6) & MORE_OR_OFFSET) {
        m = ip_reassemble(m, header);
        header = IP_HEADER;
        if (!m)
            return;
    }
    switch (m->m_data[9]) {
    case IPPROTO_ICMP: icmp_input(m, header); return;
    case IPPROTO_UDP: udp_input(m, header); return;
    case IPPROTO_TCP:
        if (if_ether_in_threads) {
            tcp_input(m, header);
            return;
        }
        /* fall through */
    default: NET_COUNT(ip_protocol); icmp_error(m, ICMP_UNREACHABLE, ICMP_NO_PROTOCOL);
    }
}

static void put_checksum(uint8_t *ip)
{
    put16(ip + 10, 0);
    put16(ip + 10, in_cksum(ip, (ip[0] & 0xf) * 4u, 0));
}

/* Gives each mbuf its own header. */
static void make_fragments(struct mbuf *m)
{
    uint32_t offset = 0;
    for (struct mbuf *part = m; part; part = part->m_next) {
        if (part != m) {
            m_prepend(part, IP_HEADER);
            memcpy(part->m_data, m->m_data, IP_HEADER);
        }
        put16(part->m_data + 2, part->m_len);
        put16(part->m_data + 6, offset / 8 | (part->m_next ? IP_MORE : 0));
        put_checksum(part->m_data);
        offset += part->m_len - IP_HEADER;
    }
}

void ip_output(struct mbuf *m, uint32_t to)
{
    struct mbuf *own = ip_is_all(to) ? m_copy(m) : 0; /* all hosts include this one */
    ip_lock();
    if (own)
        put_checksum(own->m_data);
    if (m->m_next && !loop_has(to))
        make_fragments(m);
    else
        put_checksum(m->m_data);
    ip_unlock();
    if (loop_has(to)) {
        loop_output(m);
    } else if (ip_is_all(to)) {
        if (own)
            loop_output(own);
        ether_output(m, ETHER_TO_ALL, ETHERTYPE_IP);
    } else {
        uint32_t hop = route_first_hop(to);
        if (hop) {
            arp_resolve(m, hop);
        } else {
            NET_COUNT(no_route);
            m_free(m);
        }
    }
}
