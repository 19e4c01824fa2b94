/*
 * run=test-call: calls between harts (intr/call.h). A thread on every hart runs functions on random harts, its own
 * included, and posts calls, inside and outside sections; meanwhile handlers and soft interrupts run, harts wait for
 * each other's locks, wake each other's urgent threads, or are idle; with a clock, programs also run in user mode.
 *
 * - when hart_call_run returns, the function has run once on each hart that was named, and on no other, with
 *   interrupts off;
 * - the answering hart sees what was stored before the call, and the caller sees what that hart stores;
 * - a posted call is answered in a bounded time, and no more often than it was posted;
 * - so is a soft interrupt that the function posts, also on the caller's own hart;
 * - a preemption that is requested while a hart waits in a call comes in a bounded time;
 * - under the spl schemes a hart answers in a section and in a handler, whatever its level.
 *
 * misuse=nested: a called function makes a call, which must panic.
 */
#include <string.h>

#include "intr/call.h"
#include "intr/softint.h"
#include "lock/event.h"
#include "test/test.h"
#include "proc/run.h"

#define SOONEST_PATIENCE 100000 /* cycles, without those of all other harts' handlers and sections */
#define PROGRAMS 2
#define SECTION 3000 /* cycles, where a section masks calls */

static struct caller {
    uint32_t id, value;
    uint32_t expected[MAX_HARTS];
    struct {
        uint32_t ran, seen;
    } on[MAX_HARTS];
    volatile uint32_t posted,
        answered[MAX_HARTS]; /* numbers of the last call; the second by the hart that was called */
    uint32_t posts;
} __attribute__((aligned(64))) caller[MAX_HARTS];

static struct urgent {
    struct event event;
    volatile uint32_t asked, ran;
    struct thread *thread;
} test_call_urgent[MAX_HARTS];
static SIMPLE_LOCK_CLASS(urgent_class, "urgent", SPL_SCHED);

static volatile uint32_t answers[MAX_HARTS], arrived, test_call_finished;
static volatile bool test_call_wanted[MAX_HARTS]; /* a soft interrupt */
DEFINE_SIMPLE_LOCK(shared_lock, "test call", SPL_HIGH);

static void test_call_called(void *arg)
{
    struct caller *c = arg;
    unsigned h = curhart->id;
    assert(!(csr_read(mstatus) & MSTATUS_MIE));
    c->on[h].ran++;
    c->on[h].seen = c->value;
    test_call_wanted[h] = true;
    softint_post(SPL_SOFTNET);
}

static uint32_t patience(void)
{
    return SOONEST_PATIENCE + hart_count * test_settle_cycles(TEST_SOURCES);
}

/* At base level. */
static void await_soft_interrupt(unsigned h)
{
    for (uint32_t begin = cycles32(); test_call_wanted[h];)
        if (cycles32() - begin > patience())
            panic("hart %u: a soft interrupt that a called function has posted does not come", h);
}

static void run_on(struct caller *c, uint32_t harts_to_call)
{
    c->value++;
    hart_call_run(harts_to_call, test_call_called, c);
    for (unsigned h = 0; h < hart_count; h++) {
        bool named = harts_to_call >> h & 1;
        c->expected[h] += named;
        if (c->on[h].ran != c->expected[h] || (named && c->on[h].seen != c->value))
            panic("hart %u: of %lu calls to hart %u %lu have run, the last with %lu instead of %lu", (unsigned)c->id,
                  (unsigned long)c->expected[h], h, (unsigned long)c->on[h].ran, (unsigned long)c->on[h].seen,
                  (unsigned long)c->value);
    }
}

/* The function of a posted call. */
static void test_call_answer(void)
{
    unsigned me = curhart->id;
    answers[me]++;
    for (unsigned h = 0; h < hart_count; h++)
        caller[h].answered[me] = caller[h].posted;
}

static void post_to(struct caller *c, unsigned to)
{
    c->posted++;
    c->posts++;
    hart_call(1u << to, CALL_RETURN);
    for (uint32_t begin = cycles32(); c->answered[to] != c->posted;)
        if (cycles32() - begin > patience())
            panic("hart %u: a call to hart %u is not answered", (unsigned)c->id, to);
}

static void wakes(void *arg)
{
    struct urgent *u = arg;
    for (;;) {
        event_take(&u->event);
        if (test_call_finished == hart_count)
            return;
        u->ran = u->asked;
    }
}

/* Only one thread requests it at a time. */
static void test_call_wake(struct caller *c, unsigned on)
{
    struct urgent *u = &test_call_urgent[on];
    uint32_t number = ++u->asked;
    event_post(&u->event);
    for (uint32_t begin = cycles32(); u->ran != number;)
        if (cycles32() - begin > patience())
            panic("hart %u: an urgent thread on hart %u does not run", (unsigned)c->id, on);
}

static void test_call_handler(void *arg)
{
    (void)arg;
    test_spin(cycles32() % 300);
    if (cycles32() % 2)
        softint_schedule(SPL_SOFTNET);
}

static void test_call_soft(void *arg)
{
    (void)arg;
    test_call_wanted[curhart->id] = false;
    test_spin(cycles32() % 300);
}

static void test_call_disturb(struct random *r)
{
    unsigned h = random_below(r, test_harts());
    pic_raise(1u << test_source(h, random_below(r, TEST_SOURCES)));
}

static void lock_for_a_while(struct random *r)
{
    crit_t s = simple_lock_enter(&shared_lock);
    test_spin(random_below(r, 400));
    simple_lock_leave(&shared_lock, s);
}

