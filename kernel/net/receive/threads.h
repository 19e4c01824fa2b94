/*
 * net=threads (paper `mach`, 2.1): the handler takes frames out of the ring; those of IP wait in ipintrq for one of
 * `net.threads` netisr_threads, those of ARP in arpintrq for arp_thread.
 */
#ifndef NET_RECEIVE_THREADS_H
#define NET_RECEIVE_THREADS_H

#include "lib/bootargs.h"
#include "net/receive/ring.h"
#include "sched/ithread.h"
#include "sched/sched.h"
#include "sync/pic.h"

#define RECEIVE_IN_THREADS true

static struct ifqueue ipintrq = IFQUEUE(ipintrq, "ipintrq", 0), arpintrq = IFQUEUE(arpintrq, "arpintrq", 16);
static SIMPLE_LOCK_CLASS(netisr_class, "netisr_thread", SPL_NET);
static struct ithread netisr_thread = ITHREAD("netisr_thread", netisr_class);
static struct ithread arp_thread = ITHREAD("arp_thread", netisr_class);

/* Wakes an interrupt thread for each frame as long as one may be asleep. */
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

static inline void receive_input(struct mbuf *m, bool ip)
{
    if (!ip)
        put_off(&arpintrq, m);
    else if (!inet_receive(m))
        put_off(&ipintrq, m);
}

static void threads_handler(void *arg)
{
    unsigned q = (uintptr_t)arg;
    receive_counts[curhart->id].interrupts++;
    ether_acknowledge(ETHER_RX(q));
    receive(q, ALL, false);
}

static inline void receive_establish(unsigned q)
{
    ether_establish(q, PIC_ANY_HART, threads_handler, (void *)(uintptr_t)q, q ? "ether 1" : "ether 0");
}

static uint32_t queue_length(void)
{
    uint32_t most = bootargs_number(BOOT(kernel, net_queue));
    if (!most)
        panic("boot argument net.queue: give 1 to 1000");
    return most;
}

static inline void receive_prepare(void)
{
    ipintrq.ifq_maxlen = queue_length();
    uint32_t threads = bootargs_number(BOOT(kernel, net_threads));
    ithread_start(&netisr_thread, PIC_SOURCE_ETHER(0), work_off, &ipintrq, PRI_INTERRUPT, threads, ANY_HART);
    ithread_start(&arp_thread, PIC_SOURCE_ETHER(0), work_off, &arpintrq, PRI_INTERRUPT, 1, ANY_HART);
}

static inline void receive_begin(void) {}

static inline void receive_stop(void) {}

static inline void receive_rest(unsigned q)
{
    receive(q, ALL, false);
}

static inline void receive_end(void)
{
    ithread_stop(&netisr_thread);
    ithread_stop(&arp_thread);
}

static inline void receive_add(struct if_ether_counts *sum)
{
    sum->full += ipintrq.ifq_drops + arpintrq.ifq_drops;
}

void if_ether_hold(void) {}

void if_ether_go_on(void) {}
#endif
