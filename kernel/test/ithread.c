/*
 * run=test-ithread: interrupt threads. Under a rain of interrupts on all harts every word that a handler saves is
 * handled once, in order where one thread serves, by several at a time where several do; a more urgent interrupt
 * thread goes first and preempts a less urgent one; a word that finds the queue full is refused and counted; a thread
 * that sleeps in its work delays no other.
 */
#include "lock/event.h"
#include "sched/ithread.h"
#include "test/test.h"

#define SEQUENCE_BITS 24

static SIMPLE_LOCK_CLASS(ithread_class, "test ithread", SPL_SCHED);
static struct ithread test_ithread_one = ITHREAD("one", ithread_class), several = ITHREAD("several", ithread_class);
static struct ithread low = ITHREAD("low", ithread_class), high = ITHREAD("high", ithread_class);

static struct {
    uint32_t saved, handled, sum; /* words; the sum of those handled */
} count[PIC_SOURCES];
static unsigned active, most_active;
static uint32_t refused;

static intr_fn *volatile test_ithread_handle;

static void test_ithread_handler(void *arg)
{
    test_ithread_handle(arg);
}

/* Saves the source and its number of interrupts so far. */
static void save(void *arg)
{
    unsigned source = (uintptr_t)arg;
    struct ithread *it = source % 2 ? &several : &test_ithread_one;
    if (ithread_wake(it, source << SEQUENCE_BITS | count[source].saved))
        count[source].saved++;
    else
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
}

static void test_ithread_check_order(void *arg, uint32_t word)
{
    (void)arg;
    unsigned source = word >> SEQUENCE_BITS;
    uint32_t sequence = word & ((1u << SEQUENCE_BITS) - 1);
    if (sequence != count[source].handled)
        panic("source %u: word %lu comes after %lu", source, (unsigned long)sequence,
              (unsigned long)count[source].handled);
    count[source].handled++;
    count[source].sum += sequence;
}