static void call_in_section(struct caller *c, struct random *r)
{
    crit_t s = crit_sec_enter(random_below(r, SPL_HIGH + 1));
    test_call_disturb(r);
    run_on(c, random_next(r) & ((1u << hart_count) - 1));
    test_spin(random_below(r, 300));
    crit_sec_leave(s);
}

static void do_something(struct caller *c, struct random *r)
{
    uint32_t all = (1u << hart_count) - 1;
    unsigned other = (c->id + 1 + random_below(r, hart_count)) % hart_count;
    switch (random_below(r, 8)) {
    case 0: call_in_section(c, r); break;
    case 1: lock_for_a_while(r); break;
    case 2: test_call_wake(c, (c->id + 1) % hart_count); break;
    case 3: post_to(c, other); break;
    case 4: test_call_disturb(r); break;
    case 5: thread_yield(); break;
    case 6:
        run_on(c, r->state & 256 ? all : 1u << c->id);
        await_soft_interrupt(c->id);
        break;
    default: run_on(c, random_next(r) & all); break;
    }
}

static void test_call_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct caller *c = &caller[h];
    struct random r = random_from(run_seed, 900 + h);
    uint32_t rounds = bootargs_number(BOOT(test_call, rounds));
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
    while (arrived < hart_count)
        ;
    for (uint32_t n = 0; n < rounds / 4; n++) /* all call all, without a pause */
        run_on(c, (1u << hart_count) - 1);
    for (uint32_t n = h % 2 ? rounds / 2 : rounds; n;
         n--) /* a hart that is done waits for an interrupt, the others go on */
        do_something(c, &r);
    __atomic_fetch_add(&test_call_finished, 1, __ATOMIC_SEQ_CST);
}

static void start_programs(void)
{
    for (unsigned i = 0; clock_hz() && i < PROGRAMS; i++) {
        static struct arguments arguments;
        arguments_clear(&arguments);
        arguments_add(&arguments, "threads");
        assert(process_spawn(0, "threads", &arguments, ANY_HART) > 0);
    }
}

static void random_calls(void)
{
    struct thread *t[MAX_HARTS];
    for (unsigned h = 0; h < hart_count; h++) {
        caller[h].id = h;
        test_call_urgent[h].event = (struct event)EVENT("urgent", urgent_class);
        test_call_urgent[h].thread = thread_create(wakes, &test_call_urgent[h], PRI_NORMAL - 1, (int)h, "urgent");
    }
    start_programs();
    for (unsigned h = 0; h < hart_count; h++)
        t[h] = thread_create(test_call_worker, (void *)(uintptr_t)h, PRI_NORMAL, (int)h, "test");
    for (unsigned h = 0; h < hart_count; h++)
        thread_join(t[h]);
    for (unsigned h = 0; h < hart_count; h++) {
        event_post(&test_call_urgent[h].event);
        thread_join(test_call_urgent[h].thread);
        event_destroy(&test_call_urgent[h].event);
    }
    if (clock_hz())
        user_wait_for_all(0);
}

static volatile bool inside, test_call_done;

static void until_done(void *arg)
{
    (void)arg;
    inside = true;
    for (uint32_t begin = cycles32(); !test_call_done && (!CRIT_MASKS_ALL || cycles32() - begin < SECTION);)
        if (cycles32() - begin > 1000000)
            panic("a call is not answered in a section of level SPL_HIGH, or in a handler");
}

static void in_section(void *level)
{
    crit_t s = crit_sec_enter((uintptr_t)level);
    until_done(0);
    crit_sec_leave(s);
}

static void test_call_nothing(void *arg)
{
    (void)arg;
}

/* The last hart stays in a section or a handler until it has answered: where that masks no calls on chip. */
static void calls_pass(unsigned handlers_source)
{
    unsigned last = hart_count - 1;
    struct thread *t = 0;
    inside = test_call_done = false;
    if (handlers_source)
        pic_raise(1u << handlers_source);
    else
        t = thread_create(in_section, (void *)SPL_HIGH, PRI_NORMAL, (int)last, "in section");
    while (!inside)
        ;
    hart_call_run(1u << last, test_call_nothing, 0);
    test_call_done = true;
    if (t)
        thread_join(t);
}

static void calls_again(void *arg)
{
    hart_call_run((1u << hart_count) - 1, test_call_nothing, arg);
}

static int call_test(void)
{
    char what[8];
    uint32_t calls = 0, posts = 0, answered = 0;
    thread_bind(0);
    if (!strcmp(bootargs_string(BOOT(test_call, misuse), what, sizeof what), "nested")) {
        hart_call_run(1u << (hart_count - 1), calls_again, 0);
        return 1;
    }
    hart_call_establish(CALL_RETURN, test_call_answer);
    softint_establish(SPL_SOFTNET, test_call_soft, 0);
    test_establish(test_call_handler);
    random_calls();
    for (unsigned h = 0; h < hart_count; h++) {
        posts += caller[h].posts;
        answered += answers[h];
        for (unsigned to = 0; to < hart_count; to++)
            calls += caller[h].on[to].ran;
    }
    assert(calls && (clock_hz() || answered <= posts)); /* a process that ends posts some too */
    if (hart_count > 1) {
        unsigned source = test_source(test_harts() - 1, TEST_SOURCES - 1);
        calls_pass(0);
        if (test_harts() == hart_count) {
            intr_disestablish(source);
            intr_establish(source, SPL_HIGH - 1, INTR_EDGE, hart_count - 1, until_done, 0, "test");
            calls_pass(source);
        }
    }
    kprintf("@test name=call calls=%lu posts=%lu answers=%lu\n", (unsigned long)calls, (unsigned long)posts,
            (unsigned long)answered);
    return 0;
}

RUN("test-call", "test: calls between harts", call_test);
