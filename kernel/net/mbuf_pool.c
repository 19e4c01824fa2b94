/* The pools of mbufs and clusters (mbuf_pool.h). */
#include "net/mbuf_pool.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "dev/clock.h"
#include "lib/bootargs.h"
#include "lib/compiler.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "mem/page.h"
#include "mem/zone.h"
#include "net/mbuf.h"
#include "net/waiting.h"
#include "sched/sched.h"

#define LOW 64 /* free objects: enough for the frames and segments until the thread runs */
#define FILL (2 * LOW)
#define BATCH 16 /* objects added or returned at a time */
#define PRI_POOL (PRI_INTERRUPT - 2) /* before the threads that need the memory, and designated harts */
#define PARTS 8 /* of the limit (enum mbuf_use) */
#define LEAST_MOST 320u /* both rings of the interface, and as many for sockets */

/* The beginning of a free object. */
struct pool_object {
    SLIST_ENTRY(pool_object) link;
};
SLIST_HEAD(objects, pool_object);

#define FILLING 0xdb
#define LOOKED_AT 256 /* bytes at the beginning of a free object that LOCK_DEBUG fills and checks */

static SIMPLE_LOCK_CLASS(pool_class, "mbuf pool", SPL_NET);
DEFINE_ZONE(mbuf_zone, "mbuf", sizeof(struct mbuf), 8, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(cluster_zone, "cluster", MCLBYTES, 8, SPL_SOFTPREEMPT, 0);

#define POOL(pool_name, of) {.lock = SIMPLE_LOCK(pool_name, pool_class), .zone = (of), .name = (pool_name)}
struct mbuf_pool mbuf_pool = POOL("mbufs", &mbuf_zone), cluster_pool = POOL("clusters", &cluster_zone);

/* Free objects, which LOCK_DEBUG fills as zones do: those in the list are in use to the zone ----------------------- */

/* Where that begins: the link, and what says that an mbuf is free, stay. */
static uint8_t *filled_part(const struct mbuf_pool *p, struct pool_object *o, uint32_t *bytes)
{
    uint32_t at = p == &mbuf_pool ? offsetof(struct mbuf, m_len) : sizeof *o;
    *bytes = MIN(p->zone->size - at, LOOKED_AT);
    return (uint8_t *)o + at;
}

static void object_freed(const struct mbuf_pool *p, struct pool_object *o)
{
    uint32_t bytes;
    uint8_t *part = filled_part(p, o, &bytes);
    if (ZONE_DEBUG)
        memset(part, FILLING, bytes);
}

static void object_taken(const struct mbuf_pool *p, struct pool_object *o)
{
    uint32_t bytes, differs = 0;
    const uint8_t *part = filled_part(p, o, &bytes);
    for (uint32_t i = 0; ZONE_DEBUG && i < bytes; i++)
        differs |= part[i] ^ FILLING;
    if (differs)
        panic("%s: %p was written to while it was free", p->name, (void *)o);
}

/* All below with the pool's lock held. */
static bool pool_has(const struct mbuf_pool *p, enum mbuf_use use)
{
    return p->free_count && p->in_use < p->may[use];
}

static void pool_wakeup(struct mbuf_pool *p)
{
    if (unlikely(p->sleepers))
        thread_wakeup(p);
}

static COLD void pool_wants(struct mbuf_pool *p)
{
    if (p->wanted || p->total >= p->most)
        return;
    p->wanted = true;
    thread_wakeup(&p->wanted);
}

void *pool_get(struct mbuf_pool *p, enum mbuf_use use)
{
    crit_t s = simple_lock_enter(&p->lock);
    struct pool_object *o = 0;
    if (likely(pool_has(p, use))) {
        if (likely(p->hot_count)) {
            o = p->hot[--p->hot_count];
        } else {
            o = SLIST_FIRST(&p->free);
            SLIST_REMOVE_HEAD(&p->free, link);
        }
        p->free_count--;
        p->least = MIN(p->least, p->free_count);
        p->in_use++;
        p->peak = MAX(p->peak, p->in_use);
    } else {
        p->denied++;
    }
    if (unlikely(p->free_count < p->low))
        pool_wants(p);
    simple_lock_leave(&p->lock, s);
    if (o)
        object_taken(p, o);
    return o;
}

void pool_put(struct mbuf_pool *p, void *object)
{
    struct pool_object *o = object;
    object_freed(p, o);
    crit_t s = simple_lock_enter(&p->lock);
    if (likely(p->hot_count < POOL_HOT))
        p->hot[p->hot_count++] = o;
    else
        SLIST_INSERT_HEAD(&p->free, o, link);
    p->free_count++;
    p->in_use--;
    pool_wakeup(p);
    simple_lock_leave(&p->lock, s);
}

/* Getting memory, and returning it --------------------------------------------------------------------------------- */

/* Adds up to BATCH objects so that `n` are free: how many it added, fewer than *wanted if memory is out. */
static uint32_t pool_add(struct mbuf_pool *p, uint32_t n, uint32_t *wanted)
{
    struct objects added = SLIST_HEAD_INITIALIZER(added);
    struct pool_object *o;
    uint32_t got = 0;
    crit_t s = simple_lock_enter(&p->lock);
    uint32_t missing = n > p->free_count ? n - p->free_count : 0;
    *wanted = MIN(MIN(missing, p->most - p->total), BATCH);
    p->total += *wanted;
    simple_lock_leave(&p->lock, s);
    for (; got < *wanted && (o = zone_alloc(p->zone)); got++) {
        object_freed(p, o);
        SLIST_INSERT_HEAD(&added, o, link);
    }
    s = simple_lock_enter(&p->lock);
    while ((o = SLIST_FIRST(&added))) {
        SLIST_REMOVE_HEAD(&added, link);
        SLIST_INSERT_HEAD(&p->free, o, link);
    }
    p->free_count += got;
    p->total -= *wanted - got;
    pool_wakeup(p);
    simple_lock_leave(&p->lock, s);
    return got;
}

bool pool_reserve(struct mbuf_pool *p, uint32_t n)
{
    uint32_t wanted, got;
    do {
        got = pool_add(p, n, &wanted);
    } while (got && got == wanted);
    return got == wanted && p->free_count >= n;
}

/* Returns all free objects but the first `rest` to the zone. */
static void pool_trim(struct mbuf_pool *p, uint32_t rest)
{
    struct objects gone = SLIST_HEAD_INITIALIZER(gone);
    struct pool_object *o, *last;
    crit_t s = simple_lock_enter(&p->lock);
    while (p->hot_count) {
        o = p->hot[--p->hot_count];
        SLIST_INSERT_HEAD(&p->free, o, link);
    }
    last = SLIST_FIRST(&p->free);
    for (uint32_t i = 1; last && i < rest; i++)
        last = SLIST_NEXT(last, link);
    if (last) {
        SLIST_FIRST(&gone) = SLIST_NEXT(last, link);
        SLIST_NEXT(last, link) = 0;
    }
    if (p->free_count > rest) {
        p->total -= p->free_count - rest;
        p->free_count = rest;
    }
    simple_lock_leave(&p->lock, s);
    while ((o = SLIST_FIRST(&gone))) {
        SLIST_REMOVE_HEAD(&gone, link);
        object_taken(p, o);
        zone_free(p->zone, o);
    }
}

/*
 * Free objects lie in pages with used ones and with each other: most go back to the zone, which then hands out those of
 * its fullest pages; these replace the rest, and what pages are empty then go back.
 */
static void pool_shrink(struct mbuf_pool *p)
{
    pool_trim(p, p->low);
    pool_reserve(p, p->low + p->fill);
    pool_trim(p, p->fill);
    zone_reclaim(p->zone);
}

/* Waits until it is to look: true after a second without that, if there are more objects than the pool began with. */
static bool pool_thread_waits(struct mbuf_pool *p)
{
    struct limit limit;
    limit_begin(&limit, p->total > p->fill ? clock_hz() : NO_LIMIT, &p->wanted, &p->lock);
    crit_t s = simple_lock_enter(&p->lock);
    while (!p->wanted && !limit.over)
        limit_sleep(&limit);
    bool over = !p->wanted, far_more = over && p->least >= 2 * p->fill;
    p->wanted = false;
    if (over)
        p->least = p->free_count;
    simple_lock_leave(&p->lock, s);
    limit_end(&limit);
    return far_more;
}

/* One turn of the thread. When memory is out it rests, and goes on only if a thread waits. */
static void pool_turn(struct mbuf_pool *p, bool far_more)
{
    if (far_more)
        pool_shrink(p);
    if (pool_reserve(p, p->fill) || p->total >= p->most || !clock_hz())
        return;
    thread_delay(1);
    crit_t s = simple_lock_enter(&p->lock);
    p->wanted |= p->sleepers > 0;
    simple_lock_leave(&p->lock, s);
}

static void pool_thread(void *arg)
{
    struct mbuf_pool *p = arg;
    for (;;)
        pool_turn(p, pool_thread_waits(p));
}

static void pool_start(struct mbuf_pool *p, uint32_t most)
{
    crit_t s = simple_lock_enter(&p->lock);
    p->low = LOW;
    p->fill = FILL;
    p->most = most;
    for (unsigned use = 0; use < MBUF_USES; use++)
        p->may[use] = most - most / PARTS * use;
    simple_lock_leave(&p->lock, s);
    pool_reserve(p, p->fill);
    p->least = p->free_count;
    if (!thread_create(pool_thread, p, PRI_POOL, ANY_HART, p->name))
        panic("no thread is free for the memory of the network");
}

/* By default clusters have up to a quarter of the free memory, two in a page, and mbufs a thirtieth. */
void pools_start(void)
{
    static uint32_t begun;
    static bool started;
    if (__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        return;
    if (__atomic_exchange_n(&begun, 1, __ATOMIC_RELAXED)) {
        while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
            thread_yield();
        return;
    }
    uint32_t pages = pages_free();
    uint32_t mbufs = MIN(MAX(pages, LEAST_MOST), BOOT_MOST(kernel, net_mbufs));
    uint32_t clusters = MIN(MAX(pages / 2, LEAST_MOST), BOOT_MOST(kernel, net_clusters));
    pool_start(&mbuf_pool, bootargs_number(BOOT_OR(kernel, net_mbufs, mbufs)));
    pool_start(&cluster_pool, bootargs_number(BOOT_OR(kernel, net_clusters, clusters)));
    __atomic_store_n(&started, true, __ATOMIC_RELEASE);
}

int pool_wait(struct mbuf_pool *p, bool waits, uint32_t ticks)
{
    struct waiting w;
    int error = 0;
    if (!waits || !clock_hz())
        return -ENOBUFS;
    waiting_begin(&w, waits, ticks, p, &p->lock);
    crit_t s = simple_lock_enter(&p->lock);
    while (!pool_has(p, M_USER) && !error) {
        p->waits++;
        p->sleepers++;
        error = waiting_sleep(&w);
        p->sleepers--;
    }
    simple_lock_leave(&p->lock, s);
    waiting_end(&w);
    return error;
}

struct pool_counts pool_counts(const struct mbuf_pool *p)
{
    return (struct pool_counts){p->in_use, p->peak, p->free_count, p->denied, p->waits, zone_counts(p->zone).pages,
                                p->most};
}
