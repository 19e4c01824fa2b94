/*
 * The work of the network is handed to designated harts (policy.h; paper `krp`, "Introducing Parallelism into the
 * TCP/IP Kernel"): each database of connections has one, which works kernel request packets off, first come, first
 * served, under the database's lock. Nobody else takes that lock, so nobody waits for it.
 *
 * A call that opens, names or ends a connection waits until its packet has been worked off; reading and writing do not.
 *
 * Boot arguments: net.hart (the first designated hart; else the last ones are it), net.databases (of krp-many),
 * net.queue (received packets that may wait for a database).
 */
#ifndef NET_HANDED_H
#define NET_HANDED_H

#include "sched/designated.h"

/* Of a socket. */
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
