/*
 * Connections by their addresses: 4.4BSD's inpcb, with the additions of paper `mach`, section 4.4: a reference count,
 * so that a connection in use is not freed, and `closing`, so that nothing more is sent or received for one that has
 * left the list meanwhile.
 *
 * A connection is looked up under the list's lock and its count raised there; then that lock is released and the
 * inpcb's taken. References: one of the list, one of each descriptor or queue that has the socket, one of each context
 * that works on it.
 *
 * Locking: the list's lock guards links, references, and the addresses and ports of connections in the list; the
 * inpcb's lock guards the rest, and `closing` is set under both. There is a list for each database (policy.h).
 */
#ifndef NET_IN_PCB_H
#define NET_IN_PCB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "net/policy.h"

struct socket;

struct inpcb {
    LIST_ENTRY(inpcb) link;
    uint32_t references;
    uint32_t laddr, faddr; /* 0: none yet, or any */
    uint16_t lport, fport; /* 0: none yet */
    uint8_t database; /* of policy.h: the one whose list it is in, or was last */
    bool listed; /* is in that list */
    bool closing;
    bool marker; /* not a connection: the place of an iteration over the list */
    struct pcb_mutex lock;
    struct socket *so;
};

void in_pcb_start(void); /* creates the secret: once, before the first socket */

/* Each returns a reference, which the caller releases. */
struct inpcb *in_pcb_lookup(uint32_t faddr, uint32_t fport, uint32_t laddr, uint32_t lport);
struct inpcb *in_pcb_listener(uint32_t laddr, uint32_t lport);

void in_pcb_reference(struct inpcb *inp); /* the caller holds one */
void in_pcb_release(struct inpcb *inp);   /* without the inpcb's lock: the last frees it and its socket */

/*
 * Sets its addresses and ports, and inserts it into the list. -EADDRINUSE: another one has them. With the inpcb's lock
 * held, or before it can be found.
 */
int in_pcb_insert(struct inpcb *inp, uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport);
/*
 * Sets `lport` to a free port, in an unpredictable order (RFC 6056, algorithm 3). -EADDRNOTAVAIL: there is
 * none.
 */
int in_pcb_choose_port(struct inpcb *inp);
/* Removes it from the list; the caller holds a reference. With the inpcb's lock held. */
void in_pcb_remove(struct inpcb *inp);

/*
 * Calls fn(inp) for each connection of a database, with its lock held; it may leave the list meanwhile. `marker` is the
 * caller's, used by no other call.
 */
void in_pcb_each(unsigned database, struct inpcb *marker, void (*fn)(struct inpcb *inp));

/* SipHash-2-4 of addresses, ports and `what` under a secret of this start of the kernel. */
uint32_t in_pcb_hash(const struct inpcb *inp, uint32_t what);
#endif
