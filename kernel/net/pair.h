/*
 * Pairs of sockets (socketpair): two ends, each with a buffer of the data that the other one has sent. They are not
 * part of the internet's protocols, and take no lock of the network (policy.h).
 *
 * Locking: a simple lock for each end guards its buffer, and whether data may still arrive there. A sender takes the
 * other end's; operations on both take both, the one at the lower address first (paper `mach`, 4.5).
 */
#ifndef NET_PAIR_H
#define NET_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "file/file.h"

struct pair_end;

/* Creates both files, each with one reference, or -ENOMEM. */
int pair_create(struct file *end[2], uint32_t flags);

/* As for streams (socket.h). */
int pair_send(struct pair_end *e, struct transfer *t, bool waits);
int pair_receive(struct pair_end *e, struct transfer *t, bool waits, bool peek, bool all);
int pair_shut(struct pair_end *e, bool receive, bool send); /* shuts what is true */
int pair_option(struct pair_end *e, uint32_t level, uint32_t name, void *value, bool set);

extern const struct file_ops pair_ops;
#endif
