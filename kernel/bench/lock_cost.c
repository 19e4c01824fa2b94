/*
 * run=lock-cost: what acquiring and releasing each kind of lock costs in this image, to compare images with and
 * without LOCK_DEBUG and LOCK_STATS. Uncontended, on one hart, less the empty loop; and contended, where every
 * hart holds the lock for `section` cycles and pauses for `pause`, `rounds` times, as time per passage of all
 * together.
 *
 *   @lock_cost debug=0|1 stats=0|1 kind=... cycles=... iterations=...
 *   @lock_contended debug=0|1 stats=0|1 kind=simple|mutex|read harts=... section=... pause=... cycles=...
 *
 * kind: floor, one compare-and-swap each way with the ordering of a lock; simple, its section included; mutex; read;
 * write; convert: read, upgrade, downgrade, release; nested: a mutex inside another, for which LOCK_DEBUG checks the
 * order of locks.
 *
 * Boot arguments: iterations (200), rounds (50), section (100), pause (200). With hz=0 no tick disturbs the figures.
 */
#include "bench/pace.h"
#include "bench/result.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/lock.h"

DEFINE_SIMPLE_LOCK(simple, "cost simple", SPL_HIGH);
DEFINE_MUTEX(mutex, "cost mutex");
DEFINE_MUTEX(inner, "cost inner");
DEFINE_RW_LOCK(rw, "cost rw");

static uint32_t section, lock_cost_pause, rounds;

static uint32_t lock_cost_word;

#define INLINE static inline __attribute__((always_inline))

/* For each kind, one turn with `inside` called inside. */
INLINE void floor_turn(void (*inside)(void))
{
    atomic_cas_acquire(&lock_cost_word, 0, 1);
    inside();
    atomic_cas_release(&lock_cost_word, 1, 0);
}

INLINE void simple_turn(void (*inside)(void))
{
    crit_t s = simple_lock_enter(&simple);
    inside();
    simple_lock_leave(&simple, s);
}

INLINE void mutex_turn(void (*inside)(void))
{
    mutex_lock(&mutex);
    inside();
    mutex_unlock(&mutex);
}

INLINE void read_turn(void (*inside)(void))
{
    lock_read(&rw);
    inside();
    lock_done(&rw);
}

INLINE void write_turn(void (*inside)(void))
{
    lock_write(&rw);
    inside();
    lock_done(&rw);
}

INLINE void convert_turn(void (*inside)(void))
{
    lock_read(&rw);
    assert(lock_read_to_write(&rw));
    inside();
    lock_write_to_read(&rw);
    lock_done(&rw);
}

INLINE void nested_turn(void (*inside)(void))
{
    mutex_lock(&mutex);
    mutex_lock(&inner);
    inside();
    mutex_unlock(&inner);
    mutex_unlock(&mutex);
}

INLINE void nothing_turn(void (*inside)(void))
{
    inside();
}

typedef void turn_fn(void (*inside)(void));

INLINE void nothing(void) {}

INLINE uint32_t time_turns(turn_fn *turn, uint32_t n)
{
    uint32_t begin = cycles32();
    for (; n; n--) {
        barrier();
        turn(nothing);
    }
    return cycles32() - begin;
}

/* A separate loop for each kind, so that nothing is called that the kind does not need. */
#define TIMED(kind)                                                   \
    static uint32_t __attribute__((noinline)) time_##kind(uint32_t n) \
    {                                                                 \
        return time_turns(kind##_turn, n);                            \
    }

TIMED(nothing)
TIMED(floor)
TIMED(simple)
TIMED(mutex)
TIMED(read)
TIMED(write)
TIMED(convert)
TIMED(nested)

static const struct {
    const char *name;
    uint32_t (*loop)(uint32_t n);
} uncontended[] = {
    {"floor", time_floor}, {"simple", time_simple},   {"mutex", time_mutex},   {"read", time_read},
    {"write", time_write}, {"convert", time_convert}, {"nested", time_nested},
};

/* Tenths of a cycle per turn; earlier turns bring code and data into the caches. */
static uint32_t lock_cost_tenths(uint32_t (*loop)(uint32_t), uint32_t iterations)
{
    loop(4);
    return (uint32_t)(((uint64_t)loop(iterations) * 10 + iterations / 2) / iterations);
}

static uint32_t began[MAX_HARTS], ended[MAX_HARTS];

INLINE void hold(void)
{
    pace(section);
}

INLINE void passages(turn_fn *turn, unsigned hart)
{
    began[hart] = cycles32();
    for (uint32_t n = rounds; n; n--) {
        turn(hold);
        pace(lock_cost_pause);
    }
    ended[hart] = cycles32();
}

static void pass_simple(unsigned hart)
{
    passages(simple_turn, hart);
}

static void pass_mutex(unsigned hart)
{
    passages(mutex_turn, hart);
}

static void pass_read(unsigned hart)
{
    passages(read_turn, hart);
}

static const struct {
    const char *name;
    void (*passages)(unsigned hart);
} contended[] = {{"simple", pass_simple}, {"mutex", pass_mutex}, {"read", pass_read}};

static int lock_cost(void)
{
    uint32_t iterations = bootargs_number(BOOT(bench_lock_cost, iterations));
    section = bootargs_number(BOOT(bench_lock_cost, section));
    lock_cost_pause = bootargs_number(BOOT(bench_lock_cost, pause));
    rounds = bootargs_number(BOOT(bench_lock_cost, rounds));
    if (!iterations || !rounds)
        return 2;
    pace_calibrate();
    uint32_t nothing = lock_cost_tenths(time_nothing, iterations);
    for (unsigned i = 0; i < sizeof uncontended / sizeof *uncontended; i++) {
        uint32_t cost = lock_cost_tenths(uncontended[i].loop, iterations) - nothing;
        result("@lock_cost debug=%d stats=%d kind=%s cycles=%lu.%lu iterations=%lu\n", LOCK_DEBUG, LOCK_STATS,
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
                LOCK_STATS, contended[i].name, hart_count, (unsigned long)section, (unsigned long)lock_cost_pause,
                (unsigned long)each);
    }
    return 0;
}

RUN("lock-cost", "what locks of each kind cost in this image", lock_cost);
