/*
 * Packets and their queues, after 4.4BSD (McKusick et al., 4.4BSD, chapter 11; Wright and Stevens, TCP/IP Illustrated
 * 2): an mbuf has a little data in itself, or up to MCLBYTES in a cluster, which is its own; either is a whole packet,
 * except for a datagram longer than the MTU, whose further data is in others, by m_next. IF_ENQUEUE and IF_DEQUEUE work
 * under the queue's spin lock (paper `mach`, 2.1: ipintrq). Memory: mbuf_pool.h.
 *
 * An mbuf has one owner: code that takes it out of a queue, or gets it as an argument that it consumes, passes it on or
 * frees it.
 */
#ifndef NET_MBUF_H
#define NET_MBUF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lock/simple_lock.h"
#include "net/mbuf_pool.h"

#define MSIZE 128     /* bytes of an mbuf */
#define MLEN 104      /* of data in it: a segment without data, with its headers and all options */
#define MCLBYTES 2000 /* of a cluster: a frame and its headroom; a page has two, and its zone's part */

struct mbuf {
    STAILQ_ENTRY(mbuf) m_nextpkt; /* another packet */
    struct mbuf *m_next; /* the rest of this one's data */
    uint8_t *m_data;        /* in m_ext or m_dat; 0: it is free */
    uint32_t m_len;
    uint32_t m_seq;  /* of an out-of-order segment of TCP: its first byte's number */
    uint8_t *m_ext; /* its cluster, or 0 */
    uint8_t m_dat[MLEN] __attribute__((aligned(8)));
};
#ifdef __riscv
_Static_assert(sizeof(struct mbuf) == MSIZE, "thirty-one in a page");
#endif

/* With room for `bytes`: m_data at the beginning, m_len 0; or 0: out of memory, counted. At most SPL_NET. */
struct mbuf *m_get(uint32_t bytes, enum mbuf_use use);
/* Moves the data of one without a cluster into one; false: there is none. */
bool m_enlarge(struct mbuf *m, enum mbuf_use use);
/* For a receive ring. */
uint8_t *m_cluster(void); /* or 0 */
void m_cluster_free(uint8_t *cluster);
/*
 * The packet of a received frame, `length` bytes from `pad` on in a cluster, which becomes its own, and is replaced; if
 * it is short, a copy. 0: out of memory.
 */
struct mbuf *m_received(uint8_t **cluster, uint32_t pad, uint32_t length);
struct mbuf *m_copy(const struct mbuf *m); /* with the bytes before m_data; or 0 */
void m_free(struct mbuf *m);               /* with its rest */
void m_free_chain(struct mbuf *m);            /* with those behind it, by m_nextpkt; 0 is none */
uint32_t m_length(const struct mbuf *m);      /* bytes of such a list */
uint32_t m_in_use(void);

/* Where its room begins, how much that is, and what is left after the data. */
static inline uint8_t *m_begin(struct mbuf *m)
{
    return m->m_ext ? m->m_ext : m->m_dat;
}

static inline uint32_t m_size(const struct mbuf *m)
{
    return m->m_ext ? MCLBYTES : MLEN;
}

static inline uint32_t m_leading(const struct mbuf *m)
{
    return (uint32_t)(m->m_data - (m->m_ext ? m->m_ext : m->m_dat));
}

static inline uint32_t m_trailing(const struct mbuf *m)
{
    return m_size(m) - m_leading(m) - m->m_len;
}

/* Of a packet with its m_next list: bytes. */
static inline uint32_t m_packet_length(const struct mbuf *m)
{
    uint32_t bytes = 0;
    for (; m; m = m->m_next)
        bytes += m->m_len;
    return bytes;
}

/* The memory that it takes. */
static inline uint32_t m_packet_memory(const struct mbuf *m)
{
    uint32_t bytes = 0;
    for (; m; m = m->m_next)
        bytes += MSIZE + (m->m_ext ? MCLBYTES : 0);
    return bytes;
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
    if (m_leading(m) < bytes)
        return false;
    m->m_data -= bytes;
    m->m_len += bytes;
    return true;
}

/* Packets, by m_nextpkt. */
STAILQ_HEAD(mbuf_list, mbuf);

struct ifqueue {
    struct simple_lock ifq_lock; /* of a class at SPL_NET */
    struct mbuf_list ifq_packets;
    uint32_t ifq_len, ifq_maxlen;
    uint32_t ifq_drops; /* packets dropped as it was full */
};

extern struct lock_class ifqueue_class;
#define IFQUEUE(queue, name, most)                 \
    {.ifq_lock = SIMPLE_LOCK(name, ifqueue_class), \
     .ifq_maxlen = (most),                         \
     .ifq_packets = STAILQ_HEAD_INITIALIZER((queue).ifq_packets)}

/* False: it is full; the packet has been counted and freed. */
bool if_enqueue(struct ifqueue *q, struct mbuf *m);
struct mbuf *if_dequeue(struct ifqueue *q); /* 0: it is empty */
#define IF_ENQUEUE(q, m) if_enqueue((q), (m))
#define IF_DEQUEUE(q) if_dequeue(q)
#endif
