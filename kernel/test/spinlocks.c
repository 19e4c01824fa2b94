/*
 * run=test-spinlocks: the algorithm below simple locks under stress. Threads on every hart and handlers at three
 * levels, one inside the other, take one to three locks each, in one order, and release them in any; they try locks
 * that may be held; threads yield, and so pass a lock on across a switch (sched/sched.c); locks on a stack come and go.
 *
 * - harts exclude each other: what a lock guards has two halves, which an owner finds and leaves equal (exclusion.c);
 * - the owner is recorded while a lock is held, and not afterwards;
 * - a try takes a free lock, and does not wait for one that is held: it fails, and takes nothing;
 * - this also holds when all try at once, and when an interrupt comes at any cycle of taking a lock that is held;
 * - where the algorithm is first come, first served, no hart is overtaken more often than there are other harts.
 */
#include <generated/csr.h>

#include "lib/minmax.h"
#include "test/test.h"

#define LOCKS TEST_SOURCES   /* one for each level at which a handler runs, in the order in which they are taken */
#define OVERTAKERS_ASKING 2  /* harts that may come between reading the count and queueing */
#define STACK_LOCKS_A_ROUND 10
#define TRIES_TOGETHER 60
#define TRY_PERIOD 1024      /* cycles, a power of 2 */
#define SWEEP_CYCLES 240     /* more than from the raise to the wait for the lock */
#define SWEEP_HANDLER 400    /* cycles in which the owner surely releases the lock */
#define SWEEP_LONGEST 1500   /* how long it holds the lock if the interrupt is masked until then */

static SIMPLE_LOCK_CLASS(low_class, "test low", SPL_BIO);
static SIMPLE_LOCK_CLASS(middle_class, "test middle", SPL_TTY);
static SIMPLE_LOCK_CLASS(high_class, "test high", SPL_HIGH - 1);
static SIMPLE_LOCK_CLASS(stack_class, "test stack", SPL_HIGH);

static struct {
    struct simple_lock lock;
    volatile uint32_t first, second, updates;
} guarded[LOCKS] = {
    {.lock = SIMPLE_LOCK("test low", low_class)},
    {.lock = SIMPLE_LOCK("test middle", middle_class)},
    {.lock = SIMPLE_LOCK("test high", high_class)},
};

static struct {
    uint32_t updates[LOCKS], tries, failed, passed_by;
    struct random random, in_handler[LOCKS];
} hart[MAX_HARTS];

static void test_spinlocks_update(unsigned n, uint32_t wait)
{
    assert(simple_lock_held(&guarded[n].lock));
    uint32_t v = guarded[n].first;
    assert(guarded[n].second == v);
    guarded[n].first = v + 1;
    test_spin(wait);
    assert(guarded[n].second == v);
    guarded[n].second = v + 1;
    guarded[n].updates = v + 1;
    hart[curhart->id].updates[n]++;
}

static void test_spinlocks_release(unsigned n)
{
    simple_unlock(&guarded[n].lock);
    assert(!simple_lock_held(&guarded[n].lock));
}

/* Take lock n; a thread counts at the highest, where nothing interrupts, how many others got it meanwhile. */
static crit_t test_spinlocks_take(unsigned n)
{
    crit_t s = crit_sec_enter(guarded[n].lock.object.class->level);
    uint32_t before = guarded[n].updates;
    simple_lock(&guarded[n].lock);
    uint32_t passed_by = guarded[n].updates - before;
    if (n == LOCKS - 1 && passed_by > hart[curhart->id].passed_by)
        hart[curhart->id].passed_by = passed_by;
    return s;
}

/* Take a random number of locks, from `lowest` on, and release them in one of two orders. */
static void take_several(struct random *r, unsigned lowest)
{
    crit_t saved[LOCKS];
    unsigned end = lowest + 1 + random_below(r, LOCKS - lowest);
    bool same_order = random_below(r, 2);
    for (unsigned n = lowest; n < end; n++) {
        saved[n] = test_spinlocks_take(n);
        test_spinlocks_update(n, random_below(r, 30));
    }
    if (same_order) {
        for (unsigned n = lowest; n < end; n++)
            test_spinlocks_release(n);
        crit_sec_leave(saved[lowest]);
    } else {
        for (unsigned n = end; n-- > lowest;) {
            test_spinlocks_release(n);
            crit_sec_leave(saved[n]);
        }
    }
}

static void try_one(struct random *r, unsigned n)
{
    crit_t s = crit_sec_enter(guarded[n].lock.object.class->level);
    hart[curhart->id].tries++;
    if (simple_lock_try(&guarded[n].lock)) {
        test_spinlocks_update(n, random_below(r, 60));
        test_spinlocks_release(n);
    } else {
        hart[curhart->id].failed++;
        assert(!simple_lock_held(&guarded[n].lock));
    }
    crit_sec_leave(s);
}

/* At its level a handler may take the locks of that level and above. */
static void test_spinlocks_handler(void *arg)
{
    unsigned n = ((uintptr_t)arg - PIC_SOURCE_FREE) % TEST_SOURCES;
    take_several(&hart[curhart->id].in_handler[n], n);
}

static void stack_locks(void)
{
    for (unsigned i = 0; i < STACK_LOCKS_A_ROUND; i++) {
        struct simple_lock lock = SIMPLE_LOCK("test stack", stack_class);
        crit_t s = simple_lock_enter(&lock);
        assert(simple_lock_held(&lock));
        simple_lock_leave(&lock, s);
        simple_lock_destroy(&lock);
    }
}

