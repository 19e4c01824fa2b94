/*
 * The network's work is done where it arises (policy.h): by the thread that makes a call, takes a packet, or runs a
 * round of timers.
 */
#ifndef NET_DIRECT_H
#define NET_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#define DATABASES 1

struct so_handover {};

static inline unsigned inet_database(uint32_t lport, uint32_t faddr, uint32_t fport)
{
    (void)lport, (void)faddr, (void)fport;
    return 0;
}

struct mbuf;

static inline bool inet_receive(struct mbuf *m)
{
    (void)m;
    return false;
}

static inline void inet_start(void) {}

static inline void inet_rest(void) {}

static inline uint32_t inet_full(void)
{
    return 0;
}
#endif
