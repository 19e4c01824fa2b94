/*
 * run=test-mask: each claimed interrupt is handled once, whatever is raised while it is masked. On every hart at once
 * sections nest at random; edges are raised in them, by handlers and by soft interrupts, which enter sections too, also
 * of sources that are already queued, in service or pending. In the end the counts of each source agree with the PIC's
 * counters:
 *
 *   raised = rises = deliveries + merged at the PIC        deliveries = handled
 *
 * so no scheme claims a second edge of a source while the first one is in its queue, where the two would merge.
 * Before that, one hart goes through cases with one outcome: levels that fall step by step over a queue, a handler
 * whose section queued an interrupt, a soft interrupt behind a queue.
 */
#include "intr/softint.h"
#include "test/test.h"

#define MOST_DEPTH 4

static struct {
    volatile uint32_t raised, handled;
    struct random random;
} source_of[PIC_SOURCES];
static volatile uint32_t mask_softints;
static struct random soft_random[MAX_HARTS];
static volatile bool walking; /* handlers raise and nest at random */
static volatile unsigned in_handler_raise[PIC_SOURCES]; /* else: what the handler raises in its own section */

static unsigned level_of(unsigned source)
{
    return test_level[(source - PIC_SOURCE_FREE) % TEST_SOURCES];
}

static void mask_raise(unsigned source)
{
    __atomic_fetch_add(&source_of[source].raised, 1, __ATOMIC_RELAXED);
    pic_raise(1u << source);
}

static void raise_any(struct random *r)
{
    mask_raise(test_source(random_below(r, test_harts()), random_below(r, TEST_SOURCES)));
}

/* Sections down to `depth`, with edges on the way in and out, each raised with probability 1 / `one_in`. */
static void mask_sections(struct random *r, unsigned depth, unsigned one_in, uint32_t longest)
{
    crit_t s = crit_sec_enter(random_below(r, SPL_HIGH + 1));
    if (!random_below(r, one_in))
        mask_raise(test_source(curhart->id, random_below(r, TEST_SOURCES)));
    test_spin(random_below(r, longest));
    if (depth > 1)
        mask_sections(r, depth - 1, one_in, longest);
    if (!random_below(r, one_in))
        raise_any(r);
    test_spin(random_below(r, longest));
    crit_sec_leave(s);
}

/* The PIC holds back what does not interrupt this handler, also after sections in it that queued something. */
static void assert_pic_masks(unsigned level)
{
    unsigned told = HANDLERS_NEST ? pic_read(PIC_LEVEL) : SPL_HIGH;
    if (told < level)
        panic("in a handler of level %u the PIC is at level %u", level, told);
}

static void mask_handler(void *arg)
{
    unsigned source = (uintptr_t)arg;
    struct random *r = &source_of[source].random;
    if (walking) {
        if (!random_below(r, 2))
            mask_sections(r, 1 + random_below(r, 2), 8, 60);
        if (!random_below(r, 8))
            softint_post(SPL_SOFTTTY);
    } else if (in_handler_raise[source]) {
        crit_t s = crit_sec_enter(SPL_HIGH);
        uint32_t what = in_handler_raise[source];
        in_handler_raise[source] = 0;
        for (unsigned i = PIC_SOURCE_FREE; i < PIC_SOURCES; i++)
            if (what >> i & 1)
                mask_raise(i);
        test_spin(test_settle_cycles(1));
        crit_sec_leave(s);
    }
    assert_pic_masks(level_of(source));
    source_of[source].handled++; /* a source belongs to one hart and does not nest in itself */
}

static volatile unsigned soft_raises; /* a source that the soft interrupt raises and waits for; 0: none */

static void mask_soft(void *arg)
{
    (void)arg;
    unsigned source = soft_raises;
    mask_softints++;
    if (walking) {
        mask_sections(&soft_random[curhart->id], 1 + random_below(&soft_random[curhart->id], 2), 6, 60);
    } else if (source) {
        uint32_t handled = source_of[source].handled;
        soft_raises = 0;
        mask_raise(source);
        test_spin(test_settle_cycles(2));
        assert(source_of[source].handled == handled + 1); /* no interrupt is masked there */
    }
}

static uint32_t delivered(unsigned source)
{
    return pic_counters(source).deliveries;
}

/* All interrupts of this hart have been handled. */
static void expect_quiet(const char *what, unsigned hart)
{
    for (unsigned n = 0; n < TEST_SOURCES; n++) {
        unsigned i = test_source(hart, n);
        if (delivered(i) != source_of[i].handled)
            panic("%s: source at level %u delivered %lu times, handled %lu times", what, test_level[n],
                  (unsigned long)delivered(i), (unsigned long)source_of[i].handled);
    }
    test_assert_base();
}

/*
 * Nested sections at `outer`, perhaps one at 7, and `inner`; an edge of source n in the innermost, and another of every
 * source after each step out, of which one may be delivered, and none handled that the level masks.
 */
