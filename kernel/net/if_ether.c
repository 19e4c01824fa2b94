/*
 * The Ethernet interface (if_ether.h). Locking: rx_lock[q] is held by who takes frames out of queue q, tx_lock by who
 * enters them or takes back what was sent.
 */
#include "net/if_ether.h"

#include <stddef.h>
#include <string.h>

#include "arch/csr.h"
#include "lib/compiler.h"
#include "dev/clock.h"
#include "dev/ether.h"
#include "dev/node.h"
#include "intr/intr.h"
#include "intr/softint.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "net/in.h"
#include "net/policy.h"
#include "sched/ithread.h"
#include "sched/sched.h"
#include "sync/pic.h"

#define NET_THREADS 0
#define NET_SOFTINT 1
#define NET_INTERRUPT 2
#define NET_POLL 3

#define ALL UINT32_MAX
#define RING_FILL (ETHER_RING - 1)
#define DEFAULT_IP 0x0a000002u /* 10.0.0.2 */

#if NET != NET_SOFTINT
static SIMPLE_LOCK_CLASS(rx_class, "ether receive", SPL_NET);
static struct simple_lock rx_lock[ETHER_QUEUES] = {SIMPLE_LOCK("ether receive 0", rx_class),
                                                   SIMPLE_LOCK("ether receive 1", rx_class)};
#endif
DEFINE_SIMPLE_LOCK(tx_lock, "ether transmit", SPL_NET);

const bool if_ether_in_threads = NET == NET_THREADS || NET == NET_POLL;
static struct if_ether_counts counts[MAX_HARTS];

/* Sending --------------------------------------------------------------------------------------------------------------- */

static COLD void not_sent(struct mbuf *m)
{
    if (ether_tx_is_open())
        NET_COUNT(tx_full);
    else
        NET_COUNT(tx_down);
    m_free(m);
}

/* Buffers that have been read go back as the next frames are sent: no interrupt is needed for that. */
static void transmit(struct mbuf *m)
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

/* Receiving -------------------------------------------------------------------------------------------------------------- */

#if NET == NET_THREADS
static struct ifqueue ipintrq = IFQUEUE("ipintrq", 0), arpintrq = IFQUEUE("arpintrq", 16);
static SIMPLE_LOCK_CLASS(netisr_class, "netisr_thread", SPL_NET);
static struct ithread netisr_thread = ITHREAD("netisr_thread", netisr_class);
static struct ithread arp_thread = ITHREAD("arp_thread", netisr_class);

/* Interrupt threads are woken once for each frame as long as there may be one that sleeps. */
static void put_off(struct ifqueue *q, struct mbuf *m)
{
    if (!IF_ENQUEUE(q, m))
        return;
    struct ithread *it = q == &ipintrq ? &netisr_thread : &arp_thread;
    if (it->head - it->tail < it->threads)
        ithread_wake(it, 0);
}

static void work_off(void *arg, uint32_t word)
{
    (void)word;
    struct ifqueue *q = arg;
    inet_enter();
    for (struct mbuf *m; (m = IF_DEQUEUE(q));)
        q == &ipintrq ? ip_input(m) : arp_input(m);
    inet_leave();
}
#endif

void ether_input(struct mbuf *m)
{
    uint32_t type = m->m_len >= ETHER_HEADER ? get16(m->m_data + 12) : 0;
    m_adj(m, m->m_len >= ETHER_HEADER ? ETHER_HEADER : 0);
    switch (type) {
#if NET == NET_THREADS
    case ETHERTYPE_IP: put_off(&ipintrq, m); return;
    case ETHERTYPE_ARP: put_off(&arpintrq, m); return;
#else
    case ETHERTYPE_IP: ip_input(m); return;
    case ETHERTYPE_ARP: arp_input(m); return;
#endif
    default: NET_COUNT(no_protocol); m_free(m);
    }
}

static void give(unsigned q, struct mbuf *m)
{
    ether_rx_give(q, m, m->m_buf, MBUF_BYTES);
}

static struct mbuf *mbuf_of(uint32_t buffer)
{
    return (struct mbuf *)(uintptr_t)(buffer - offsetof(struct mbuf, m_buf));
}

static void goes_up(struct mbuf *m, uint32_t length)
{
    m->m_data = m->m_buf + ETHER_PAD;
    m->m_len = length;
    ether_input(m);
}

