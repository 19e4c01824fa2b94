/*
 * The Ethernet interface (if_ether.h): sending, start and stop; receive/ has the processing of received frames.
 *
 * Locking: tx_lock is held while packets are entered into the transmit ring, or sent ones are reclaimed.
 */
#include "net/if_ether.h"

#include <errno.h>

#include "dev/ether.h"
#include "dev/node.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/compiler.h"
#include "lib/panic.h"
#include "net/in.h"
#include "net/receive.h"
#include "net/receive/frames.h"
#include "net/route.h"
#include "sched/sched.h"
#include "sync/pic.h"

#define RING_FILL (ETHER_RING - 1)
#define DEFAULT_IP 0x0a000002u /* 10.0.0.2 */

DEFINE_SIMPLE_LOCK(tx_lock, "ether transmit", SPL_NET);

const bool if_ether_in_threads = RECEIVE_IN_THREADS;
struct if_ether_counts receive_counts[MAX_HARTS];

/* Sending ---------------------------------------------------------------------------------------------------------- */

static COLD void not_sent(struct mbuf *m)
{
    if (ether_tx_is_open())
        NET_COUNT(tx_full);
    else
        NET_COUNT(tx_down);
    m_free(m);
}

/* Sent buffers are freed when the next frames are sent: this needs no interrupt. */
static void ether_transmit(struct mbuf *m)
{
    crit_t s = simple_lock_enter(&tx_lock);
    for (struct mbuf *done; (done = ether_tx_reclaim());)
        m_free(done);
    bool sent = ether_tx_put(m, m->m_data, m->m_len, false);
    simple_lock_leave(&tx_lock, s);
    if (likely(sent))
        NET_COUNT(sent);
    else
        not_sent(m);
}

/* Receiving -------------------------------------------------------------------------------------------------------- */

static bool is_down;
static SLIST_HEAD(, ether_protocol) protocols = SLIST_HEAD_INITIALIZER(protocols);

void ether_register(struct ether_protocol *p)
{
    SLIST_INSERT_HEAD(&protocols, p, link);
}

static COLD void other_protocol(struct mbuf *m, uint32_t type)
{
    const struct ether_protocol *p;
    SLIST_FOREACH(p, &protocols, link)
        if (p->type == type) {
            p->input(m);
            return;
        }
    NET_COUNT(no_protocol);
    m_free(m);
}

void ether_input(struct mbuf *m)
{
    if (unlikely(is_down)) {
        NET_COUNT(rx_down);
        m_free(m);
        return;
    }
    uint32_t type = m->m_len >= ETHER_HEADER ? get16(m->m_data + 12) : 0;
    m_adj(m, m->m_len >= ETHER_HEADER ? ETHER_HEADER : 0);
    switch (type) {
    case ETHERTYPE_IP: receive_input(m, true); return;
    case ETHERTYPE_ARP: receive_input(m, false); return;
    default: other_protocol(m, type);
    }
}

/* Sets whether packets are accepted for sending. */
static void tx_opens(bool open)
{
    crit_t s = simple_lock_enter(&tx_lock);
    ether_tx_open(open);
    simple_lock_leave(&tx_lock, s);
}

void if_ether_set_up(bool up)
{
    is_down = !up;
    tx_opens(up);
}

bool if_ether_is_up(void)
{
    return !is_down;
}

void if_ether_start(void)
{
    uint32_t ip = bootargs_number(BOOT_OR(kernel, net_ip, DEFAULT_IP + node_number()));
    uint32_t last = bootargs_number(BOOT_OR(kernel, net_mac, ip & 0xff));
    net_own = (struct net_address){{2, 'I', 'L', 'K', 0, (uint8_t)last}, ip, 0xffffff00};
    if_transmit = ether_transmit;
    uint32_t gateway = bootargs_number(BOOT(kernel, net_gateway));
    int error = gateway ? route_add(0, 0, gateway, 0) : 0;
    if (error && error != -EEXIST) /* it is started again */
        panic("boot argument net.gateway: give another host of this network");
    uint32_t mbits = bootargs_number(BOOT(kernel, net_mbits));
    if (mbits != 10 && mbits != 100 && mbits != 1000)
        panic("boot argument net.mbits=%lu: give 10, 100 or 1000", (unsigned long)mbits);
    pools_start();
    inet_start();
    receive_prepare();
    crit_t s = simple_lock_enter(&tx_lock); /* senders access the ring even while it is closed */
    ether_reset(net_own.ether, mbits);
    simple_lock_leave(&tx_lock, s);
    uint32_t moderate =
        bootargs_number(BOOT(kernel, net_moderate)); /* a count above the size of a ring would never interrupt */
    ether_moderate(moderate < RING_FILL ? moderate : RING_FILL, bootargs_number(BOOT(kernel, net_moderate_cycles)));
    for (unsigned q = 0; q < ETHER_QUEUES; q++) {
        for (unsigned n = 0; n < RING_FILL; n++) {
            give(q, first_cluster());
        }
        ether_rx_publish(q);
        receive_establish(q);
    }
    receive_begin();
    ether_enable(ETHER_RX(0) | ETHER_RX(1), true);
    arp_init();
    if_ether_set_up(true);
    ether_start();
}

void if_ether_stop(void)
{
    ether_stop_receiving();
    receive_stop();
    ether_enable(ETHER_RX(0) | ETHER_RX(1), false);
    for (unsigned q = 0; q < ETHER_QUEUES; q++) {
        intr_disestablish(PIC_SOURCE_ETHER(q));
        receive_rest(q);
    }
    receive_end();
    inet_rest();
    arp_forget();
    ip_forget();
    tx_opens(false); /* else other threads fill the ring as fast as it empties */
    for (bool waits = true; waits; thread_yield()) {
        crit_t t = simple_lock_enter(&tx_lock);
        for (struct mbuf *done; (done = ether_tx_reclaim());)
            m_free(done);
        waits = ether_tx_waits();
        simple_lock_leave(&tx_lock, t);
    }
    ether_stop();
    for (unsigned q = 0; q < ETHER_QUEUES; q++)
        for (uint32_t buffer; (buffer = ether_rx_take_back(q));)
            m_cluster_free(cluster_at(buffer));
}

struct if_ether_counts if_ether_counts(void)
{
    struct if_ether_counts sum = {0};
    receive_add(&sum);
    sum.full += inet_full();
    for (unsigned h = 0; h < MAX_HARTS; h++) {
        sum.interrupts += receive_counts[h].interrupts;
        sum.frames += receive_counts[h].frames;
        sum.rounds += receive_counts[h].rounds;
    }
    return sum;
}
