/* What the kernel's tests share (test.h). */
#include "test/test.h"

#include "lib/minmax.h"
#include "mem/zone.h"

const unsigned test_level[TEST_SOURCES] = {SPL_BIO, SPL_TTY, SPL_HIGH - 1};

unsigned test_harts(void)
{
    return MIN(hart_count, TEST_MAX_HARTS);
}

static void test_establish_at(intr_fn *fn, const unsigned *level)
{
    for (unsigned h = 0; h < test_harts(); h++)
        for (unsigned n = 0; n < TEST_SOURCES; n++) {
            unsigned source = test_source(h, n);
            intr_establish(source, level[n], INTR_EDGE, h, fn, (void *)(uintptr_t)source, "test");
        }
}

void test_establish(intr_fn *fn)
{
    test_establish_at(fn, test_level);
}

void test_establish_waking(intr_fn *fn)
{
    static const unsigned level[TEST_SOURCES] = {SPL_BIO, SPL_TTY, SPL_SCHED};
    test_establish_at(fn, level);
}

uint32_t test_settle_cycles(unsigned handlers)
{
    /* a handler makes at most six accesses; a clock interrupt may come first */
    return pic_worst_delivery + (handlers + 1) * (1000 + 6 * (pic_worst_access + 16));
}

void test_spin(uint32_t cycles)
{
    for (uint32_t begin = cycles32(); cycles32() - begin < cycles;)
        ;
}

void test_yield(uint32_t cycles)
{
    for (uint32_t begin = cycles32(); cycles32() - begin < cycles;)
        thread_yield();
}

void test_assert_base(void)
{
    crit_t s = crit_sec_enter(SPL_HIGH); /* stay on this hart while looking */
    assert(sync_hart()->intr_depth == 0);
    assert(sync_hart()->in_softint == 0);
    crit_sec_leave(s);
    assert(csr_read(mstatus) & MSTATUS_MIE);
    assert(crit_is_base(s));
    assert(pic_read(PIC_LEVEL) == SPL_NONE);
}

static thread_fn *everywhere;

static void test_on_its_hart(void *hart)
{
    assert(curhart->id == (uintptr_t)hart);
    everywhere(hart);
}

static void on_harts(unsigned n, thread_fn *fn)
{
    struct thread *t[MAX_HARTS];
    everywhere = fn;
    for (unsigned h = 0; h < n; h++)
        t[h] = thread_create(test_on_its_hart, (void *)(uintptr_t)h, PRI_NORMAL, (int)h, "test");
    for (unsigned h = 0; h < n; h++)
        thread_join(t[h]);
}

void test_on_every_hart(thread_fn *fn)
{
    on_harts(test_harts(), fn);
}

static void test_reclaim_now(void *arg)
{
    (void)arg;
    zones_reclaim();
}

void test_reclaim(void)
{
    on_harts(hart_count, test_reclaim_now);
}
