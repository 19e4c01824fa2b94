/*
 * net=softint (4.3BSD): the handler exchanges frames for empty buffers, without a lock (dev/ether.h), and a soft
 * interrupt at SPL_SOFTNET on its hart does the rest.
 *
 * Locking: softnet_lock is held while a frame is taken out of a queue's places; handlers do not take it.
 */
#ifndef NET_RECEIVE_SOFTINT_H
#define NET_RECEIVE_SOFTINT_H

#include "intr/intr.h"
#include "intr/softint.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "net/receive/frames.h"
#include "sync/pic.h"

#define RECEIVE_IN_THREADS false

#define MOST_WAITING 1024
_Static_assert(BOOT_MOST(kernel, net_queue) <= MOST_WAITING, "as many wait as may");
DEFINE_SIMPLE_LOCK(softnet_lock, "softnet", SPL_SOFTNET);

static struct ether_exchange exchange[ETHER_QUEUES];
static struct ether_place place[ETHER_QUEUES][MOST_WAITING];
static uint32_t full_counted[ETHER_QUEUES];
static volatile bool in_softnet[MAX_HARTS]; /* set before it takes the first packet */

/*
 * Takes the next frame of a queue, whose place gets an empty buffer; without one it is dropped (*m 0). False: no frame.
 */
static bool softint_take(unsigned q, struct mbuf **m)
{
    struct ether_exchange *x = &exchange[q];
    *m = 0;
    if (x->head == x->tail && x->full == full_counted[q])
        return false; /* for frames added from here on, the handler posts again */
    crit_t s = simple_lock_enter(&softnet_lock);
    uint32_t full = x->full; /* read once: handlers continue */
    __atomic_fetch_add(&net_count[curhart->id].received, full - full_counted[q], __ATOMIC_RELAXED);
    full_counted[q] = full;
    bool some = x->head != x->tail;
    fence_acquire();
    if (some) {
        struct ether_place *p = &x->place[x->tail & x->mask];
        uint8_t *cluster = cluster_at(p->buffer);
        *m = m_received(&cluster, ETHER_PAD, p->status & 0xffff);
        p->buffer = (uintptr_t)cluster;
        if (*m)
            NET_COUNT(received);
        else
            NET_COUNT(no_mbuf);
        ether_exchange_done(x);
    }
    simple_lock_leave(&softnet_lock, s);
    return some;
}

/* One frame of each queue in turn: a flood in one of them does not block the other. */
static void softnet(void *arg)
{
    (void)arg;
    struct mbuf *m;
    in_softnet[curhart->id] = true;
    for (unsigned q = 0, none = 0; none < ETHER_QUEUES; q = (q + 1) % ETHER_QUEUES) {
        none = softint_take(q, &m) ? 0 : none + 1;
        if (m)
            ether_input(m);
    }
    __atomic_store_n(&in_softnet[curhart->id], false, __ATOMIC_RELEASE);
}

/* Gives all places buffers. */
static void softint_fill(unsigned q)
{
    uint32_t most = bootargs_number(BOOT(kernel, net_queue)), places = 1;
    if (!most)
        panic("boot argument net.queue: give 1 to %u", MOST_WAITING);
    while (places < most)
        places *= 2;
    exchange[q].most = most;
    exchange[q].mask = places - 1;
    exchange[q].place = place[q];
    for (uint32_t n = 0; n < places; n++) {
        place[q][n].buffer = (uintptr_t)first_cluster();
    }
    ether_exchange_begin(&exchange[q], q);
}

static void softint_release(unsigned q)
{
    ether_exchange_end(&exchange[q], q);
    for (uint32_t n = 0; n <= exchange[q].mask; n++)
        m_cluster_free(cluster_at(place[q][n].buffer));
}

static inline void receive_input(struct mbuf *m, bool ip)
{
    in_protocols(m, ip);
}

static inline void receive_establish(unsigned q)
{
    softint_fill(q);
    ether_establish(q, PIC_ANY_HART, ether_exchange_interrupt, &exchange[q], q ? "ether 1" : "ether 0");
}

static inline void receive_prepare(void)
{
    softint_establish(SPL_SOFTNET, softnet, 0);
}

static inline void receive_begin(void) {}

static inline void receive_stop(void) {}

static inline void receive_rest(unsigned q)
{
    ether_exchange_interrupt(&exchange[q]);
}

static inline void receive_end(void)
{
    for (bool busy = true; busy;) {
        softint_schedule(SPL_SOFTNET); /* here, too, so that no frame waits for another one */
        busy = false;
        for (unsigned q = 0; q < ETHER_QUEUES; q++)
            busy |= exchange[q].head != exchange[q].tail;
        for (unsigned h = 0; h < hart_count; h++)
            busy |= __atomic_load_n(&in_softnet[h], __ATOMIC_ACQUIRE);
    }
    for (unsigned q = 0; q < ETHER_QUEUES; q++)
        softint_release(q);
}

static inline void receive_add(struct if_ether_counts *sum)
{
    for (unsigned q = 0; q < ETHER_QUEUES; q++) {
        sum->full += exchange[q].full;
        sum->interrupts += intr_count(PIC_SOURCE_ETHER(q));
        sum->frames += exchange[q].head + exchange[q].full;
    }
}

void if_ether_hold(void) {}

void if_ether_go_on(void) {}
#endif
