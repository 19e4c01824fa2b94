/* Packets and their queues (mbuf.h). */
#include "net/mbuf.h"

#include <string.h>

DEFINE_ZONE(mbuf_zone, "mbuf", sizeof(struct mbuf), 8, SPL_NET, 0);

LOCK_CLASS(ifqueue_class, "packet queue", LOCK_SIMPLE, SPL_NET);

struct mbuf *m_get(void)
{
    struct mbuf *m = zone_alloc(&mbuf_zone);
    if (m) {
        m->m_nextpkt = m->m_next = 0;
        m->m_data = m->m_buf;
        m->m_len = 0;
    }
    return m;
}

void m_free(struct mbuf *m)
{
    for (struct mbuf *rest; m; m = rest) {
        rest = m->m_next;
        zone_free(&mbuf_zone, m);
    }
}

struct mbuf *m_copy(const struct mbuf *m)
{
    struct mbuf *copy = 0, **end = &copy;
    for (; m; m = m->m_next) {
        struct mbuf *of = *end = m_get();
        if (!of) {
            m_free(copy);
            return 0;
        }
        of->m_data += m->m_data - m->m_buf;
        of->m_len = m->m_len;
        memcpy(of->m_buf, m->m_buf, (size_t)(m->m_data + m->m_len - m->m_buf));
        end = &of->m_next;
    }
    return copy;
}

void m_free_chain(struct mbuf *m)
{
    for (struct mbuf *next; m; m = next) {
        next = m->m_nextpkt;
        m_free(m);
    }
}

uint32_t m_length(const struct mbuf *m)
{
    uint32_t bytes = 0;
    for (; m; m = m->m_nextpkt)
        bytes += m->m_len;
    return bytes;
}

struct zone_counts m_counts(void)
{
    return zone_counts(&mbuf_zone);
}

uint32_t m_in_use(void)
{
    return m_counts().in_use;
}

bool if_enqueue(struct ifqueue *q, struct mbuf *m)
{
    m->m_nextpkt = 0;
    crit_t s = simple_lock_enter(&q->ifq_lock);
    bool room = q->ifq_len < q->ifq_maxlen;
    if (room) {
        if (q->ifq_tail)
            q->ifq_tail->m_nextpkt = m;
        else
            q->ifq_head = m;
        q->ifq_tail = m;
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
    struct mbuf *m = q->ifq_head;
    if (m) {
        q->ifq_head = m->m_nextpkt;
        if (!q->ifq_head)
            q->ifq_tail = 0;
        q->ifq_len--;
    }
    simple_lock_leave(&q->ifq_lock, s);
    return m;
}
