/*
 * Zones (zone.h): slabs, and their exchange with the caches. A free object in a slab has its bit set, so nothing is
 * written into it, and an object that is freed twice is detected.
 */
#include "mem/zone.h"

#include <string.h>

#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/symbols.h"
#include "mem/page.h"

#define LEAST_STRIDE 16 /* so that a slab's bits are few */
#define COLOUR (7 * 64) /* bytes: the first lines of no two of 64 slabs coincide */
#define SLAB_WORDS (PAGE_SIZE / LEAST_STRIDE / 32)

struct slab {
    LIST_ENTRY(slab) link;
    struct zone *zone;
    uint32_t free;             /* objects */
    uint32_t bit[SLAB_WORDS];  /* 1: free */
};

/* With LOCK_DEBUG, after each object. */
struct mark {
    uint32_t state; /* ALLOCATED or FREE, with the object's address */
    uint32_t site;  /* the code that allocated or freed it */
};

#define ALLOCATED 0xa110c8edu
#define FREE 0xf4ee0b9eu
#define FILLING 0xdbdbdbdbu
#define MARK_SIZE (ZONE_DEBUG ? sizeof(struct mark) : 0)

/* A level at which any zone's first use may happen. */
DEFINE_SIMPLE_LOCK(zones_lock, "zones", SPL_HIGH);
static SLIST_HEAD(, zone) zones; /* changed with the lock held; read without it at any time */

static const char *zone_name_of(const struct zone *z)
{
    return z->lock.object.name;
}

static uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) & ~(to - 1);
}

/* The caller holds the zone's lock, or no other code knows the zone. */
static void set_up(struct zone *z)
{
    uint32_t least = sizeof(void *), align = MAX(z->align, least);
    if (!z->size || z->align & (z->align - 1) || align > PAGE_SIZE / 2 || z->size > PAGE_SIZE)
        panic("zone %s: objects of %lu bytes, aligned to %lu", zone_name_of(z), (unsigned long)z->size,
              (unsigned long)z->align);
    if (z->level < SPL_SOFTPREEMPT)
        panic("zone %s: a level of %lu does not keep a thread on its hart", zone_name_of(z), (unsigned long)z->level);
    uint32_t stride = round_up(round_up(z->size, 4) + MARK_SIZE, align);
    z->stride = MAX(stride, LEAST_STRIDE);
    z->begin = round_up(sizeof(struct slab), align);
    z->per_slab = z->begin < PAGE_SIZE ? (PAGE_SIZE - z->begin) / z->stride : 0;
    if (!z->per_slab)
        panic("zone %s: an object of %lu bytes does not fit a page", zone_name_of(z), (unsigned long)z->size);
    uint32_t most = MIN(z->per_slab, ZONE_CACHE);
    crit_t s = simple_lock_enter(&zones_lock);
    SLIST_NEXT(z, all) = SLIST_FIRST(&zones);
    __atomic_store_n(&SLIST_FIRST(&zones), z, __ATOMIC_RELEASE);
    simple_lock_leave(&zones_lock, s);
    __atomic_store_n(&z->cache_most, MAX(most, 2), __ATOMIC_RELEASE); /* read without the lock */
}

static struct slab *slab_of(const void *object)
{
    return (struct slab *)((uintptr_t)object & ~(uintptr_t)PAGE_MASK);
}

#if ZONE_DEBUG
/*
 * A late write to a free object of a page or a buffer mostly hits its beginning, or the top of a stack: the middle of
 * a large object is not filled, which saves most of the time, as interrupts are masked.
 */
#define LOOKED_AT 256 /* bytes filled and checked at each end */

/* Bytes filled at the beginning; where the filled end begins, aligned to a word; both `size` if all is filled. */
static uint32_t head_of(uint32_t size)
{
    return size > 2 * LOOKED_AT ? LOOKED_AT : size;
}

static uint32_t tail_of(uint32_t size)
{
    return size > 2 * LOOKED_AT ? (size - LOOKED_AT) & ~3u : size;
}

static void zone_fill_free(uint8_t *object, uint32_t size)
{
    uint32_t tail = tail_of(size);
    memset(object, FILLING & 0xff, head_of(size));
    memset(object + tail, FILLING & 0xff, size - tail);
}
#endif

