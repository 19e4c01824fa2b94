/*
 * Pairs of sockets (socketpair): two ends, each with a buffer of what the other one has sent. They are no part of the
 * internet's protocols, and nothing of the network is locked for them (policy.h).
 *
 * Locking: a simple lock for each end guards its buffer, and whether something may still come into it. Whoever sends
 * takes the other end's; what concerns both takes both, that at the lower address first (paper `mach`, 4.5).
 */
#ifndef NET_PAIR_H
#define NET_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "file/file.h"

struct pair_end;

/* Both files, each with one reference, or -ENOMEM. */
int pair_create(struct file *end[2], uint32_t flags);

/* As of streams (socket.h). */
int pair_send(struct pair_end *e, struct transfer *t, bool waits);
int pair_receive(struct pair_end *e, struct transfer *t, bool waits, bool peek, bool all);
int pair_shut(struct pair_end *e, bool receive, bool send); /* what is true ends */
int pair_option(struct pair_end *e, uint32_t level, uint32_t name, int *value, bool set);

extern const struct file_ops pair_ops;
#endif