static void falling(unsigned hart, unsigned outer, bool between, unsigned inner, unsigned n)
{
    unsigned source = test_source(hart, n), level[3] = {outer}, depth = 1;
    if (between)
        level[depth++] = SPL_NET;
    level[depth++] = inner;
    crit_t saved[3];
    for (unsigned d = 0; d < depth; d++)
        saved[d] = crit_sec_enter(level[d]);
    mask_raise(source);
    while (depth) {
        test_spin(test_settle_cycles(TEST_SOURCES));
        for (unsigned i = 0; i < TEST_SOURCES; i++)
            if (delivered(test_source(hart, i)) - source_of[test_source(hart, i)].handled > 1)
                panic("a second edge at level %u is claimed while the first is queued", test_level[i]);
        crit_sec_leave(saved[--depth]);
        for (unsigned i = 0; depth && i < TEST_SOURCES; i++)
            mask_raise(test_source(hart, i));
    }
    test_spin(test_settle_cycles(2 * TEST_SOURCES));
    expect_quiet("levels that fall", hart);
}

static void cases(unsigned hart)
{
    static const unsigned inners[] = {SPL_BIO, SPL_TTY, SPL_SCHED, SPL_HIGH};
    for (unsigned outer = SPL_BIO; outer <= SPL_CLOCK; outer += 2)
        for (unsigned i = 0; i < sizeof inners / sizeof *inners; i++)
            for (unsigned n = 0; n < TEST_SOURCES; n++)
                falling(hart, outer, i & 1, inners[i], n);
    for (unsigned n = 0; n < TEST_SOURCES; n++) /* n's handler raises some in a section, which may queue them */
        for (unsigned set = 1; set < 1u << TEST_SOURCES; set++) {
            in_handler_raise[test_source(hart, n)] = set << test_source(hart, 0);
            crit_t s = crit_sec_enter(set & 1 ? SPL_SOFTNET : SPL_SCHED);
            mask_raise(test_source(hart, n));
            test_spin(test_settle_cycles(TEST_SOURCES));
            crit_sec_leave(s);
            test_spin(2 * test_settle_cycles(2 * TEST_SOURCES));
            expect_quiet("a section in a handler", hart);
        }
    crit_t s = crit_sec_enter(SPL_TTY);
    uint32_t before = mask_softints;
    soft_raises = test_source(hart, 0);
    mask_raise(test_source(hart, 0));
    test_spin(test_settle_cycles(1));
    softint_post(SPL_SOFTTTY);
    crit_sec_leave(s);
    test_spin(test_settle_cycles(4));
    assert(mask_softints == before + 1 && !soft_raises);
    expect_quiet("a soft interrupt behind a queue", hart);
}

static void mask_walk(void *arg)
{
    struct random r = random_from(run_seed, 300 + (uintptr_t)arg);
    for (uint32_t n = bootargs_number(BOOT(test_mask, rounds)); n; n--) {
        if (!random_below(&r, 4))
            softint_schedule(SPL_SOFTTTY);
        mask_sections(&r, 1 + random_below(&r, MOST_DEPTH), 2, 150);
        if (!random_below(&r, 4))
            thread_yield();
    }
}

/* Until the PIC holds nothing back and no handler has run for a while. */
static void mask_settle(void)
{
    uint32_t before, now = 0, waits = 0;
    do {
        before = now;
        now = 0;
        test_spin(test_settle_cycles(2 * TEST_SOURCES * hart_count));
        for (unsigned i = PIC_SOURCE_FREE; i < PIC_SOURCES; i++)
            now += source_of[i].handled;
        assert(waits++ < 1000);
    } while (now != before || pic_read(PIC_PENDING) >> PIC_SOURCE_FREE);
}

static int test_mask(void)
{
    uint32_t raised = 0, handled = 0;
    struct pic_counters before[PIC_SOURCES];
    test_establish(mask_handler);
    softint_establish(SPL_SOFTTTY, mask_soft, 0);
    for (unsigned i = PIC_SOURCE_FREE; i < PIC_SOURCES; i++) {
        before[i] = pic_counters(i);
        assert(!before[i].rises);
        source_of[i].random = random_from(run_seed, 400 + i);
    }
    for (unsigned h = 0; h < test_harts(); h++)
        soft_random[h] = random_from(run_seed, 500 + h);
    int was = thread_bind((int)test_harts() - 1);
    cases(test_harts() - 1);
    thread_bind(was);
    walking = true;
    test_on_every_hart(mask_walk);
    mask_settle();
    test_assert_base();
    for (unsigned i = PIC_SOURCE_FREE; i < PIC_SOURCE_FREE + TEST_SOURCES * test_harts(); i++) {
        struct pic_counters now = pic_counters(i);
        if (now.deliveries != source_of[i].handled || now.rises != source_of[i].raised ||
            now.rises != now.deliveries + now.merged)
            panic("source %u at level %u: raised %lu, rises %lu, merged %lu, deliveries %lu, handled %lu", i,
                  level_of(i), (unsigned long)source_of[i].raised, (unsigned long)now.rises, (unsigned long)now.merged,
                  (unsigned long)now.deliveries, (unsigned long)source_of[i].handled);
        assert(intr_count(i) == source_of[i].handled);
        raised += source_of[i].raised;
        handled += source_of[i].handled;
    }
    for (unsigned h = 0; h < test_harts(); h++)
        for (unsigned l = 0; l <= SPL_HIGH; l++)
            assert(!sync_hart_of(&harts[h])->queued[l]);
    assert(handled > 10 && handled < raised); /* some merged, or nothing was raised twice */
    kprintf("@test name=mask raised=%lu handled=%lu softints=%lu\n", (unsigned long)raised, (unsigned long)handled,
            (unsigned long)mask_softints);
    return 0;
}

RUN("test-mask", "test: what is claimed is handled, whatever is raised while it is masked", test_mask);
