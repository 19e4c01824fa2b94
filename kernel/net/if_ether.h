/*
 * The Ethernet interface: start, stop, and sending. A build option (`net`) selects where received frames are processed,
 * so that no way costs a selection: receive.h.
 *
 * Boot arguments: net.ip, net.mac (the last byte of the address), net.mbits, net.threads, net.queue (most packets in
 * ipintrq; with softint, most waiting frames of each queue), net.quota, net.share, net.moderate (frames) and
 * net.moderate.cycles.
 */
#ifndef NET_IF_ETHER_H
#define NET_IF_ETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"

/*
 * Starts receiving and sending. Packets sent before this, or after if_ether_stop, are dropped and
 * counted.
 */
void if_ether_start(void);

/*
 * Stops receiving. Received frames are processed and answers to them leave before this returns, so that each is in one
 * of the counters that are printed afterwards, and all its buffers are free. From a thread. The interface may be
 * started again, and other threads may go on sending meanwhile.
 */
void if_ether_stop(void);

/*
 * With poll: no frame is taken until if_ether_go_on, from any level up to SPL_NET; a second call of either does
 * nothing. A caller that holds because of a full queue checks the queue again after the call: its reader may have
 * called if_ether_go_on before. A stop does not end it.
 */
void if_ether_hold(void);
void if_ether_go_on(void);

/* Down, it drops what it receives and what is to be sent, and counts it; if_ether_start makes it go up. */
void if_ether_set_up(bool up);
bool if_ether_is_up(void);

/* Whether the protocols above IP run in threads, which may take blocking locks. */
extern const bool if_ether_in_threads;

/* Costs of interrupts: handlers called, and frames that they, or the polling thread, found. */
struct if_ether_counts {
    uint32_t interrupts, frames, rounds, full; /* rounds of polling; packets dropped as ipintrq was full */
};
struct if_ether_counts if_ether_counts(void);
#endif
