/*
 * run=test-nest: a program forks until the threads run out (user/programs/nest.c), or, with user.pages=, until the
 * memory does. Then no process, thread, page or zone's object is left.
 */
#include "test/test.h"
#include "proc/run.h"

static int test_nest(void)
{
    static struct arguments arguments;
    arguments_clear(&arguments);
    arguments_add(&arguments, "nest");
    test_reclaim();
    uint32_t pages = pages_free();
    int id = process_spawn(0, "nest", &arguments, ANY_HART);
    assert(id > 0 && user_wait_for_all(id) == 0 && process_none_left());
    test_reclaim();
    vm_check_no_leak();
    if (pages_free() != pages)
        panic("%lu pages are free, %lu were", (unsigned long)pages_free(), (unsigned long)pages);
    kprintf("@test name=nest pages=%lu\n", (unsigned long)pages);
    return 0;
}

RUN("test-nest", "test: forks until there is no more, then all comes back", test_nest);
