/*
 * run=test-replay: each interrupt that arrives in a section is handled once, when the section's level no longer masks
 * it and no earlier. A random walk: sections are entered and left at random levels, sources raised in between; after
 * each step the set handled is exactly the set that the current level lets through, and in the end nothing is pending.
 * An optimistic scheme is interrupted at most once for each level that it then masks.
 */
#include "test/test.h"

#define MOST_DEPTH 4

static volatile uint32_t replay_handled[PIC_SOURCES];

static void replay_handler(void *arg)
{
    replay_handled[(uintptr_t)arg]++;
}

/* Whether a section at `level` (0: none) lets source n of a hart through. */
static bool lets_through(unsigned level, unsigned depth, unsigned n)
{
    return CRIT_MASKS_ALL ? depth == 0 : test_level[n] > level;
}

static void replay_on_hart(void *arg)
{
    unsigned h = (uintptr_t)arg, depth = 0, level[MOST_DEPTH + 1] = {0};
    crit_t saved[MOST_DEPTH];
    uint32_t raised[TEST_SOURCES] = {0};
    bool held[TEST_SOURCES] = {false}; /* raised, and masked since */
    struct random r = random_from(run_seed, 200 + h);
    for (uint32_t steps = bootargs_number(BOOT(test_replay, rounds)); steps || depth; steps -= steps > 0) {
        unsigned n = random_below(&r, TEST_SOURCES);
        uint32_t deferred = sync_hart()->deferred;
        switch (steps ? random_below(&r, 3) : 2) {
        case 0:
            if (depth == MOST_DEPTH)
                continue;
            level[depth + 1] = random_below(&r, SPL_HIGH + 1);
            saved[depth] = crit_sec_enter(level[depth + 1]);
            if (level[depth + 1] < level[depth])
                level[depth + 1] = level[depth];
            depth++;
            break;
        case 1:
            if (raised[n] != replay_handled[test_source(h, n)])
                continue; /* it would merge */
            raised[n]++;
            held[n] = true;
            pic_raise(1u << test_source(h, n));
            break;
        case 2:
            if (!depth)
                continue;
            crit_sec_leave(saved[--depth]);
            break;
        }
        test_spin(test_settle_cycles(TEST_SOURCES));
        for (n = 0; n < TEST_SOURCES; n++) {
            held[n] = held[n] && !lets_through(level[depth], depth, n);
            if (raised[n] - replay_handled[test_source(h, n)] != held[n])
                panic("level %u, depth %u: source at level %u raised %lu times, handled %lu times", level[depth], depth,
                      test_level[n], (unsigned long)raised[n], (unsigned long)replay_handled[test_source(h, n)]);
        }
        assert(sync_hart()->deferred - deferred <= 1);
    }
    for (unsigned n = 0; n < TEST_SOURCES; n++)
        assert(raised[n] == replay_handled[test_source(h, n)]);
    for (unsigned i = 0; i <= SPL_HIGH; i++)
        assert(!sync_hart()->queued[i]);
    assert(!(pic_read(PIC_INSERVICE) & 7u << test_source(h, 0)));
    assert(!(pic_read(PIC_PENDING) & 7u << test_source(h, 0)));
    test_assert_base();
}

static int replay(void)
{
    uint32_t deferred = 0;
    test_establish(replay_handler);
    for (unsigned h = 0; h < test_harts(); h++) {
        thread_join(thread_create(replay_on_hart, (void *)(uintptr_t)h, PRI_NORMAL, (int)h, "test"));
        deferred += sync_hart_of(&harts[h])->deferred;
    }
    kprintf("@test name=replay queued=%lu\n", (unsigned long)deferred);
    return 0;
}

RUN("test-replay", "test: what a section held back is handled exactly once, at the right level", replay);
