/*
 * How messages get from node to node: each once, in the order in which they were sent between two nodes, whatever the
 * wire loses, repeats or lets overtake. Build option `ipc` says how, a file of transport/ each:
 *
 *   norma    NORMA IPC's first version: stop and wait. A packet is a message's head with its first page of data, or
 *   another page;
 *            the next one leaves when it has been acknowledged, and all of it is sent again when that does not come in
 *            time
 *   window   a sliding window of frames, of several messages; what is missing is sent again
 *
 * A message is one head frame, with its rights and inline bytes, and three frames for each page of data. Frames of all
 * kinds have the same header, with the message's sizes in it: so whichever comes first makes room, and each says by
 * itself where its bytes go.
 *
 *   EtherType 0x88b5; node n has the address 02:49:4c:4b:00:(n + 2)
 *   0  kind: 1 data, 2 acknowledgement     2  the sender's node
 *   4  sequence: of the packet or frame     8  index: 0 the head; from 1 on three for each page
 *   12 bytes of data of the whole message  16 bytes of the head         18 0
 *   20 the sender's start, a number that another start has not           24 bytes
 *
 * Numbers are little-endian, as both ends are.
 *
 * Locking: a peer's mutex guards what is sent to and comes from that node; no other lock of ipc/ is taken under it but
 * in the order here: peer, port, names; ether_output's come last. Frames come at SPL_NET, and wait in a queue for the
 * thread `ipc input`, the only one that takes messages apart; it waits for no node and for no page, so what comes is
 * always taken. Another thread, `ipc timer`, looks whether something is to be sent again.
 */
#ifndef IPC_TRANSPORT_H
#define IPC_TRANSPORT_H

#include "ipc/message.h"

#define TRANSPORT_PIECE 1408u /* bytes of data in a frame */

/*
 * The message, with its rights, goes to that node; it is freed when it has got there. 0; -ENOMEM, or -EPIPE, if the
 * node has been given up: it is the caller's still.
 */
int transport_send(unsigned node, struct message *m);

/*
 * A node has been silent for too long: called when nothing is under way there any more. Filled in by who waits for its
 * pages.
 */
extern void (*transport_node_died)(unsigned node);

/* Starts sending and receiving; the network is up. */
void transport_start(unsigned nodes);
/* Nothing of this node's is under way any more, or so many milliseconds have gone by: whether so. */
bool transport_drain(uint32_t ms);

struct transport_counts {
    uint32_t messages, packets, frames, resent, acknowledgements, arrived, repeated, dropped;
};
extern struct transport_counts transport_counts;
void transport_print_results(void); /* @ipc */

/* Messages of ports of the kernel that may have to wait are carried out by threads for that (server.c). */
void server_start(unsigned threads);
void server_add(struct port *p, struct message *m);
#endif
