/*
 * Packets and their queues, after 4.4BSD (McKusick et al., 4.4BSD, chapter 11; Wright and Stevens, TCP/IP Illustrated
 * 2): an mbuf holds a whole packet, except for a datagram longer than the MTU, whose further data is in others, by
 * m_next. IF_ENQUEUE and IF_DEQUEUE work under the queue's spin lock (paper `mach`, 2.1: ipintrq).
 *
 * An mbuf has one owner: code that takes it out of a queue, or gets it as an argument that it consumes, passes it on or
 * frees it.
 */
#ifndef NET_MBUF_H
#define NET_MBUF_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/simple_lock.h"
#include "mem/zone.h"

#define MBUF_BYTES 1528 /* a frame, its headroom, and a little room */

struct mbuf {
    struct mbuf *m_nextpkt; /* another packet */
    struct mbuf *m_next;    /* the rest of this one's data */
    uint8_t *m_data; /* in m_buf */
    uint32_t m_len;
    uint32_t m_seq; /* of an out-of-order segment of TCP: its first byte's number */
    uint8_t m_buf[MBUF_BYTES] __attribute__((aligned(8)));
};

struct mbuf *m_get(void); /* m_data at the beginning, m_len 0; or 0: out of memory. At most SPL_NET. */
struct mbuf *m_copy(const struct mbuf *m); /* with the bytes before m_data; or 0 */
void m_free(struct mbuf *m);               /* with its rest */
void m_free_chain(struct mbuf *m);            /* by m_nextpkt; 0 is none */
uint32_t m_length(const struct mbuf *m);      /* bytes of such a list */
uint32_t m_in_use(void);
struct zone_counts m_counts(void); /* of all mbufs since the start */

/* Of a packet with its m_next list: bytes, and mbufs. */
static inline uint32_t m_packet_length(const struct mbuf *m)
{
    uint32_t bytes = 0;
    for (; m; m = m->m_next)
        bytes += m->m_len;
    return bytes;
}

static inline uint32_t m_packet_mbufs(const struct mbuf *m)
{
    uint32_t n = 0;
    for (; m; m = m->m_next)
        n++;
    return n;
}

/* Removes bytes at the front; the packet has as many. */
static inline void m_adj(struct mbuf *m, uint32_t bytes)
{
    m->m_data += bytes;
    m->m_len -= bytes;
}

/* Room for `bytes` before m_data; false if there is none. */
static inline bool m_prepend(struct mbuf *m, uint32_t bytes)
{
    if ((uint32_t)(m->m_data - m->m_buf) < bytes)
        return false;
    m->m_data -= bytes;
    m->m_len += bytes;
    return true;
}

struct ifqueue {
    struct simple_lock ifq_lock; /* of a class at SPL_NET */
    struct mbuf *ifq_head, *ifq_tail;
    uint32_t ifq_len, ifq_maxlen;
    uint32_t ifq_drops; /* packets dropped as it was full */
};

extern struct lock_class ifqueue_class;
#define IFQUEUE(name, most) {.ifq_lock = SIMPLE_LOCK(name, ifqueue_class), .ifq_maxlen = (most)}

/* False: it is full; the packet has been counted and freed. */
bool if_enqueue(struct ifqueue *q, struct mbuf *m);
struct mbuf *if_dequeue(struct ifqueue *q); /* 0: it is empty */
#define IF_ENQUEUE(q, m) if_enqueue((q), (m))
#define IF_DEQUEUE(q) if_dequeue(q)
#endif
