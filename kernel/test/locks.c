/*
 * run=test-locks: every kind of lock under stress. On each hart `threads` threads and handlers at three levels do
 * random operations on a few locks, spin, yield and sleep while they hold them, and check what each lock promises:
 *
 *   simple, mutex, write   no other holder: two equal halves stay equal while their holder waits between them
 *   read                   no writer holds it; what was read does not change
 *   upgrade                what was read before it still holds after it; one that fails has released the lock
 *   downgrade              the reader reads what it wrote
 *   pair                   what is moved from one to the other is not lost
 *   reference count        an object is in use as long as a user is counted
 *
 * run=test-locks-fair: a lock is granted in the order in which it was asked for. In each of `rounds` some threads ask
 * one after the other, at random to read or to write, while it is held in a way chosen at random; then each gets it in
 * its turn, and adjacent readers get it together. And under load, where the order of asking is not known: each thread
 * may get the lock once before one that waits, so readers cannot starve a writer, nor writers a reader.
 *
 * run=test-locks-destroy: a lock that counts the users of its own object is destroyed by the last of them, as soon as
 * it has released the lock, and its memory is overwritten. Users that released it before must no longer touch it.
 */
#include "lock/lock.h"
#include "lock/lock_debug.h"
#include "lock/lock_pair.h"
#include "lock/refcount.h"
#include "test/test.h"

#define THREADS_PER_HART 3
#define SIMPLE_LOCKS 2
#define ACCOUNTS 3
#define RW_LOCKS 2
#define OBJECTS 2
#define OPENING_BALANCE 1000

struct guarded {
    volatile uint32_t first, second;
    volatile uint32_t readers;
};

static SIMPLE_LOCK_CLASS(simple_class, "test simple", SPL_HIGH);
static MUTEX_CLASS(account_class, "test account");
static RW_LOCK_CLASS(rw_class, "test rw");
DEFINE_MUTEX(list_lock, "test list");

static struct {
    struct simple_lock lock;
    struct guarded data;
} simple[SIMPLE_LOCKS];

static struct {
    struct lock lock;
    struct guarded data;
    volatile uint32_t balance;
} test_locks_account[ACCOUNTS];

static struct {
    struct lock lock;
    struct guarded data;
} rw[RW_LOCKS];

static struct {
    struct refcount references;
    volatile bool listed, freed;
} test_locks_object[OBJECTS];

/* What was done, by all threads. */
static struct {
    uint32_t simple, refused, mutex, read, write, upgraded, lost, downgraded, pairs, freed, most_readers;
} test_locks_done;

