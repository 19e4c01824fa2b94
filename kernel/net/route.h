/*
 * Routes: to which host of this network a packet goes first, by the address that it is for. The longest of the prefixes
 * that fit counts; without one, the host itself on this network, and none elsewhere.
 *
 * Locking (paper `mach`, section 4.3.4): the policy's read/write lock (policy.h) around the table, shared by look-ups;
 * and a count of references for each route, so that one in use is not freed. A route has one of the table and one of
 * each context that uses it.
 */
#ifndef NET_ROUTE_H
#define NET_ROUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define ROUTES_MOST 256  /* entries */
#define REDIRECTS_MOST 32 /* of them by ICMP: a further one replaces the oldest */

struct route {
    TAILQ_ENTRY(route) link; /* redirects in order of age */
    uint32_t to, mask;       /* for each address with these bits */
    uint32_t gateway;        /* of this network; 0: the destination is on it */
    uint32_t flags;          /* USER_RTF_ of user/abi.h */
    uint32_t references, uses;
};

/*
 * `flags`: USER_RTF_REJECT, or 0. -EEXIST; -EINVAL: `mask` has gaps, or bits of `to` are outside it; -ENETUNREACH: the
 * gateway is no other host of this network; -ENOBUFS.
 */
int route_add(uint32_t to, uint32_t mask, uint32_t gateway, uint32_t flags);
int route_delete(uint32_t to, uint32_t mask, uint32_t gateway); /* gateway 0: any. -ESRCH */

/* Returns a reference, which the caller releases; 0: none fits. */
struct route *route_find(uint32_t to);
void route_release(struct route *r);

/* The host of this network to which a packet for `to`, another host, is sent first; 0: there is no way there. */
uint32_t route_first_hop(uint32_t to);

/* ICMP: says `from` that packets for host `to` go by `gateway`. Ignored unless `from` is the first hop so far. */
void route_redirect(uint32_t to, uint32_t gateway, uint32_t from);

void route_address_changed(void); /* after a change of the interface's address or mask */
/* The route at a place of the list, which begins with the interface's own network; false: beyond the last. */
bool route_at(unsigned place, struct route *to);
#endif
