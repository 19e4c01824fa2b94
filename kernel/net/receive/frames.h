/* The common part of the ways of receiving: buffers of the rings, and the path of a frame from there up. */
#ifndef NET_RECEIVE_FRAMES_H
#define NET_RECEIVE_FRAMES_H

#include "dev/ether.h"
#include "lib/panic.h"
#include "net/if_ether.h"
#include "net/net.h"
#include "net/policy.h"

extern struct if_ether_counts receive_counts[MAX_HARTS]; /* each hart writes its own */

/* The rings have clusters. */
static inline void give(unsigned q, uint8_t *cluster)
{
    ether_rx_give(q, cluster, cluster, MCLBYTES);
}

static inline uint8_t *cluster_at(uint32_t buffer)
{
    return (uint8_t *)(uintptr_t)buffer;
}

/* A buffer of an interface that starts. */
static inline uint8_t *first_cluster(void)
{
    uint8_t *cluster = pool_reserve(&cluster_pool, 1) ? m_cluster() : 0;
    if (!cluster)
        panic("no buffers for the network: give net.clusters=%lu or more, or a machine with more RAM",
              (unsigned long)(2 * cluster_pool.most));
    return cluster;
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
