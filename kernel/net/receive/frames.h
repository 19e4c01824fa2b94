/* The common part of the ways of receiving: buffers of the rings, and the path of a frame from there up. */
#ifndef NET_RECEIVE_FRAMES_H
#define NET_RECEIVE_FRAMES_H

#include <stddef.h>

#include "dev/ether.h"
#include "net/if_ether.h"
#include "net/net.h"
#include "net/policy.h"

extern struct if_ether_counts receive_counts[MAX_HARTS]; /* each hart writes its own */

static inline void give(unsigned q, struct mbuf *m)
{
    ether_rx_give(q, m, m->m_buf, MBUF_BYTES);
}

static inline struct mbuf *mbuf_of(uint32_t buffer)
{
    return (struct mbuf *)(uintptr_t)(buffer - offsetof(struct mbuf, m_buf));
}

static inline void goes_up(struct mbuf *m, uint32_t length)
{
    m->m_data = m->m_buf + ETHER_PAD;
    m->m_len = length;
    ether_input(m);
}

/* For the ways that process a frame where it is taken out of the ring. */
static inline void in_protocols(struct mbuf *m, bool ip)
{
    if (!ip)
        arp_input(m);
    else if (!inet_receive(m))
        ip_input(m);
}
#endif
