/* UDP as far as the queues of those who wait for a port (RFC 768). */
#include "net/in.h"
#include "net/net.h"

#define UDP_HEADER 8

static struct udp_port *ports;

void udp_bind(struct udp_port *p)
{
    p->next = ports;
    __atomic_store_n(&ports, p, __ATOMIC_RELEASE);
}

void udp_input(struct mbuf *m, uint32_t header)
{
    uint8_t *ip = m->m_data, *udp = ip + header;
    uint32_t room = m->m_len - header;
    NET_COUNT(udp_in);
    uint32_t length = room >= UDP_HEADER ? get16(udp + 4) : 0;
    if (length < UDP_HEADER || length > room ||
        (get16(udp + 6) && in_cksum(udp, length, in_pseudo_sum(ip, IPPROTO_UDP, length)))) {
        NET_COUNT(udp_bad);
        m_free(m);
        return;
    }
    struct udp_port *p = ports;
    while (p && p->port != get16(udp + 2))
        p = p->next;
    if (!p) {
        NET_COUNT(udp_no_port);
        m_free(m);
        return;
    }
    m_adj(m, header + UDP_HEADER);
    m->m_len = length - UDP_HEADER;
    if (!IF_ENQUEUE(&p->queue, m))
        NET_COUNT(udp_full);
    if (p->notify)
        p->notify(p);
}