static void test_spinlocks_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random *r = &hart[h].random;
    *r = random_from(run_seed, h);
    for (unsigned n = 0; n < LOCKS; n++)
        hart[h].in_handler[n] = random_from(run_seed, MAX_HARTS * (n + 1) + h);
    for (uint32_t round = bootargs_number(BOOT(test_spinlocks, rounds)); round; round--) {
        pic_raise(1u << test_source(random_below(r, test_harts()), random_below(r, TEST_SOURCES)));
        take_several(r, random_below(r, LOCKS));
        try_one(r, random_below(r, LOCKS));
        pic_raise(1u << test_source(h, random_below(r, TEST_SOURCES)));
        take_several(r, 0);
        if (random_below(r, 4) == 0)
            thread_yield();
        stack_locks();
    }
    test_spin(test_settle_cycles(TEST_SOURCES));
}

/* A lock that another hart holds for long: a try fails at once, and the lock is whole afterwards. */
static volatile unsigned phase;

static void holder_and_trier(void *arg)
{
    unsigned h = (uintptr_t)arg;
    if (h == 0) {
        crit_t s = simple_lock_enter(&guarded[0].lock);
        phase = 1;
        while (phase == 1)
            ;
        simple_lock_leave(&guarded[0].lock, s);
        phase = 3;
    } else if (h == 1) {
        while (phase != 1)
            ;
        crit_t s = crit_sec_enter(SPL_HIGH);
        for (unsigned i = 0; i < 50; i++)
            assert(!simple_lock_try(&guarded[0].lock));
        phase = 2;
        while (phase != 3)
            ;
        assert(simple_lock_try(&guarded[0].lock));
        simple_unlock(&guarded[0].lock);
        crit_sec_leave(s);
    }
}

/* All harts try the same free lock at the same time: one gets it, the others leave no trace in it. */
static void try_together(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < TRIES_TOGETHER; i++) {
        crit_t s = crit_sec_enter(SPL_HIGH);
        test_spin(-cycles32() & (TRY_PERIOD - 1));
        if (simple_lock_try(&guarded[0].lock)) {
            test_spinlocks_update(0, 0);
            test_spinlocks_release(0);
        }
        crit_sec_leave(s);
    }
}

/*
 * An interrupt at each cycle of taking a lock that is held: while the handler runs, the owner releases it. So the owner
 * also sees each state between the steps of a waiter.
 */
static volatile unsigned sweep_turn, sweep_interrupted;

static void sweep_handler(void *arg)
{
    (void)arg;
    sweep_interrupted = sweep_turn;
    test_spin(SWEEP_HANDLER);
}

static void interrupted_taker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    for (unsigned cycles = 1; h < 2 && cycles <= SWEEP_CYCLES; cycles++) {
        crit_t s;
        if (h == 0) {
            s = simple_lock_enter(&guarded[0].lock);
            sweep_turn = cycles;
            for (uint32_t begin = cycles32(); sweep_interrupted != cycles && cycles32() - begin < SWEEP_LONGEST;)
                ;
        } else {
            while (sweep_turn != cycles)
                ;
            link_delivery_delay_write(cycles);
            pic_raise(1u << test_source(1, TEST_SOURCES - 1));
            s = simple_lock_enter(&guarded[0].lock);
        }
        simple_lock_leave(&guarded[0].lock, s);
        if (h == 0)
            while (sweep_interrupted != cycles)
                ;
    }
}

static void sweep_of_interrupts(void)
{
    for (unsigned n = 0; n < TEST_SOURCES; n++)
        intr_disestablish(test_source(1, n));
    intr_establish(test_source(1, TEST_SOURCES - 1), SPL_HIGH - 1, INTR_EDGE, 1, sweep_handler, 0, "sweep");
    uint32_t delivery = link_delivery_delay_read();
    test_on_every_hart(interrupted_taker);
    link_delivery_delay_write(delivery);
}

static int test_spinlocks(void)
{
    uint32_t updates = 0, tries = 0, failed = 0, passed_by = 0;
    test_establish(test_spinlocks_handler);
    test_on_every_hart(test_spinlocks_worker);
    test_spin(test_settle_cycles(TEST_SOURCES * hart_count));
    test_assert_base();
    for (unsigned n = 0; n < LOCKS; n++) {
        uint32_t sum = 0;
        for (unsigned h = 0; h < test_harts(); h++)
            sum += hart[h].updates[n];
        assert(guarded[n].first == sum && guarded[n].second == sum);
        assert(!spin_owner(&guarded[n].lock.spin));
        updates += sum;
    }
    for (unsigned h = 0; h < test_harts(); h++) {
        tries += hart[h].tries;
        failed += hart[h].failed;
        passed_by = MAX(hart[h].passed_by, passed_by);
    }
    if (SPIN_FIFO && passed_by > hart_count - 1 + OVERTAKERS_ASKING)
        panic("first come is not first served: %lu others came first", (unsigned long)passed_by);
    test_on_every_hart(try_together);
    if (hart_count > 1) {
        test_on_every_hart(holder_and_trier);
        sweep_of_interrupts();
    }
    kprintf("@test name=spinlocks algorithm=" SPINLOCK_NAME " updates=%lu tries=%lu failed=%lu passed_by=%lu\n",
            (unsigned long)updates, (unsigned long)tries, (unsigned long)failed, (unsigned long)passed_by);
    return 0;
}

RUN("test-spinlocks", "test: the algorithm below simple locks under stress", test_spinlocks);
