/*
 * run=test-yielding: a thread that does nothing but give up its hart is interrupted all the same, soon, whatever the way of an
 * interrupt to the hart takes; with a second one that does the same, and alone.
 */
#include "test/test.h"

#define LONGEST 24 /* times what an interrupt takes to a hart that is open to it */

static volatile uint32_t handled[MAX_HARTS];
static volatile bool done[MAX_HARTS];
static uint32_t longest[MAX_HARTS];

static void handler(void *arg)
{
    (void)arg;
    handled[curhart->id]++;
}

static void other(void *hart)
{
    while (!done[(uintptr_t)hart])
        thread_yield();
}

static void raise(unsigned h, struct random *r)
{
    uint32_t before = handled[h];
    pic_raise(1u << test_source(h, random_below(r, TEST_SOURCES)));
    for (uint32_t begin = cycles32(), waited = 0; handled[h] == before; thread_yield()) {
        waited = cycles32() - begin;
        if (waited > LONGEST * test_settle_cycles(1))
            panic("hart %u gives itself up again and again, and is not interrupted", h);
        if (waited > longest[h])
            longest[h] = waited;
    }
}

static void worker(void *arg)
{
    unsigned h = (uintptr_t)arg, rounds = bootargs_number("rounds", 8, 100000);
    struct random r = random_from(run_seed, 1100 + h);
    for (unsigned n = 0; n < rounds; n++)
        raise(h, &r);
    struct thread *t = thread_create(other, arg, PRI_NORMAL, (int)h, "other");
    for (unsigned n = 0; n < rounds; n++)
        raise(h, &r);
    done[h] = true;
    thread_join(t);
}

static int yielding_test(void)
{
    uint32_t most = 0;
    test_establish(handler);
    test_on_every_hart(worker);
    for (unsigned h = 0; h < test_harts(); h++)
        most = longest[h] > most ? longest[h] : most;
    kprintf("@test name=yielding longest=%lu\n", (unsigned long)most);
    return 0;
}

RUN("test-yielding", "test: who only gives up the hart is interrupted", yielding_test);
