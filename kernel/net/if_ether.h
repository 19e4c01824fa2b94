/*
 * The Ethernet interface: what its interrupts do, and where the rest of the work is done. That is a build option (NET), so
 * that each way costs what it costs:
 *
 *   threads    the handler takes frames out of the ring; those of IP wait in ipintrq for one of `net.threads`
 *              netisr_threads, those of ARP for a thread of their own (paper `mach`, 2.1)
 *   softint    the handler exchanges frames for empty buffers, without a lock (dev/ether.h), and a soft interrupt at SPL_SOFTNET
 *              on its hart does the rest (4.3BSD)
 *   interrupt  the handler does all of it
 *   poll       the handler switches its interrupt off and wakes a thread that takes frames, `net.quota` at a time from each
 *              queue, does all that is to be done with them, and switches it on again when there are none. While the queue
 *              of a reader who has said so is full it takes none (Mogul and Ramakrishnan, *Eliminating Receiver Livelock
 *              in an Interrupt-driven Kernel*, USENIX 1996, section 6)
 *
 * Boot arguments: net.ip, net.mac (the last byte of the address), net.mbits, net.threads, net.queue (packets that ipintrq
 * holds; of softint, frames of each queue that may wait), net.quota, net.share, net.moderate (frames) and net.moderate.cycles.
 */
#ifndef NET_IF_ETHER_H
#define NET_IF_ETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"

/* From now on frames come and go. Packets that others send before this, or behind if_ether_stop, are dropped and counted. */
void if_ether_start(void);

/*
 * No frame comes any more. Those that have come are worked off and answers to them leave before this returns, so that each is in
 * one of the counters that are printed behind it, and all its buffers are free. From a thread. It may be started again, and others may
 * go on sending meanwhile.
 */
void if_ether_stop(void);

/*
 * Of poll: no frame is taken until if_ether_go_on, from any level up to SPL_NET; a second call of either does nothing. Who
 * holds for what a queue has looks at it again behind the call: its reader may have gone on before, and goes on no more. It outlasts a stop.
 */
void if_ether_hold(void);
void if_ether_go_on(void);

/* Whether what is above IP is called in threads, which may take blocking locks. */
extern const bool if_ether_in_threads;

/* What interrupts took: handlers called, and frames that they, or who polls, found. */
struct if_ether_counts {
    uint32_t interrupts, frames, rounds, full; /* rounds of who polls; packets that found ipintrq full */
};
struct if_ether_counts if_ether_counts(void);
#endif
