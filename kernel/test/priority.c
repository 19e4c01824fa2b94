/*
 * run=test-priority: priorities are honoured: pending interrupts are handled highest first, a handler is interrupted by
 * a higher level and by no other, if handlers nest at all. sync/sync.h says what each scheme promises (CRIT_MASKS_ALL,
 * HANDLERS_NEST).
 */
#include <string.h>

#include "arch/atomic.h"
#include "test/test.h"

static volatile char log[16];
static volatile uint32_t logged;
static volatile unsigned
    raise_in_handler[TEST_SOURCES]; /* sources, as a mask, that the handler raises before it ends */

static void priority_note(char c)
{
    uint32_t at = atomic_add(&logged, 1); /* a handler may come in between */
    assert(at < sizeof log - 1);
    log[at] = c;
}

/* Handler n writes "l", "m" or "h" when it begins, and in capitals when it ends. */
static void priority_handler(void *arg)
{
    unsigned n = ((uintptr_t)arg - PIC_SOURCE_FREE) % TEST_SOURCES;
    priority_note("lmh"[n]);
    if (raise_in_handler[n]) {
        pic_raise(raise_in_handler[n]);
        test_spin(test_settle_cycles(2));
    }
    priority_note("LMH"[n]);
}

static void expect_either(const char *what, const char *wanted, const char * or)
{
    log[logged] = 0;
    if (strcmp((const char *)log, wanted) && strcmp((const char *)log, or))
        panic("%s: handlers ran as %s, they should have as %s", what, (const char *)log, wanted);
    logged = 0;
}

static void priority_expect(const char *what, const char *wanted)
{
    expect_either(what, wanted, wanted);
}

static void priority_begin(void)
{
    logged = 0;
    for (unsigned n = 0; n < TEST_SOURCES; n++)
        raise_in_handler[n] = 0;
}

static void in_sections(unsigned low, unsigned middle, unsigned high, uint32_t settle)
{
    priority_begin(); /* all at once, masked: highest first */
    crit_t s = crit_sec_enter(SPL_HIGH);
    pic_raise(low | middle | high);
    test_spin(settle);
    priority_expect("in a section at the highest level", "");
    crit_sec_leave(s);
    test_spin(settle);
    priority_expect("after it", "hHmMlL");

    s = crit_sec_enter(SPL_TTY); /* a section masks its level and below */
    pic_raise(low | middle | high);
    test_spin(settle);
    priority_expect("in a section at the middle level", CRIT_MASKS_ALL ? "" : "hH");
    crit_sec_leave(s);
    test_spin(settle);
    priority_expect("after it", CRIT_MASKS_ALL ? "hHmMlL" : "mMlL");

    s = crit_sec_enter(SPL_TTY); /* sections nest: leaving the inner one unmasks what the outer does not mask */
    crit_t inner = crit_sec_enter(SPL_HIGH);
    pic_raise(low | high);
    test_spin(settle);
    priority_expect("in the inner section", "");
    crit_sec_leave(inner);
    test_spin(settle);
    priority_expect("in the outer section", CRIT_MASKS_ALL ? "" : "hH");
    crit_sec_leave(s);
    test_spin(settle);
    priority_expect("after both", CRIT_MASKS_ALL ? "hHlL" : "lL");
}

static void in_handlers(unsigned low, unsigned middle, unsigned high, uint32_t settle)
{
    raise_in_handler[0] = high; /* a handler gives way to a higher level ... */
    pic_raise(low);
    test_spin(settle * 2);
    priority_expect("high raised in low", HANDLERS_NEST ? "lhHL" : "lLhH");

    priority_begin(); /* ... and to no lower one */
    raise_in_handler[2] = low;
    pic_raise(high);
    test_spin(settle * 2);
    priority_expect("low raised in high", "hHlL");

    priority_begin(); /* three deep */
    raise_in_handler[0] = middle;
    raise_in_handler[1] = high;
    pic_raise(low);
    test_spin(settle * 3);
    priority_expect("three deep", HANDLERS_NEST ? "lmhHML" : "lLmMhH");

    priority_begin(); /* and the end of the handler that interrupted it unmasks nothing that it masks */
    raise_in_handler[1] = low | high;
    pic_raise(middle);
    test_spin(settle * 3);
    priority_expect("low and high raised in middle", HANDLERS_NEST ? "mhHMlL" : "mMhHlL");
}

/* What arrives first in a section does not delay what is more urgent, except in cli-optim's queue. */
static void queued_first(unsigned low, unsigned high, uint32_t settle)
{
    priority_begin();
    crit_t s = crit_sec_enter(SPL_HIGH);
    uint32_t deferred = sync_hart()->deferred;
    pic_raise(low);
    test_spin(settle);
    /*
     * A clock interrupt that came before it is the one that cli-optim has queued; low and high are pending at the PIC.
     */
    bool goes_first = QUEUE_GOES_FIRST && !(pic_read(PIC_PENDING) & low);
    pic_raise(high);
    test_spin(settle);
    bool queued = sync_hart()->deferred != deferred;
    crit_sec_leave(s);
    test_spin(settle);
    /* A queued handler begins while the PIC's wire is on its way, which may take longer, and is interrupted then. */
    expect_either("low queued before high", goes_first ? "lLhH" : "hHlL",
                  goes_first                ? "lLhH"
                  : queued && HANDLERS_NEST ? "lhHL"
                                            : "hHlL");
}

static void priority_on_hart(void *arg)
{
    unsigned h = (uintptr_t)arg;
    unsigned low = 1u << test_source(h, 0), middle = 1u << test_source(h, 1), high = 1u << test_source(h, 2);
    uint32_t settle = test_settle_cycles(4);
    in_sections(low, middle, high, settle);
    in_handlers(low, middle, high, settle);
    queued_first(low, high, settle);
    test_assert_base();
}

static int priority(void)
{
    test_establish(priority_handler);
    for (unsigned h = 0; h < test_harts(); h++)
        thread_join(thread_create(priority_on_hart, (void *)(uintptr_t)h, PRI_NORMAL, (int)h, "test"));
    kprintf("@test name=priority harts=%u\n", test_harts());
    return 0;
}

RUN("test-priority", "test: priorities and nesting are honoured", priority);