static void test_locks_count(uint32_t *what)
{
    __atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

/* Let other threads interfere; on one hart only those that a yield lets run. */
static void dawdle(struct random *r)
{
    uint32_t how = random_below(r, 64);
    if (how == 0 && clock_hz())
        thread_delay(1);
    else if (how < (hart_count == 1 ? 40 : 16))
        thread_yield();
    else
        test_spin(random_below(r, 80));
}

static void update_alone(struct guarded *g, struct random *r)
{
    uint32_t v = g->first;
    assert(g->second == v);
    assert(g->readers == 0);
    g->first = v + 1;
    if (r)
        dawdle(r);
    assert(g->first == v + 1 && g->second == v && g->readers == 0);
    g->second = v + 1;
}

static uint32_t test_locks_look(struct guarded *g, struct random *r)
{
    uint32_t readers = __atomic_add_fetch(&g->readers, 1, __ATOMIC_RELAXED), v = g->first;
    if (readers > test_locks_done.most_readers)
        test_locks_done.most_readers = readers; /* a lower value may overwrite a higher: it is an indication */
    assert(g->second == v);
    dawdle(r);
    assert(g->first == v && g->second == v);
    __atomic_fetch_sub(&g->readers, 1, __ATOMIC_RELAXED);
    return v;
}

static void do_simple(struct random *r)
{
    unsigned i = random_below(r, SIMPLE_LOCKS);
    if (random_below(r, 4) == 0) {
        crit_t s = crit_sec_enter(SPL_HIGH);
        if (simple_lock_try(&simple[i].lock)) {
            update_alone(&simple[i].data, 0);
            test_locks_count(&test_locks_done.simple);
            simple_unlock(&simple[i].lock);
        } else {
            test_locks_count(&test_locks_done.refused);
        }
        crit_sec_leave(s);
        return;
    }
    unsigned j = random_below(r, SIMPLE_LOCKS);
    crit_t s = simple_lock_pair_enter(&simple[i].lock, &simple[j].lock);
    update_alone(&simple[i].data, 0);
    test_spin(random_below(r, 30));
    test_locks_count(&test_locks_done.simple);
    simple_lock_pair_leave(&simple[i].lock, &simple[j].lock, s);
}

static void test_locks_handler(void *arg)
{
    (void)arg;
    unsigned i = cycles32() % SIMPLE_LOCKS;
    crit_t s = simple_lock_enter(&simple[i].lock);
    update_alone(&simple[i].data, 0);
    test_locks_count(&test_locks_done.simple);
    simple_lock_leave(&simple[i].lock, s);
}

static void do_mutex(struct random *r)
{
    unsigned i = random_below(r, ACCOUNTS);
    if (random_below(r, 3) == 0) {
        if (!mutex_try(&test_locks_account[i].lock)) {
            test_locks_count(&test_locks_done.refused);
            return;
        }
    } else {
        mutex_lock(&test_locks_account[i].lock);
    }
    lock_assert_write_held(&test_locks_account[i].lock);
    update_alone(&test_locks_account[i].data, r);
    test_locks_count(&test_locks_done.mutex);
    mutex_unlock(&test_locks_account[i].lock);
}

/* A mutex supports the operations of a read/write lock. */
static void do_mutex_as_rw(struct random *r)
{
    unsigned i = random_below(r, ACCOUNTS);
    lock_read(&test_locks_account[i].lock);
    update_alone(&test_locks_account[i].data, r);
    if (!lock_read_to_write(&test_locks_account[i].lock))
        panic("a mutex was not upgraded");
    lock_write_to_read(&test_locks_account[i].lock);
    update_alone(&test_locks_account[i].data, r);
    test_locks_count(&test_locks_done.mutex);
    test_locks_count(&test_locks_done.mutex);
    lock_done(&test_locks_account[i].lock);
}

static void do_pair(struct random *r)
{
    unsigned from = random_below(r, ACCOUNTS), to = random_below(r, ACCOUNTS);
    lock_pair(&test_locks_account[from].lock, &test_locks_account[to].lock);
    uint32_t sum = test_locks_account[from].balance + test_locks_account[to].balance, amount = random_below(r, 10);
    test_locks_account[from].balance -= amount;
    dawdle(r);
    test_locks_account[to].balance += amount;
    assert(test_locks_account[from].balance + test_locks_account[to].balance == sum);
    test_locks_count(&test_locks_done.pairs);
    lock_pair_done(&test_locks_account[from].lock, &test_locks_account[to].lock);
}

static void do_read(struct random *r)
{
    unsigned i = random_below(r, RW_LOCKS);
    if (random_below(r, 4)) {
        lock_read(&rw[i].lock);
    } else if (!lock_try_read(&rw[i].lock)) {
        test_locks_count(&test_locks_done.refused);
        return;
    }
    lock_assert_held(&rw[i].lock);
    test_locks_look(&rw[i].data, r);
    test_locks_count(&test_locks_done.read);
    lock_done(&rw[i].lock);
}

static void do_write(struct random *r)
{
    unsigned i = random_below(r, RW_LOCKS);
    if (random_below(r, 4)) {
        lock_write(&rw[i].lock);
    } else if (!lock_try_write(&rw[i].lock)) {
        test_locks_count(&test_locks_done.refused);
        return;
    }
    update_alone(&rw[i].data, r);
    test_locks_count(&test_locks_done.write);
    if (random_below(r, 2)) {
        uint32_t written = rw[i].data.first;
        lock_write_to_read(&rw[i].lock);
        assert(test_locks_look(&rw[i].data, r) == written);
        test_locks_count(&test_locks_done.downgraded);
    }
    lock_done(&rw[i].lock);
}

static void do_upgrade(struct random *r)
{
    unsigned i = random_below(r, RW_LOCKS);
    lock_read(&rw[i].lock);
    uint32_t before = test_locks_look(&rw[i].data, r);
    if (random_below(r, 4) == 0) {
        if (!lock_try_read_to_write(&rw[i].lock)) { /* goes on as a reader */
            assert(test_locks_look(&rw[i].data, r) == before);
            test_locks_count(&test_locks_done.refused);
            lock_done(&rw[i].lock);
            return;
        }
    } else if (!lock_read_to_write(&rw[i].lock)) {
        lock_assert_not_held(&rw[i].lock);
        test_locks_count(&test_locks_done.lost);
        return;
    }
    assert(rw[i].data.first == before);
    update_alone(&rw[i].data, r);
    test_locks_count(&test_locks_done.write);
    test_locks_count(&test_locks_done.upgraded);
    lock_done(&rw[i].lock);
}

/* Find an object, count as a user, use it without the lock; the last user removes it, and the next makes it anew. */
static void do_reference(struct random *r)
{
    unsigned i = random_below(r, OBJECTS);
    mutex_lock(&list_lock);
    if (!test_locks_object[i].listed) {
        assert(test_locks_object[i].references.n == 0);
        test_locks_object[i].freed = false;
        test_locks_object[i].listed = true;
    }
    refcount_take(&test_locks_object[i].references, &list_lock.object);
    mutex_unlock(&list_lock);
    assert(!test_locks_object[i].freed);
    dawdle(r);
    assert(!test_locks_object[i].freed);
    mutex_lock(&list_lock);
    if (refcount_drop(&test_locks_object[i].references, &list_lock.object)) {
        test_locks_object[i].listed = false;
        test_locks_object[i].freed = true;
        test_locks_count(&test_locks_done.freed);
    }
    mutex_unlock(&list_lock);
}

static void test_locks_worker(void *arg)
{
    static void (*const operation[])(struct random *) = {
        do_simple, do_mutex, do_mutex_as_rw, do_pair, do_read, do_read, do_write, do_upgrade, do_upgrade, do_reference,
    };
    struct random r = random_from(run_seed, (uintptr_t)arg);
    for (uint32_t n = bootargs_number(BOOT(test_locks, rounds)); n; n--) {
        operation[random_below(&r, sizeof operation / sizeof *operation)](&r);
        if (random_below(&r, 4) == 0)
            pic_raise(1u << test_source(random_below(&r, test_harts()), random_below(&r, TEST_SOURCES)));
        dawdle(&r);
    }
}

static void run_threads(thread_fn *fn, unsigned n)
{
    struct thread *t[MAX_HARTS * THREADS_PER_HART + 2];
    for (unsigned i = 0; i < n; i++)
        t[i] = thread_create(fn, (void *)(uintptr_t)i, PRI_NORMAL, ANY_HART, "test");
    for (unsigned i = 0; i < n; i++)
        thread_join(t[i]);
}

static void check_and_destroy(void)
{
    uint32_t sum = 0, mutex = 0, written = 0, simply = 0;
    for (unsigned i = 0; i < SIMPLE_LOCKS; i++) {
        simply += simple[i].data.first;
        simple_lock_destroy(&simple[i].lock);
    }
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        sum += test_locks_account[i].balance;
        mutex += test_locks_account[i].data.first;
        lock_destroy(&test_locks_account[i].lock);
    }
    for (unsigned i = 0; i < RW_LOCKS; i++) {
        written += rw[i].data.first;
        lock_destroy(&rw[i].lock);
    }
    assert(sum == ACCOUNTS * OPENING_BALANCE);
    assert(mutex == test_locks_done.mutex && written == test_locks_done.write && simply == test_locks_done.simple);
}

