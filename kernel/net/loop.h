/* The loop-back (loop.c). */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "net/in.h"
#include "net/net.h"

#define LOOPBACK_NET 127
#define INADDR_LOOPBACK 0x7f000001u

void loop_start(void);            /* once, from a thread; until then, packets to this host are dropped */
void loop_output(struct mbuf *m); /* consumes it; m_data is at its IP header, with room for one of Ethernet before it */

static inline bool loop_has(uint32_t ip)
{
    return ip == net_own.ip || ip >> 24 == LOOPBACK_NET;
}

/* Whether a packet, whose IP header is at `ip`, came by the loop-back. */
static inline bool loop_is(const uint8_t *ip)
{
    return !get16(ip - 2);
}
#endif
