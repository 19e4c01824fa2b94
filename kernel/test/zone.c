/*
 * run=test-zone: zones under use from everywhere. On every hart a thread, and handlers at three levels, allocate
 * objects of several zones, fill them, put them into slots that all harts share, take others' out, check what is in
 * them and free them: so most are freed on another hart than they were allocated on, or at another level. Then
 * memory runs out on all harts at once, and each frees what another allocated. At the end everything is free: no object
 * in use, no page in a zone.
 */
#include <string.h>

#include "mem/page.h"
#include "mem/zone.h"
#include "test/test.h"

#define ZONES 3
#define SLOTS 48

DEFINE_ZONE(handlers_zone, "test-handlers", 24, 4, SPL_HIGH, 0); /* for any owner */
DEFINE_ZONE(threads_zone, "test-threads", 200, 64, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(large_zone, "test-large", 1300, 16, SPL_SOFTCLOCK, 0);

static struct zone *const test_zones[ZONES] = {&handlers_zone, &threads_zone, &large_zone};
static uint32_t *slot[ZONES][SLOTS];

static struct {
    struct random random;    /* of the thread */
    struct random of_handler; /* of its handlers, which may interrupt one another: any number will do */
    uint32_t failures;
    void *chain[ZONES];
} hart[MAX_HARTS];

static void test_zone_fill(uint32_t *object, uint32_t size, uint32_t with)
{
    for (uint32_t i = 0; i < size / 4; i++)
        object[i] = with + i;
}

static void test_zone_check(const uint32_t *object, uint32_t size)
{
    for (uint32_t i = 1; i < size / 4; i++)
        if (object[i] != object[0] + i)
            panic("an object of %lu bytes has %#lx at word %lu", (unsigned long)size, (unsigned long)object[i],
                  (unsigned long)i);
}

/* One turn: puts a new object, or nothing, into a slot; frees what was there. */
static void test_zone_turn(unsigned which, uint32_t number, bool allocate)
{
    struct zone *z = test_zones[which];
    uint32_t *object = allocate ? zone_alloc(z) : 0;
    if (object)
        test_zone_fill(object, z->size, number);
    object = __atomic_exchange_n(&slot[which][number % SLOTS], object, __ATOMIC_ACQ_REL);
    if (!object)
        return;
    test_zone_check(object, z->size);
    memset(object, 0x11, 8);
    zone_free(z, object);
}

static void test_zone_handler(void *arg)
{
    (void)arg;
    uint32_t number = random_next(&hart[curhart->id].of_handler);
    for (unsigned i = 0; i < 3; i++)
        test_zone_turn(0, number >> i, number >> (8 + i) & 3);
}

static void test_zone_traffic(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random *r = &hart[h].random;
    for (uint32_t n = bootargs_number(BOOT(test_zone, rounds)); n; n--) {
        pic_raise(1u << test_source(random_below(r, test_harts()), random_below(r, TEST_SOURCES)));
        bool fill_up = n / 8 % 2; /* to and fro, so that caches run empty and full */
        for (unsigned i = 0; i < 12; i++)
            test_zone_turn(random_below(r, ZONES), random_next(r), random_below(r, 8) < (fill_up ? 7 : 1));
        if (!random_below(r, 16))
            zone_reclaim(test_zones[random_below(r, ZONES)]);
    }
    test_spin(test_settle_cycles(TEST_SOURCES));
}

static void exhaust(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random *r = &hart[h].random;
    void **object;
    for (unsigned misses = 0; misses < 2 * ZONES;) {
        unsigned which = random_below(r, ZONES);
        object = zone_alloc(test_zones[which]);
        if (object) {
            *object = hart[h].chain[which];
            hart[h].chain[which] = object;
        } else {
            hart[h].failures++;
            misses++;
        }
    }
}

static void free_anothers(void *arg)
{
    unsigned from = ((uintptr_t)arg + 1) % test_harts();
    for (unsigned which = 0; which < ZONES; which++)
        for (void **object = hart[from].chain[which], **next; object; object = next) {
            next = *object;
            zone_free(test_zones[which], object);
        }
}

static void all_is_back(uint32_t pages)
{
    test_reclaim();
    for (unsigned which = 0; which < ZONES; which++) {
        struct zone_counts n = zone_counts(test_zones[which]);
        assert(!n.in_use && !n.cached && !n.pages && n.allocations == n.frees);
        assert(n.hits + n.refills == n.allocations);
    }
    assert(pages_free() == pages);
}

static int zones(void)
{
    uint32_t pages, allocations = 0, failures = 0, interrupts = 0;
    test_reclaim();
    pages = pages_free();
    for (unsigned h = 0; h < test_harts(); h++) {
        hart[h].random = random_from(run_seed, h);
        hart[h].of_handler = random_from(run_seed, MAX_HARTS + h);
    }
    test_establish(test_zone_handler);
    test_on_every_hart(test_zone_traffic);
    for (unsigned which = 0; which < ZONES; which++)
        for (unsigned i = 0; i < SLOTS; i++)
            if (slot[which][i])
                zone_free(test_zones[which], slot[which][i]);
    all_is_back(pages);
    test_on_every_hart(exhaust);
    assert(pages_free() == 0);
    test_on_every_hart(free_anothers);
    all_is_back(pages);
    test_assert_base();
    for (unsigned h = 0; h < test_harts(); h++) {
        assert(hart[h].failures == 2 * ZONES);
        failures += hart[h].failures;
        for (unsigned n = 0; n < TEST_SOURCES; n++)
            interrupts += intr_count(test_source(h, n));
    }
    for (unsigned which = 0; which < ZONES; which++) {
        struct zone_counts n = zone_counts(test_zones[which]);
        allocations += n.allocations;
        failures -= n.failures;
    }
    zones_print_results();
    assert(!failures && interrupts > 10);
    kprintf("@test name=zone allocations=%lu interrupts=%lu pages=%lu\n", (unsigned long)allocations,
            (unsigned long)interrupts, (unsigned long)pages);
    return 0;
}

RUN("test-zone", "test: zones, from all harts and levels, and out of memory", zones);