static int test_locks(void)
{
    for (unsigned i = 0; i < SIMPLE_LOCKS; i++)
        simple[i].lock = (struct simple_lock)SIMPLE_LOCK("test simple", simple_class);
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        lock_init(&test_locks_account[i].lock, &account_class, "test account");
        test_locks_account[i].balance = OPENING_BALANCE;
    }
    for (unsigned i = 0; i < RW_LOCKS; i++)
        lock_init(&rw[i].lock, &rw_class, "test rw");
    test_establish(test_locks_handler);
    run_threads(test_locks_worker, hart_count * THREADS_PER_HART);
    test_spin(test_settle_cycles(TEST_SOURCES * hart_count));
    check_and_destroy();
    kprintf("@test name=locks simple=%lu mutex=%lu read=%lu write=%lu upgraded=%lu lost=%lu downgraded=%lu pairs=%lu "
            "refused=%lu freed=%lu most_readers=%lu\n",
            (unsigned long)test_locks_done.simple, (unsigned long)test_locks_done.mutex,
            (unsigned long)test_locks_done.read, (unsigned long)test_locks_done.write,
            (unsigned long)test_locks_done.upgraded, (unsigned long)test_locks_done.lost,
            (unsigned long)test_locks_done.downgraded, (unsigned long)test_locks_done.pairs,
            (unsigned long)test_locks_done.refused, (unsigned long)test_locks_done.freed,
            (unsigned long)test_locks_done.most_readers);
    return 0;
}

