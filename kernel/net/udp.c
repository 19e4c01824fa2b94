/* UDP (RFC 768): to queues of the kernel's own, and to sockets (datagram.h). */
#include "net/in.h"
#include "net/net.h"

#define UDP_HEADER 8

static struct udp_port *ports;
void (*udp_told)(const struct told *of);
bool (*udp_to_socket)(struct mbuf *m, uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport);

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
    uint32_t port = get16(udp + 2);
    struct udp_port *p = ports;
    while (p && p->port != port)
        p = p->next;
    m_adj(m, header + UDP_HEADER);
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
    if (!IF_ENQUEUE(&p->queue, m))
        NET_COUNT(udp_full);
    if (p->notify)
        p->notify(p);
}
