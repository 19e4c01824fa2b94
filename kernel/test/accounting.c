/*
 * run=test-accounting, in images with ACCOUNTING: on every hart a thread computes, contends for a simple lock, raises
 * interrupts inside and outside a section, and sleeps, between two readings of the harts' accounts. The cycles that
 * the handlers count themselves are in the account of interrupts, exactly. The simulator accounts for the same
 * stretch from outside (a measured window), and tests/kernel/test_accounting.py compares.
 *
 *   @accounted hart=<n> user=<cycles> system= interrupt= spinning= idle= elapsed=      what the stretch added
 *
 * Boot arguments: rounds of each hart. The threads sleep for clock ticks: hz must not be 0.
 */
#include "arch/accounting.h"

#if ACCOUNTING
#include "test/test.h"

DEFINE_SIMPLE_LOCK(shared_lock, "test shared", SPL_HIGH);
static volatile uint32_t test_accounting_handled[MAX_HARTS], handling[MAX_HARTS]; /* handlers, and their cycles */

/* Takes longer than the two accounts of an interrupt may differ by (tests/kernel/test_accounting.py). */
static void test_accounts_handler(void *source)
{
    uint32_t begin = cycles32();
    (void)source;
    test_spin(1500);
    test_accounting_handled[curhart->id]++;
    handling[curhart->id] += cycles32() - begin;
}

/* One of this hart's sources, in every other turn in a section, whose end handles it under an optimistic scheme. */
static void interrupt_self(unsigned hart, struct random *r, bool in_section)
{
    crit_t s = in_section ? crit_sec_enter(SPL_HIGH) : 0;
    uint32_t before = test_accounting_handled[hart];
    pic_raise(1u << test_source(hart, random_below(r, TEST_SOURCES)));
    test_spin(random_below(r, 1000) + (in_section ? pic_worst_delivery + 200 : 0));
    if (in_section) {
        assert(test_accounting_handled[hart] == before);
        crit_sec_leave(s);
    }
}

static void test_accounts_worker(void *arg)
{
    unsigned hart = (unsigned)(uintptr_t)arg;
    struct random r = random_from(run_seed, hart);
    for (uint32_t n = bootargs_number(BOOT(test_accounting, rounds)); n; n--) {
        for (unsigned turn = 0; turn < 6; turn++) {
            crit_t s = simple_lock_enter(&shared_lock);
            test_spin(random_below(&r, 1000));
            simple_lock_leave(&shared_lock, s);
        }
        interrupt_self(hart, &r, n % 2);
        test_spin(random_below(&r, 5000));
        thread_delay(1);
    }
}

static int test_accounts(void)
{
    struct accounting before[MAX_HARTS], after[MAX_HARTS];
    test_establish(test_accounts_handler);
    for (unsigned h = 0; h < hart_count; h++)
        before[h] = accounting_read(h);
    PROBE(WINDOW_BEGIN);
    test_on_every_hart(test_accounts_worker);
    PROBE(WINDOW_END);
    for (unsigned h = 0; h < hart_count; h++)
        after[h] = accounting_read(h);
    for (unsigned h = 0; h < hart_count; h++) {
        uint32_t spent[ACCOUNTS], sum = 0, elapsed = (uint32_t)(after[h].elapsed - before[h].elapsed);
        for (unsigned i = 0; i < ACCOUNTS; i++)
            sum += spent[i] = (uint32_t)(after[h].cycles[i] - before[h].cycles[i]);
        assert(sum == elapsed);
        assert(test_accounting_handled[h] > 0);
        assert(spent[ACCOUNT_INTERRUPT] >= handling[h]);
        kprintf("@accounted hart=%u user=%lu system=%lu interrupt=%lu spinning=%lu idle=%lu elapsed=%lu\n", h,
                (unsigned long)spent[ACCOUNT_USER], (unsigned long)spent[ACCOUNT_SYSTEM],
                (unsigned long)spent[ACCOUNT_INTERRUPT], (unsigned long)spent[ACCOUNT_SPINNING],
                (unsigned long)spent[ACCOUNT_IDLE], (unsigned long)elapsed);
    }
    return 0;
}

RUN("test-accounting", "test: what harts do with their time, for comparison with the simulator's", test_accounts);
#endif
