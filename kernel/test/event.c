/*
 * run=test-event: events. A posting before the wait is not lost, every waiter is woken, one of several takers
 * gets each posting; and under a rain of interrupts, threads on every hart wait for events on their own stacks that
 * handlers, most on other harts, post. Each event's memory is reused as soon as the wait is over, which shows a poster
 * that still touches it.
 */
#include <string.h>

#include "lock/event.h"
#include "test/test.h"

#define WAITERS 5
#define CANARY 0xa5

static SIMPLE_LOCK_CLASS(event_class, "test event", SPL_SCHED);
static SIMPLE_LOCK_CLASS(low_class, "test low event", SPL_SOFTCLOCK); /* wakers and sleepers raise the level */
static struct event shared = EVENT("shared", event_class), test_event_turn = EVENT("turn", low_class);
static unsigned woken, taken;
static volatile bool stop;

static void test_event_waiter(void *arg)
{
    (void)arg;
    event_wait(&shared);
    __atomic_fetch_add(&woken, 1, __ATOMIC_RELAXED);
}

static void taker(void *arg)
{
    (void)arg;
    event_take(&test_event_turn);
    if (!stop)
        __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
    else
        event_post(&test_event_turn); /* let the next thread see the end too */
}

/* Give threads of our own urgency the time to do all they can. */
static void let_others_run(void)
{
    test_yield(test_settle_cycles(4));
}

static void test_event_start(struct thread **t, thread_fn *fn)
{
    for (unsigned i = 0; i < WAITERS; i++)
        t[i] = thread_create(fn, 0, PRI_NORMAL, ANY_HART, "test");
}

static void test_waiters(void)
{
    struct thread *t[WAITERS];
    event_post(&shared);
    event_wait(&shared);
    assert(event_posted(&shared));
    event_clear(&shared);
    assert(!event_posted(&shared));
    test_event_start(t, test_event_waiter);
    let_others_run();
    assert(woken == 0);
    event_post(&shared);
    for (unsigned i = 0; i < WAITERS; i++)
        thread_join(t[i]);
    assert(woken == WAITERS && event_posted(&shared));
}

/* With one taker: posted before it is taken, and while its taker waits. */
static void test_taker_alone(void)
{
    event_post(&test_event_turn);
    event_take(&test_event_turn);
    assert(!event_posted(&test_event_turn));
    struct thread *t = thread_create(taker, 0, PRI_NORMAL, ANY_HART, "test");
    let_others_run();
    assert(taken == 0);
    event_post(&test_event_turn);
    thread_join(t);
    assert(taken == 1 && !event_posted(&test_event_turn));
    taken = 0;
}

static void test_takers(void)
{
    struct thread *t[WAITERS];
    test_event_start(t, taker);
    for (unsigned i = 0; i < WAITERS - 2; i++) {
        let_others_run();
        assert(taken == i && !event_posted(&test_event_turn));
        event_post(&test_event_turn);
    }
    let_others_run();
    assert(taken == WAITERS - 2 && !event_posted(&test_event_turn));
    stop = true;
    event_post(&test_event_turn);
    for (unsigned i = 0; i < WAITERS; i++)
        thread_join(t[i]);
    assert(taken == WAITERS - 2);
}

/* The event that each source's handler is to post; 0 again when the handler no longer uses it. */
static struct event *volatile test_event_wanted[PIC_SOURCES];
static volatile bool test_event_news[PIC_SOURCES];
static uint32_t posts[PIC_SOURCES];

static void test_event_handler(void *arg)
{
    unsigned source = (uintptr_t)arg;
    struct event *e = test_event_wanted[source];
    assert(e);
    test_event_wanted[source] = 0;
    test_event_news[source] = true;
    posts[source]++;
    event_post(e);
}

static uint32_t waits[MAX_HARTS];

/* Waits once for source number n of any hart; the sources are divided among the harts, so none merges. */
static void wait_once(struct random *r, unsigned source)
{
    struct event e = EVENT("on the stack", event_class);
    uint8_t *bytes = (uint8_t *)&e;
    test_event_news[source] = false;
    test_event_wanted[source] = &e;
    pic_raise(1u << source);
    test_spin(random_below(r, 3) * random_below(r, 400)); /* often it is posted before we wait, often not */
    event_wait(&e);
    assert(test_event_news[source]);
    event_destroy(&e);
    memset(bytes, CANARY, sizeof e);
    test_spin(random_below(r, 300));
    for (unsigned i = 0; i < sizeof e; i++)
        assert(((volatile uint8_t *)bytes)[i] == CANARY);
}

static void test_event_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random r = random_from(run_seed, 300 + h);
    for (uint32_t n = bootargs_number(BOOT(test_event, rounds)); n; n--) {
        unsigned level = random_below(&r, TEST_SOURCES), to = (h + level) % test_harts();
        wait_once(&r, test_source(to, level));
        waits[h]++;
    }
}

static int event(void)
{
    uint32_t waited = 0, posted = 0;
    test_waiters();
    test_taker_alone();
    test_takers();
    test_establish_waking(test_event_handler);
    test_on_every_hart(test_event_worker);
    test_assert_base();
    for (unsigned h = 0; h < test_harts(); h++)
        waited += waits[h];
    for (unsigned i = 0; i < PIC_SOURCES; i++)
        posted += posts[i];
    assert(waited == posted && posted >= 10);
    kprintf("@test name=event posted=%lu\n", (unsigned long)posted);
    return 0;
}

RUN("test-event", "test: events posted from interrupt level", event);
