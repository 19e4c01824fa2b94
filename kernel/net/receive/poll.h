/*
 * net=poll: the handler disables its interrupt and wakes a thread that takes frames, `net.quota` at a time from each
 * queue, processes them completely, and enables the interrupt again when there are none. While a reader that holds it
 * (if_ether_hold) has a full queue it takes none (Mogul and Ramakrishnan, *Eliminating Receiver Livelock in an
 * Interrupt-driven Kernel*, USENIX 1996, section 6).
 */
#ifndef NET_RECEIVE_POLL_H
#define NET_RECEIVE_POLL_H

#include "arch/csr.h"
#include "dev/clock.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "net/receive/ring.h"
#include "sched/sched.h"

#define RECEIVE_IN_THREADS true

DEFINE_SIMPLE_LOCK(poll_lock, "ether poll", SPL_NET);
static struct {
    bool due, held; /* a queue's interrupt has come and is off; if_ether_hold */
    bool ended; /* the thread is to end, after the work that is due */
} poll;
static uint32_t quota, share;
static struct thread *poller;

static void poll_handler(void *arg)
{
    unsigned q = (uintptr_t)arg;
    receive_counts[curhart->id].interrupts++;
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

/* Causes are acknowledged before the last check: a later frame interrupts as soon as interrupts are enabled. */
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
                found += receive(q, quota, true);
            receive_counts[curhart->id].rounds++;
            if (share < 100 && cycles32() - began > share * (CLOCK_HZ / clock_hz() / 100)) {
                thread_delay(1);
                began = cycles32();
            }
        } while (found && !poll.held);
        if (found)
            poll.due = true; /* there may be more, but it is held */
        else
            ether_enable(ETHER_RX(0) | ETHER_RX(1), true);
    }
}

static inline void receive_input(struct mbuf *m, bool ip)
{
    in_protocols(m, ip);
}

static inline void receive_establish(unsigned q)
{
    ether_establish(q, PIC_ANY_HART, poll_handler, (void *)(uintptr_t)q, q ? "ether 1" : "ether 0");
}

static inline void receive_prepare(void)
{
    quota = bootargs_number(BOOT(kernel, net_quota));
    if (!quota)
        panic("boot argument net.quota: give 1 at least");
    share = clock_hz() ? bootargs_number(BOOT(kernel, net_share)) : 100;
}

static inline void receive_begin(void)
{
    assert(!poll.due); /* no thread accesses the rings before they are filled */
    poll.ended = false;
    poller = thread_create(poll_thread, 0, PRI_INTERRUPT, ANY_HART, "ether poll");
    if (!poller)
        panic("no thread is free for the network");
}

static inline void receive_stop(void)
{
    crit_t s = simple_lock_enter(&poll_lock);
    poll.ended = true;
    simple_lock_leave(&poll_lock, s);
    thread_wakeup(&poll);
    thread_join(poller);
}

static inline void receive_rest(unsigned q)
{
    receive(q, ALL, true);
}

static inline void receive_end(void)
{
    poll.due = false; /* set by a handler after the last round */
}

static inline void receive_add(struct if_ether_counts *sum)
{
    (void)sum;
}
#endif
