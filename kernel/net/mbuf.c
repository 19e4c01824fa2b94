/* Packets and their queues (mbuf.h). */
#include "net/mbuf.h"

#include <string.h>

#include "lib/panic.h"

LOCK_CLASS(ifqueue_class, "packet queue", LOCK_SIMPLE, SPL_NET);

struct mbuf *m_get(uint32_t bytes, enum mbuf_use use)
{
    struct mbuf *m = pool_get(&mbuf_pool, use);
    if (!m)
        return 0;
    uint8_t *cluster = bytes > MLEN ? pool_get(&cluster_pool, use) : 0;
    STAILQ_NEXT(m, m_nextpkt) = 0;
    m->m_next = 0;
    m->m_ext = cluster;
    m->m_data = m_begin(m);
    m->m_len = 0;
    if (bytes > MLEN && !cluster) {
        m_free(m);
        return 0;
    }
    return m;
}

bool m_enlarge(struct mbuf *m, enum mbuf_use use)
{
    uint8_t *cluster = pool_get(&cluster_pool, use);
    if (!cluster)
        return false;
    memcpy(cluster, m->m_data, m->m_len);
    m->m_ext = m->m_data = cluster;
    return true;
}

uint8_t *m_cluster(void)
{
    return pool_get(&cluster_pool, M_FRAME);
}

void m_cluster_free(uint8_t *cluster)
{
    pool_put(&cluster_pool, cluster);
}

struct mbuf *m_received(uint8_t **cluster, uint32_t pad, uint32_t length)
{
    struct mbuf *m = m_get(pad + length, M_FRAME);
    if (!m)
        return 0;
    if (m->m_ext) {
        uint8_t *empty = m->m_ext;
        m->m_ext = *cluster;
        *cluster = empty;
    } else {
        memcpy(m->m_dat, *cluster, pad + length);
    }
    m->m_data = m_begin(m) + pad;
    m->m_len = length;
    return m;
}

void m_free(struct mbuf *m)
{
    for (struct mbuf *rest; m; m = rest) {
        if (!m->m_data)
            panic("mbuf %p is freed twice", (void *)m);
        rest = m->m_next;
        if (m->m_ext)
            pool_put(&cluster_pool, m->m_ext);
        m->m_data = 0;
        pool_put(&mbuf_pool, m);
    }
}

struct mbuf *m_copy(const struct mbuf *m)
{
    struct mbuf *copy = 0, **end = &copy;
    for (; m; m = m->m_next) {
        uint32_t before = m_leading(m);
        struct mbuf *of = *end = m_get(m_size(m), M_PROTOCOL);
        if (!of) {
            m_free(copy);
            return 0;
        }
        memcpy(of->m_data, m->m_data - before, before + m->m_len);
        of->m_data += before;
        of->m_len = m->m_len;
        end = &of->m_next;
    }
    return copy;
}

void m_free_chain(struct mbuf *m)
{
    for (struct mbuf *next; m; m = next) {
        next = STAILQ_NEXT(m, m_nextpkt);
        m_free(m);
    }
}

uint32_t m_length(const struct mbuf *m)
{
    uint32_t bytes = 0;
    for (; m; m = STAILQ_NEXT(m, m_nextpkt))
        bytes += m->m_len;
    return bytes;
}

uint32_t m_in_use(void)
{
    return mbuf_pool.in_use;
}

bool if_enqueue(struct ifqueue *q, struct mbuf *m)
{
    crit_t s = simple_lock_enter(&q->ifq_lock);
    bool room = q->ifq_len < q->ifq_maxlen;
    if (room) {
        STAILQ_INSERT_TAIL(&q->ifq_packets, m, m_nextpkt);
        q->ifq_len++;
    } else {
        q->ifq_drops++;
    }
    simple_lock_leave(&q->ifq_lock, s);
    if (!room)
        m_free(m);
    return room;
}

struct mbuf *if_dequeue(struct ifqueue *q)
{
    crit_t s = simple_lock_enter(&q->ifq_lock);
    struct mbuf *m = STAILQ_FIRST(&q->ifq_packets);
    if (m) {
        STAILQ_REMOVE_HEAD(&q->ifq_packets, m_nextpkt);
        q->ifq_len--;
    }
    simple_lock_leave(&q->ifq_lock, s);
    return m;
}
