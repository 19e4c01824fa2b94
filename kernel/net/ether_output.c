/* Adds the Ethernet header to a packet, and passes it to the interface (net.h). */
#include <string.h>

#include "net/in.h"
#include "net/net.h"

static void ether_output_one(struct mbuf *m, const uint8_t *to, uint32_t type)
{
    if (m->m_len > IP_MTU || !m_prepend(m, ETHER_HEADER)) {
        NET_COUNT(no_room);
        m_free(m);
        return;
    }
    memcpy(m->m_data, to, ETHER_ADDRESS);
    memcpy(m->m_data + ETHER_ADDRESS, net_own.ether, ETHER_ADDRESS);
    put16(m->m_data + 2 * ETHER_ADDRESS, type);
    if_transmit(m);
}

void ether_output(struct mbuf *m, const uint8_t *to, uint32_t type)
{
    for (struct mbuf *next; m; m = next) {
        next = m->m_next;
        m->m_next = 0;
        ether_output_one(m, to, type);
    }
}