#if NET == NET_SOFTINT
#define MOST_WAITING 1024
DEFINE_SIMPLE_LOCK(softnet_lock, "softnet", SPL_SOFTNET);

static struct ether_exchange exchange[ETHER_QUEUES];
static struct ether_place place[ETHER_QUEUES][MOST_WAITING];
static uint32_t full_counted[ETHER_QUEUES];
static volatile bool in_softnet[MAX_HARTS]; /* set before it takes the first packet */

/* The next frame of a queue, whose place gets an empty buffer; false: there is none, or no buffer, and it is dropped. */
static bool take(unsigned q, struct mbuf **m, uint32_t *length)
{
    struct ether_exchange *x = &exchange[q];
    *m = 0;
    if (x->head == x->tail && x->full == full_counted[q])
        return false; /* what a handler adds from here on, it rings for */
    crit_t s = simple_lock_enter(&softnet_lock);
    uint32_t full = x->full; /* once: handlers go on */
    __atomic_fetch_add(&net_count[curhart->id].received, full - full_counted[q], __ATOMIC_RELAXED);
    full_counted[q] = full;
    bool some = x->head != x->tail;
    fence_acquire();
    if (some) {
        struct ether_place *p = &x->place[x->tail & x->mask];
        struct mbuf *empty = m_get();
        if (empty) {
            *length = p->status & 0xffff;
            *m = mbuf_of(p->buffer);
            p->buffer = (uintptr_t)empty->m_buf;
            NET_COUNT(received);
        } else {
            NET_COUNT(no_mbuf);
        }
        ether_exchange_done(x);
    }
    simple_lock_leave(&softnet_lock, s);
    return some;
}

/* One frame of each queue in turn: as long as a flood in one of them lasts, the others go on. */
static void softnet(void *arg)
{
    (void)arg;
    struct mbuf *m;
    uint32_t length;
    in_softnet[curhart->id] = true;
    for (unsigned q = 0, none = 0; none < ETHER_QUEUES; q = (q + 1) % ETHER_QUEUES) {
        none = take(q, &m, &length) ? 0 : none + 1;
        if (m)
            goes_up(m, length);
    }
    __atomic_store_n(&in_softnet[curhart->id], false, __ATOMIC_RELEASE);
}

/* All places get buffers. */
static void prepare(unsigned q)
{
    uint32_t most = bootargs_number("net.queue", 50, MOST_WAITING), places = 1;
    if (!most)
        panic("boot argument net.queue: give 1 to %u", MOST_WAITING);
    while (places < most)
        places *= 2;
    exchange[q].most = most;
    exchange[q].mask = places - 1;
    exchange[q].place = place[q];
    for (uint32_t n = 0; n < places; n++) {
        struct mbuf *m = m_get();
        if (!m)
            panic("memory is out: no buffers for the network");
        place[q][n].buffer = (uintptr_t)m->m_buf;
    }
    ether_exchange_begin(&exchange[q], q);
}

static void release(unsigned q)
{
    ether_exchange_end(&exchange[q], q);
    for (uint32_t n = 0; n <= exchange[q].mask; n++)
        m_free(mbuf_of(place[q][n].buffer));
}
#else

/* Up to `most` frames of a queue; how many there were. A frame for whose buffer there is no other is dropped, and keeps it. */
static uint32_t receive(unsigned q, uint32_t most)
{
    uint32_t n = 0;
    struct ether_frame frame;
    crit_t s = simple_lock_enter(&rx_lock[q]);
    while (n < most && ether_rx_take(q, &frame)) {
        n++;
        struct mbuf *m = frame.owner, *fresh = m_get();
        if (!fresh) {
            NET_COUNT(no_mbuf);
            give(q, m);
            continue;
        }
        give(q, fresh);
        NET_COUNT(received);
#if NET == NET_POLL
        simple_lock_leave(&rx_lock[q], s);
        inet_enter();
        goes_up(m, frame.length);
        inet_leave();
        s = simple_lock_enter(&rx_lock[q]);
#else
        goes_up(m, frame.length);
#endif
    }
    if (n)
        ether_rx_publish(q);
    simple_lock_leave(&rx_lock[q], s);
    counts[curhart->id].frames += n;
    return n;
}
#endif

#if NET == NET_POLL
DEFINE_SIMPLE_LOCK(poll_lock, "ether poll", SPL_NET);
static struct {
    bool due, held; /* a queue's interrupt has come and is off; nobody wants frames */
    bool ended; /* the thread is to end, when the work that is due is done */
} poll;
static uint32_t quota, share;
static struct thread *poller;

