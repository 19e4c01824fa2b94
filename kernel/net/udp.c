/* UDP (RFC 768): to queues of the kernel's own, and to sockets (datagram.h). */
#include "net/in.h"
#include "net/net.h"

#define UDP_HEADER 8

static SLIST_HEAD(, udp_port) ports = SLIST_HEAD_INITIALIZER(ports);
void (*udp_told)(const struct told *of);
bool (*udp_to_socket)(struct mbuf *m, uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport);

void udp_bind(struct udp_port *p)
{
    SLIST_NEXT(p, link) = SLIST_FIRST(&ports);
    __atomic_store_n(&SLIST_FIRST(&ports), p, __ATOMIC_RELEASE); /* read without a lock */
}

static uint32_t checksum(const struct mbuf *m, uint32_t header, uint32_t length)
{
    uint32_t sum = in_pseudo_sum(m->m_data, IPPROTO_UDP, length);
    return m->m_next ? in_cksum_packet(m, header, sum) : in_cksum(m->m_data + header, length, sum);
}

void udp_input(struct mbuf *m, uint32_t header)
{
    uint8_t *ip = m->m_data, *udp = ip + header;
    uint32_t room = m_packet_length(m) - header; /* in a packet of one mbuf, ignore bytes after the length */
    NET_COUNT(udp_in);
    uint32_t length = room >= UDP_HEADER ? get16(udp + 4) : 0;
    if (length < UDP_HEADER || length > room || m->m_len < header + UDP_HEADER || (m->m_next && length < room) ||
        (get16(udp + 6) && checksum(m, header, length))) {
        NET_COUNT(udp_bad);
        m_free(m);
        return;
    }
    uint32_t port = get16(udp + 2);
    struct udp_port *p;
    SLIST_FOREACH(p, &ports, link)
        if (p->port == port)
            break;
    m_adj(m, header + UDP_HEADER);
    if (!m->m_next)
        m->m_len = length - UDP_HEADER;
    if (!p) {
        if (udp_to_socket && udp_to_socket(m, get32(ip + 16), port, get32(ip + 12), get16(udp)))
            return;
        NET_COUNT(udp_no_port);
        m->m_data -= header + UDP_HEADER;
        m->m_len += header + UDP_HEADER;
        icmp_error(m, ICMP_UNREACHABLE, ICMP_NO_PORT);
        return;
    }
    if (m->m_next) { /* readers of the queue do not handle m_next */
        NET_COUNT(udp_bad);
        m_free(m);
        return;
    }
    if (!IF_ENQUEUE(&p->queue, m))
        NET_COUNT(udp_full);
    if (p->notify)
        p->notify(p);
}