DEFINE_RW_LOCK(fair_lock, "test fair");

#define MOST_ASKERS 7
#define TOGETHER 200000 /* cycles in which all readers of a group get the lock, at any latency */

enum how { READS, WRITES, UPGRADES };

/*
 * A thread that asks: it and the rest of its group, readers or just itself, hold the lock when `end` have got it, not
 * before `begin`.
 */
static struct asker {
    enum how how;
    unsigned begin, end;
    uint32_t dawdles;
} asker[MOST_ASKERS];
static volatile unsigned got;

static void draw_askers(struct random *r, unsigned n, bool held_to_read)
{
    for (unsigned i = 0; i < n; i++) {
        asker[i].how = random_below(r, 3) ? READS : WRITES;
        asker[i].dawdles = random_below(r, 300);
    }
    if (held_to_read) /* another reader would not wait */
        asker[0].how = random_below(r, 2) ? WRITES : UPGRADES;
    for (unsigned i = 0, begin = 0; i < n; i++) {
        if (i == 0 || asker[i].how != READS || asker[i - 1].how != READS)
            begin = i;
        asker[i].begin = begin;
        for (unsigned j = begin; j <= i; j++)
            asker[j].end = i + 1;
    }
}

static void wait_for_group(unsigned end)
{
    for (uint32_t since = cycles32(); got < end; thread_yield())
        if (cycles32() - since > TOGETHER)
            panic("%u have the lock, not %u, though they stand next to each other", got, end);
}

static void test_locks_asks(void *arg)
{
    const struct asker *a = arg;
    if (a->how == READS)
        rw_lock_read(&fair_lock);
    else if (a->how == UPGRADES)
        lock_read(&fair_lock);
    else
        lock_write(&fair_lock);
    if (a->how == UPGRADES && !lock_read_to_write(&fair_lock))
        panic("the only upgrade is lost");
    unsigned place = __atomic_fetch_add(&got, 1, __ATOMIC_RELAXED);
    if (place < a->begin || place >= a->end)
        panic("the asker of place %u to %u is the one at %u to get the lock", a->begin, a->end - 1, place);
    wait_for_group(a->end);
    test_spin(a->dawdles);
    thread_yield();
    assert(got == a->end);
    if (a->how == READS)
        lock_done(&fair_lock);
    else
        lock_done(&fair_lock);
}

/* Until asker `i` waits. It is more urgent, so on one hart it waits already. */
static void wait_until_asked(unsigned i, struct lock_waiter **last)
{
    const volatile struct lock *l = &fair_lock;
    while (asker[i].how == UPGRADES                 ? !l->upgrader
           : i == 0 || asker[i - 1].how == UPGRADES ? !l->waiting.stqh_first
                                                    : l->waiting.stqh_last == last)
        ;
}

static void order_round(struct random *r)
{
    struct thread *t[MOST_ASKERS];
    unsigned n = 2 + random_below(r, MOST_ASKERS - 1);
    bool reads = random_below(r, 2);
    if (reads)
        lock_read(&fair_lock);
    else
        lock_write(&fair_lock);
    draw_askers(r, n, reads);
    got = 0;
    for (unsigned i = 0; i < n; i++) {
        struct lock_waiter **last = fair_lock.waiting.stqh_last;
        t[i] = thread_create(test_locks_asks, &asker[i], PRI_NORMAL - 1, ANY_HART, "asks");
        wait_until_asked(i, last);
    }
    assert(got == 0);
    if (!reads && asker[0].how == READS && random_below(r, 2)) {
        lock_write_to_read(&fair_lock);
        wait_for_group(asker[0].end);
    }
    if (asker[0].how == UPGRADES && random_below(r, 2)) { /* a second one fails, and releases the lock */
        bool upgraded = lock_read_to_write(&fair_lock);
        assert(!upgraded);
    } else {
        lock_done(&fair_lock);
    }
    for (unsigned i = 0; i < n; i++)
        thread_join(t[i]);
    assert(got == n);
    bool is_free = lock_try_write(&fair_lock);
    assert(is_free);
    lock_done(&fair_lock);
}

