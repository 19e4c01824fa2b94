/*
 * run=test-scheduler: threads find harts that are idle or run less urgent threads, stay where they are bound, keep
 * their turn when they are preempted; and threads bind, move, yield, sleep and wake each other at random, for `rounds`
 * each, from the seed.
 */
#include "lib/minmax.h"
#include "test/test.h"

/* Cycles: much less than a slice, much more than a preemption takes, or making a thread for each hart. */
#define SOON (20000 + 4000 * hart_count)
#define RANDOM_THREADS 12
#define CHANNELS 3

static volatile unsigned met;

static bool wait_until_met(unsigned how_many)
{
    for (uint32_t begin = cycles32(); cycles32() - begin < SOON + 2 * pic_worst_delivery + 20 * pic_worst_access;)
        if (met >= how_many)
            return true;
    return false;
}

static void test_scheduler_meet(void *arg)
{
    (void)arg;
    __atomic_fetch_add(&met, 1, __ATOMIC_RELAXED);
    if (!wait_until_met(hart_count))
        panic("%u of %u threads run at once", met, hart_count);
}

/*
 * As many threads as harts, all made on one hart: none waits while a hart is idle. They are made at random times, so
 * that some find a hart just as it decides what to run.
 */
static void test_idle_harts_take_threads(void)
{
    struct random r = random_from(run_seed, RANDOM_THREADS);
    struct thread *t[MAX_HARTS];
    for (uint32_t n = bootargs_number(BOOT(test_scheduler, rounds)); n; n--) {
        met = 0;
        for (unsigned i = 0; i < hart_count; i++) {
            t[i] = thread_create(test_scheduler_meet, 0, PRI_NORMAL + 1, ANY_HART, "meets");
            test_spin(random_below(&r, 500));
        }
        for (unsigned i = 0; i < hart_count; i++)
            thread_join(t[i]);
    }
}

static volatile bool stop;
static volatile int hart_of_urgent;

static void occupy(void *arg)
{
    (void)arg;
    __atomic_fetch_add(&met, 1, __ATOMIC_RELAXED);
    while (!stop)
        ;
}

static void note_hart(void *arg)
{
    (void)arg;
    hart_of_urgent = (int)curhart->id;
    __atomic_fetch_add(&met, 1, __ATOMIC_RELAXED);
}

/* Every hart is busy; urgent threads made one right behind the other each take one, all at once. */
static void test_each_less_urgent_gives_way(void *arg)
{
    unsigned self = curhart->id, others = hart_count - 1;
    struct thread *busy[MAX_HARTS], *urgent[MAX_HARTS];
    (void)arg;
    met = 0;
    stop = false;
    for (unsigned i = 0; i < others; i++)
        busy[i] = thread_create(occupy, 0, PRI_NORMAL + i % 2, (int)((self + 1 + i) % hart_count), "busy");
    assert(wait_until_met(others));
    for (unsigned i = 0; i < others; i++)
        urgent[i] = thread_create(occupy, 0, PRI_NORMAL - 4, ANY_HART, "urgent");
    assert(wait_until_met(2 * others));
    stop = true;
    for (unsigned i = 0; i < others; i++) {
        thread_join(urgent[i]);
        thread_join(busy[i]);
    }
}

/* Every hart is busy; an urgent thread takes the one that runs the least urgent of them, and at once. */
static void test_least_urgent_gives_way(void *arg)
{
    unsigned self = curhart->id, least = (self + 1) % hart_count;
    struct thread *t[MAX_HARTS];
    (void)arg;
    if (hart_count == 1)
        return;
    met = 0;
    stop = false;
    for (unsigned h = 0; h < hart_count; h++)
        if (h != self)
            t[h] = thread_create(occupy, 0, PRI_NORMAL + (h == least), (int)h, "busy");
    assert(wait_until_met(hart_count - 1));
    struct thread *urgent = thread_create(note_hart, 0, PRI_NORMAL - 4, ANY_HART, "urgent");
    assert(wait_until_met(hart_count));
    assert(hart_of_urgent == (int)least);
    stop = true;
    thread_join(urgent);
    for (unsigned h = 0; h < hart_count; h++)
        if (h != self)
            thread_join(t[h]);
}

static SIMPLE_LOCK_CLASS(sleepers_class, "test sleepers", SPL_TTY);
static struct simple_lock sleepers_lock = SIMPLE_LOCK("test sleepers", sleepers_class);
static volatile unsigned asleep;
static bool woken; /* with the lock held */

static void sleep_and_meet(void *arg)
{
    (void)arg;
    crit_t s = simple_lock_enter(&sleepers_lock);
    for (asleep++; !woken;)
        thread_sleep(&woken, &sleepers_lock);
    simple_lock_leave(&sleepers_lock, s);
    __atomic_fetch_add(&met, 1, __ATOMIC_RELAXED);
}