/* Makes a page a slab, all of it free and in no list; 0 if memory is out. */
static struct slab *new_slab(struct zone *z)
{
    uint32_t page = page_alloc_raw();
    if (!page)
        return 0;
    struct slab *slab = page_pointer(page);
    *slab = (struct slab){.zone = z, .free = z->per_slab};
    for (unsigned i = 0; i < z->per_slab; i++) {
        slab->bit[i / 32] |= 1u << i % 32;
        uint8_t *object = (uint8_t *)slab + z->begin + i * z->stride;
#if ZONE_DEBUG
        zone_fill_free(object, z->size);
        *(struct mark *)(object + round_up(z->size, 4)) = (struct mark){FREE ^ (uint32_t)(uintptr_t)object, 0};
#endif
        if (z->ctor && !ZONE_DEBUG)
            z->ctor(object);
    }
    return slab;
}

/* Returns slabs to the pages. No lock is held. */
static void zone_give_back(struct slab_list *slabs)
{
    struct slab *slab, *next;
    LIST_FOREACH_SAFE(slab, slabs, link, next) {
        slab->zone = 0; /* later frees into it are detected */
        page_free(page_address(slab));
    }
}

/*
 * Which object of a slab is handed out first: another one in each page (Bonwick's colours). Otherwise, in zones whose
 * slabs have few objects in use, all first objects would share the lines of a cache whose ways are of a page's size.
 */
static unsigned zone_first_of(const struct zone *z, const struct slab *slab)
{
    return page_address(slab) / PAGE_SIZE * COLOUR % (z->per_slab * z->stride) / z->stride;
}

/* An object from the slabs, or 0. The caller holds the zone's lock. */
static void *zone_take(struct zone *z)
{
    struct slab *slab = LIST_FIRST(&z->partial);
    if (!slab) {
        slab = LIST_FIRST(&z->empty);
        if (!slab)
            return 0;
        LIST_REMOVE(slab, link);
        z->empties--;
        LIST_INSERT_HEAD(&z->partial, slab, link);
    }
    unsigned start = zone_first_of(z, slab), word = start / 32;
    uint32_t bits = slab->bit[word] & ~0u << start % 32;
    while (!bits) {
        word = (word + 1) % SLAB_WORDS;
        bits = slab->bit[word];
    }
    unsigned n = 32 * word + (unsigned)__builtin_ctz(bits);
    slab->bit[word] &= ~(1u << n % 32);
    if (!--slab->free)
        LIST_REMOVE(slab, link);
    return (uint8_t *)slab + z->begin + n * z->stride;
}

static _Noreturn void foreign(const struct zone *z, const void *object)
{
    const struct zone *other = page_is_ours(page_address(object)) ? slab_of(object)->zone : 0, *known;
    SLIST_FOREACH(known, &zones, all)
        if (known == other)
            break;
    if (known && known != z)
        panic("zone %s: %p is freed, which is of zone %s", zone_name_of(z), object, zone_name_of(known));
    panic("zone %s: %p is freed, which is no object of it", zone_name_of(z), object);
}

/* The object's number in its slab; panics if it has none. */
static unsigned zone_number_of(const struct zone *z, const void *object)
{
    uint32_t offset = (uint32_t)((uintptr_t)object & PAGE_MASK);
    if (!page_is_ours(page_address(object)) || slab_of(object)->zone != z || offset < z->begin ||
        (offset - z->begin) % z->stride || (offset - z->begin) / z->stride >= z->per_slab)
        foreign(z, object);
    return (offset - z->begin) / z->stride;
}

/* Returns an object to its slab, and puts a slab to be freed into `back`. The caller holds the zone's lock. */
static void zone_put(struct zone *z, void *object, struct slab_list *back)
{
    unsigned n = zone_number_of(z, object);
    struct slab *slab = slab_of(object);
    if (slab->bit[n / 32] & 1u << n % 32)
        panic("zone %s: %p is freed twice", zone_name_of(z), object);
    slab->bit[n / 32] |= 1u << n % 32;
    if (!slab->free++)
        LIST_INSERT_HEAD(&z->partial, slab, link);
    if (slab->free < z->per_slab)
        return;
    LIST_REMOVE(slab, link);
    if (z->empties < ZONE_EMPTY) {
        LIST_INSERT_HEAD(&z->empty, slab, link);
        z->empties++;
    } else {
        z->pages--;
        LIST_INSERT_HEAD(back, slab, link);
    }
}

/* Moves objects from the slabs into the cache, up to half of it. Returns how many it holds then. */
static uint32_t zone_fill(struct zone *z, struct zone_cache *c)
{
    simple_lock(&z->lock);
    if (!z->cache_most)
        set_up(z);
    void *object;
    while (c->count < z->cache_most / 2 && (object = zone_take(z))) {
        c->object[c->count++] = object;
        c->filled++;
        z->out++;
    }
    if (z->out > z->peak)
        z->peak = z->out;
    simple_unlock(&z->lock);
    return c->count;
}

