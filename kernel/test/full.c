/*
 * run=test-full: the table of threads is full. thread_create then says so, on every hart at once, and nothing else happens;
 * what ended comes back, to the last entry, again and again.
 */
#include "test/test.h"

static volatile bool go;
static struct thread *made[MAX_HARTS][MAX_THREADS];
static unsigned count[MAX_HARTS];

static void waits(void *arg)
{
    (void)arg;
    while (!go)
        thread_yield();
}

static void fill(void *arg)
{
    unsigned h = (uintptr_t)arg, n = 0;
    while ((made[h][n] = thread_create(waits, 0, PRI_NORMAL, ANY_HART, "fills")))
        n++;
    assert(!thread_create(waits, 0, PRI_NORMAL, ANY_HART, "one more"));
    count[h] = n;
}

static unsigned fill_and_empty(void)
{
    unsigned all = 0;
    go = false;
    test_on_every_hart(fill);
    go = true;
    for (unsigned h = 0; h < test_harts(); h++) {
        all += count[h];
        for (unsigned i = 0; i < count[h]; i++)
            thread_join(made[h][i]);
    }
    return all;
}

static int full(void)
{
    unsigned expected = MAX_THREADS - hart_count - 1; /* idle threads, and this one */
    for (unsigned turn = 0; turn < 3; turn++) {
        unsigned n = fill_and_empty();
        if (n + test_harts() < expected || n > expected)
            panic("%u threads could be made, of %u", n, expected);
    }
    kprintf("@test name=full threads=%u\n", expected);
    return 0;
}

RUN("test-full", "test: a full table of threads is an error, and comes back", full);
