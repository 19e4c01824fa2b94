/* The list of timeouts. Sources: sched/timeout.c lock/simple_lock.c */
#include "sched/timeout.h"

#include <stdlib.h>
#include <string.h>

#include "intr/softint.h"
#include "lib/minmax.h"
#include "lib/random.h"
#include "sched/sched.h"
#include "test/host/host.h"

static softint_fn *softclock;
static bool posted;
static unsigned yields;

void softint_establish(unsigned level, softint_fn *fn, void *arg)
{
    (void)arg;
    CHECK_EQUAL(level, SPL_SOFTCLOCK);
    softclock = fn;
}

void softint_schedule(unsigned level)
{
    CHECK_EQUAL(level, SPL_SOFTCLOCK);
    posted = true;
}

#define TIMERS 24
static struct timeout timer[TIMERS];
static uint32_t due[TIMERS]; /* the model: when each is to be called; */
static bool set[TIMERS];     /* whether it is set; */
static uint32_t calls[TIMERS], called_at[TIMERS];

static void called(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;
    CHECK_EQUAL(sync_hart()->level, SPL_NONE); /* the list is not locked */
    CHECK(!timer[i].pending);
    calls[i]++;
    called_at[i] = clock_ticks();
    set[i] = false;
}

static void tick(void)
{
    timeout_tick(1);
    if (posted) {
        posted = false;
        softclock(0);
    }
}

static void set_timer(unsigned i, uint32_t ticks)
{
    timeout_set(&timer[i], ticks, called, (void *)(uintptr_t)i);
    due[i] = clock_ticks() + (ticks ? ticks : 1);
    set[i] = true;
}

/* While a timeout's function runs on another hart, a thread that drains it yields; here the function itself drains. */
static jmp_buf other_hart;

void thread_yield(void)
{
    if (++yields == 3)
        longjmp(other_hart, 1);
}

HOST_TEST(called_once_when_due)
{
    timeout_init();
    set_timer(0, 3);
    set_timer(1, 0);
    for (unsigned i = 0; i < 10; i++)
        tick();
    CHECK_EQUAL(calls[0], 1);
    CHECK_EQUAL(called_at[0], 3);
    CHECK_EQUAL(calls[1], 1);
    CHECK_EQUAL(called_at[1], 1);
}

HOST_TEST(the_soft_interrupt_is_posted_only_when_something_is_due)
{
    timeout_init();
    set_timer(0, 2);
    timeout_tick(1);
    CHECK(!posted);
    timeout_tick(1);
    CHECK(posted);
}

HOST_TEST(a_late_soft_interrupt_calls_all_that_is_due_in_order)
{
    timeout_init();
    set_timer(0, 3);
    set_timer(1, 2);
    set_timer(2, 9);
    for (unsigned i = 0; i < 5; i++)
        timeout_tick(1);
    softclock(0);
    CHECK_EQUAL(calls[0] + calls[1], 2);
    CHECK_EQUAL(calls[2], 0);
}

static unsigned order[TIMERS], ordered;

static void note_order(void *arg)
{
    order[ordered++] = (unsigned)(uintptr_t)arg;
}

HOST_TEST(those_due_at_one_tick_are_called_in_the_order_in_which_they_were_set)
{
    timeout_init();
    for (unsigned i = 0; i < TIMERS; i++) {
        timeout_set(&timer[i], 20 - clock_ticks(), note_order, (void *)(uintptr_t)i);
        if (i % 5 == 4)
            tick();
    }
    for (unsigned i = 0; i < 30; i++)
        tick();
    CHECK_EQUAL(ordered, TIMERS);
    for (unsigned i = 0; i < TIMERS; i++)
        CHECK_EQUAL(order[i], i);
}

static void sets_itself_for_no_ticks(void *arg)
{
    CHECK(++ordered < 100);
    timeout_set(arg, 0, sets_itself_for_no_ticks, arg);
}

HOST_TEST(no_ticks_are_until_the_next_one)
{
    timeout_init();
    timeout_set(&timer[0], 0, sets_itself_for_no_ticks, &timer[0]);
    for (unsigned i = 1; i < 9; i++) {
        tick();
        CHECK_EQUAL(ordered, i);
    }
}

HOST_TEST(cancelled_is_not_called)
{
    timeout_init();
    set_timer(0, 2);
    CHECK(timeout_cancel(&timer[0]));
    CHECK(!timeout_cancel(&timer[0]));
    for (unsigned i = 0; i < 5; i++)
        tick();
    CHECK_EQUAL(calls[0], 0);
}

HOST_TEST(set_twice_panics)
{
    timeout_init();
    set_timer(0, 2);
    CHECK_PANICS("timeout_set: the timeout is pending already", set_timer(0, 3));
}

static struct timeout own;
static unsigned own_calls;

