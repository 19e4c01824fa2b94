/*
 * run=test-last-user: an object that holds a blocking lock ends with its last user, which finds under the lock that it
 * is the last, releases it, and frees the memory, even while another user still leaves the lock. First, a user that is
 * slow to leave is waited for. Then in each of `rounds` (60) one thread on each hart uses the object once; handlers at
 * three levels, the highest above all that locks mask, stretch every step at random.
 */
#include <string.h>

#include "lock/lock.h"
#include "test/test.h"

#define SLOWLY 2000
#define LONGEST_HANDLER 3000 /* cycles: more than a thread spins for a lock */

static MUTEX_CLASS(mutex_class, "test object");
static RW_LOCK_CLASS(rw_class, "test shared object");

static struct {
    struct lock lock;
    volatile unsigned users;
} last_user_object;
static volatile uint32_t rounds_begun, out;

static void last_user_handler(void *arg)
{
    (void)arg;
    test_spin(cycles32() * 2654435761u % LONGEST_HANDLER);
}

static void begin_object(uint32_t round)
{
    lock_init(&last_user_object.lock, round % 2 ? &mutex_class : &rw_class, "test object");
    last_user_object.users = test_harts();
}

static void end_object(uint32_t round)
{
    lock_destroy(&last_user_object.lock);
    memset(&last_user_object.lock, 0xa5, sizeof last_user_object.lock); /* another owner's */
    test_spin(200);
    begin_object(round + 1);
}

static void last_user_take(struct random *r)
{
    if (random_below(r, 2)) {
        mutex_lock(&last_user_object.lock);
        return;
    }
    while (!mutex_try(&last_user_object.lock))
        test_spin(random_below(r, 300));
}

static void use(struct random *r, uint32_t round)
{
    if (random_below(r, 2))
        pic_raise(1u << test_source(random_below(r, test_harts()), random_below(r, TEST_SOURCES)));
    test_spin(random_below(r, 500));
    last_user_take(r);
    test_spin(random_below(r, 300));
    bool last = !--last_user_object.users;
    mutex_unlock(&last_user_object.lock);
    if (last)
        end_object(round);
}

static void last_user_loop(void *hart)
{
    struct random r = random_from(run_seed, (uintptr_t)hart);
    for (uint32_t n = bootargs_number(BOOT(test_last_user, rounds)), i = 1; i <= n; i++) {
        while (rounds_begun < i)
            ;
        use(&r, i);
        if (__atomic_add_fetch(&out, 1, __ATOMIC_ACQ_REL) == i * test_harts())
            rounds_begun = i + 1;
    }
}

/* Slowly, the last step of a release: the lock is free, but its interlock is still held. */
static volatile bool on_the_way, is_out;

static void goes_out_slowly(void *arg)
{
    (void)arg;
    crit_t s = simple_lock_enter(&last_user_object.lock.interlock);
    on_the_way = true;
    test_spin(SLOWLY);
    is_out = true;
    simple_lock_leave(&last_user_object.lock.interlock, s);
}

static void destroy_before_one_is_out(void)
{
    begin_object(0);
    struct thread *t = thread_create(goes_out_slowly, 0, PRI_NORMAL, (int)hart_count - 1, "last but one");
    while (!on_the_way)
        thread_yield();
    lock_destroy(&last_user_object.lock);
    assert(is_out);
    thread_join(t);
}

static int last_user(void)
{
    destroy_before_one_is_out();
    test_establish(last_user_handler);
    begin_object(1);
    rounds_begun = 1;
    test_on_every_hart(last_user_loop);
    kprintf("@test name=last-user rounds=%lu\n", (unsigned long)rounds_begun - 1);
    return 0;
}

RUN("test-last-user", "test: a lock ends with its last user, while others are on their way out of it", last_user);
