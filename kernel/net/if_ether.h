/*
 * The Ethernet interface: it starts, stops, and sends. Where frames that come are worked on is a build option
 * (`net`), so that each way costs what it costs: receive.h.
 *
 * Boot arguments: net.ip, net.mac (the last byte of the address), net.mbits, net.threads, net.queue (packets that
 * ipintrq holds; of softint, frames of each queue that may wait), net.quota, net.share, net.moderate (frames) and
 * net.moderate.cycles.
 */
#ifndef NET_IF_ETHER_H
#define NET_IF_ETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"

/*
 * From now on frames come and go. Packets that others send before this, or behind if_ether_stop, are dropped and
 * counted.
 */
void if_ether_start(void);

/*
 * No frame comes any more. Those that have come are worked off and answers to them leave before this returns, so that
 * each is in one of the counters that are printed behind it, and all its buffers are free. From a thread. It may be
 * started again, and others may go on sending meanwhile.
 */
void if_ether_stop(void);

/*
 * Of poll: no frame is taken until if_ether_go_on, from any level up to SPL_NET; a second call of either does
 * nothing. Who holds for what a queue has looks at it again behind the call: its reader may have gone on before, and
 * goes on no more. It outlasts a stop.
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
