/*
 * run=test-clock: the time stays right when clock ticks merge. Sections and handlers on every hart last up to several
 * periods; whenever a hart is back at base level, its clock has counted as many ticks as the CLINT's time makes, give
 * or take one; a timeout is called no earlier than it is due, and no later than the sections last; a slice ends, and a
 * thread of equal priority runs on the hart, when as many ticks have merged as the slice has. Needs hz > 0.
 */
#include "arch/clint.h"
#include "dev/clock.h"
#include "sched/timeout.h"
#include "test/test.h"

static uint32_t period, longest;

/* Ticks that have come due since `ticks` were counted at `since`. */
static void check_ticks(uint32_t counted, uint64_t since)
{
    uint32_t due = (uint32_t)((clint_time64() - since) / period);
    if (counted + 1 < due || counted > due + 1)
        panic("hart %u: %lu ticks counted, %lu were due", (unsigned)curhart->id, (unsigned long)counted,
              (unsigned long)due);
}

static void test_clock_handler(void *arg)
{
    (void)arg;
    test_spin(cycles32() % longest);
}

static volatile uint32_t fired_at;

static void test_clock_fires(void *arg)
{
    (void)arg;
    fired_at = clock_ticks();
}

static volatile uint32_t turns[MAX_HARTS];
static volatile bool test_clock_done[MAX_HARTS];

static void equal(void *hart)
{
    while (!test_clock_done[(uintptr_t)hart]) {
        turns[(uintptr_t)hart]++;
        thread_yield();
    }
}

/* All ticks of a new slice, and one, merge in one section. */
static void check_slice(unsigned h)
{
    thread_yield();
    crit_t s = crit_sec_enter(SPL_HIGH);
    uint32_t before = turns[h];
    test_spin(4 * period);
    crit_sec_leave(s);
    test_spin(test_settle_cycles(1));
    if (turns[h] == before)
        panic("hart %u: a slice goes on though its ticks have gone by", h);
}

static void test_clock_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random r = random_from(run_seed, 800 + h);
    struct thread *t = thread_create(equal, arg, PRI_NORMAL, (int)h, "equal");
    for (unsigned i = 0; i < 6; i++)
        check_slice(h);
    test_clock_done[h] = true;
    thread_join(t);
    test_spin(2 * period);
    uint32_t ticks = dev_hart()->ticks;
    uint64_t since = clint_time64();
    for (uint32_t n = bootargs_number(BOOT(test_clock, rounds)); n; n--) {
        struct timeout t = {0};
        uint32_t set_at = clock_ticks(), after = 1 + random_below(&r, 8);
        if (h == 0)
            timeout_set(&t, after, test_clock_fires, 0);
        crit_t s = crit_sec_enter(random_below(&r, SPL_HIGH + 1));
        pic_raise(1u << test_source(h, random_below(&r, TEST_SOURCES)));
        test_spin(random_below(&r, longest));
        crit_sec_leave(s);
        test_spin(test_settle_cycles(4));
        check_ticks(dev_hart()->ticks - ticks, since);
        if (h)
            continue;
        while (clock_ticks() - set_at < after + 1)
            ;
        test_spin(test_settle_cycles(4));
        assert(fired_at - set_at >= after && !timeout_cancel(&t));
    }
}

static int clock_test(void)
{
    uint32_t hz = clock_hz(), merged = 0;
    if (!hz)
        panic("run=test-clock needs a clock: give hz=1000 or more");
    period = CLOCK_HZ / hz;
    longest = 5 * period;
    uint32_t ticks = clock_ticks();
    uint64_t since = clint_time64();
    test_establish(test_clock_handler);
    test_on_every_hart(test_clock_worker);
    check_ticks(clock_ticks() - ticks, since);
    for (unsigned h = 0; h < test_harts(); h++)
        merged += clock_merged(h);
    assert(merged > 0);
    kprintf("@test name=clock ticks=%lu merged=%lu\n", (unsigned long)(clock_ticks() - ticks), (unsigned long)merged);
    return 0;
}

RUN("test-clock", "test: the time stays right when clock ticks merge", clock_test);
