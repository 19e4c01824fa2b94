/*
 * run=test-lost: no interrupt is lost. Every hart raises the sources of all harts at random, inside and outside of
 * sections, but none that it knows to be pending; in the end each source was handled exactly as often as the PIC
 * delivered it, and the PIC delivered every rise that did not merge with a pending one. The handlers here count, and
 * the PIC itself does (hw/pic, counters). Without other interrupts (hz=0), the kernel and the link have counted the
 * same claims that found nothing, however many the late fall of a hart's wire (link_fall_delay) caused.
 */
#include <generated/csr.h>

#include "test/test.h"

static struct {
    volatile uint32_t raised, handled;
} count[PIC_SOURCES];
DEFINE_SIMPLE_LOCK(raise_lock, "test raise", SPL_HIGH);

static void lost_handler(void *arg)
{
    count[(uintptr_t)arg].handled++; /* a source belongs to one hart and does not nest in itself */
}

/* Raise a source if its last interrupt has been handled; whether it was raised. */
static bool lost_raise(unsigned source)
{
    crit_t s = simple_lock_enter(&raise_lock);
    bool free = count[source].raised == count[source].handled;
    if (free) {
        count[source].raised++;
        pic_raise(1u << source);
    }
    simple_lock_leave(&raise_lock, s);
    return free;
}

static void lost_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random r = random_from(run_seed, 100 + h);
    for (uint32_t n = bootargs_number(BOOT(test_lost, rounds)); n; n--) {
        crit_t outer = crit_sec_enter(random_below(&r, SPL_HIGH + 1));
        lost_raise(test_source(random_below(&r, test_harts()), random_below(&r, TEST_SOURCES)));
        test_spin(random_below(&r, 150));
        crit_t inner = crit_sec_enter(random_below(&r, SPL_HIGH + 1));
        lost_raise(test_source(h, random_below(&r, TEST_SOURCES)));
        test_spin(random_below(&r, 150));
        crit_sec_leave(inner);
        lost_raise(test_source(random_below(&r, test_harts()), random_below(&r, TEST_SOURCES)));
        crit_sec_leave(outer);
        test_spin(random_below(&r, 300));
    }
}

static uint32_t spurious_claims(void)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += sync_hart_of(&harts[h])->spurious;
    return n;
}

static int lost(void)
{
    uint32_t raised = 0;
    test_establish(lost_handler);
    struct pic_counters before[PIC_SOURCES];
    for (unsigned i = PIC_SOURCE_FREE; i < PIC_SOURCES; i++)
        before[i] = pic_counters(i);
    test_on_every_hart(lost_worker);
    test_spin(test_settle_cycles(TEST_SOURCES * hart_count));
    test_assert_base();
    for (unsigned i = PIC_SOURCE_FREE; i < PIC_SOURCE_FREE + TEST_SOURCES * test_harts(); i++) {
        struct pic_counters now = pic_counters(i);
        if (count[i].raised != count[i].handled)
            panic("source %u: raised %lu, handled %lu", i, (unsigned long)count[i].raised,
                  (unsigned long)count[i].handled);
        assert(now.rises - before[i].rises == count[i].raised);
        assert(now.deliveries - before[i].deliveries == count[i].handled);
        assert(now.merged == before[i].merged);
        assert(intr_count(i) == count[i].handled);
        raised += count[i].raised;
    }
    assert(raised > 10);
    uint32_t spurious = spurious_claims();
    if (!clock_hz() && link_spurious_read() != spurious)
        panic("%lu spurious interrupts, and %lu claims that found nothing", (unsigned long)spurious,
              (unsigned long)link_spurious_read());
    kprintf("@test name=lost raised=%lu handled=%lu spurious=%lu\n", (unsigned long)raised, (unsigned long)raised,
            (unsigned long)spurious);
    return 0;
}

RUN("test-lost", "test: no interrupt is lost", lost);