/* A thread on each hart sleeps on one channel, their waker on the hart of the last woken: all run at once. */
static void test_all_woken_run(void *arg)
{
    struct thread *t[MAX_HARTS];
    (void)arg;
    met = asleep = 0;
    woken = false;
    for (unsigned i = 0; i < hart_count; i++) {
        int h = (int)((curhart->id + 1 + i) % hart_count);
        t[i] = thread_create(sleep_and_meet, 0, PRI_NORMAL - 4, h, "sleeps");
        while (asleep <= i)
            ;
    }
    test_spin(SOON / 10); /* all harts wait */
    crit_t s = simple_lock_enter(&sleepers_lock);
    woken = true;
    thread_wakeup(&woken);
    simple_lock_leave(&sleepers_lock, s);
    assert(wait_until_met(hart_count));
    for (unsigned i = 0; i < hart_count; i++)
        thread_join(t[i]);
}

#define LESS_URGENT 10
#define SHARED_TICKS 4
static uint32_t turns[4 * MAX_HARTS];
static volatile bool turns_count; /* all threads that share the harts have been created */

static void take_turns(void *turn)
{
    while (!stop) {
        test_spin(100);
        *(uint32_t *)turn += turns_count;
        thread_yield();
    }
}

static void test_scheduler_nothing(void *arg)
{
    (void)arg;
}

/* Threads that are equally urgent share the harts, however many less urgent ones wait beside them on one hart. */
static void test_equals_share_the_harts(void *arg)
{
    unsigned equals = 3 * hart_count + 1;
    struct thread *t[4 * MAX_HARTS + LESS_URGENT];
    (void)arg;
    stop = turns_count = false;
    for (unsigned i = 0; i < LESS_URGENT; i++)
        t[equals + i] = thread_create(test_scheduler_nothing, 0, PRI_NORMAL + 2, ANY_HART, "less urgent");
    for (unsigned i = 0; i < equals; i++) {
        turns[i] = 0;
        t[i] = thread_create(take_turns, &turns[i], PRI_NORMAL, ANY_HART, "equal");
    }
    turns_count = true;
    thread_delay(SHARED_TICKS);
    stop = true;
    uint32_t least = turns[0], most = turns[0];
    for (unsigned i = 0; i < equals; i++) {
        least = MIN(turns[i], least);
        most = MAX(turns[i], most);
    }
    for (unsigned i = 0; i < equals + LESS_URGENT; i++)
        thread_join(t[i]);
    if (most > 3 * least)
        panic("equal threads had %lu to %lu turns", (unsigned long)least, (unsigned long)most);
}

static unsigned order;

static void note_order(void *arg)
{
    order = order * 10 + (uintptr_t)arg;
}

/* Preempted in the middle of its slice, a thread goes on before its equals; when it yields, they come first. */
static void test_turns(void *arg)
{
    int here = (int)curhart->id;
    (void)arg;
    order = 0;
    thread_yield(); /* a slice begins */
    struct thread *equal = thread_create(note_order, (void *)3, PRI_NORMAL, here, "equal");
    struct thread *urgent = thread_create(note_order, (void *)1, PRI_NORMAL - 1, here, "urgent");
    test_spin(SOON / 10);
    note_order((void *)2);
    thread_yield();
    note_order((void *)4);
    thread_join(equal);
    thread_join(urgent);
    assert(order == 1234);
}

/* Bound or not, equal threads run in the order in which they were made. */
static void test_order_of_bound_and_unbound(void)
{
    struct thread *t[5];
    if (hart_count > 1)
        return; /* other harts would take unbound threads */
    order = 0;
    for (unsigned i = 0; i < 5; i++)
        t[i] = thread_create(note_order, (void *)(uintptr_t)(i + 1), PRI_NORMAL, i % 2 ? 0 : ANY_HART, "in order");
    for (unsigned i = 0; i < 5; i++)
        thread_join(t[i]);
    assert(order == 12345);
}

static void test_binding(void)
{
    for (unsigned round = 0; round < 2; round++)
        for (unsigned h = 0; h < hart_count; h++) {
            int was = thread_bind((int)h);
            assert(was == (round + h ? (int)((h + hart_count - 1) % hart_count) : ANY_HART));
            assert(curhart->id == h);
            thread_yield();
            assert(curhart->id == h);
        }
    assert(thread_bind(ANY_HART) == (int)hart_count - 1);
    test_assert_base();
}

