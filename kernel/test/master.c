/*
 * run=test-master: unix_master nests, moves a thread to hart 0 and back, lasts over sleep and preemption; with the boot
 * argument intr.master=1, device interrupts that any hart may take are handled on hart 0.
 */
#include "lock/event.h"
#include "sched/master.h"
#include "test/test.h"

static volatile unsigned test_master_handled, handled_elsewhere;

static void test_master_count(void *arg)
{
    (void)arg;
    if (curhart->id != MASTER_HART)
        __atomic_fetch_add(&handled_elsewhere, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&test_master_handled, 1, __ATOMIC_RELAXED);
}

/* One thread at a time is inside, except while it sleeps. */
static struct thread *volatile inside;
static volatile uint32_t test_master_passages;

static void stay_inside(struct random *r)
{
    assert(!inside);
    inside = curhart->thread;
    uint32_t seen = test_master_passages;
    test_spin(random_below(r, 3000));
    if (random_below(r, 2))
        thread_yield();
    assert(inside == curhart->thread && test_master_passages == seen);
    test_master_passages = seen + 1;
    inside = 0;
}

static SIMPLE_LOCK_CLASS(got_in_class, "test got in", SPL_SCHED);

static void in_and_out(void *got_in)
{
    struct random r = random_from(run_seed, 700);
    unix_master();
    stay_inside(&r);
    event_post(got_in);
    if (test_master_passages & 1)
        unix_release(); /* or ends inside, which releases it */
}

/* Two sections at random depth, with everything in them that may give up the hart. */
static void test_master_at_random(void *arg)
{
    int bound = (int)(uintptr_t)arg - 1;
    struct random r = random_from(run_seed, (uintptr_t)arg);
    uint32_t rounds = bootargs_number(BOOT(test_master, rounds));
    for (uint32_t i = 0; i < rounds; i++) {
        unsigned depth = 1 + random_below(&r, 3);
        for (unsigned d = 0; d < depth; d++) {
            assert(unix_is_master() == (d > 0));
            unix_master();
            assert(curhart->id == MASTER_HART);
        }
        stay_inside(&r);
        if (!random_below(&r, 8) && clock_hz()) {
            thread_delay(1);
            stay_inside(&r);
        }
        if (!random_below(&r, 4)) {
            struct event got_in = EVENT("got in", got_in_class);
            struct thread *inner = thread_create(in_and_out, &got_in, PRI_NORMAL, ANY_HART, "inner");
            if (random_below(&r, 2))
                event_wait(&got_in); /* other threads enter meanwhile, and while it is joined */
            thread_join(inner);
            event_destroy(&got_in);
            stay_inside(&r);
        }
        for (unsigned d = 0; d < depth; d++) {
            assert(unix_is_master() && curhart->id == MASTER_HART);
            unix_release();
        }
        assert(!unix_is_master() && curhart->thread->bound == bound);
        assert(bound == ANY_HART || curhart->id == (unsigned)bound);
        test_assert_base();
    }
}

/* With no other thread running, an unbound thread returns to its hart when it releases the master. */
static void goes_home(void)
{
    for (unsigned h = 0; h < hart_count; h++) {
        thread_bind((int)h);
        thread_bind(ANY_HART);
        unix_master();
        assert(curhart->id == MASTER_HART);
        unix_release();
        assert(curhart->id == h);
    }
}

DEFINE_SIMPLE_LOCK(sleeper_lock, "test sleeper", SPL_BIO);
static bool sleeper_woken;

static void wake_sleeper(void *arg)
{
    (void)arg;
    unix_master();
    crit_t s = simple_lock_enter(&sleeper_lock);
    sleeper_woken = true;
    thread_wakeup(&sleeper_woken);
    simple_lock_leave(&sleeper_lock, s);
    unix_release();
}

/* Its waker has to enter to do that. */
static void sleeps_inside(void)
{
    unix_master();
    struct thread *other = thread_create(wake_sleeper, 0, PRI_NORMAL, ANY_HART, "wakes");
    crit_t s = simple_lock_enter(&sleeper_lock);
    while (!sleeper_woken)
        thread_sleep(&sleeper_woken, &sleeper_lock);
    simple_lock_leave(&sleeper_lock, s);
    assert(unix_is_master() && curhart->id == MASTER_HART);
    unix_release();
    thread_join(other);
}

static int master_test(void)
{
    struct thread *t[2 * MAX_HARTS];
    goes_home();
    sleeps_inside();
    unsigned threads = hart_count + 2; /* one bound to each hart, two unbound */
    for (unsigned i = 0; i < threads; i++) {
        int bound = i < hart_count ? (int)i : ANY_HART;
        t[i] = thread_create(test_master_at_random, (void *)(uintptr_t)(bound + 1), PRI_NORMAL, bound, "master");
    }
    for (unsigned i = 0; i < threads; i++)
        thread_join(t[i]);
    intr_establish(PIC_SOURCE_FREE, SPL_BIO, INTR_EDGE, PIC_ANY_HART, test_master_count, 0, "test");
    for (unsigned h = 0; h < hart_count; h++) {
        thread_bind((int)h);
        pic_raise(1u << PIC_SOURCE_FREE);
        test_spin(test_settle_cycles(2));
        assert(test_master_handled == h + 1);
    }
    thread_bind(ANY_HART);
    intr_disestablish(PIC_SOURCE_FREE);
    assert(!handled_elsewhere || !bootargs_number(BOOT(kernel, intr_master)));
    kprintf("@test name=master handled=%u elsewhere=%u\n", test_master_handled, handled_elsewhere);
    return 0;
}

static int release_test(void)
{
    unix_master();
    unix_release();
    unix_release();
    return 0;
}

RUN("test-master", "test: the master restriction", master_test);
RUN("test-release", "test: unix_release without unix_master", release_test);
