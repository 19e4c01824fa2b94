/*
 * run=test-designated: the designated hart. Threads on every hart and handlers at three levels queue packets; each is
 * worked off once, in the order of its queueing, on the designated hart, one at a time, without any
 * lock; an action may queue its packet again; a packet queued on the designated hart itself is worked off before the
 * thread that queued it goes on.
 */
#include "sched/designated.h"
#include "test/test.h"

#define PACKETS 4 /* of each owner */
#define OWNERS (PIC_SOURCES + MAX_HARTS)

DEFINE_DESIGNATED(queue, "test krp", SPL_SCHED);

static struct {
    struct krp krp[PACKETS];
    volatile bool busy[PACKETS];
    uint32_t queued, done, refused;
} owner[OWNERS];

static unsigned designated_hart;
static struct thread *test_designated_seen; /* the thread that works packets off */
static volatile uint32_t first_half, second_half;
static uint32_t again;

static void test_designated_update(uint32_t wait)
{
    uint32_t v = first_half;
    assert(second_half == v);
    first_half = v + 1;
    test_spin(wait);
    second_half = v + 1;
}

/* Parameters: the owner that queued it, its number among that owner's packets, and how often to queue it again. */
static void test_designated_action(struct krp *krp)
{
    unsigned who = krp->parameter[0];
    uint32_t number = krp->parameter[1];
    assert(curhart->id == designated_hart && !sync_hart()->intr_depth);
    assert(!test_designated_seen || test_designated_seen == curhart->thread);
    test_designated_seen = curhart->thread;
    test_designated_update(number % 64);
    if (krp->parameter[2]) {
        krp->parameter[2]--;
        again++;
        krp_queue(&queue, krp);
        return;
    }
    if (number != owner[who].done)
        panic("owner %u: packet %lu comes after %lu", who, (unsigned long)number, (unsigned long)owner[who].done);
    owner[who].done++;
    owner[who].busy[number % PACKETS] = false;
}

/* Whether the owner had a free packet. An owner whose packets are queued again has only `one` queued, for the order. */
static bool queue_next(unsigned who, unsigned times, bool one)
{
    uint32_t number = owner[who].queued;
    unsigned slot = number % PACKETS;
    if (owner[who].busy[slot] || (one && owner[who].done != number)) {
        owner[who].refused++;
        return false;
    }
    owner[who].busy[slot] = true;
    owner[who].krp[slot] = (struct krp){.action = test_designated_action, .parameter = {who, number, times}};
    owner[who].queued++;
    krp_queue(&queue, &owner[who].krp[slot]);
    return true;
}

static void test_designated_handler(void *arg)
{
    queue_next((uintptr_t)arg, 0, false);
}

static void test_designated_worker(void *arg)
{
    unsigned h = (uintptr_t)arg, who = PIC_SOURCES + h;
    struct random r = random_from(run_seed, 600 + h);
    for (uint32_t n = bootargs_number(BOOT(test_designated, rounds)); n; n--) {
        pic_raise(1u << test_source(random_below(&r, test_harts()), random_below(&r, TEST_SOURCES)));
        queue_next(who, h % 2 ? random_below(&r, 3) : 0, h % 2);
        test_spin(random_below(&r, 400));
    }
}

/* On the designated hart the packet is worked off before the thread goes on, but not inside its section. */
static void at_once(void *arg)
{
    unsigned who = PIC_SOURCES + curhart->id;
    (void)arg;
    while (owner[who].done != owner[who].queued)
        thread_yield();
    uint32_t done = owner[who].done;
    crit_t s = crit_sec_enter(SPL_SCHED);
    assert(queue_next(who, 0, true));
    test_spin(500);
    assert(owner[who].done == done);
    crit_sec_leave(s);
    test_spin(test_settle_cycles(2));
    assert(owner[who].done == done + 1);
}

static int test_designated(void)
{
    uint32_t done = 0;
    designated_hart = test_harts() - 1;
    designated_start(&queue, designated_hart, PRI_DESIGNATED);
    test_establish_waking(test_designated_handler);
    test_on_every_hart(test_designated_worker);
    thread_join(thread_create(at_once, 0, PRI_NORMAL, (int)designated_hart, "test"));
    test_spin(test_settle_cycles(TEST_SOURCES * hart_count));
    designated_stop(&queue);
    for (unsigned who = 0; who < OWNERS; who++) {
        if (owner[who].done != owner[who].queued)
            panic("owner %u queued %lu packets, %lu were worked off", who, (unsigned long)owner[who].queued,
                  (unsigned long)owner[who].done);
        done += owner[who].done;
    }
    assert(first_half == done + again && second_half == done + again && queue.queued == done + again);
    assert(done > 10 && queue.woken > 0 && (hart_count == 1 || again > 0));
    test_assert_base();
    kprintf("@test name=designated done=%lu again=%lu woken=%lu\n", (unsigned long)done, (unsigned long)again,
            (unsigned long)queue.woken);
    return 0;
}

RUN("test-designated", "test: the designated hart", test_designated);