static volatile uint32_t taken;
static uint32_t most_passed;

static void asks_in_turn(void *arg)
{
    bool reads = (uintptr_t)arg % 4 != 0;
    for (uint32_t n = bootargs_number(BOOT(test_locks, rounds)); n; n--) {
        uint32_t before = taken;
        if (reads)
            lock_read(&fair_lock);
        else
            lock_write(&fair_lock);
        uint32_t passed = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) - before;
        thread_yield();
        if (passed > most_passed)
            most_passed = passed;
        if (n % 2)
            lock_done(&fair_lock);
        else if (reads)
            lock_done(&fair_lock);
        else
            lock_done(&fair_lock);
    }
}

/*
 * While a thread waits, each other thread gets the lock at most once. It may get it once more between our look at
 * `taken` and our place in the queue, and readers that get it together with us may be counted first. Run it with hz=0:
 * a thread that is preempted before it has its place is not waiting yet.
 */
static int locks_fair(void)
{
    unsigned threads = hart_count * THREADS_PER_HART + 2;
    struct random r = random_from(run_seed, threads);
    for (uint32_t n = bootargs_number(BOOT(test_locks, rounds)); n; n--)
        order_round(&r);
    run_threads(asks_in_turn, threads);
    kprintf("@test name=locks-fair threads=%u most_passed=%lu\n", threads, (unsigned long)most_passed);
    assert(most_passed <= 2 * threads);
    return 0;
}

static struct {
    struct lock lock;
    uint32_t users;
} mortal;
static volatile uint32_t generation;

static void linger(void *arg)
{
    (void)arg;
    test_spin(1500);
}

static void be_born(void)
{
    lock_init(&mortal.lock, &rw_class, "test mortal");
    mortal.users = test_harts();
    __atomic_store_n(&generation, generation + 1, __ATOMIC_RELEASE);
}

/* Failing attempts delay a user that releases the lock. Whether this was the last user. */
static bool use_once(struct random *r)
{
    if (random_below(r, 8))
        while (!lock_try_write(&mortal.lock))
            test_spin(random_below(r, 400));
    else
        lock_write(&mortal.lock);
    bool last = !--mortal.users;
    if (!last)
        pic_raise(1u << test_source(curhart->id, TEST_SOURCES - 1));
    test_spin(last ? 0 : random_below(r, 350));
    lock_done(&mortal.lock);
    return last;
}

static void live_and_die(void *arg)
{
    struct random r = random_from(run_seed, 800 + (uintptr_t)arg);
    for (uint32_t n = bootargs_number(BOOT(test_locks, rounds)), g = 1; n; n--, g++) {
        while (__atomic_load_n(&generation, __ATOMIC_ACQUIRE) != g)
            thread_yield();
        if (!use_once(&r))
            continue;
        lock_destroy(&mortal.lock);
        for (unsigned i = 0; i < sizeof mortal; i++)
            ((volatile uint8_t *)&mortal)[i] = 0xa5;
        test_spin(500);
        for (unsigned i = 0; i < sizeof mortal; i++)
            assert(((volatile uint8_t *)&mortal)[i] == 0xa5);
        be_born();
    }
}

/* Interrupts come while a user releases the lock. */
static int locks_destroy(void)
{
    test_establish(linger);
    pic_set_latency(0, 0, 300, 0, run_seed);
    be_born();
    test_on_every_hart(live_and_die);
    kprintf("@test name=locks-destroy generations=%lu\n", (unsigned long)generation);
    return 0;
}

RUN("test-locks", "test: every kind of lock under stress", test_locks);
RUN("test-locks-fair", "test: nobody is passed over while he waits for a lock", locks_fair);
RUN("test-locks-destroy", "test: a lock is destroyed by the last who uses it", locks_destroy);
