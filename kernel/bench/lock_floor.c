/*
 * run=lock-floor: what an uncontended simple lock costs, beside the floor: the fewest instructions that make a correct
 * lock by RISC-V's memory model, for which there are several candidates (unprivileged specification, A.6). Each pair,
 * acquire and release, is timed in a loop, less the empty loop, with the section between empty, and with one
 * store in it: a release waits until the section's stores are visible to all, so an empty section flatters every lock.
 *
 *   @lock_pair pair=... section=empty|store cycles=... iterations=...       cycles per pair
 *   @lock_floor algorithm=... section=... floor=... cycles=... ratio=...    simple_lock and simple_unlock; floor: the
 *                                                                           cheapest candidate
 *
 * Interrupts are masked, and everything is in the cache: a lock is timed at several addresses, and the minimum
 * counts, as the cache is direct-mapped and a lock may share its line with data that it needs.
 *
 * Boot argument: iterations (1000).
 */
#include "arch/csr.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/simple_lock.h"

static struct {
    volatile uint32_t word __attribute__((aligned(64)));
    volatile uint32_t datum __attribute__((aligned(64)));
} lock_floor_bare;

#define PLACES 4
#define LINES_APART 17

static SIMPLE_LOCK_CLASS(measured_class, "measured", SPL_HIGH);
static struct line {
    struct simple_lock lock;
} __attribute__((aligned(64))) lines[PLACES][LINES_APART];
static struct simple_lock *lock_floor_measured;

#define INLINE static inline __attribute__((always_inline))

typedef crit_t acquire_fn(struct simple_lock *l); /* the release gets its result */
typedef void section_fn(uint32_t i);
typedef void release_fn(struct simple_lock *l, crit_t s);

INLINE crit_t acquire_amo(struct simple_lock *l)
{
    (void)l;
    uint32_t taken;
    __asm__ volatile("1: amoswap.w.aq %0, %2, %1\n bnez %0, 1b"
                     : "=&r"(taken), "+A"(lock_floor_bare.word)
                     : "r"(1)
                     : "memory");
    return 0;
}

INLINE crit_t acquire_amo_fence(struct simple_lock *l)
{
    (void)l;
    uint32_t taken;
    __asm__ volatile("1: amoswap.w %0, %2, %1\n bnez %0, 1b\n fence r, rw"
                     : "=&r"(taken), "+A"(lock_floor_bare.word)
                     : "r"(1)
                     : "memory");
    return 0;
}

INLINE crit_t acquire_lr_sc(struct simple_lock *l)
{
    (void)l;
    uint32_t t;
    __asm__ volatile("1: lr.w.aq %0, %1\n bnez %0, 1b\n sc.w %0, %2, %1\n bnez %0, 1b"
                     : "=&r"(t), "+A"(lock_floor_bare.word)
                     : "r"(1)
                     : "memory");
    return 0;
}

INLINE void release_store(struct simple_lock *l, crit_t s)
{
    (void)l, (void)s;
    __asm__ volatile("fence rw, w\n sw zero, %0" : "=m"(lock_floor_bare.word)::"memory");
}

INLINE void release_amo(struct simple_lock *l, crit_t s)
{
    (void)l, (void)s;
    __asm__ volatile("amoswap.w.rl zero, zero, %0" : "+A"(lock_floor_bare.word)::"memory");
}

INLINE crit_t acquire_simple(struct simple_lock *l)
{
    simple_lock(l);
    return 0;
}

INLINE void release_simple(struct simple_lock *l, crit_t s)
{
    (void)s;
    simple_unlock(l);
}

INLINE crit_t acquire_nothing(struct simple_lock *l)
{
    (void)l;
    return 0;
}

INLINE void release_nothing(struct simple_lock *l, crit_t s)
{
    (void)l, (void)s;
}

INLINE void section_empty(uint32_t i)
{
    (void)i;
}

INLINE void section_store(uint32_t i)
{
    lock_floor_bare.datum = i;
}

INLINE uint64_t time_pairs(acquire_fn *acquire, section_fn *section, release_fn *release, uint32_t iterations)
{
    struct simple_lock *l = lock_floor_measured;
    uint64_t begin = cycles64();
    for (uint32_t i = iterations; i; i--) {
        barrier();
        crit_t s = acquire(l);
        section(i);
        release(l, s);
    }
    return cycles64() - begin;
}

