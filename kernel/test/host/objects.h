/* Zones for tests of the network: each object is an allocation of the host, so sanitizers see what is used too late. */
#ifndef TEST_HOST_OBJECTS_H
#define TEST_HOST_OBJECTS_H

#include <stdlib.h>
#include <string.h>

#include "mem/zone.h"
#include "test/host/host.h"

static unsigned objects; /* in use */
static bool memory_is_out;
static unsigned fails_at; /* the allocation that fails: the next is 1; 0: none */

void *zone_alloc_slow(struct zone *z, struct zone_cache *c)
{
    (void)c;
    if (memory_is_out || (fails_at && !--fails_at))
        return 0;
    objects++;
    void *object = aligned_alloc(64, (z->size + 63) & ~63u);
    CHECK(object);
    memset(object, 0xdb, z->size);
    return object;
}

void zone_free_slow(struct zone *z, struct zone_cache *c, void *object)
{
    (void)z, (void)c;
    CHECK(objects);
    CHECK_EQUAL(host_locks_held, 0);
    objects--;
    free(object);
}

struct zone_counts zone_counts(const struct zone *z)
{
    (void)z;
    return (struct zone_counts){.in_use = objects};
}
#endif
