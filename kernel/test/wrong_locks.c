/*
 * run=wrong-lock rule=NAME: programs that break a rule of locks, each of which must end in a panic that says so; the
 * first group in any image, the second in one with LOCK_DEBUG. A wrong name prints the list. Nothing here deadlocks:
 * a deadlock that could happen must be caught before it does.
 */
#include <string.h>

#include "intr/softint.h"
#include "lock/lock.h"
#include "lock/lock_debug.h"
#include "lock/lock_pair.h"
#include "lock/refcount.h"
#include "test/test.h"

DEFINE_SIMPLE_LOCK(simple_a, "simple A", SPL_HIGH);
DEFINE_SIMPLE_LOCK(simple_b, "simple B", SPL_HIGH);
DEFINE_MUTEX(mutex_a, "mutex A");
DEFINE_MUTEX(mutex_b, "mutex B");
DEFINE_MUTEX(mutex_c, "mutex C");
DEFINE_RW_LOCK(rw_a, "rw A");

#define NOINLINE static void __attribute__((noinline))

static void (*other)(void);

static void call_other(void *arg)
{
    (void)arg;
    other();
}

/* In another thread, to its end. */
static void wrong_locks_elsewhere(void (*fn)(void))
{
    other = fn;
    thread_join(thread_create(call_other, 0, PRI_NORMAL, ANY_HART, "other"));
}

static void interrupted_by(intr_fn *fn)
{
    test_establish(fn);
    pic_raise(1u << test_source(curhart->id, 0));
    test_spin(test_settle_cycles(4));
}

static void locks_a(void)
{
    mutex_lock(&mutex_a);
}

static void simple_again(void)
{
    simple_lock_enter(&simple_a);
    simple_lock(&simple_a);
}

static void simple_not_held(void)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    simple_lock_leave(&simple_a, s);
}

static void simple_destroyed(void)
{
    simple_lock_enter(&simple_a);
    simple_lock_destroy(&simple_a);
}

static void mutex_again(void)
{
    mutex_lock(&mutex_a);
    mutex_lock(&mutex_a);
}

static void mutex_of_another(void)
{
    wrong_locks_elsewhere(locks_a);
    mutex_unlock(&mutex_a);
}

static void done_by_nobody(void)
{
    lock_done(&rw_a);
}

static void upgrade_unheld(void)
{
    lock_read_to_write(&rw_a);
}

static void downgrade_unheld(void)
{
    lock_read(&rw_a);
    lock_write_to_read(&rw_a);
}

static void destroyed(void)
{
    lock_read(&rw_a);
    lock_destroy(&rw_a);
}

static void tries(void *arg)
{
    (void)arg;
    if (mutex_try(&mutex_a))
        mutex_unlock(&mutex_a);
}

static void wrong_locks_in_handler(void)
{
    interrupted_by(tries);
}

static void in_soft_interrupt(void)
{
    softint_establish(SPL_SOFTNET, tries, 0);
    softint_schedule(SPL_SOFTNET);
    test_spin(test_settle_cycles(4));
}

static void refcount_below_zero(void)
{
    struct refcount r = {0};
    mutex_lock(&mutex_a);
    refcount_drop(&r, &mutex_a.object);
}

static void read_again(void)
{
    lock_read(&rw_a);
    lock_read(&rw_a);
}

static void done_by_another_reader(void)
{
    lock_read(&rw_a);
    wrong_locks_elsewhere(done_by_nobody);
}

static void upgrade_by_another(void)
{
    lock_read(&rw_a);
    wrong_locks_elsewhere(upgrade_unheld);
}

static void simple_outside_section(void)
{
    simple_lock(&simple_a);
}

static void mutex_under_simple(void)
{
    simple_lock_enter(&simple_a);
    mutex_lock(&mutex_a);
}

static void yield_under_simple(void)
{
    simple_lock_enter(&simple_a);
    thread_yield();
}

