/*
 * Datagram sockets: what a descriptor of UDP (RFC 768) refers to. Each has a queue of the datagrams that came, whole
 * ones. Of several that have a port, one that is connected to the sender gets what comes, then one of that address;
 * what was sent to all hosts all of them get.
 *
 * Locking, the same under all policies (policy.h), as there is no state of a connection to guard: a simple lock for
 * the list, held while who gets a datagram is looked up, and one for each socket; that order. Threads only.
 */
#ifndef NET_DATAGRAM_H
#define NET_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "file/file.h"

struct datagram;
struct ends { /* 0: none yet, or any */
    uint32_t laddr, faddr, lport, fport;
};

void datagram_start(void); /* what comes for a socket goes there: once, before the first one */

struct datagram *datagram_create(void); /* 0: memory is out */
void datagram_destroy(struct datagram *d); /* the file that has one does it */

/* Each 0, or minus a number of <errno.h>. */
int datagram_bind(struct datagram *d, uint32_t laddr, uint32_t lport);
int datagram_connect(struct datagram *d, uint32_t faddr, uint32_t fport); /* 0, 0: with nobody any more */
int datagram_shut(struct datagram *d, bool receive, bool send); /* what is true ends */
struct ends datagram_ends(struct datagram *d);
int datagram_option(struct datagram *d, uint32_t level, uint32_t name, int *value, bool set);

/*
 * One datagram, of all that the piece has, to an address, or, if that is 0, to whom it is connected with; the next
 * one, or the part of it that fits, of which *from says whose it is. Bytes. `peek`: it stays.
 */
int datagram_send(struct datagram *d, struct transfer *t, uint32_t faddr, uint32_t fport);
int datagram_receive(struct datagram *d, struct transfer *t, struct ends *from, bool waits, bool peek);

extern const struct file_ops datagram_ops;
#endif