/* Returns the oldest objects of the cache to their slabs, until `rest` are left. */
static void zone_flush(struct zone *z, struct zone_cache *c, uint32_t rest)
{
    struct slab_list back = LIST_HEAD_INITIALIZER(back);
    uint32_t n = c->count - rest;
    simple_lock(&z->lock);
    for (uint32_t i = 0; i < n; i++)
        zone_put(z, c->object[i], &back);
    z->out -= n;
    simple_unlock(&z->lock);
    memmove(c->object, c->object + n, rest * sizeof c->object[0]);
    c->count = rest;
    c->flushed += n;
    zone_give_back(&back);
}

static bool zone_grow(struct zone *z)
{
    struct slab *slab = new_slab(z);
    if (!slab)
        return false;
    simple_lock(&z->lock);
    /* Not `partial`: if another hart's frees make room, no hart takes from this slab yet */
    LIST_INSERT_HEAD(&z->empty, slab, link);
    z->empties++;
    z->pages++;
    simple_unlock(&z->lock);
    return true;
}

/* Inside the zone's section: this hart's cache is empty. */
void *zone_alloc_slow(struct zone *z, struct zone_cache *c)
{
    while (!zone_fill(z, c)) /* another hart may have taken what this one added */
        if (!zone_grow(z)) {
            c->failures++;
            return 0;
        }
    c->refills++;
    return c->object[--c->count];
}

/* Inside the zone's section: this hart's cache is full, or nothing has ever been allocated. */
void zone_free_slow(struct zone *z, struct zone_cache *c, void *object)
{
    if (!z->cache_most)
        foreign(z, object);
    zone_flush(z, c, z->cache_most / 2);
    c->flushes++;
    c->object[c->count++] = object;
    c->frees++;
}

#if ZONE_DEBUG
static struct mark *mark_of(const struct zone *z, void *object)
{
    return (struct mark *)((uint8_t *)object + round_up(z->size, 4));
}

static _Noreturn void breach(const struct zone *z, const void *object, const struct mark *m, const char *what)
{
    uint32_t offset = 0;
    const char *name = symbol_of(m->site, &offset);
    panic("zone %s: %p %s (last allocated or freed at %s+0x%lx)", zone_name_of(z), object, what,
          name ? name : "nowhere", (unsigned long)offset);
}

/* Eight words at a time, and loads first, so that no load waits for the previous one. */
static bool is_filled(const void *object, uint32_t size)
{
    enum { PIECE = 8 };
    const uint32_t filling = (FILLING & 0xff) * 0x01010101u;
    const uint32_t __attribute__((may_alias)) *word = object;
    uint32_t i = 0, differs = 0;
    for (; i + PIECE * sizeof *word <= size; i += PIECE * sizeof *word) {
        uint32_t piece[PIECE];
#pragma GCC unroll 8
        for (unsigned k = 0; k < PIECE; k++)
            piece[k] = word[k];
#pragma GCC unroll 8
        for (unsigned k = 0; k < PIECE; k++)
            differs |= piece[k] ^ filling;
        word += PIECE;
    }
    for (const uint8_t *bytes = object; i < size; i++)
        differs |= bytes[i] ^ (FILLING & 0xff);
    return !differs;
}

__attribute__((noinline)) void zone_check_allocated(struct zone *z, void *object)
{
    struct mark *m = mark_of(z, object);
    uint32_t tail = tail_of(z->size);
    if (!is_filled(object, head_of(z->size)) || !is_filled((uint8_t *)object + tail, z->size - tail))
        breach(z, object, m, "was written to while it was free");
    if (m->state != (FREE ^ (uint32_t)(uintptr_t)object))
        breach(z, object, m, "was written behind while it was free");
    *m = (struct mark){ALLOCATED ^ (uint32_t)(uintptr_t)object, (uint32_t)(uintptr_t)__builtin_return_address(0)};
    if (z->ctor)
        z->ctor(object);
}

