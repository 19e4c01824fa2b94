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
 *   0  kind: 1 data, 2 acknowledgement, 3 epoch    2  the sender's node
 *   4  sequence: of the packet or frame     8  index: 0 the head; from 1 on three for each page
 *   12 bytes of data of the whole message  16 the receiver's epoch, 0: not known   20 the sender's epoch     24 bytes
 *
 * Numbers are little-endian, as both ends are.
 *
 * **A node that is silent** for too long is given up: what is under way there goes, and all rights that it was given,
 * or that were had from it (port_node_died). If rights are about and nothing has been heard for a while, a message
 * that says nothing is sent, so that a node is missed that was only to answer. The next message to it begins anew,
 * with a higher *epoch*: frames of the one before count no more, on either side. A node that gets a frame of a higher
 * epoch than the other node's last one has been given up by that node, so it gives up, too; one that gets a frame for
 * an epoch of its own that has gone says so (kind 3). So both sides always have given up the same, though the wire may
 * have been cut and healed.
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
 * The message, with its rights, goes to that node; it is freed when it has got there. 0; -ENOMEM; -EPIPE, if the node
 * is being given up: it is the caller's still.
 */
int transport_send(unsigned node, struct message *m);

/*
 * A node has been given up: called when nothing is under way there any more, and no right is about. Filled in by what
 * waits for its pages.
 */
extern void (*transport_node_died)(unsigned node);

/* A message with data has come: whoever knows rights in them says how they are discarded. Filled in by that. */
extern void (*transport_data_arrived)(struct message *m);

/* Something waits for memory, or for a server: it is looked at again in a while (ports_settle, servers_look). */
void transport_tick_wanted(void);

/* Starts sending and receiving; the network is up. */
void transport_start(unsigned nodes);
/* Whether the node has been given up since the start; milliseconds until one that falls silent is. */
bool transport_has_given_up(unsigned node);
uint32_t transport_patience(void);
bool transport_is_cut(void); /* for tests: this node has been, or will be */
/* Nothing of this node's is under way any more, or so many milliseconds have gone by: whether so. */
bool transport_drain(uint32_t ms);

struct transport_counts {
    uint32_t messages, packets, frames, resent, acknowledgements, arrived, repeated, dropped, given_up;
};
extern struct transport_counts transport_counts;
void transport_print_results(void); /* @ipc */

/*
 * Messages of ports of the kernel that may have to wait are carried out by threads for that (server.c): as many as that
 * at first.
 */
void server_start(unsigned threads);
void server_add(struct port *p, struct message *m);
void servers_look(void); /* whether they get on, in each tick of the timer */
#endif
