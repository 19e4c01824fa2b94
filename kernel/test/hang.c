/*
 * run=test-hang lock=simple|mutex: two threads, on two harts if there are two, take two locks in opposite order and
 * each waits for the other's for ever: spinning, or asleep. The simulator reports it (sim/harness/README.md, "When a
 * target hangs"). Simple locks need two harts. In an image with LOCK_DEBUG the wrong order panics before.
 */
#include <string.h>

#include "lock/lock.h"
#include "test/test.h"

#define MEET_CYCLES 20000 /* each has its first lock for certain */

DEFINE_SIMPLE_LOCK(hang_simple_a, "simple of a", SPL_HIGH);
DEFINE_SIMPLE_LOCK(hang_simple_b, "simple of b", SPL_HIGH);
DEFINE_MUTEX(hang_mutex_a, "mutex of a");
DEFINE_MUTEX(hang_mutex_b, "mutex of b");

struct pair {
    struct simple_lock *simple[2];
    struct lock *mutex[2];
};

static struct pair of_a = {{&hang_simple_a, &hang_simple_b}, {&hang_mutex_a, &hang_mutex_b}};
static struct pair of_b = {{&hang_simple_b, &hang_simple_a}, {&hang_mutex_b, &hang_mutex_a}};

static void spins(void *arg)
{
    struct pair *own = arg;
    crit_t s = simple_lock_enter(own->simple[0]);
    test_spin(MEET_CYCLES);
    simple_lock(own->simple[1]);
    simple_unlock(own->simple[1]);
    simple_lock_leave(own->simple[0], s);
}

static void hang_sleeps(void *arg)
{
    struct pair *own = arg;
    mutex_lock(own->mutex[0]);
    thread_delay(1);
    mutex_lock(own->mutex[1]);
    mutex_unlock(own->mutex[1]);
    mutex_unlock(own->mutex[0]);
}

static int hang(void)
{
    char name[16];
    thread_fn *fn = strcmp(bootargs_string(BOOT(test_hang, lock), name, sizeof name), "mutex") ? spins : hang_sleeps;
    if (fn == spins && hart_count < 2) {
        kprintf("run=test-hang: simple locks need two harts; give lock=mutex\n");
        return 2;
    }
    struct thread *a = thread_create(fn, &of_a, PRI_NORMAL, 0, "a");
    struct thread *b = thread_create(fn, &of_b, PRI_NORMAL, (int)hart_count - 1, "b");
    thread_join(a);
    thread_join(b);
    kprintf("nothing hangs\n");
    return 1;
}

RUN("test-hang", "test: two threads wait for each other's lock for ever, which the simulator must tell", hang);
