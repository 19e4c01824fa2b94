/*
 * run=test-exclusion: mutual exclusion under a rain of interrupts. On every hart a thread and handlers at three levels
 * update, in sections, (1) counters of that hart, which only the scheme protects, and (2) counters of all harts, under
 * a simple lock. An update reads two halves that must be equal, waits, and writes both: an intruder shows at once. A
 * handler also checks that its level is above the level of the section that it interrupts.
 */
#include "test/test.h"

struct halves {
    volatile uint32_t first, second;
};

static struct {
    struct halves own;
    volatile unsigned body_level;
    uint32_t updates;
    struct random random;
} hart[MAX_HARTS];

static struct halves common;
DEFINE_SIMPLE_LOCK(common_lock, "test common", SPL_HIGH);

static void exclusion_update(struct halves *h, uint32_t wait)
{
    uint32_t v = h->first;
    assert(h->second == v);
    h->first = v + 1;
    test_spin(wait);
    assert(h->second == v);
    h->second = v + 1;
}

static void update_both(uint32_t wait)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    unsigned outer = hart[curhart->id].body_level;
    hart[curhart->id].body_level = SPL_HIGH;
    exclusion_update(&hart[curhart->id].own, wait);
    hart[curhart->id].updates++;
    simple_lock(&common_lock);
    exclusion_update(&common, wait / 2);
    simple_unlock(&common_lock);
    hart[curhart->id].body_level = outer;
    crit_sec_leave(s);
}

static void exclusion_handler(void *arg)
{
    unsigned n = ((uintptr_t)arg - PIC_SOURCE_FREE) % TEST_SOURCES, level = test_level[n];
    unsigned interrupted = hart[curhart->id].body_level;
    if (interrupted >= level || (interrupted && CRIT_MASKS_ALL))
        panic("handler at level %u in a section at level %u", level, interrupted);
    hart[curhart->id].body_level = 0; /* its own sections are checked separately */
    update_both(level);
    hart[curhart->id].body_level = interrupted;
}

static void exclusion_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random *r = &hart[h].random;
    *r = random_from(run_seed, h);
    for (uint32_t n = bootargs_number(BOOT(test_exclusion, rounds)); n; n--) {
        pic_raise(1u << test_source(random_below(r, test_harts()), random_below(r, TEST_SOURCES)));
        test_spin(random_below(r, 100));
        unsigned level = test_level[random_below(r, TEST_SOURCES)];
        crit_t s = crit_sec_enter(level);
        hart[h].body_level = level;
        if (random_below(r, 2))
            update_both(random_below(r, 50)); /* a nested section */
        if (random_below(r, 2))
            pic_raise(1u << test_source(h, random_below(r, TEST_SOURCES)));
        test_spin(random_below(r, 200));
        hart[h].body_level = 0;
        crit_sec_leave(s);
        update_both(random_below(r, 100));
    }
    test_spin(test_settle_cycles(TEST_SOURCES));
}

static int exclusion(void)
{
    uint32_t updates = 0, interrupts = 0;
    test_establish(exclusion_handler);
    test_on_every_hart(exclusion_worker);
    test_spin(test_settle_cycles(TEST_SOURCES * hart_count));
    test_assert_base();
    for (unsigned h = 0; h < hart_count; h++) {
        assert(hart[h].own.first == hart[h].updates);
        updates += hart[h].updates;
    }
    for (unsigned h = 0; h < test_harts(); h++)
        for (unsigned n = 0; n < TEST_SOURCES; n++)
            interrupts += intr_count(test_source(h, n));
    assert(common.first == updates && common.second == updates);
    assert(interrupts > 10);
    kprintf("@test name=exclusion updates=%lu interrupts=%lu\n", (unsigned long)updates, (unsigned long)interrupts);
    return 0;
}

RUN("test-exclusion", "test: mutual exclusion under a rain of interrupts", exclusion);
