/*
 * Where the memory of packets comes from (paper `mach`, 4.5): two pools, of mbufs and of clusters, each a list of free
 * objects behind its own simple lock, with a thread that gets more memory. Any level up to SPL_NET allocates and frees.
 *
 * An allocation takes what is free, or fails and is counted; if it leaves fewer than `low` free objects it wakes the
 * thread, which adds objects until there are `fill`, or `most` in all: a boot argument, net.mbufs or net.clusters. The
 * thread takes them from a zone, which makes them of pages and detects an object that is freed twice. Once in a second
 * it returns objects that nothing has needed since the last time, and the zone's pages that this empties; without a
 * clock they stay.
 *
 * So that the data of users who wait for each other cannot keep TCP from sending what makes room, frames and users
 * leave the last part of the limit to the protocols (enum mbuf_use).
 *
 * Locking: a pool's lock guards all of it.
 */
#ifndef NET_MBUF_POOL_H
#define NET_MBUF_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lock/simple_lock.h"

/* Whose allocation it is: each has an eighth of the limit less than the one before. */
enum mbuf_use { M_PROTOCOL, M_FRAME, M_USER, MBUF_USES };

#define POOL_HOT 32

struct zone;

struct mbuf_pool {
    struct simple_lock lock;
    uint32_t hot_count;
    SLIST_HEAD(, pool_object) free;
    void *hot[POOL_HOT]; /* those freed last: no object is read or written here, so none is brought into a cache */
    uint32_t free_count, least; /* of both; least: the fewest that were free since the thread looked */
    uint32_t in_use, may[MBUF_USES]; /* may: as many as each use may have */
    uint32_t low;
    bool wanted;       /* the thread is to look */
    uint32_t sleepers; /* threads in pool_wait */
    uint32_t total, most; /* free, in use, and those that are being added */
    uint32_t fill;
    uint32_t peak, denied, waits; /* most in use; failed allocations; waits of threads */
    struct zone *zone;
    const char *name;
};

extern struct mbuf_pool mbuf_pool, cluster_pool;

void *pool_get(struct mbuf_pool *p, enum mbuf_use use); /* or 0 */
void pool_put(struct mbuf_pool *p, void *object);

/* Creates both pools and their threads, once; before it all allocations fail. From a thread, as the next two. */
void pools_start(void);
bool pool_reserve(struct mbuf_pool *p, uint32_t n); /* adds objects until `n` are free; false: there is no memory */
/*
 * Until there is an object for a user's data, which other threads may take first: 0. -ENOBUFS: it does not wait, or
 * there is no clock; else as waiting_sleep, after `ticks` (waiting.h). With no simple lock and no mbuf held.
 */
int pool_wait(struct mbuf_pool *p, bool waits, uint32_t ticks);

struct pool_counts {
    uint32_t in_use, peak, free, denied, waits, pages, most;
};
struct pool_counts pool_counts(const struct mbuf_pool *p); /* exact if the pool is not used meanwhile */
#endif
