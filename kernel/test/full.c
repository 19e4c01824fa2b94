/*
 * run=test-full: the table of threads is full, at its first FIRST_THREADS, or, with by_memory=1, when memory is out.
 * thread_create then fails, on every hart at once, and nothing else happens; ended threads' entries come back, to the
 * last one, again and again. Neither a program is started then, nor, with hz > 0, are threads and programs of a program
 * (user/programs/full.c) beyond the last entries: all get EAGAIN.
 */
#include <errno.h>

#include "mem/page.h"
#include "proc/run.h"
#include "test/test.h"

#define LEFT 8 /* entries left for the program */
#define LIMIT FIRST_THREADS
#define MOST 16384u

static volatile bool go;
static struct thread *made[MAX_HARTS + 1][LIMIT]; /* by each hart's thread, and by the first thread */
static unsigned count[MAX_HARTS + 1];

static void full_waits(void *arg)
{
    (void)arg;
    while (!go)
        thread_yield();
}

static void full_fill(void *arg)
{
    unsigned h = (uintptr_t)arg, n = 0;
    while ((made[h][n] = thread_create(full_waits, 0, PRI_NORMAL, ANY_HART, "fills")))
        n++;
    assert(!thread_create(full_waits, 0, PRI_NORMAL, ANY_HART, "one more"));
    count[h] = n;
}

static int start_program(void)
{
    static struct arguments arguments;
    arguments_clear(&arguments);
    arguments_add(&arguments, "full");
    return process_spawn(0, "full", &arguments, ANY_HART);
}

static unsigned full_empty(void)
{
    unsigned all = 0;
    go = true;
    for (unsigned h = 0; h <= MAX_HARTS; h++) {
        all += count[h];
        for (unsigned i = 0; i < count[h]; i++)
            thread_join(made[h][i]);
        count[h] = 0;
    }
    return all;
}

static unsigned fill_and_empty(void)
{
    go = false;
    test_on_every_hart(full_fill);
    full_fill((void *)MAX_HARTS); /* the entries that the threads above have left */
    assert(start_program() == -EAGAIN && process_none_left());
    unsigned pages = pages_free(); /* zones may keep what the first threads took */
    assert(start_program() == -EAGAIN && process_none_left() && pages_free() == pages);
    return full_empty();
}

static void full_sleeps(void *arg)
{
    (void)arg;
    while (!go)
        thread_delay(1);
}

static void program_in_a_full_table(unsigned entries)
{
    go = false;
    while (count[0] + LEFT < entries)
        made[0][count[0]++] = thread_create(full_sleeps, 0, PRI_NORMAL, ANY_HART, "fills");
    int id = start_program();
    assert(id > 0 && user_wait_for_all(id) == 0 && process_none_left());
    full_empty();
}

/* Allocates all memory, and frees it in a random order. */
static void use_all_memory(void)
{
    struct random r = random_from(run_seed, 1300);
    uint32_t lists[16] = {0}, page;
    while ((page = page_alloc_raw())) {
        uint32_t *list = &lists[random_below(&r, 16)];
        *(uint32_t *)page_pointer(page) = *list;
        *list = page;
    }
    for (unsigned i = 0; i < 16; i++)
        while ((page = lists[i])) {
            lists[i] = *(uint32_t *)page_pointer(page);
            page_free(page);
        }
}

/* Threads beyond FIRST_THREADS are allocated, and freed when they have ended. Returns how many there could be. */
static unsigned until_memory_is_out(void)
{
    static struct thread *all[MOST];
    test_reclaim(); /* what zones keep, on any hart */
    unsigned n = 0, pages = pages_free();
    go = false;
    while (n < MOST &&
           (all[n] = thread_create(clock_hz() ? full_sleeps : full_waits, 0, PRI_NORMAL, ANY_HART, "fills")))
        n++;
    if (n == MOST)
        panic("more than %u threads could be made: give the test a machine of less memory", MOST);
    int error = start_program(); /* for want of memory of its own, or for a thread */
    assert((error == -ENOMEM || error == -EAGAIN) && process_none_left());
    assert(pages_free() < pages);
    go = true;
    for (unsigned i = 0; i < n; i++)
        thread_join(all[i]);
    test_reclaim();
    assert(pages_free() == pages);
    return n;
}

static int full(void)
{
    unsigned entries = LIMIT - hart_count - 1; /* idle threads, and this one */
    thread_limit = LIMIT;
    for (uint32_t turn = bootargs_number(BOOT(test_full, turns)); turn; turn--) {
        unsigned n = fill_and_empty();
        if (n != entries)
            panic("%u threads could be made, of %u", n, entries);
    }
    if (clock_hz())
        program_in_a_full_table(entries);
    unsigned by_memory = 0;
    thread_limit = ALL_THREADS;
    if (bootargs_number(BOOT(test_full, by_memory))) {
        by_memory = until_memory_is_out();
        use_all_memory();
        unsigned again = until_memory_is_out();
        if (by_memory <= 2 * LIMIT || again != by_memory)
            panic("%u threads could be made with all memory, and %u when it had been used once", by_memory, again);
    }
    kprintf("@test name=full threads=%u by_memory=%u\n", entries, by_memory);
    return 0;
}

RUN("test-full", "test: a full table of threads is an error, and comes back", full);
