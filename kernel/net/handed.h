/*
 * The network's work is handed to designated harts (policy.h; paper `krp`, "Introducing Parallelism into the TCP/IP
 * Kernel"): each database of connections has one, which processes kernel request packets, first come, first served,
 * under the database's lock. No other hart takes that lock, so no hart waits for it.
 *
 * A call that opens, names or ends a connection waits until its packet has been processed; reading and writing do not.
 *
 * Boot arguments: net.hart (the first designated hart; default: the last harts), net.databases (of krp-many),
 * net.queue (received packets that may wait for a database).
 */
#ifndef NET_HANDED_H
#define NET_HANDED_H

#include "sched/designated.h"

/* Part of a socket. */
struct so_handover {
    struct krp output; /* of inet_output */
    bool output_waits;
};

extern unsigned inet_databases; /* how many there are, up to DATABASES */

struct mbuf;
bool inet_receive(struct mbuf *m);
void inet_start(void);
void inet_rest(void);
uint32_t inet_full(void);
#endif