/* A separate loop for each pair and section, at the begin of a cache line, without calls. */
#define LOOP(name, acquire, section, release)                                                    \
    static uint64_t __attribute__((noinline, aligned(64))) name##_##section(uint32_t iterations) \
    {                                                                                            \
        return time_pairs(acquire, section_##section, release, iterations);                      \
    }
#define LOOPS(name, acquire, release)   \
    LOOP(name, acquire, empty, release) \
    LOOP(name, acquire, store, release)

LOOPS(no, acquire_nothing, release_nothing)
LOOPS(amo_store, acquire_amo, release_store)
LOOPS(amo_fence_store, acquire_amo_fence, release_store)
LOOPS(lr_sc_store, acquire_lr_sc, release_store)
LOOPS(amo_amo, acquire_amo, release_amo)
LOOPS(simple, acquire_simple, release_simple)
LOOPS(enter, simple_lock_enter, simple_lock_leave)

typedef uint64_t loop_fn(uint32_t iterations);

static const struct {
    const char *name;
    loop_fn *loop[2];
    bool bare;
} pairs[] = {
    {"amoswap.aq,fence+store", {amo_store_empty, amo_store_store}, true},
    {"amoswap+fence,fence+store", {amo_fence_store_empty, amo_fence_store_store}, true},
    {"lr.aq+sc,fence+store", {lr_sc_store_empty, lr_sc_store_store}, true},
    {"amoswap.aq,amoswap.rl", {amo_amo_empty, amo_amo_store}, true},
    {"simple_lock,simple_unlock", {simple_empty, simple_store}, false},
    {"simple_lock_enter,simple_lock_leave", {enter_empty, enter_store}, false},
};
#define PAIRS (sizeof pairs / sizeof *pairs)
#define SIMPLE_PAIR 4

/* Hundredths of cycles per iteration. */
static uint32_t lock_floor_measure(loop_fn *loop, uint32_t iterations)
{
    uint32_t enabled = csr_read_clear(mie, ~0u);
    uint64_t least = ~0ull;
    for (unsigned p = 0; p < PLACES; p++) {
        lock_floor_measured = &lines[p][0].lock;
        loop(4); /* loads the code into the cache */
        uint64_t cycles = loop(iterations);
        least = MIN(cycles, least);
    }
    csr_write(mie, enabled);
    return (uint32_t)((least * 100 + iterations / 2) / iterations);
}

static int lock_floor(void)
{
    static const char *const section[] = {"empty", "store"};
    static loop_fn *const nothing[] = {no_empty, no_store};
    uint32_t iterations = bootargs_number(BOOT(bench_lock_floor, iterations));
    if (!iterations)
        panic("boot argument iterations: give 1 at least");
    for (unsigned p = 0; p < PLACES; p++)
        lines[p][0].lock = (struct simple_lock)SIMPLE_LOCK("measured", measured_class);
    for (unsigned s = 0; s < 2; s++) {
        uint32_t around = lock_floor_measure(nothing[s], iterations), cycles[PAIRS], least = ~0u;
        for (unsigned i = 0; i < PAIRS; i++) {
            cycles[i] = lock_floor_measure(pairs[i].loop[s], iterations) - around;
            if (pairs[i].bare && cycles[i] < least)
                least = cycles[i];
            kprintf("@lock_pair pair=%s section=%s cycles=%lu.%02lu iterations=%lu\n", pairs[i].name, section[s],
                    (unsigned long)cycles[i] / 100, (unsigned long)cycles[i] % 100, (unsigned long)iterations);
        }
        uint32_t ratio = (cycles[SIMPLE_PAIR] * 100 + least / 2) / least;
        kprintf("@lock_floor algorithm=" SPINLOCK_NAME " section=%s floor=%lu.%02lu cycles=%lu.%02lu ratio=%lu.%02lu\n",
                section[s], (unsigned long)least / 100, (unsigned long)least % 100,
                (unsigned long)cycles[SIMPLE_PAIR] / 100, (unsigned long)cycles[SIMPLE_PAIR] % 100,
                (unsigned long)ratio / 100, (unsigned long)ratio % 100);
    }
    return 0;
}

RUN("lock-floor", "cost of an uncontended simple lock beside the bare instructions'", lock_floor);
