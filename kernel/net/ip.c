/* IP: looks at a packet before anybody else does, and sends (RFC 791); ip_reassembly.c has fragments. */
#include "net/if_ether.h"
#include "net/in.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/policy.h"

static const uint8_t ETHER_TO_ALL[ETHER_ADDRESS] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
#define MORE_OR_OFFSET 0x3fff
#define GROUP 1 /* in the first byte of an Ethernet address: not of one interface */

bool ip_is_all(uint32_t ip)
{
    return ip == INADDR_BROADCAST || ip == (net_own.ip | ~net_own.mask);
}

/* Is it ours? What came to one host in a frame to all of them is nobody's (RFC 1122, 3.3.6). */
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

/* Whether it can be from there. 0 is a host that does not know its address yet. */
static bool has_sender(const uint8_t *ip)
{
    uint32_t from = get32(ip + 12);
    return loop_is(ip) ? loop_has(from) : !from || ip_is_other_host(from);
}

/* The length of its header if the packet is one that we can take, else 0; what is wrong has been counted. */
static uint32_t checked(struct mbuf *m)
{
    const uint8_t *p = m->m_data;
    if (m->m_len < IP_HEADER) {
        NET_COUNT(ip_short);
        return 0;
    }
    uint32_t header = (p[0] & 0xf) * 4u, length = get16(p + 2), to = get32(p + 16);
    if (p[0] >> 4 != 4 || header < IP_HEADER || header > m->m_len || length < header || length > m->m_len)
        NET_COUNT(ip_bad);
    else if (in_cksum(p, header, 0))
        NET_COUNT(ip_checksum);
    else if (!is_ours(m, to))
        NET_COUNT(ip_other);
    else if (!has_sender(p))
        NET_COUNT(ip_bad);
    else {
        m->m_len = length; /* what is behind has filled the frame up */
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

void ip_output(struct mbuf *m, uint32_t to)
{
    uint8_t *p = m->m_data;
    ip_lock();
    put16(p + 10, 0);
    put16(p + 10, in_cksum(p, (p[0] & 0xf) * 4u, 0));
    ip_unlock();
    if (loop_has(to)) {
        loop_output(m);
    } else if (ip_is_all(to)) {
        struct mbuf *copy = m_copy(m); /* this host is one of them */
        if (copy)
            loop_output(copy);
        ether_output(m, ETHER_TO_ALL, ETHERTYPE_IP);
    } else {
        arp_resolve(m, to);
    }
}
