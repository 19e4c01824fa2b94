/*
 * run=test-yielding: a hart whose threads only yield it is still interrupted soon, however long an interrupt takes to
 * reach the hart and in whatever way they give up the hart: they yield, sleep and wake each other, wait
 * for each other's events, preempt each other, end, go to another hart and come back, or call each other from hart to
 * hart.
 */
#include "lib/minmax.h"
#include "lock/event.h"
#include "test/test.h"

/* An interrupt may take so many times what it takes to a hart that masks nothing, and so many rise delays more. */
#define LONGEST 6
#define CLOSED 40

static SIMPLE_LOCK_CLASS(turn_class, "test turn", SPL_TTY);
static SIMPLE_LOCK_CLASS(event_class, "test event", SPL_BIO);

static struct hart_test {
    volatile uint32_t handled;
    volatile bool done; /* the partner is to end */
    struct simple_lock lock;
    bool partners_turn; /* with the lock held */
    struct event to, from; /* to the partner, and back */
    uint32_t longest;
}
__attribute__((aligned(64))) on[MAX_HARTS] = {[0 ... MAX_HARTS - 1] = {.lock = SIMPLE_LOCK("test turn", turn_class),
                                                                       .to = EVENT("test event to", event_class),
                                                                       .from = EVENT("test event from", event_class)}};

static void yielding_handler(void *arg)
{
    (void)arg;
    on[curhart->id].handled++;
}

/* ---- What the worker does again and again, and the partner meanwhile, until it is done. */

static void yielding_loop(struct hart_test *t)
{
    (void)t;
    thread_yield();
}

static void partner_yields(void *arg)
{
    struct hart_test *t = arg;
    while (!t->done)
        thread_yield();
}

static void take_turn(struct hart_test *t, bool partner)
{
    crit_t s = simple_lock_enter(&t->lock);
    t->partners_turn = !partner;
    thread_wakeup(t);
    while (t->partners_turn != partner && !t->done)
        thread_sleep(t, &t->lock);
    simple_lock_leave(&t->lock, s);
}

static void yielding_sleeps(struct hart_test *t)
{
    take_turn(t, false);
}

static void partner_sleeps(void *arg)
{
    struct hart_test *t = arg;
    while (!t->done)
        take_turn(t, true);
}

static void yielding_posts(struct hart_test *t)
{
    event_post(&t->to);
    event_take(&t->from);
}

static void partner_posts(void *arg)
{
    struct hart_test *t = arg;
    for (event_take(&t->to); !t->done; event_take(&t->to))
        event_post(&t->from);
}

static void preempted(struct hart_test *t)
{
    event_post(&t->to);
}

static void partner_preempts(void *arg)
{
    struct hart_test *t = arg;
    for (event_take(&t->to); !t->done; event_take(&t->to))
        ;
}

static void yielding_nothing(void *arg)
{
    (void)arg;
}

static void yielding_ends(struct hart_test *t)
{
    (void)t;
    thread_join(thread_create(yielding_nothing, 0, PRI_NORMAL, (int)curhart->id, "short"));
}

static void goes(struct hart_test *t)
{
    (void)t;
    unsigned here = curhart->id;
    thread_bind((int)((here + 1) % hart_count));
    thread_bind((int)here);
}

#define NEXT_HART 1u

static const struct way {
    const char *name;
    void (*step)(struct hart_test *t);
    thread_fn *partner; /* 0: there is none */
    unsigned priority, hart; /* the partner's: so many harts further on */
} ways[] = {
    {"yields alone", yielding_loop, 0, 0, 0},
    {"yields", yielding_loop, partner_yields, PRI_NORMAL, 0},
    {"sleeps", yielding_sleeps, partner_sleeps, PRI_NORMAL, 0},
    {"posts events", yielding_posts, partner_posts, PRI_NORMAL, 0},
    {"is preempted", preempted, partner_preempts, PRI_NORMAL - 1, 0},
    {"waits for short threads", yielding_ends, 0, 0, 0},
    {"goes and comes", goes, 0, 0, NEXT_HART},
    {"sleeps for another hart", yielding_sleeps, partner_sleeps, PRI_NORMAL, NEXT_HART},
    {"calls another hart", yielding_posts, partner_posts, PRI_NORMAL, NEXT_HART},
};
#define WAYS (sizeof ways / sizeof *ways)

static void yielding_raise(unsigned h, const struct way *way, struct random *r)
{
    struct hart_test *t = &on[h];
    uint32_t limit = LONGEST * test_settle_cycles(1) + CLOSED * (pic_worst_delivery + pic_worst_access);
    unsigned some = 1 + random_below(r, (1u << TEST_SOURCES) - 1), all = t->handled;
    uint32_t sources = 0;
    for (unsigned n = 0; n < TEST_SOURCES; n++)
        if (some >> n & 1) {
            sources |= 1u << test_source(h, n);
            all++;
        }
    pic_raise(sources);
    for (uint32_t begin = cycles32(), waited = 0; t->handled != all; way->step(t)) {
        waited = cycles32() - begin;
        if (waited > limit)
            panic("hart %u's thread %s again and again, and is not interrupted", h, way->name);
        if (waited > t->longest)
            t->longest = waited;
    }
}

static void yielding_worker(void *arg)
{
    unsigned h = (uintptr_t)arg, rounds = bootargs_number(BOOT(test_yielding, rounds));
    struct hart_test *t = &on[h];
    struct random r = random_from(run_seed, 1100 + h);
    for (const struct way *way = ways; way < ways + WAYS; way++) {
        if (way->hart && hart_count == 1)
            continue;
        int at = (int)((h + way->hart) % hart_count);
        struct thread *partner = way->partner ? thread_create(way->partner, t, way->priority, at, "partner") : 0;
        for (unsigned n = 0; n < rounds; n++) {
            yielding_raise(h, way, &r);
            for (uint32_t steps = random_below(&r, 5); steps; steps--)
                way->step(t);
        }
        if (!partner)
            continue;
        crit_t s = simple_lock_enter(&t->lock);
        t->done = true;
        thread_wakeup(t);
        simple_lock_leave(&t->lock, s);
        event_post(&t->to);
        thread_join(partner);
        event_clear(&t->to);
        event_clear(&t->from);
        t->done = t->partners_turn = false;
    }
}

static int yielding_test(void)
{
    uint32_t most = 0;
    test_establish(yielding_handler);
    test_on_every_hart(yielding_worker);
    for (unsigned h = 0; h < test_harts(); h++)
        most = MAX(on[h].longest, most);
    kprintf("@test name=yielding ways=%u longest=%lu\n", (unsigned)WAYS, (unsigned long)most);
    return 0;
}

RUN("test-yielding", "test: a hart that threads give up again and again is interrupted", yielding_test);
