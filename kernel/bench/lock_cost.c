/*
 * run=lock-cost: what acquiring and releasing each kind of lock costs in the image at hand, to compare images with and
 * without LOCK_DEBUG and LOCK_STATS. Uncontended, on one hart, the empty loop taken off; and contended, where every
 * hart holds the lock for `section` cycles and stays away for `pause`, `rounds` times, as time per passage of all
 * together.
 *
 *   @lock_cost debug=0|1 stats=0|1 kind=... cycles=... iterations=...
 *   @lock_contended debug=0|1 stats=0|1 kind=simple|mutex|read harts=... section=... pause=... cycles=...
 *
 * kind: floor, one compare-and-swap each way with the ordering of a lock; simple, its section included; mutex; read; write; convert: read, upgrade, downgrade, release; nested: a mutex
 * inside another, which LOCK_DEBUG looks up in the order of locks.
 *
 * Boot arguments: iterations (200), rounds (50), section (100), pause (200). With hz=0 nothing comes between.
 */
#include "bench/pace.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/lock.h"

DEFINE_SIMPLE_LOCK(simple, "cost simple", SPL_HIGH);
DEFINE_MUTEX(mutex, "cost mutex");
DEFINE_MUTEX(inner, "cost inner");
DEFINE_RW_LOCK(rw, "cost rw");

static uint32_t section, pause, rounds;

#define LOOP(name, ...)                                        \
    static uint32_t __attribute__((noinline)) name(uint32_t n) \
    {                                                          \
        uint32_t begin = cycles32();                           \
        for (; n; n--) {                                       \
            barrier();                                         \
            __VA_ARGS__;                                       \
        }                                                      \
        return cycles32() - begin;                             \
    }

LOOP(time_nothing, )
static uint32_t word;

LOOP(time_floor, atomic_cas_acquire(&word, 0, 1); atomic_cas_release(&word, 1, 0))
LOOP(time_simple, crit_t s = simple_lock_enter(&simple); simple_lock_leave(&simple, s))
LOOP(time_mutex, mutex_lock(&mutex); mutex_unlock(&mutex))
LOOP(time_read, lock_read(&rw); lock_done(&rw))
LOOP(time_write, lock_write(&rw); lock_done(&rw))
LOOP(time_convert, lock_read(&rw); assert(lock_read_to_write(&rw)); lock_write_to_read(&rw); lock_done(&rw))
LOOP(time_nested, mutex_lock(&mutex); mutex_lock(&inner); mutex_unlock(&inner); mutex_unlock(&mutex))

static const struct {
    const char *name;
    uint32_t (*loop)(uint32_t n);
} uncontended[] = {
    {"floor", time_floor}, {"simple", time_simple},   {"mutex", time_mutex},   {"read", time_read},
    {"write", time_write}, {"convert", time_convert}, {"nested", time_nested},
};

/* Tenths of a cycle a turn; the turns before bring code and data into the caches. */
static uint32_t tenths(uint32_t (*loop)(uint32_t), uint32_t iterations)
{
    loop(4);
    return (uint32_t)(((uint64_t)loop(iterations) * 10 + iterations / 2) / iterations);
}

static uint32_t began[MAX_HARTS], ended[MAX_HARTS];

#define PASSAGES(name, ...)                 \
    static void name(unsigned hart)         \
    {                                       \
        began[hart] = cycles32();           \
        for (uint32_t n = rounds; n; n--) { \
            __VA_ARGS__;                    \
            pace(pause);                    \
        }                                   \
        ended[hart] = cycles32();           \
    }

PASSAGES(pass_simple, crit_t s = simple_lock_enter(&simple); pace(section); simple_lock_leave(&simple, s))
PASSAGES(pass_mutex, mutex_lock(&mutex); pace(section); mutex_unlock(&mutex))
PASSAGES(pass_read, lock_read(&rw); pace(section); lock_done(&rw))

static const struct {
    const char *name;
    void (*passages)(unsigned hart);
} contended[] = {{"simple", pass_simple}, {"mutex", pass_mutex}, {"read", pass_read}};

static int lock_cost(void)
{
    uint32_t iterations = bootargs_number("iterations", 200, 1000000);
    section = bootargs_number("section", 100, 100000);
    pause = bootargs_number("pause", 200, 100000);
    rounds = bootargs_number("rounds", 50, 100000);
    if (!iterations || !rounds)
        return 2;
    pace_calibrate();
    uint32_t nothing = tenths(time_nothing, iterations);
    for (unsigned i = 0; i < sizeof uncontended / sizeof *uncontended; i++) {
        uint32_t cost = tenths(uncontended[i].loop, iterations) - nothing;
        kprintf("@lock_cost debug=%d stats=%d kind=%s cycles=%lu.%lu iterations=%lu\n", LOCK_DEBUG, LOCK_STATS,
                uncontended[i].name, (unsigned long)cost / 10, (unsigned long)cost % 10, (unsigned long)iterations);
    }
    for (unsigned i = 0; i < sizeof contended / sizeof *contended; i++) {
        pace_on_harts(hart_count, contended[i].passages);
        uint32_t begin = began[0], end = ended[0];
        for (unsigned h = 1; h < hart_count; h++) {
            begin = (int32_t)(began[h] - begin) < 0 ? began[h] : begin;
            end = (int32_t)(ended[h] - end) > 0 ? ended[h] : end;
        }
        uint32_t each = (end - begin) / (rounds * hart_count);
        kprintf("@lock_contended debug=%d stats=%d kind=%s harts=%u section=%lu pause=%lu cycles=%lu\n", LOCK_DEBUG,
                LOCK_STATS, contended[i].name, hart_count, (unsigned long)section, (unsigned long)pause,
                (unsigned long)each);
    }
    return 0;
}

RUN("lock-cost", "what locks of each kind cost in this image", lock_cost);