static void sleep_under_simple(void)
{
    crit_t s = simple_lock_enter(&simple_a);
    simple_lock_enter(&simple_b);
    thread_sleep(&simple_b, &simple_b);
    simple_lock_leave(&simple_a, s);
}

static void exit_with_lock(void)
{
    wrong_locks_elsewhere(locks_a);
}

/* Noinline, and not a tail call: the report must name them. */
NOINLINE a_then_b(void)
{
    mutex_lock(&mutex_a);
    mutex_lock(&mutex_b);
    mutex_unlock(&mutex_b);
    mutex_unlock(&mutex_a);
}

NOINLINE b_then_a(void)
{
    mutex_lock(&mutex_b);
    mutex_lock(&mutex_a);
    mutex_unlock(&mutex_a);
    mutex_unlock(&mutex_b);
}

NOINLINE b_then_c(void)
{
    mutex_lock(&mutex_b);
    mutex_lock(&mutex_c);
    mutex_unlock(&mutex_c);
    mutex_unlock(&mutex_b);
}

NOINLINE c_then_a(void)
{
    mutex_lock(&mutex_c);
    mutex_lock(&mutex_a);
    mutex_unlock(&mutex_a);
    mutex_unlock(&mutex_c);
}

static void order_of_two(void)
{
    a_then_b();
    b_then_a();
}

static void order_of_three(void)
{
    a_then_b();
    b_then_c();
    c_then_a();
}

NOINLINE simple_b_then_a(void)
{
    crit_t s = simple_lock_enter(&simple_b);
    simple_lock(&simple_a);
    simple_unlock(&simple_a);
    simple_lock_leave(&simple_b, s);
}

static void takes_simple_b(void *arg)
{
    (void)arg;
    crit_t s = simple_lock_enter(&simple_b);
    simple_lock_leave(&simple_b, s);
}

/* A handler takes B while the thread that it interrupts holds A, whose level does not mask the handler. */
static void order_in_handler(void)
{
    static SIMPLE_LOCK_CLASS(low_class, "simple low", SPL_SOFTTTY);
    static struct simple_lock low = SIMPLE_LOCK("simple low", low_class);
    crit_t s = simple_lock_enter(&simple_b);
    simple_lock(&low);
    simple_unlock(&low);
    simple_lock_leave(&simple_b, s);
    s = simple_lock_enter(&low);
    interrupted_by(takes_simple_b);
    simple_lock_leave(&low, s);
    test_spin(test_settle_cycles(4));
}

DEFINE_SIMPLE_LOCK(simple_bio, "simple bio", SPL_BIO);
DEFINE_SIMPLE_LOCK(simple_soft, "simple soft", SPL_SOFTCLOCK);

static void takes_bio(void *arg)
{
    crit_t s = crit_sec_enter(SPL_HIGH); /* which does not help its holder */
    simple_lock(arg);
    simple_unlock(arg);
    crit_sec_leave(s);
}

static void takes_bio_in_tty(void *arg)
{
    if ((uintptr_t)arg == test_source(curhart->id, 1))
        takes_bio(&simple_bio);
}

static void handler_above_lock(void)
{
    takes_bio(&simple_bio); /* as a thread may */
    test_establish(takes_bio_in_tty);
    pic_raise(1u << test_source(curhart->id, 1));
    test_spin(test_settle_cycles(4));
}

static void soft_interrupt_above_lock(void)
{
    takes_bio(&simple_soft);
    softint_establish(SPL_SOFTNET, takes_bio, &simple_soft);
    softint_schedule(SPL_SOFTNET);
    test_spin(test_settle_cycles(4));
}

static void order_of_simple(void)
{
    crit_t s = simple_lock_enter(&simple_a);
    simple_lock(&simple_b);
    simple_unlock(&simple_b);
    simple_lock_leave(&simple_a, s);
    simple_b_then_a();
}

/* An upgrade waits for readers, which may wait for A. */
static void order_of_upgrade(void)
{
    lock_read(&rw_a);
    mutex_lock(&mutex_a);
    if (lock_read_to_write(&rw_a))
        lock_done(&rw_a);
}

