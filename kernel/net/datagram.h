/*
 * Datagram sockets: the objects of UDP's (RFC 768) descriptors. Each has a queue of received datagrams, whole ones. Of
 * several sockets with a port, one that is connected to the sender gets a datagram, else one with its address; a
 * datagram to all hosts goes to all of them.
 *
 * A raw socket of ICMP gets a copy of each valid ICMP message that comes to this host, from the host and to the address
 * that it names, if it does, with the IP header; what it sends gets one, and is an ICMP message with its checksum.
 *
 * Locking, the same under all policies (policy.h), as there is no state of a connection to guard: a simple lock for the
 * list, held while a datagram's socket is looked up, and one for each socket; in that order. Threads only.
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

void datagram_start(void); /* delivers datagrams to sockets: once, before the first one */

struct datagram *datagram_create(void); /* 0: out of memory */
struct datagram *datagram_create_raw(void);
void datagram_destroy(struct datagram *d); /* called by its file */

/* Each 0, or minus a number of <errno.h>. */
int datagram_bind(struct datagram *d, uint32_t laddr, uint32_t lport);
int datagram_connect(struct datagram *d, uint32_t faddr, uint32_t fport); /* 0, 0: disconnects it */
int datagram_shut(struct datagram *d, bool receive, bool send); /* shuts what is true */
struct ends datagram_ends(struct datagram *d);
int datagram_option(struct datagram *d, uint32_t level, uint32_t name, void *value, bool set);

/*
 * Sends the whole piece as one datagram to an address, or, if that is 0, to the connected one; receives the next one,
 * or the part of it that fits, with its sender in *from. Returns bytes. `peek`: it stays.
 */
int datagram_send(struct datagram *d, struct transfer *t, uint32_t faddr, uint32_t fport);
int datagram_receive(struct datagram *d, struct transfer *t, struct ends *from, bool waits, bool peek);

/* fn(its addresses, USER_SOCK_DGRAM or USER_SOCK_RAW, bytes of memory that wait) for each, under locks. */
void datagram_each(void (*fn)(const struct ends *ends, uint32_t type, uint32_t received));

extern const struct file_ops datagram_ops;
#endif
