/*
 * Zones, against a simple reference: which objects are allocated, and which hart did what. Sources: mem/zone.c
 * mem/page.c lock/simple_lock.c lib/printf.c. Options: ZONE_DEBUG=0
 */
#include "mem/zone.h"

#include <stdlib.h>
#include <string.h>

#include "lib/minmax.h"
#include "lib/random.h"
#include "mem/page.h"
#include "test/host/host.h"

#define PAGES 40
#define RAM_PAGES (PAGES + 1)
#define HARTS 4
#define MOST 4000 /* objects */

#include "test/host/ram.h"

static void on(unsigned hart)
{
    curhart = &harts[hart];
    curhart->id = hart;
}

static void begin(unsigned pages)
{
    pages_init(BASE, BASE + (pages + 1) * PAGE_SIZE); /* one is for the list of pages */
    hart_count = HARTS;
    on(0);
}

static void reclaim_everywhere(void)
{
    for (unsigned h = 0; h < HARTS; h++) {
        on(h);
        zones_reclaim();
    }
}

DEFINE_ZONE(small, "small", 20, 4, SPL_BIO, 0);
DEFINE_ZONE(large, "large", 1900, 64, SPL_SCHED, 0);
static SIMPLE_LOCK_CLASS(made_class, "made", SPL_SOFTPREEMPT);

static unsigned constructed;

static void construct(void *object)
{
    memset(object, 0x5a, 7);
    constructed++;
}

static struct reference {
    struct zone *zone;
    uint32_t size, align;
    struct object {
        uint8_t *at;
        uint8_t filled_with;
    } object[MOST];
    uint32_t n, allocations, frees, failures, most;
} reference[4];

static void refer(unsigned i, struct zone *z, uint32_t size, uint32_t align)
{
    memset(&reference[i], 0, sizeof reference[i]);
    reference[i].zone = z;
    reference[i].size = size;
    reference[i].align = align;
}

static void (*meanwhile)(void); /* what another hart does before one takes a lock to allocate or to free */

static bool is_filled(const uint8_t *at, uint32_t size, uint8_t with)
{
    for (uint32_t i = 0; i < size; i++)
        if (at[i] != with)
            return false;
    return true;
}

static void allocate(struct reference *r, struct random *random)
{
    host_before_lock = meanwhile;
    uint8_t *at = zone_alloc(r->zone);
    host_before_lock = 0;
    CHECK_EQUAL(sync_hart()->level, SPL_NONE);
    if (!at) {
        CHECK_EQUAL(pages_free(), 0);
        r->failures++;
        return;
    }
    CHECK_EQUAL((uintptr_t)at % r->align, 0);
    CHECK(page_address(at) && page_address(at + r->size - 1));
    if (r->zone->ctor)
        CHECK(is_filled(at, 7, 0x5a));
    struct object *o = &r->object[r->n++];
    *o = (struct object){at, (uint8_t)random_next(random)};
    memset(at, o->filled_with, r->size);
    r->allocations++;
    r->most = MAX(r->n, r->most);
}

/* Any object. Another owner's write to it shows. */
static void release(struct reference *r, struct random *random)
{
    struct object *o = &r->object[random_below(random, r->n)];
    CHECK(is_filled(o->at, r->size, o->filled_with));
    if (r->zone->ctor)
        memset(o->at, 0x5a, 7);
    uint8_t *at = o->at;
    *o = r->object[--r->n];
    r->frees++;
    host_before_lock = meanwhile;
    zone_free(r->zone, at);
    host_before_lock = 0;
}

static struct reference *busy; /* what another hart fills or drains in between */
static struct random busy_random;

/*
 * Once in a while before this hart takes a lock of that zone, or of the pages: also between its reads of the slabs.
 */
static void another_hart_runs(void)
{
    unsigned hart = curhart->id;
    if (random_below(&busy_random, 4) || simple_lock_held(&busy->zone->lock))
        return;
    meanwhile = 0;
    on((hart + 1 + random_below(&busy_random, HARTS - 1)) % HARTS);
    bool fills = random_below(&busy_random, 2);
    for (unsigned n = random_below(&busy_random, 2 * ZONE_CACHE); n; n--)
        if (fills && busy->n < MOST - ZONE_CACHE)
            allocate(busy, &busy_random);
        else if (!fills && busy->n > 1)
            release(busy, &busy_random);
    on(hart);
    host_before_lock = meanwhile = another_hart_runs;
}

