/*
 * The same zones, as LOCK_DEBUG checks them, and the errors that it notices at once. Sources: mem/zone.c mem/page.c
 * lock/simple_lock.c lib/printf.c. Options: ZONE_DEBUG=1
 */
#include "test/host/zone.c"

HOST_TEST(a_double_free_panics_at_once)
{
    begin(PAGES);
    void *a = zone_alloc(&small), *b = zone_alloc(&small);
    zone_free(&small, a);
    zone_free(&small, b);
    on(1);
    CHECK_PANICS("is freed twice (last allocated or freed at", zone_free(&small, a));
}

HOST_TEST(another_zones_object_panics_at_once)
{
    begin(PAGES);
    void *a = zone_alloc(&large);
    CHECK_PANICS("which is of zone large", zone_free(&small, a));
}

/* Every byte of every object's end. */
HOST_TEST(a_write_behind_an_object_is_noticed)
{
    begin(PAGES);
    for (unsigned i = 0; i < 8; i++) {
        uint8_t *a = zone_alloc(&small);
        a[20 + i % 4] ^= (uint8_t)(1 + i);
        CHECK_PANICS("was written behind", zone_free(&small, a));
    }
}

HOST_TEST(a_write_to_what_is_free_is_noticed)
{
    begin(PAGES);
    for (unsigned i = 0; i < 20; i++) {
        static struct zone z[20];
        zone_init(&z[i], "z", 20, 4, &made_class, 0);
        uint8_t *a = zone_alloc(&z[i]);
        zone_free(&z[i], a);
        a[i] ^= 4;
        CHECK_PANICS("was written to while it was free", zone_alloc(&z[i]));
    }
}

/* Of large objects: the first and the last bytes that are checked, and those next to the middle. */
HOST_TEST(a_write_to_either_end_of_what_is_large_and_free_is_noticed)
{
    begin(PAGES);
    for (unsigned size = 512; size < 1100; size += 193)
        for (unsigned i = 0; i < 4; i++) {
            static struct zone z[16];
            static unsigned used;
            struct zone *large_one = &z[used++];
            zone_init(large_one, "z", size, 4, &made_class, 0);
            uint8_t *a = zone_alloc(large_one);
            zone_free(large_one, a);
            a[(const unsigned[]){0, 255, size - 256, size - 1}[i]] ^= 4;
            CHECK_PANICS("was written to while it was free", zone_alloc(large_one));
        }
}
