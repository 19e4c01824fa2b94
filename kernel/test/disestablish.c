/*
 * run=test-disestablish: a handler is taken from its source while others raise it. On every hart a thread establishes
 * and disestablishes its sources again and again, edge and level, routed to one hart or to any, with a block of memory
 * for each establishment that is poisoned as soon as intr_disestablish has returned; all threads raise all sources,
 * at random, inside and outside sections. A handler that starts or still runs then finds the poison; a claim
 * that was under way then panics as stray; one whose end was not written to the PIC stays in service.
 *
 * misuse=section, handler or softint: disestablish where the caller could wait for itself, which must panic.
 */
#include <string.h>

#include "intr/softint.h"
#include "test/test.h"

#define ALIVE 0x600dcafe
#define POISON 0xa5
#define LONGEST_HANDLER 250 /* cycles */

struct block {
    uint32_t alive, source;
    volatile uint32_t started, ended;
};

static struct block block[PIC_SOURCES];
static uint32_t disestablish_handled[MAX_HARTS], established[MAX_HARTS];

static void disestablish_handler(void *arg)
{
    struct block *b = arg;
    assert(b->alive == ALIVE);
    uint32_t source = b->source;
    __atomic_fetch_add(&b->started, 1, __ATOMIC_RELAXED); /* an edge routed to any hart may be handled by two at once */
    test_spin(cycles32() % LONGEST_HANDLER);
    if (b->alive != ALIVE || b->source != source)
        panic("source %lu: disestablished while its handler runs", (unsigned long)source);
    __atomic_fetch_add(&b->ended, 1, __ATOMIC_RELAXED);
}

static uint32_t random_source(struct random *r)
{
    return test_source(random_below(r, test_harts()), random_below(r, TEST_SOURCES));
}

static void raise_some(struct random *r)
{
    for (unsigned n = random_below(r, 4); n; n--)
        pic_raise(1u << random_source(r));
}

static void raise_in_section(struct random *r)
{
    crit_t s = crit_sec_enter(random_below(r, SPL_HIGH + 1));
    raise_some(r);
    test_spin(random_below(r, 600));
    crit_sec_leave(s);
}

static void disestablish_establish(struct random *r, unsigned source, unsigned level)
{
    unsigned hart = random_below(r, hart_count + 1);
    block[source] = (struct block){.alive = ALIVE, .source = source};
    intr_establish(source, level, random_below(r, 2) ? INTR_EDGE : INTR_LEVEL, hart < hart_count ? hart : PIC_ANY_HART,
                   disestablish_handler, &block[source], "test");
}

static void disestablish(unsigned h, unsigned source)
{
    struct block *b = &block[source];
    intr_disestablish(source);
    disestablish_handled[h] += b->ended;
    established[h]++;
    if (b->started != b->ended)
        panic("source %u: %lu handlers started, %lu ended", source, (unsigned long)b->started, (unsigned long)b->ended);
    memset(b, POISON, sizeof *b);
    for (unsigned i = 0; i < hart_count; i++)
        assert(!(pic_read(PIC_CONTEXT + PIC_CONTEXT_STRIDE * i + PIC_INSERVICE) & 1u << source));
    assert(!intr_name(source));
}

static void disestablish_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random r = random_from(run_seed, 700 + h);
    for (uint32_t n = bootargs_number(BOOT(test_disestablish, rounds)); n; n--) {
        unsigned which = random_below(&r, TEST_SOURCES), source = test_source(h, which);
        raise_some(&r); /* what is pending at the PIC comes as soon as it is unmasked */
        disestablish_establish(&r, source, test_level[which]);
        for (unsigned i = random_below(&r, 4); i; i--) {
            raise_in_section(&r);
            raise_some(&r);
            test_spin(random_below(&r, 300));
        }
        pic_raise(1u << source);
        test_spin(random_below(&r, 2) * random_below(&r, 100));
        disestablish(h, source);
        raise_some(&r);
        test_spin(random_below(&r, 300));
    }
}

static void disestablishes(void *arg)
{
    intr_disestablish((uintptr_t)arg);
}

static void misuse(const char *where)
{
    unsigned source = test_source(0, 0);
    test_establish(disestablishes);
    softint_establish(SPL_SOFTNET, disestablishes, (void *)(uintptr_t)source);
    if (!strcmp(where, "section"))
        crit_sec_enter(SPL_BIO);
    if (!strcmp(where, "handler"))
        pic_raise(1u << source);
    else if (!strcmp(where, "softint"))
        softint_schedule(SPL_SOFTNET);
    else
        intr_disestablish(source);
    test_spin(test_settle_cycles(4));
}

static int disestablish_test(void)
{
    char where[12];
    uint32_t all = 0, times = 0;
    if (strcmp(bootargs_string(BOOT(test_disestablish, misuse), where, sizeof where), "")) {
        misuse(where);
        return 1;
    }
    test_on_every_hart(disestablish_worker);
    for (unsigned h = 0; h < test_harts(); h++) {
        all += disestablish_handled[h];
        times += established[h];
    }
    test_assert_base();
    assert(times && all > times / 2);
    kprintf("@test name=disestablish established=%lu handled=%lu\n", (unsigned long)times, (unsigned long)all);
    return 0;
}

RUN("test-disestablish", "test: handlers are taken from their sources while these are raised", disestablish_test);