static MUTEX_CLASS(pair_class, "pair");
static struct lock pair[2] = {LOCK("lower", pair_class), LOCK("higher", pair_class)};

static void pair_against_addresses(void)
{
    lock_pair(&pair[1], &pair[0]);
    lock_pair_done(&pair[1], &pair[0]);
    mutex_lock(&pair[1]);
    if (mutex_try(&pair[0])) /* a conditional attempt may */
        mutex_unlock(&pair[0]);
    mutex_lock(&pair[0]);
}

static void assert_held(void)
{
    lock_assert_held(&mutex_a);
}

static void assert_not_held(void)
{
    lock_read(&rw_a);
    lock_assert_not_held(&rw_a);
}

static void assert_write_held(void)
{
    lock_write(&rw_a);
    lock_assert_write_held(&rw_a);
    lock_write_to_read(&rw_a);
    lock_assert_held(&rw_a);
    lock_assert_write_held(&rw_a);
}

static void assert_simple_held(void)
{
    crit_t s = simple_lock_enter(&simple_a);
    simple_lock_assert_held(&simple_a);
    simple_lock_leave(&simple_a, s);
    simple_lock_assert_held(&simple_a);
}

static void refcount_unguarded(void)
{
    struct refcount r = {0};
    refcount_take(&r, &mutex_a.object);
}

static const struct {
    const char *name;
    void (*fn)(void);
} rules[] = {
    {"simple-again", simple_again},
    {"simple-not-held", simple_not_held},
    {"simple-destroyed", simple_destroyed},
    {"mutex-again", mutex_again},
    {"mutex-of-another", mutex_of_another},
    {"done-by-nobody", done_by_nobody},
    {"upgrade-unheld", upgrade_unheld},
    {"downgrade-unheld", downgrade_unheld},
    {"destroyed", destroyed},
    {"in-handler", wrong_locks_in_handler},
    {"in-soft-interrupt", in_soft_interrupt},
    {"refcount-below-zero", refcount_below_zero},
    /* with LOCK_DEBUG */
    {"read-again", read_again},
    {"done-by-another-reader", done_by_another_reader},
    {"upgrade-by-another", upgrade_by_another},
    {"simple-outside-section", simple_outside_section},
    {"mutex-under-simple", mutex_under_simple},
    {"yield-under-simple", yield_under_simple},
    {"sleep-under-simple", sleep_under_simple},
    {"exit-with-lock", exit_with_lock},
    {"order-of-two", order_of_two},
    {"order-of-three", order_of_three},
    {"order-of-simple", order_of_simple},
    {"order-in-handler", order_in_handler},
    {"handler-above-lock", handler_above_lock},
    {"soft-interrupt-above-lock", soft_interrupt_above_lock},
    {"order-of-upgrade", order_of_upgrade},
    {"pair-against-addresses", pair_against_addresses},
    {"assert-held", assert_held},
    {"assert-not-held", assert_not_held},
    {"assert-write-held", assert_write_held},
    {"assert-simple-held", assert_simple_held},
    {"refcount-unguarded", refcount_unguarded},
};

#define RULES (sizeof rules / sizeof *rules)

static int wrong_lock(void)
{
    char name[32];
    const char *rule = bootargs_string(BOOT(test_wrong_locks, rule), name, sizeof name);
    for (unsigned i = 0; i < RULES; i++)
        if (!strcmp(rule, rules[i].name)) {
            rules[i].fn();
            kprintf("rule=%s was broken, and nothing caught it\n", rule);
            return 1;
        }
    kprintf("rule=%s: there is no such rule; these are there\n", rule);
    for (unsigned i = 0; i < RULES; i++)
        kprintf("  rule=%s\n", rules[i].name);
    return 2;
}

RUN("wrong-lock", "test: breaks a rule of locks, which must be caught", wrong_lock);