static void compare(const struct reference *r)
{
    struct zone_counts n = zone_counts(r->zone);
    CHECK_EQUAL(n.allocations, r->allocations);
    CHECK_EQUAL(n.frees, r->frees);
    CHECK_EQUAL(n.in_use, r->n);
    CHECK_EQUAL(n.failures, r->failures);
    CHECK_EQUAL(n.hits + n.refills, r->allocations);
    CHECK(n.peak >= r->most && n.peak <= r->most + HARTS * ZONE_CACHE);
    CHECK((n.in_use + n.cached) * r->size <= n.pages * PAGE_SIZE);
}

static uint32_t zone_pages(void)
{
    uint32_t n = 0;
    for (struct reference *r = reference; r < reference + 4; r++)
        n += zone_counts(r->zone).pages;
    return n;
}

/* The balance swings, so that memory is often all used and often nearly all free. */
HOST_TEST(random_use_by_several_harts_agrees_with_a_reference)
{
    unsigned failures = 0, hits = 0, allocations = 0;
    for (unsigned round = 0; round < 40; round++) {
        struct random random = random_from(1, round);
        struct zone made, constructing;
        busy_random = random_from(2, round);
        begin(1 + random_below(&random, PAGES));
        uint32_t pages = pages_free();
        uint32_t size = 1 + random_below(&random, 600), align = 1u << random_below(&random, 8);
        zone_init(&made, "made", size, align, &made_class, 0);
        zone_init(&constructing, "constructing", 40, 8, &made_class, construct);
        small = (struct zone)ZONE("small", 20, 4, small_class, SPL_BIO, 0);
        large = (struct zone)ZONE("large", 1900, 64, large_class, SPL_SCHED, 0);
        refer(0, &small, 20, 4);
        refer(1, &large, 1900, 64);
        refer(2, &made, size, align);
        refer(3, &constructing, 40, 8);
        for (unsigned step = 0; step < 6000; step++) {
            on(random_below(&random, HARTS));
            struct reference *r = &reference[random_below(&random, 4)];
            bool fill = random_below(&random, 100) < (step / 1000 % 2 ? 30 : 70);
            busy = r;
            meanwhile = another_hart_runs;
            if (fill && r->n < MOST - 2 * ZONE_CACHE)
                allocate(r, &random);
            else if (r->n)
                release(r, &random);
            meanwhile = 0;
            if (!random_below(&random, 500))
                zone_reclaim(r->zone);
            if (!random_below(&random, 100))
                compare(r);
            CHECK_EQUAL(pages_free() + zone_pages(), pages);
        }
        for (struct reference *r = reference; r < reference + 4; r++) {
            while (r->n)
                release(r, &random);
            compare(r);
            failures += r->failures;
            hits += zone_counts(r->zone).hits;
            allocations += r->allocations;
        }
        reclaim_everywhere();
        CHECK_EQUAL(pages_free(), pages);
        for (struct reference *r = reference; r < reference + 4; r++)
            zone_destroy(r->zone);
    }
    CHECK(failures > 1000 && allocations > 50000 && hits > allocations / 2 && constructed > 100);
}

HOST_TEST(all_memory_can_be_had_and_comes_back)
{
    for (unsigned pages = 0; pages < 9; pages++) {
        begin(pages);
        struct zone z;
        static void *object[9 * 256];
        unsigned n = 0;
        zone_init(&z, "z", 16, 8, &made_class, 0);
        while ((object[n] = zone_alloc(&z)))
            n++;
        CHECK_EQUAL(n, pages * z.per_slab);
        CHECK_EQUAL(zone_alloc(&z) != 0, false);
        CHECK_EQUAL(zone_counts(&z).failures, 2);
        CHECK_EQUAL(zone_counts(&z).peak, n);
        for (unsigned i = 0; i < n; i += 2) {
            on(i % HARTS);
            zone_free(&z, object[i]);
        }
        reclaim_everywhere();
        for (unsigned i = 0; i < n; i += 2) /* from slabs that were full, and are still in use */
            CHECK((object[i] = zone_alloc(&z)));
        CHECK_EQUAL(zone_alloc(&z) != 0, false);
        for (unsigned i = 0; i < n; i++) {
            on(i % HARTS);
            zone_free(&z, object[i]);
        }
        CHECK(pages_free() + ZONE_EMPTY + HARTS * (ZONE_CACHE / z.per_slab + 1) >= pages);
        reclaim_everywhere();
        CHECK_EQUAL(pages_free(), pages);
        zone_destroy(&z);
    }
}