static SIMPLE_LOCK_CLASS(channel_class, "test channel", SPL_TTY);
static struct {
    struct simple_lock lock;
    unsigned sleepers, wakeups;
} channel[CHANNELS] = {[0 ... CHANNELS - 1] = {.lock = SIMPLE_LOCK("test channel", channel_class)}};
static volatile unsigned at_work; /* threads that still wake others: the last one must not sleep */
static uint32_t steps[RANDOM_THREADS];

static void sleep_or_wake(unsigned c, bool may_sleep)
{
    crit_t s = simple_lock_enter(&channel[c].lock);
    if (may_sleep && channel[c].sleepers == 0) {
        uint32_t before = channel[c].wakeups;
        channel[c].sleepers++;
        while (channel[c].wakeups == before)
            thread_sleep(&channel[c], &channel[c].lock);
        channel[c].sleepers--;
    } else {
        channel[c].wakeups++;
        thread_wakeup(&channel[c]);
    }
    simple_lock_leave(&channel[c].lock, s);
}

static void test_scheduler_at_random(void *arg)
{
    unsigned self = (uintptr_t)arg;
    struct random r = random_from(run_seed, self);
    uint32_t rounds = bootargs_number(BOOT(test_scheduler, rounds));
    struct thread *thread = curhart->thread;
    uint32_t guard[4] = {self, ~self, self * 3, self * 5}; /* on its stack, which is its own */
    int bound = ANY_HART;
    for (uint32_t i = 0; i < rounds; i++) {
        unsigned h = random_below(&r, hart_count);
        switch (random_below(&r, 6)) {
        case 0:
            assert(thread_bind((int)h) == bound);
            bound = (int)h;
            break;
        case 1:
            assert(thread_bind(ANY_HART) == bound);
            bound = ANY_HART;
            break;
        case 2:
            if (bound == ANY_HART)
                thread_move(h);
            break;
        case 3: sleep_or_wake(random_below(&r, CHANNELS), self >= CHANNELS + 1 && at_work > CHANNELS + 1); break;
        case 4: test_spin(random_below(&r, 300)); break;
        default: thread_yield();
        }
        crit_t s = crit_sec_enter(SPL_SCHED);
        assert(curhart->thread == thread && thread->state == THREAD_RUNNING && thread->hart == (int)curhart->id);
        assert(bound == ANY_HART || bound == (int)curhart->id);
        crit_sec_leave(s);
        assert(guard[0] == self && guard[1] == ~self && guard[2] == self * 3 && guard[3] == self * 5);
        steps[self]++;
    }
    __atomic_fetch_sub(&at_work, 1, __ATOMIC_RELAXED);
    while (self < CHANNELS + 1 && at_work) { /* those that never sleep wake those that still do */
        for (unsigned c = 0; c < CHANNELS; c++)
            sleep_or_wake(c, false);
        thread_delay(1); /* also to the less urgent */
    }
}

static void test_at_random(void)
{
    struct thread *t[RANDOM_THREADS];
    uint32_t rounds = bootargs_number(BOOT(test_scheduler, rounds));
    at_work = RANDOM_THREADS;
    for (unsigned i = 0; i < RANDOM_THREADS; i++)
        t[i] = thread_create(test_scheduler_at_random, (void *)(uintptr_t)i, PRI_NORMAL + i % 3, ANY_HART, "random");
    for (unsigned i = 0; i < RANDOM_THREADS; i++) {
        thread_join(t[i]);
        assert(steps[i] == rounds);
    }
}

static int scheduler_test(void)
{
    uint32_t stolen = 0, switches = 0;
    if (!clock_hz())
        panic("run=test-scheduler needs a clock: leave out hz=0");
    test_idle_harts_take_threads();
    for (unsigned h = 0; h < hart_count; h++) {
        thread_join(thread_create(test_least_urgent_gives_way, 0, PRI_NORMAL - 1, (int)h, "test"));
        thread_join(thread_create(test_each_less_urgent_gives_way, 0, PRI_NORMAL - 5, (int)h, "test"));
        thread_join(thread_create(test_all_woken_run, 0, PRI_NORMAL - 1, (int)h, "test"));
        thread_join(thread_create(test_turns, 0, PRI_NORMAL, (int)h, "test"));
    }
    thread_join(thread_create(test_equals_share_the_harts, 0, PRI_NORMAL - 1, 0, "test"));
    test_order_of_bound_and_unbound();
    test_binding();
    test_at_random();
    for (unsigned h = 0; h < hart_count; h++) {
        stolen += sched_hart_of(&harts[h])->stolen;
        switches += sched_hart_of(&harts[h])->switches;
    }
    kprintf("@test name=scheduler runqueue=" RUNQUEUE_NAME " stolen=%lu switches=%lu\n", (unsigned long)stolen,
            (unsigned long)switches);
    return 0;
}

RUN("test-scheduler", "test: run queues, binding, preemption, threads at random", scheduler_test);