static void handler(void *arg)
{
    unsigned q = (uintptr_t)arg;
    counts[curhart->id].interrupts++;
    ether_enable(ETHER_RX(q), false);
    crit_t s = simple_lock_enter(&poll_lock);
    bool wake = !poll.due;
    poll.due = true;
    simple_lock_leave(&poll_lock, s);
    if (wake)
        thread_wakeup(&poll);
}

void if_ether_hold(void)
{
    crit_t s = simple_lock_enter(&poll_lock);
    poll.held = true;
    simple_lock_leave(&poll_lock, s);
}

void if_ether_go_on(void)
{
    crit_t s = simple_lock_enter(&poll_lock);
    bool wake = poll.held;
    poll.held = false;
    simple_lock_leave(&poll_lock, s);
    if (wake)
        thread_wakeup(&poll);
}

/* The causes are taken back before the last look: what comes behind it interrupts as soon as it is enabled. */
static void poll_thread(void *arg)
{
    (void)arg;
    for (;;) {
        crit_t s = simple_lock_enter(&poll_lock);
        while ((!poll.due || poll.held) && !poll.ended)
            thread_sleep(&poll, &poll_lock);
        if (poll.ended && (!poll.due || poll.held)) {
            simple_lock_leave(&poll_lock, s);
            return;
        }
        poll.due = false;
        simple_lock_leave(&poll_lock, s);
        uint32_t found, began = cycles32();
        do {
            ether_acknowledge(ETHER_RX(0) | ETHER_RX(1));
            found = 0;
            for (unsigned q = 0; q < ETHER_QUEUES; q++)
                found += receive(q, quota);
            counts[curhart->id].rounds++;
            if (share < 100 && cycles32() - began > share * (CLOCK_HZ / clock_hz() / 100)) {
                thread_delay(1);
                began = cycles32();
            }
        } while (found && !poll.held);
        if (found)
            poll.due = true; /* there may be more, but now is not the time */
        else
            ether_enable(ETHER_RX(0) | ETHER_RX(1), true);
    }
}
#else
#if NET != NET_SOFTINT
static void handler(void *arg)
{
    unsigned q = (uintptr_t)arg;
    counts[curhart->id].interrupts++;
    ether_acknowledge(ETHER_RX(q));
    receive(q, ALL);
}
#endif

void if_ether_hold(void) {}

void if_ether_go_on(void) {}
#endif

/* Whether packets are taken to be sent. */
static void tx_opens(bool open)
{
    crit_t s = simple_lock_enter(&tx_lock);
    ether_tx_open(open);
    simple_lock_leave(&tx_lock, s);
}

#if NET == NET_THREADS
static uint32_t queue_length(void)
{
    uint32_t most = bootargs_number("net.queue", 50, 1000);
    if (!most)
        panic("boot argument net.queue: give 1 to 1000");
    return most;
}
#endif