__attribute__((noinline)) void zone_check_freed(struct zone *z, void *object)
{
    zone_number_of(z, object);
    struct mark *m = mark_of(z, object);
    if (m->state == (FREE ^ (uint32_t)(uintptr_t)object))
        breach(z, object, m, "is freed twice");
    if (m->state != (ALLOCATED ^ (uint32_t)(uintptr_t)object))
        breach(z, object, m, "was written behind");
    *m = (struct mark){FREE ^ (uint32_t)(uintptr_t)object, (uint32_t)(uintptr_t)__builtin_return_address(0)};
    zone_fill_free(object, z->size);
}
#endif

/* Takes all empty slabs, for zone_give_back. The caller holds the zone's lock. */
static struct slab_list take_empty(struct zone *z)
{
    struct slab_list empty = LIST_HEAD_INITIALIZER(empty);
    LIST_SWAP(&empty, &z->empty, slab, link);
    z->pages -= z->empties;
    z->empties = 0;
    return empty;
}

void zone_reclaim(struct zone *z)
{
    crit_t s = crit_sec_enter(z->level);
    zone_flush(z, &z->cache[curhart->id], 0);
    simple_lock(&z->lock);
    struct slab_list back = take_empty(z);
    simple_unlock(&z->lock);
    zone_give_back(&back);
    crit_sec_leave(s);
}

void zones_reclaim(void)
{
    struct zone *z;
    SLIST_FOREACH(z, &zones, all)
        zone_reclaim(z);
}

void zone_init(struct zone *z, const char *name, uint32_t size, uint32_t align, struct lock_class *class,
               zone_ctor_fn *ctor)
{
    memset(z, 0, sizeof *z);
    z->level = class->level;
    z->lock.object.class = class;
    z->lock.object.name = name;
    z->size = size;
    z->align = align;
    z->ctor = ctor;
    set_up(z);
}

static void leave_list(struct zone *z)
{
    crit_t s = simple_lock_enter(&zones_lock);
    SLIST_REMOVE(&zones, z, zone, all);
    simple_lock_leave(&zones_lock, s);
}

void zone_destroy(struct zone *z)
{
    crit_t s = crit_sec_enter(z->level);
    for (unsigned h = 0; h < MAX_HARTS; h++)
        zone_flush(z, &z->cache[h], 0);
    if (z->out)
        panic("zone %s: destroyed with %lu objects in use", zone_name_of(z), (unsigned long)z->out);
    struct slab_list back = take_empty(z);
    zone_give_back(&back);
    crit_sec_leave(s);
    simple_lock_destroy(&z->lock);
    leave_list(z);
}

struct zone_counts zone_counts(const struct zone *z)
{
    struct zone_counts n = {.peak = z->peak, .pages = z->pages};
    for (const struct zone_cache *c = z->cache; c < z->cache + MAX_HARTS; c++) {
        n.allocations += c->filled - c->flushed + c->frees - c->count;
        n.frees += c->frees;
        n.cached += c->count;
        n.refills += c->refills;
        n.flushes += c->flushes;
        n.failures += c->failures;
    }
    n.hits = n.allocations - n.refills;
    n.in_use = n.allocations - n.frees;
    return n;
}

void zones_show(void)
{
    kprintf("zone              size  in use    peak  cached  pages  allocations       frees        hits  refills  "
            "flushes  failures\n");
    const struct zone *z;
    SLIST_FOREACH(z, &zones, all) {
        struct zone_counts n = zone_counts(z);
        kprintf("%-16s  %4lu  %6lu  %6lu  %6lu  %5lu  %11lu  %10lu  %10lu  %7lu  %7lu  %8lu\n", zone_name_of(z),
                (unsigned long)z->size, (unsigned long)n.in_use, (unsigned long)n.peak, (unsigned long)n.cached,
                (unsigned long)n.pages, (unsigned long)n.allocations, (unsigned long)n.frees, (unsigned long)n.hits,
                (unsigned long)n.refills, (unsigned long)n.flushes, (unsigned long)n.failures);
    }
}

void zones_print_results(void)
{
    const struct zone *z;
    SLIST_FOREACH(z, &zones, all) {
        struct zone_counts n = zone_counts(z);
        kprintf("@zone name=%s size=%lu allocations=%lu frees=%lu in_use=%lu peak=%lu cached=%lu hits=%lu refills=%lu "
                "flushes=%lu failures=%lu pages=%lu\n",
                zone_name_of(z), (unsigned long)z->size, (unsigned long)n.allocations, (unsigned long)n.frees,
                (unsigned long)n.in_use, (unsigned long)n.peak, (unsigned long)n.cached, (unsigned long)n.hits,
                (unsigned long)n.refills, (unsigned long)n.flushes, (unsigned long)n.failures, (unsigned long)n.pages);
    }
}
