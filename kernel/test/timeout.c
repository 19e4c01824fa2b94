/*
 * run=test-timeout: timeouts are set and cancelled. Threads on all harts set timeouts, which at random set themselves
 * again, or do so and cancel that; the threads cancel or drain them at any moment, then poison their memory and reuse
 * it. A function that is called after its drain, or still runs, finds the poison; none is called before it is due.
 * Needs hz > 0.
 */
#include <string.h>

#include "sched/timeout.h"
#include "test/test.h"

#define ALIVE 0x600dcafe
#define POISON 0xa5

static struct slot {
    struct timeout t;
    uint32_t alive, set_at, after;
    unsigned again, takes_back;
    volatile uint32_t fired;
    struct random random;
} slot[MAX_HARTS];

static uint32_t fired[MAX_HARTS], cancelled[MAX_HARTS], test_timeout_drained[MAX_HARTS];
static uint32_t period;

static void test_timeout_fires(void *arg);

static void test_timeout_set(struct slot *s)
{
    s->after = 1 + random_below(&s->random, 2);
    s->set_at = clock_ticks();
    timeout_set(&s->t, s->after, test_timeout_fires, s);
}

static void test_timeout_fires(void *arg)
{
    struct slot *s = arg;
    assert(s->alive == ALIVE && clock_ticks() - s->set_at >= s->after);
    assert(!timeout_cancel(&s->t)); /* it is not pending while it is called */
    s->fired++;
    test_spin(random_below(&s->random, period));
    if (s->again) {
        s->again--;
        test_timeout_set(s);
        if (s->takes_back && !s->again)
            timeout_cancel(&s->t); /* or its drainer has */
    }
    assert(s->alive == ALIVE);
}

static void test_timeout_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct slot *s = &slot[h];
    struct random r = random_from(run_seed, 970 + h);
    for (uint32_t n = bootargs_number(BOOT(test_timeout, rounds)); n; n--) {
        *s =
            (struct slot){.alive = ALIVE, .again = random_below(&r, 4), .takes_back = random_below(&r, 2), .random = r};
        random_next(&r);
        bool once = !s->again;
        test_timeout_set(s);
        test_spin(random_below(&r, 3 * period));
        if (once && timeout_cancel(&s->t)) {
            cancelled[h]++;
            assert(!s->fired); /* nor will it fire: its memory is reused at once */
        } else {
            timeout_drain(&s->t);
            test_timeout_drained[h]++;
        }
        fired[h] += s->fired;
        memset(s, POISON, sizeof *s);
        test_spin(random_below(&r, period));
    }
}

static int timeout_test(void)
{
    uint32_t all = 0, cancels = 0, drains = 0;
    if (!clock_hz())
        panic("run=test-timeout needs a clock: give hz=1000 or more");
    period = CLOCK_HZ / clock_hz();
    test_on_every_hart(test_timeout_worker);
    for (unsigned h = 0; h < test_harts(); h++) {
        all += fired[h];
        cancels += cancelled[h];
        drains += test_timeout_drained[h];
    }
    assert(all && drains);
    kprintf("@test name=timeout fired=%lu cancelled=%lu drained=%lu\n", (unsigned long)all, (unsigned long)cancels,
            (unsigned long)drains);
    return 0;
}

RUN("test-timeout", "test: timeouts are cancelled and drained while their functions run and set them again",
    timeout_test);