void if_ether_start(void)
{
    uint32_t ip = bootargs_number("net.ip", DEFAULT_IP + node_number(), UINT32_MAX);
    uint32_t last = bootargs_number("net.mac", ip & 0xff, 0xff);
    net_own = (struct net_address){{2, 'I', 'L', 'K', 0, (uint8_t)last}, ip, 0xffffff00};
    if_transmit = transmit;
    uint32_t mbits = bootargs_number("net.mbits", 100, 1000);
    if (mbits != 10 && mbits != 100 && mbits != 1000)
        panic("boot argument net.mbits=%lu: give 10, 100 or 1000", (unsigned long)mbits);
#if NET == NET_THREADS
    ipintrq.ifq_maxlen = queue_length();
    uint32_t threads = bootargs_number("net.threads", 1, ITHREAD_MOST);
    ithread_start(&netisr_thread, PIC_SOURCE_ETHER(0), work_off, &ipintrq, PRI_INTERRUPT, threads, ANY_HART);
    ithread_start(&arp_thread, PIC_SOURCE_ETHER(0), work_off, &arpintrq, PRI_INTERRUPT, 1, ANY_HART);
#elif NET == NET_SOFTINT
    softint_establish(SPL_SOFTNET, softnet, 0);
#elif NET == NET_POLL
    quota = bootargs_number("net.quota", 8, ALL);
    if (!quota)
        panic("boot argument net.quota: give 1 at least");
    share = clock_hz() ? bootargs_number("net.share", 100, 100) : 100;
#endif
    crit_t s = simple_lock_enter(&tx_lock); /* who sends looks at the ring, though it is not open */
    ether_reset(net_own.ether, mbits);
    simple_lock_leave(&tx_lock, s);
    uint32_t moderate = bootargs_number("net.moderate", 1, 255); /* of more than a ring holds, none would ever come */
    ether_moderate(moderate < RING_FILL ? moderate : RING_FILL, bootargs_number("net.moderate.cycles", 0, 0xffffff));
    for (unsigned q = 0; q < ETHER_QUEUES; q++) {
        for (unsigned n = 0; n < RING_FILL; n++) {
            struct mbuf *m = m_get();
            if (!m)
                panic("memory is out: no buffers for the network");
            give(q, m);
        }
        ether_rx_publish(q);
#if NET == NET_SOFTINT
        prepare(q);
        intr_fn *fn = ether_exchange_interrupt;
        void *arg = &exchange[q];
#else
        intr_fn *fn = handler;
        void *arg = (void *)(uintptr_t)q;
#endif
        ether_establish(q, PIC_ANY_HART, fn, arg, q ? "ether 1" : "ether 0");
    }
#if NET == NET_POLL
    assert(!poll.due); /* nobody looks into the rings before they are filled */
    poll.ended = false;
    poller = thread_create(poll_thread, 0, PRI_INTERRUPT, ANY_HART, "ether poll");
    if (!poller)
        panic("no thread is free for the network");
#endif
    ether_enable(ETHER_RX(0) | ETHER_RX(1), true);
    arp_init();
    tx_opens(true);
    ether_start();
}

/* Who works packets off does all that wait, and ends. Handlers have ended. */
static void work_ends(void)
{
#if NET == NET_THREADS
    ithread_stop(&netisr_thread);
    ithread_stop(&arp_thread);
#elif NET == NET_SOFTINT
    for (bool busy = true; busy;) {
        softint_schedule(SPL_SOFTNET); /* here too, so that nothing waits for another frame */
        busy = false;
        for (unsigned q = 0; q < ETHER_QUEUES; q++)
            busy |= exchange[q].head != exchange[q].tail;
        for (unsigned h = 0; h < hart_count; h++)
            busy |= __atomic_load_n(&in_softnet[h], __ATOMIC_ACQUIRE);
    }
    for (unsigned q = 0; q < ETHER_QUEUES; q++)
        release(q);
#endif
}

void if_ether_stop(void)
{
    ether_stop_receiving();
#if NET == NET_POLL
    crit_t s = simple_lock_enter(&poll_lock);
    poll.ended = true;
    simple_lock_leave(&poll_lock, s);
    thread_wakeup(&poll);
    thread_join(poller);
#endif
    ether_enable(ETHER_RX(0) | ETHER_RX(1), false);
    for (unsigned q = 0; q < ETHER_QUEUES; q++) {
        intr_disestablish(PIC_SOURCE_ETHER(q));
        /* What came behind the last interrupt. */
#if NET == NET_SOFTINT
        ether_exchange_interrupt(&exchange[q]);
#else
        receive(q, ALL);
#endif
    }
#if NET == NET_POLL
    poll.due = false; /* of a handler that came behind the last round */
#endif
    work_ends();
    arp_forget();
    tx_opens(false); /* else others fill the ring as fast as it empties */
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
            m_free(mbuf_of(buffer));
}

/* Packets that found ipintrq full. */
static uint32_t full(void)
{
#if NET == NET_THREADS
    return ipintrq.ifq_drops + arpintrq.ifq_drops;
#elif NET == NET_SOFTINT
    return exchange[0].full + exchange[1].full;
#else
    return 0;
#endif
}

struct if_ether_counts if_ether_counts(void)
{
    struct if_ether_counts sum = {.full = full()};
    for (unsigned h = 0; h < MAX_HARTS; h++) {
        sum.interrupts += counts[h].interrupts;
        sum.frames += counts[h].frames;
        sum.rounds += counts[h].rounds;
    }
#if NET == NET_SOFTINT
    for (unsigned q = 0; q < ETHER_QUEUES; q++) {
        sum.interrupts += intr_count(PIC_SOURCE_ETHER(q));
        sum.frames += exchange[q].head + exchange[q].full;
    }
#endif
    return sum;
}
