/*
 * run=test-lockstat, in images with LOCK_STATS: locks of every kind, taken in every way, by threads on every hart and
 * by handlers, between clearing the statistics and reading them; the simulator counts the same stretch from
 * outside (a measured window), and tests/kernel/test_lockstat.py compares. The attempts that the threads
 * count themselves are printed too:
 *
 *   @lockcount class=<class, "_" for blanks> attempts=<n>
 *
 * Boot arguments: rounds of each hart.
 */
#include "lock/lock_stats.h"

#if LOCK_STATS
#include "dev/console.h"
#include "lock/lock.h"
#include "test/test.h"

enum { SPIN, OTHER_SPIN, MUTEX, RW, CLASSES };

DEFINE_SIMPLE_LOCK(spin_lock, "test spin", SPL_TTY); /* handlers at SPL_TTY take it too */
static SIMPLE_LOCK_CLASS(pair_class, "test spin pair", SPL_BIO);
static struct simple_lock pair[2] = {SIMPLE_LOCK("test spin a", pair_class), SIMPLE_LOCK("test spin b", pair_class)};
DEFINE_MUTEX(mutex, "test mutex");
DEFINE_RW_LOCK(rw_lock, "test rw");

static const char *const class_name[CLASSES] = {"test_spin", "test_spin_pair", "test_mutex", "test_rw"};
static uint32_t attempts[MAX_HARTS][CLASSES]; /* of threads; a hart's own */
static uint32_t lockstat_handled[MAX_HARTS];

static void lockstat_handler(void *source)
{
    (void)source;
    crit_t s = simple_lock_enter(&spin_lock);
    lockstat_handled[curhart->id]++;
    simple_lock_leave(&spin_lock, s);
}

static void spinning(struct random *r, uint32_t *made)
{
    for (unsigned n = 0; n < 4; n++) {
        crit_t s = simple_lock_enter(&spin_lock);
        test_spin(random_below(r, 400));
        simple_lock_leave(&spin_lock, s);
        made[SPIN]++;
    }
    crit_t s = simple_lock_enter(&pair[0]);
    if (simple_lock_try(&pair[1])) {
        test_spin(random_below(r, 400));
        simple_unlock(&pair[1]);
    }
    simple_lock_leave(&pair[0], s);
    if (random_below(r, 4) == 0) {
        s = simple_lock_enter(&pair[1]);
        test_spin(random_below(r, 400));
        simple_lock_leave(&pair[1], s);
        made[OTHER_SPIN]++;
    }
    made[OTHER_SPIN] += 2;
}

static void sleeping(struct random *r, uint32_t *made)
{
    mutex_lock(&mutex);
    test_spin(random_below(r, 300));
    if (random_below(r, 4) == 0)
        thread_delay(1); /* waiting threads now sleep: the owner does not run */
    mutex_unlock(&mutex);
    if (mutex_try(&mutex))
        mutex_unlock(&mutex);
    made[MUTEX] += 2;
}

static void sharing(struct random *r, uint32_t *made)
{
    bool held = true;
    if (random_below(r, 3) == 0) {
        lock_write(&rw_lock);
        test_spin(random_below(r, 200));
        lock_write_to_read(&rw_lock);
    } else {
        lock_read(&rw_lock);
    }
    made[RW]++;
    test_spin(random_below(r, 300));
    if (random_below(r, 2)) {
        held = lock_read_to_write(&rw_lock);
        made[RW]++;
    } else if (random_below(r, 2)) {
        lock_try_read_to_write(&rw_lock);
        made[RW]++;
    }
    if (held)
        lock_done(&rw_lock);
    if (lock_try_read(&rw_lock))
        lock_done(&rw_lock);
    made[RW]++;
}

static void lockstat_worker(void *arg)
{
    unsigned hart = (unsigned)(uintptr_t)arg;
    struct random r = random_from(run_seed, hart);
    for (uint32_t n = bootargs_number(BOOT(test_lockstat, rounds)); n; n--) {
        spinning(&r, attempts[hart]);
        pic_raise(1u << test_source(hart, 1));
        sleeping(&r, attempts[hart]);
        sharing(&r, attempts[hart]);
    }
    test_spin(test_settle_cycles(TEST_SOURCES));
}

static int test_lockstat_run(void)
{
    test_establish_waking(lockstat_handler);
    lock_stats_clear();
    PROBE(WINDOW_BEGIN);
    test_on_every_hart(lockstat_worker);
    PROBE(WINDOW_END);
    console_polled(); /* there are many results: this is faster, and takes no lock */
    for (unsigned class = 0; class < CLASSES; class ++) {
        uint32_t made = 0;
        for (unsigned h = 0; h < test_harts(); h++)
            made += attempts[h][class] + (class == SPIN ? lockstat_handled[h] : 0);
        kprintf("@lockcount class=%s attempts=%lu\n", class_name[class], (unsigned long)made);
    }
    return 0; /* and now main prints what was counted */
}

RUN("test-lockstat", "test: lock statistics, for comparison with the simulator's", test_lockstat_run);
#endif