static void count_active(void *arg, uint32_t word)
{
    (void)arg;
    unsigned source = word >> SEQUENCE_BITS, now = __atomic_add_fetch(&active, 1, __ATOMIC_RELAXED);
    unsigned most = most_active;
    while (now > most &&
           !__atomic_compare_exchange_n(&most_active, &most, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    __atomic_fetch_add(&count[source].handled, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&count[source].sum, word & ((1u << SEQUENCE_BITS) - 1), __ATOMIC_RELAXED);
    test_spin(200);
    thread_yield(); /* in the middle of its work */
    __atomic_fetch_sub(&active, 1, __ATOMIC_RELAXED);
}

static void test_ithread_worker(void *arg)
{
    struct random r = random_from(run_seed, 400 + (uintptr_t)arg);
    for (uint32_t n = bootargs_number(BOOT(test_ithread, rounds)); n; n--) {
        pic_raise(1u << test_source(random_below(&r, test_harts()), random_below(&r, TEST_SOURCES)));
        crit_t s = crit_sec_enter(random_below(&r, SPL_HIGH + 1));
        test_spin(random_below(&r, 200));
        crit_sec_leave(s);
        test_spin(random_below(&r, 400));
    }
}

static uint32_t test_rain(void)
{
    uint32_t handled = 0;
    test_ithread_handle = save;
    ithread_start(&test_ithread_one, PIC_SOURCE_FREE, test_ithread_check_order, 0, PRI_INTERRUPT, 1, ANY_HART);
    ithread_start(&several, PIC_SOURCE_FREE + 1, count_active, 0, PRI_INTERRUPT, 3, ANY_HART);
    crit_t s = crit_sec_enter(SPL_SCHED); /* as many words as threads, at once */
    for (unsigned i = 0; i < several.threads; i++)
        save((void *)test_source(0, 1));
    crit_sec_leave(s);
    test_on_every_hart(test_ithread_worker);
    test_spin(test_settle_cycles(TEST_SOURCES * hart_count));
    ithread_stop(&test_ithread_one);
    ithread_stop(&several);
    for (unsigned h = 0; h < test_harts(); h++)
        for (unsigned n = 0; n < TEST_SOURCES; n++) {
            unsigned i = test_source(h, n);
            assert(count[i].saved == count[i].handled);
            assert(count[i].sum == count[i].saved * (count[i].saved - 1) / 2);
            handled += count[i].handled;
        }
    assert(handled + refused >= 10 && refused == test_ithread_one.dropped + several.dropped);
    assert(most_active > 1 && most_active <= 3);
    return handled;
}

static char order[8];
static unsigned ordered;
static volatile bool raised_inside;

static void test_ithread_note(char c)
{
    order[ordered++ % sizeof order] = c;
}

/* The source with the middle level wakes `low`, that with the highest `high`. */
static void wake_by_level(void *arg)
{
    unsigned n = ((uintptr_t)arg - PIC_SOURCE_FREE) % TEST_SOURCES;
    ithread_wake(n == 1 ? &low : &high, (uintptr_t)arg);
}

static void low_work(void *arg, uint32_t source)
{
    (void)arg;
    test_ithread_note('l');
    if (raised_inside) {
        pic_raise(1u << (source + 1));
        test_spin(test_settle_cycles(4));
    }
    test_ithread_note('L');
}

static void high_work(void *arg, uint32_t source)
{
    (void)arg;
    (void)source;
    test_ithread_note('h');
    test_spin(100);
    test_ithread_note('H');
}

static void test_ithread_expect(const char *what, const char *expected)
{
    for (unsigned i = 0; expected[i]; i++)
        if (order[i] != expected[i] || ordered != 4)
            panic("%s: %.8s instead of %s", what, order, expected);
    ordered = 0;
}

static void priorities(void *arg)
{
    unsigned h = (uintptr_t)arg;
    ithread_start(&low, test_source(h, 1), low_work, 0, PRI_INTERRUPT + 1, 1, (int)h);
    ithread_start(&high, test_source(h, 2), high_work, 0, PRI_INTERRUPT, 1, (int)h);
    crit_t s = crit_sec_enter(SPL_HIGH);
    pic_raise(1u << test_source(h, 1));
    test_spin(test_settle_cycles(1));
    pic_raise(1u << test_source(h, 2));
    test_spin(test_settle_cycles(1));
    crit_sec_leave(s);
    test_spin(test_settle_cycles(8));
    test_ithread_expect("both at once", "hHlL");
    raised_inside = true;
    pic_raise(1u << test_source(h, 1));
    test_spin(test_settle_cycles(12));
    test_ithread_expect("the urgent one meanwhile", "lhHL");
    raised_inside = false;
    ithread_stop(&low);
    ithread_stop(&high);
}

static SIMPLE_LOCK_CLASS(gate_class, "test gate", SPL_SCHED);
static struct event gate = EVENT("gate", gate_class);
static uint32_t passed;

static void wait_at_gate(void *arg, uint32_t word)
{
    (void)arg;
    event_wait(&gate);
    assert(word == passed);
    passed++;
}

static void test_full(void)
{
    const unsigned more = 5;
    ithread_start(&test_ithread_one, PIC_SOURCE_FREE, wait_at_gate, 0, PRI_INTERRUPT, 1, ANY_HART);
    uint32_t n = 0;
    assert(ithread_wake(&test_ithread_one, n++));
    while (test_ithread_one.tail != 1)
        thread_yield(); /* it has taken the first word and holds it */
    while (ithread_wake(&test_ithread_one, n))
        n++;
    for (unsigned i = 1; i < more; i++)
        assert(!ithread_wake(&test_ithread_one, n));
    assert(n == 1 + ITHREAD_QUEUE && test_ithread_one.dropped == more && passed == 0);
    event_post(&gate);
    ithread_stop(&test_ithread_one);
    assert(passed == n);
}

static int ithread(void)
{
    test_establish_waking(test_ithread_handler);
    uint32_t handled = test_rain();
    test_ithread_handle = wake_by_level;
    unsigned last = test_harts() - 1;
    thread_join(thread_create(priorities, (void *)(uintptr_t)last, PRI_NORMAL, (int)last, "test"));
    test_full();
    test_assert_base();
    kprintf("@test name=ithread handled=%lu refused=%lu\n", (unsigned long)handled, (unsigned long)refused);
    return 0;
}

RUN("test-ithread", "test: interrupt threads", ithread);
