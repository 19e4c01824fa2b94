/*
 * The loop-back: packets to this host's own addresses are received by it, in a separate thread, or where the policy
 * processes received packets (policy.h); never in the context that sends, which holds locks that receiving takes. Such
 * a packet has zeros in place of the Ethernet header (loop_is).
 */
#include "net/loop.h"

#include <string.h>

#include "lib/panic.h"
#include "net/in.h"
#include "net/net.h"
#include "net/policy.h"
#include "sched/sched.h"

#define QUEUE_MOST 64

static struct ifqueue loopintrq = IFQUEUE(loopintrq, "loopintrq", 0); /* 0: not started */

static void loop_thread(void *arg)
{
    (void)arg;
    for (;;) {
        crit_t s = simple_lock_enter(&loopintrq.ifq_lock);
        while (STAILQ_EMPTY(&loopintrq.ifq_packets))
            thread_sleep(&loopintrq, &loopintrq.ifq_lock);
        simple_lock_leave(&loopintrq.ifq_lock, s);
        inet_enter();
        for (struct mbuf *m; (m = IF_DEQUEUE(&loopintrq));)
            ip_input(m);
        inet_leave();
    }
}

void loop_start(void)
{
    if (!thread_create(loop_thread, 0, PRI_INTERRUPT, ANY_HART, "loop-back"))
        panic("no thread is free for the loop-back");
    loopintrq.ifq_maxlen = QUEUE_MOST;
}

void loop_output(struct mbuf *m)
{
    NET_COUNT(looped);
    if (!loopintrq.ifq_maxlen || m_leading(m) < ETHER_HEADER) {
        NET_COUNT(loop_full);
        m_free(m);
        return;
    }
    memset(m->m_data - ETHER_HEADER, 0, ETHER_HEADER);
    if (inet_receive(m))
        return;
    if (IF_ENQUEUE(&loopintrq, m))
        thread_wakeup(&loopintrq);
    else
        NET_COUNT(loop_full);
}
