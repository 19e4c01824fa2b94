/*
 * Zones: memory for objects of one kind, as in Mach and 4.4BSD, with slabs and a cache for each hart (Bonwick, *The
 * Slab Allocator*, USENIX 1994; Bonwick and Adams, *Magazines and Vmem*, USENIX 2001).
 *
 * A slab is a page (mem/page.h) of objects. Each hart caches up to ZONE_CACHE free objects of a zone: an allocation or
 * a free is then a few loads and stores inside a section at the zone's level, without a lock or an
 * atomic operation. Half a cache at a time moves to and from the slabs, under the zone's lock. An empty slab
 * is returned to the pages, except ZONE_EMPTY for each zone. Which object of a slab is allocated first depends on its
 * page (Bonwick's colours): otherwise the first objects of all zones would share lines of the data cache.
 *
 * A zone's level is that of its lock's class: the highest at which a handler allocates or frees; a zone used by threads
 * only has at least SPL_SOFTPREEMPT, which keeps the thread on its hart. Nothing here sleeps.
 *
 * An object is returned as its last owner left it, or, if the zone has a constructor, must be freed in the state that
 * the constructor made. An object may be freed on any hart. A hart does not find objects in another hart's cache:
 * memory is out for a hart when there is no page and no free object in the slabs and its own cache; zone_reclaim on
 * each hart returns all cached objects.
 *
 * Errors: zone_alloc returns 0 when memory is out. Freeing an object twice, or one of another zone or of none, panics
 * with the zone's name: in any image when it returns to its slab, with LOCK_DEBUG at once. LOCK_DEBUG also fills free
 * objects (of those larger than 512 bytes the first and the last 256), and panics if the filling has changed at the
 * next allocation, or if a word after an object has changed when it is freed.
 */
#ifndef MEM_ZONE_H
#define MEM_ZONE_H

#include <stdint.h>
#include <sys/queue.h>

#include "arch/hart.h"
#include "lock/simple_lock.h"
#include "sync/sync.h"

#define ZONE_CACHE 24 /* objects that a hart caches at most; fewer if large: as many as a slab has, at least 2 */
#define ZONE_EMPTY 1  /* slabs */

#ifndef ZONE_DEBUG /* unit tests on the host */
#define ZONE_DEBUG LOCK_DEBUG
#endif

typedef void zone_ctor_fn(void *object);

/* One hart's, written only by it, inside a section at the zone's level. Counts are modulo 2^32. */
struct zone_cache {
    uint32_t count; /* objects in it */
    uint32_t frees; /* the number of allocations follows from this and the next two */
    uint32_t filled, flushed; /* objects from the slabs, and to them */
    uint32_t refills, flushes, failures;
    void *object[ZONE_CACHE];
} __attribute__((aligned(64)));

struct zone {
    struct zone_cache cache[MAX_HARTS];
    uint32_t level;
    uint32_t cache_most; /* 0: the zone has not been used yet */
    struct simple_lock lock; /* guards what follows; has the zone's name */
    uint32_t size, align;
    zone_ctor_fn *ctor;
    uint32_t stride, begin, per_slab; /* position of objects in a slab: from `begin`, `stride` apart */
    LIST_HEAD(slab_list, slab) partial, empty;
    uint32_t empties, pages;
    uint32_t out, peak; /* objects that are not in their slabs; the maximum so far */
    SLIST_ENTRY(zone) all; /* zones in use */
};

#define ZONE(zone_name, object_size, object_align, class_id, zone_level, zone_ctor) \
    {.level = (zone_level),                                                         \
     .lock = SIMPLE_LOCK(zone_name, class_id),                                      \
     .size = (object_size),                                                         \
     .align = (object_align),                                                       \
     .ctor = (zone_ctor)}

/* A zone that needs no initialisation. `align` is a power of two; a name has no spaces. */
#define DEFINE_ZONE(id, zone_name, object_size, object_align, zone_level, zone_ctor) \
    static SIMPLE_LOCK_CLASS(id##_class, zone_name, zone_level);                     \
    static struct zone id = ZONE(zone_name, object_size, object_align, id##_class, zone_level, zone_ctor)

/* Initialises a zone at run time. `class` is of a simple lock; its level is the zone's. */
void zone_init(struct zone *z, const char *name, uint32_t size, uint32_t align, struct lock_class *class,
               zone_ctor_fn *ctor);
/* Ends it; no code uses it or reads the list of zones any more. Panics if an object is in use. */
void zone_destroy(struct zone *z);

/* Returns the objects of this hart's cache to their slabs, and all empty slabs to the pages: of one zone, of all. */
void zone_reclaim(struct zone *z);
void zones_reclaim(void);

struct zone_counts {
    uint32_t allocations, frees; /* that succeeded */
    uint32_t in_use, peak;       /* objects now; the maximum that were in use or in a cache */
    uint32_t cached;             /* free objects in caches now */
    uint32_t hits;               /* allocations that found one in the cache */
    uint32_t refills, flushes;   /* of a cache from the slabs, and back to them */
    uint32_t failures;           /* allocations that returned 0 */
    uint32_t pages;
};

/* Exact if the zone is not used meanwhile. */
struct zone_counts zone_counts(const struct zone *z);
void zones_show(void);          /* a table, for the monitor */
void zones_print_results(void); /* @zone lines */

void *zone_alloc_slow(struct zone *z, struct zone_cache *c);
void zone_free_slow(struct zone *z, struct zone_cache *c, void *object);
#if ZONE_DEBUG
void zone_check_allocated(struct zone *z, void *object);
void zone_check_freed(struct zone *z, void *object);
#endif

/* Returns an object, or 0. */
static inline void *zone_alloc(struct zone *z)
{
    crit_t s = crit_sec_enter(z->level);
    struct zone_cache *c = &z->cache[curhart->id];
    void *object;
    if (likely(c->count))
        object = c->object[--c->count];
    else
        object = zone_alloc_slow(z, c);
    crit_sec_leave(s);
#if ZONE_DEBUG
    if (object)
        zone_check_allocated(z, object);
#endif
    return object;
}

static inline void zone_free(struct zone *z, void *object)
{
#if ZONE_DEBUG
    zone_check_freed(z, object);
#endif
    crit_t s = crit_sec_enter(z->level);
    struct zone_cache *c = &z->cache[curhart->id];
    if (likely(c->count < z->cache_most)) {
        c->object[c->count++] = object;
        c->frees++;
    } else {
        zone_free_slow(z, c, object);
    }
    crit_sec_leave(s);
}
#endif