/* At any count of objects, only each hart's first allocation and few more go to the slabs. */
HOST_TEST(a_cache_at_its_edge_does_not_thrash)
{
    begin(PAGES);
    struct zone z;
    zone_init(&z, "z", 100, 8, &made_class, 0);
    void *object[64];
    for (unsigned deep = 0; deep < 60; deep++) {
        for (unsigned i = 0; i < deep; i++)
            object[i] = zone_alloc(&z);
        struct zone_counts before = zone_counts(&z);
        for (unsigned i = 0; i < 100; i++)
            zone_free(&z, zone_alloc(&z));
        struct zone_counts after = zone_counts(&z);
        CHECK(after.refills - before.refills <= 1 && after.flushes - before.flushes <= 1);
        while (deep && object[0]) {
            for (unsigned i = 0; i < deep; i++)
                zone_free(&z, object[i]);
            object[0] = 0;
        }
    }
}

HOST_TEST(wrong_frees_panic_when_they_reach_their_slab)
{
    begin(PAGES);
    void *a = zone_alloc(&small);
    CHECK_PANICS("zone small: ", (zone_free(&small, a), zone_free(&small, a), zone_reclaim(&small)));
}

HOST_TEST(an_object_of_another_zone_is_noticed)
{
    begin(PAGES);
    void *b = zone_alloc(&large);
    zone_alloc(&small);
    CHECK_PANICS("which is of zone large", (zone_free(&small, b), zone_reclaim(&small)));
}

static char elsewhere[8192] __attribute__((aligned(4096)));

HOST_TEST(an_object_of_no_zone_is_noticed)
{
    begin(PAGES);
    zone_alloc(&small);
    CHECK_PANICS("which is no object of it", (zone_free(&small, elsewhere + 256), zone_reclaim(&small)));
}

HOST_TEST(a_zone_that_nobody_has_used_frees_nothing)
{
    begin(PAGES);
    CHECK_PANICS("zone large: ", zone_free(&large, elsewhere));
}

HOST_TEST(an_address_inside_of_an_object_is_noticed)
{
    begin(PAGES);
    char *a = zone_alloc(&small);
    CHECK_PANICS("which is no object of it", (zone_free(&small, a + 4), zone_reclaim(&small)));
}

HOST_TEST(what_is_freed_after_its_slab_has_gone_is_noticed)
{
    begin(PAGES);
    void *a = zone_alloc(&small);
    zone_free(&small, a);
    zone_reclaim(&small);
    CHECK_PANICS("zone small: ", (zone_free(&small, a), zone_reclaim(&small)));
}

HOST_TEST(wrong_zones_panic)
{
    begin(PAGES);
    static SIMPLE_LOCK_CLASS(base_class, "base", SPL_NONE);
    struct zone z;
    CHECK_PANICS("zone z: objects of 0 bytes", zone_init(&z, "z", 0, 4, &made_class, 0));
    CHECK_PANICS("zone z: objects of 8 bytes, aligned to 3", zone_init(&z, "z", 8, 3, &made_class, 0));
    CHECK_PANICS("does not fit a page", zone_init(&z, "z", PAGE_SIZE, 4, &made_class, 0));
    CHECK_PANICS("zone z: a level of 0", zone_init(&z, "z", 8, 4, &base_class, 0));
    zone_init(&z, "z", 8, 4, &made_class, 0);
    zone_alloc(&z);
    CHECK_PANICS("zone z: destroyed with 1 objects in use", zone_destroy(&z));
}

HOST_TEST(counts_are_printed)
{
    begin(PAGES);
    zone_free(&small, zone_alloc(&small));
    zones_print_results();
    CHECK(strstr(host_output(), "@zone name=small size=20 allocations=1 frees=1 in_use=0 "));
    host_output_clear();
    zones_show();
    CHECK(strstr(host_output(), "\nsmall "));
}
