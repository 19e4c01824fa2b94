/*
 * A handler or a thread takes frames out of the core's rings under a lock for each queue.
 *
 * Locking: rx_lock[q] is held while frames are taken out of queue q.
 */
#ifndef NET_RECEIVE_RING_H
#define NET_RECEIVE_RING_H

#include "net/policy.h"
#include "net/receive/frames.h"

#define ALL UINT32_MAX

static SIMPLE_LOCK_CLASS(rx_class, "ether receive", SPL_NET);
static struct simple_lock rx_lock[ETHER_QUEUES] = {SIMPLE_LOCK("ether receive 0", rx_class),
                                                   SIMPLE_LOCK("ether receive 1", rx_class)};

/*
 * Takes up to `most` frames of a queue; returns how many. If there is no new buffer, the frame is dropped, and its
 * buffer stays in the ring. `unlocked`: from a thread, and a frame is processed without the queue's lock.
 */
static inline uint32_t receive(unsigned q, uint32_t most, bool unlocked)
{
    uint32_t n = 0;
    struct ether_frame frame;
    crit_t s = simple_lock_enter(&rx_lock[q]);
    while (n < most && ether_rx_take(q, &frame)) {
        n++;
        uint8_t *cluster = frame.owner;
        struct mbuf *m = m_received(&cluster, ETHER_PAD, frame.length);
        give(q, cluster);
        if (!m) {
            NET_COUNT(no_mbuf);
            continue;
        }
        NET_COUNT(received);
        if (unlocked) {
            simple_lock_leave(&rx_lock[q], s);
            inet_enter();
        }
        ether_input(m);
        if (unlocked) {
            inet_leave();
            s = simple_lock_enter(&rx_lock[q]);
        }
    }
    if (n)
        ether_rx_publish(q);
    simple_lock_leave(&rx_lock[q], s);
    receive_counts[curhart->id].frames += n;
    return n;
}
#endif
