/*
 * Moves messages from node to node: each exactly once, in the order in which they were sent between two nodes, even if
 * the wire loses, repeats or reorders frames. Build option `ipc` selects how, by a file of transport/:
 *
 *   norma    NORMA IPC's first version: stop and wait. A packet is a message's head with its first page of data, or
 *   another page;
 *            the next one is sent after an acknowledgement, and all of it is sent again if that does not come in
 *            time
 *   window   a sliding window of frames, of several messages; only missing frames are sent again
 *
 * A message is one head frame, with its rights and inline bytes, and three frames for each page of data. Frames of all
 * kinds have the same header, with the message's sizes in it: so the first to arrive allocates the message, and each
 * gives the position of its own bytes.
 *
 *   EtherType 0x88b5; node n has the address 02:49:4c:4b:00:(n + 2)
 *   0  kind: 1 data, 2 acknowledgement, 3 epoch    2  the sender's node
 *   4  sequence: of the packet or frame     8  index: 0 the head; from 1 on three for each page
 *   12 bytes of data of the whole message  16 the receiver's epoch, 0: not known   20 the sender's epoch     24 bytes
 *
 * Numbers are little-endian, as both ends are.
 *
 * **A node that is silent** for too long is given up: messages under way to it are dropped, and all rights that it was
 * given, or that came from it (port_node_died). If rights are outstanding and nothing has been heard for a while, an
 * empty message is sent, which detects a silent node that only had to answer. The next message to a node given up has a
 * higher *epoch*: frames of the earlier one do not count any more, on either side. A node that gets a frame of a higher
 * epoch than the other node's last one has been given up by that node, so it gives up, too; one that gets a frame for
 * an expired epoch of its own reports that (kind 3). So both sides have always given up the same, even if the wire was
 * cut and healed.
 *
 * Locking: a peer's mutex guards what is sent to and comes from that node; under it, other locks of ipc/ are acquired
 * only in this order: peer, port, names; ether_output's come last. Frames arrive at SPL_NET, and are queued for the
 * thread `ipc input`, the only one that parses messages; it waits for no node and for no page, so frames are
 * always accepted. Another thread, `ipc timer`, checks whether anything must be sent again.
 */
#ifndef IPC_TRANSPORT_H
#define IPC_TRANSPORT_H

#include "ipc/message.h"

#define TRANSPORT_PIECE 1408u /* bytes of data in a frame */

/*
 * Sends the message, with its rights, to that node; frees it after it has arrived. 0; -ENOMEM; -EPIPE, if the node
 * is being given up: the caller keeps it.
 */
int transport_send(unsigned node, struct message *m);

/*
 * A node has been given up: called when nothing is under way there any more, and no right remains. Set by the layer
 * that waits for its pages.
 */
extern void (*transport_node_died)(unsigned node);

/* A message with data has come: a layer that knows rights in them sets how they are discarded. Set by that layer. */
extern void (*transport_data_arrived)(struct message *m);

/* Work waits for memory, or for a server: it is retried in a while (ports_settle, servers_look). */
void transport_tick_wanted(void);

/* Starts sending and receiving; the network must be up. */
void transport_start(unsigned nodes);
/* Whether the node has been given up since the start; milliseconds until a silent one is given up. */
bool transport_has_given_up(unsigned node);
uint32_t transport_patience(void);
bool transport_is_cut(void); /* for tests: this node has been cut off, or will be */
/* Waits until nothing of this node's is under way any more, or for so many milliseconds; returns whether nothing is. */
bool transport_drain(uint32_t ms);

struct transport_counts {
    uint32_t messages, packets, frames, resent, acknowledgements, arrived, repeated, dropped, given_up;
};
extern struct transport_counts transport_counts;
void transport_print_results(void); /* @ipc */

/*
 * Messages for ports of the kernel that may have to wait are processed by server threads (server.c): this many
 * at first.
 */
void server_start(unsigned threads);
void server_add(struct port *p, struct message *m);
void servers_look(void); /* checks their progress, in each tick of the timer */
#endif
