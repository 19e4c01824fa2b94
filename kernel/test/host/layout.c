/*
 * Random draws from an image's layout. Sources: mem/page.c lock/simple_lock.c lib/printf.c.
 */
#include "lib/layout.h"

#include <string.h>

#include "mem/page.h"
#include "test/host/host.h"

#define PAGES 70 /* that can be allocated; one before them says which are in the list */
#define RAM_PAGES (PAGES + 1)
#define CHOICES 16

#include "test/host/ram.h"

static void order_of_pages(uint32_t seed, uint32_t page[PAGES])
{
    bool seen[PAGES] = {false};
    host_layout(seed);
    pages_init(BASE, BASE + sizeof memory);
    for (unsigned i = 0; i < PAGES; i++) {
        page[i] = page_alloc();
        CHECK(page[i] && page_is_ours(page[i]));
        unsigned n = (page[i] - BASE) / PAGE_SIZE - 1;
        CHECK(n < PAGES && !seen[n]);
        seen[n] = true;
    }
    CHECK_EQUAL(page_alloc(), 0);
    host_layout(0);
}

HOST_TEST(pages_come_once_each_in_an_order_drawn_from_the_layout)
{
    static uint32_t plain[PAGES], one[PAGES], again[PAGES], other[PAGES];
    order_of_pages(0, plain);
    for (unsigned i = 0; i < PAGES; i++)
        CHECK_EQUAL(plain[i], BASE + (i + 1) * PAGE_SIZE);
    order_of_pages(1, one);
    order_of_pages(1, again);
    order_of_pages(2, other);
    CHECK(!memcmp(one, again, sizeof one));
    CHECK(memcmp(one, plain, sizeof one) && memcmp(one, other, sizeof one));
}

HOST_TEST(every_place_is_drawn_about_as_often)
{
    for (uint32_t seed = 1; seed < 5; seed++) {
        unsigned count[CHOICES] = {0}, alike = 0;
        host_layout(seed);
        for (uint32_t n = 0; n < 64 * CHOICES; n++) {
            uint32_t place = layout_choice(LAYOUT_OF_KERNEL_STACK, n, CHOICES);
            count[place]++;
            alike += place == layout_choice(LAYOUT_OF_HEAP, n, CHOICES);
        }
        for (unsigned i = 0; i < CHOICES; i++)
            CHECK(count[i] > 32 && count[i] < 96);
        CHECK(alike > 32 && alike < 96);
    }
    host_layout(0);
    for (uint32_t n = 0; n < 2 * CHOICES; n++)
        CHECK_EQUAL(layout_choice(LAYOUT_OF_KERNEL_STACK, n, CHOICES), n % CHOICES);
}
