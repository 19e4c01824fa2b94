/*
 * The pools of packets for tests of what is above them: each object is an allocation of the test's own zone_alloc_slow,
 * so that a sanitizer sees each use of a free one, and the test decides which fail; `pool_waits` tells what a wait
 * gives.
 */
#ifndef TEST_HOST_POOLS_H
#define TEST_HOST_POOLS_H

#include <errno.h>

#include "mem/zone.h"
#include "net/mbuf.h"

DEFINE_ZONE(mbuf_zone, "mbuf", sizeof(struct mbuf), 8, SPL_NET, 0);
DEFINE_ZONE(cluster_zone, "cluster", MCLBYTES, 8, SPL_NET, 0);
struct mbuf_pool mbuf_pool = {.zone = &mbuf_zone}, cluster_pool = {.zone = &cluster_zone};

void pools_start(void) {}

bool pool_reserve(struct mbuf_pool *p, uint32_t n)
{
    (void)p, (void)n;
    return true;
}

void *pool_get(struct mbuf_pool *p, enum mbuf_use use)
{
    void *object = zone_alloc(p->zone);
    (void)use;
    p->in_use += !!object;
    p->denied += !object;
    return object;
}

void pool_put(struct mbuf_pool *p, void *object)
{
    p->in_use--;
    zone_free(p->zone, object);
}

static int (*pool_waits)(void); /* 0: no thread waits */

int pool_wait(struct mbuf_pool *p, bool waits, uint32_t ticks)
{
    (void)p, (void)ticks;
    return waits && pool_waits ? pool_waits() : -ENOBUFS;
}

struct pool_counts pool_counts(const struct mbuf_pool *p)
{
    return (struct pool_counts){.in_use = p->in_use, .denied = p->denied};
}

#endif