static void sets_itself(void *arg)
{
    own_calls++;
    timeout_set(&own, 1, sets_itself, arg);
    if (arg && !setjmp(other_hart))
        timeout_drain(&own);
}

HOST_TEST(drain_waits_until_the_function_has_returned_and_takes_back_what_it_set)
{
    timeout_init();
    timeout_set(&own, 1, sets_itself, &own);
    tick();
    CHECK_EQUAL(yields, 3);
    CHECK(!own.pending);
    timeout_drain(&own);
    for (unsigned i = 0; i < 5; i++)
        tick();
    CHECK_EQUAL(own_calls, 1);
}

HOST_TEST(one_that_sets_itself_goes_on_until_it_is_drained)
{
    timeout_init();
    timeout_set(&own, 1, sets_itself, 0);
    for (unsigned i = 0; i < 5; i++)
        tick();
    CHECK_EQUAL(own_calls, 5);
    timeout_drain(&own);
    for (unsigned i = 0; i < 5; i++)
        tick();
    CHECK_EQUAL(own_calls, 5);
}

static void frees(void *arg)
{
    free(arg);
    own_calls++;
}

HOST_TEST(the_memory_of_one_may_go_while_its_function_runs)
{
    struct timeout *t = calloc(1, sizeof *t);
    timeout_init();
    timeout_set(t, 1, frees, t);
    tick();
    CHECK_EQUAL(own_calls, 1);
}

HOST_TEST(ticks_that_merged_call_all_that_has_become_due)
{
    timeout_init();
    set_timer(0, 3);
    set_timer(1, 2);
    set_timer(2, 9);
    timeout_tick(8);
    softclock(0);
    CHECK_EQUAL(calls[0] + calls[1], 2);
    CHECK_EQUAL(calls[2], 0);
    CHECK_EQUAL(clock_ticks(), 8);
}

/*
 * Against a model that counts in 64 bits, with a clock that starts just before its count wraps around: timeouts of any
 * length that 32 bits hold, some set in the middle of overdue ones, as the soft interrupt comes late. A finished
 * timeout is poisoned at once.
 */
#define POISON 0xa5
static uint64_t model_now, model_due[TIMERS];
static uint32_t model_order[TIMERS], sets;

static unsigned next_due(void)
{
    unsigned found = TIMERS;
    for (unsigned i = 0; i < TIMERS; i++)
        if (set[i] && model_due[i] <= model_now &&
            (found == TIMERS || model_due[i] < model_due[found] ||
             (model_due[i] == model_due[found] && model_order[i] < model_order[found])))
            found = i;
    return found;
}

static void is_next(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;
    CHECK_EQUAL(i, next_due());
    set[i] = false;
    memset(&timer[i], POISON, sizeof timer[i]);
}

static uint32_t some_ticks(struct random *r)
{
    static const uint32_t around[] = {0, 20, 1000, 0x7fffffff, 0x80000000, 0xffffffff};
    uint32_t middle = around[random_below(r, 6)];
    return middle - 10 + random_below(r, 20 + middle);
}

static void run_softclock(void)
{
    CHECK(posted || next_due() == TIMERS); /* the timeout that it was posted for may be cancelled */
    if (posted)
        softclock(0);
    posted = false;
    CHECK_EQUAL(next_due(), TIMERS);
}

static void advance(uint32_t ticks)
{
    model_now += ticks;
    timeout_tick(ticks);
}

HOST_TEST(any_order_of_calls)
{
    struct random r = random_from(1, 0);
    timeout_init();
    timeout_tick(model_now = UINT32_MAX - 30);
    for (unsigned turn = 0; turn < 100000; turn++) {
        unsigned i = random_below(&r, TIMERS);
        uint32_t ticks = some_ticks(&r);
        switch (random_below(&r, 6)) {
        case 0:
        case 1:
            if (set[i])
                break;
            timer[i] = (struct timeout){0};
            timeout_set(&timer[i], ticks, is_next, (void *)(uintptr_t)i);
            model_due[i] = model_now + (!ticks ? 1 : MIN(ticks, TIMEOUT_MOST));
            model_order[i] = sets++;
            set[i] = true;
            break;
        case 2:
            if (!set[i])
                timer[i] = (struct timeout){0};
            CHECK_EQUAL(timeout_cancel(&timer[i]), set[i]);
            set[i] = false;
            memset(&timer[i], POISON, sizeof timer[i]);
            break;
        case 3: run_softclock(); break;
        default:
            if (random_below(&r, 50)) {
                advance(random_below(&r, 3));
                break;
            }
            run_softclock();
            advance(ticks & INT32_MAX >> 1);
        }
        CHECK_EQUAL(clock_ticks(), (uint32_t)model_now);
        CHECK_EQUAL(sync_hart()->level, SPL_NONE);
    }
}
