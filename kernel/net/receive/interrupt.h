/* net=interrupt: the handler processes a frame completely. */
#ifndef NET_RECEIVE_INTERRUPT_H
#define NET_RECEIVE_INTERRUPT_H

#include "intr/intr.h"
#include "net/receive/ring.h"

#define RECEIVE_IN_THREADS false

static inline void receive_input(struct mbuf *m, bool ip)
{
    in_protocols(m, ip);
}

static void receive_handler(void *arg)
{
    unsigned q = (uintptr_t)arg;
    receive_counts[curhart->id].interrupts++;
    ether_acknowledge(ETHER_RX(q));
    receive(q, ALL, false);
}

static inline void receive_establish(unsigned q)
{
    ether_establish(q, PIC_ANY_HART, receive_handler, (void *)(uintptr_t)q, q ? "ether 1" : "ether 0");
}

static inline void receive_prepare(void) {}

static inline void receive_begin(void) {}

static inline void receive_stop(void) {}

static inline void receive_rest(unsigned q)
{
    receive(q, ALL, false);
}

static inline void receive_end(void) {}

static inline void receive_add(struct if_ether_counts *sum)
{
    (void)sum;
}

void if_ether_hold(void) {}

void if_ether_go_on(void) {}
#endif
