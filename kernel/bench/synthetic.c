/*
 * run=synthetic: the load of paper `sync`, section 5.1, without a disk or a network. On every hart a thread
 * alternates between critical sections and work outside them, both of exponentially distributed length (the paper's
 * Figure 1 has that shape), while interrupts arrive as a Poisson process of the hart's own. Boot arguments, in
 * cycles:
 *
 *   section, gap   mean length of a section's body, and of the work between two
 *   interval       mean time between the interrupts of a hart; 0: none
 *   handler        how long an interrupt's handler works
 *   sections       how many sections each hart goes through
 *   lock           none: a section masks, no more; own: with a simple lock of the hart; shared: with one lock for all
 *   mask           0: the same work without masking, against which the schemes' added cost is measured
 *   poll           time between two polls (bench/polls.h); 0: none
 *
 * All draws are made beforehand from `seed`, so every scheme gets the same work and the same arrivals. Prints
 *
 *   @synthetic hart=... sections=... cycles=... interrupts=... section_draws=... gap_draws=...      for each hart
 *   @arrivals arrivals=... lost=... spurious=...
 *
 * cycles: from the common start until the hart has finished, when its interrupts end, too; draws: the requested sum;
 * spurious: interrupts that found nothing, of all harts.
 */
#include "bench/pace.h"
#include "bench/polls.h"
#include "dev/arrivals.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lock/simple_lock.h"
#include "sched/sched.h"

#include <string.h>

#define DRAWS 512 /* of each length, for a hart: then they repeat */
#define INTERRUPT_LEVEL SPL_BIO

enum lock_use { NO_LOCK, OWN_LOCK, SHARED_LOCK };

static struct work {
    struct {
        uint16_t section, gap; /* turns of pace_turns */
    } draw[DRAWS];
    struct simple_lock own, *lock;
    uint32_t cycles, section_draws, gap_draws;
} work[MAX_HARTS] __attribute__((aligned(64)));

static SIMPLE_LOCK_CLASS(own_class, "own", SPL_HIGH);
DEFINE_SIMPLE_LOCK(shared, "shared", SPL_HIGH);

static uint32_t sections, poll_every, handler_turns;
static enum lock_use lock_use;
static bool mask;

static void synthetic_handler(void *wire)
{
    arrivals_acknowledge((uintptr_t)wire);
    pace_turns(handler_turns);
}

static uint32_t turns_of(uint32_t cycles)
{
    uint32_t turns = cycles * 16 / pace_cycles_of_16_turns;
    return MIN(turns, 0xffff);
}

static void draw(struct work *w, unsigned hart, uint32_t section, uint32_t gap)
{
    struct random r = random_from(run_seed, hart);
    w->own = (struct simple_lock)SIMPLE_LOCK("own", own_class);
    w->section_draws = w->gap_draws = 0;
    for (unsigned i = 0; i < DRAWS && i < sections; i++) {
        uint32_t s = exponential(&r, section), g = exponential(&r, gap);
        w->draw[i].section = (uint16_t)turns_of(s);
        w->draw[i].gap = (uint16_t)turns_of(g);
        for (uint32_t n = i; n < sections; n += DRAWS) {
            w->section_draws += s;
            w->gap_draws += g;
        }
    }
}

#define INLINE static inline __attribute__((always_inline))

typedef crit_t enter_fn(struct work *w); /* leaving gets its result */
typedef void leave_fn(struct work *w, crit_t s);

INLINE crit_t bare_enter(struct work *w)
{
    (void)w;
    barrier();
    return 0;
}

INLINE void bare_leave(struct work *w, crit_t s)
{
    (void)w, (void)s;
    barrier();
}

INLINE crit_t masked_enter(struct work *w)
{
    (void)w;
    return crit_sec_enter(SPL_HIGH);
}

INLINE void masked_leave(struct work *w, crit_t s)
{
    (void)w;
    crit_sec_leave(s);
}

INLINE crit_t locked_enter(struct work *w)
{
    return simple_lock_enter(w->lock);
}

INLINE void locked_leave(struct work *w, crit_t s)
{
    simple_lock_leave(w->lock, s);
}

INLINE void all_sections(enter_fn *enter, leave_fn *leave, struct work *w, bool polling)
{
    uint32_t polled = cycles32();
    for (uint32_t i = 0; i < sections; i++) {
        uint32_t body = w->draw[i % DRAWS].section, gap = w->draw[i % DRAWS].gap;
        crit_t s = enter(w);
        pace_turns(body);
        leave(w, s);
        pace_turns(gap);
        if (unlikely(cycles32() - polled >= poll_every)) {
            polled += poll_every;
            if (polling)
                polls_take();
        }
    }
}

/* A loop for each way, without the cost of choosing one. */
#define LOOP(way)                                                                  \
    static void __attribute__((noinline)) way##_loop(struct work *w, bool polling) \
    {                                                                              \
        all_sections(way##_enter, way##_leave, w, polling);                        \
    }
LOOP(bare)
LOOP(masked)
LOOP(locked)

static bool begun; /* the window: otherwise sections of other harts count between the two marks of its begin */

static void work_of(unsigned hart)
{
    struct work *w = &work[hart];
    w->lock = lock_use == SHARED_LOCK ? &shared : &w->own;
    if (hart == 0) {
        polls_begin();
        PROBE(WINDOW_BEGIN);
        __atomic_store_n(&begun, true, __ATOMIC_RELEASE);
    } else {
        while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
            ;
    }
    uint32_t begin = cycles32();
    (!mask ? bare_loop : lock_use == NO_LOCK ? masked_loop : locked_loop)(w, hart == 0);
    w->cycles = cycles32() - begin;
    pic_write(PIC_MASK, PIC_SOURCE_ARRIVAL(hart));
}

/* As many as arrive in twice the minimum time of the work; then they repeat. */
static unsigned arrivals_needed(uint32_t interval, uint32_t section, uint32_t gap)
{
    uint64_t n = (uint64_t)2 * sections * (section + gap) * hart_count / interval + hart_count;
    return n < ARRIVALS_ENTRIES ? (unsigned)n : ARRIVALS_ENTRIES;
}

static enum lock_use named_lock_use(void)
{
    static const char *const name[] = {"none", "own", "shared"};
    char text[16];
    const char *use = bootargs_string(BOOT(bench_synthetic, lock), text, sizeof text);
    for (unsigned i = 0; i < sizeof name / sizeof *name; i++)
        if (!strcmp(use, name[i]))
            return (enum lock_use)i;
    panic("boot argument lock=%s: give none, own or shared", use);
}

static int synthetic(void)
{
    uint32_t section = bootargs_number(BOOT(bench_synthetic, section)),
             gap = bootargs_number(BOOT(bench_synthetic, gap));
    uint32_t interval = bootargs_number(BOOT(bench_synthetic, interval));
    uint32_t handler_cycles = bootargs_number(BOOT(bench_synthetic, handler));
    sections = bootargs_number(BOOT(bench_synthetic, sections));
    poll_every = bootargs_number(BOOT(bench_synthetic, poll));
    mask = bootargs_number(BOOT(bench_synthetic, mask));
    lock_use = named_lock_use();
    if (!sections)
        panic("run=synthetic: give sections=1 at least");
    if (!mask && lock_use != NO_LOCK)
        panic("run=synthetic: a lock is taken inside a section, so mask=0 goes with lock=none only");
    if (!poll_every)
        poll_every = UINT32_MAX;

    pace_calibrate();
    handler_turns = handler_cycles * 16 / pace_cycles_of_16_turns;
    for (unsigned h = 0; h < hart_count; h++) {
        draw(&work[h], h, section, gap);
        intr_establish(PIC_SOURCE_ARRIVAL(h), INTERRUPT_LEVEL, INTR_LEVEL, h, synthetic_handler, (void *)(uintptr_t)h,
                       "synthetic");
    }
    struct random r = random_from(run_seed, MAX_HARTS);
    arrivals_begin();
    if (interval) {
        unsigned entries = arrivals_needed(interval, section, gap);
        arrivals_enter_poisson(&r, entries, interval, hart_count);
        arrivals_play(entries);
    }
    pace_on_harts(hart_count, work_of);
    PROBE(WINDOW_END);
    polls_end();
    arrivals_stop();
    for (unsigned h = 0; h < hart_count; h++)
        intr_disestablish(PIC_SOURCE_ARRIVAL(h));

    for (unsigned h = 0; h < hart_count; h++)
        kprintf("@synthetic hart=%u sections=%lu cycles=%lu interrupts=%lu section_draws=%lu gap_draws=%lu\n", h,
                (unsigned long)sections, (unsigned long)work[h].cycles,
                (unsigned long)sync_hart_of(&harts[h])->handled[PIC_SOURCE_ARRIVAL(h)],
                (unsigned long)work[h].section_draws, (unsigned long)work[h].gap_draws);
    uint32_t spurious = 0;
    for (unsigned h = 0; h < hart_count; h++)
        spurious += sync_hart_of(&harts[h])->spurious;
    kprintf("@arrivals arrivals=%lu lost=%lu spurious=%lu\n", (unsigned long)arrivals_arrivals_read(),
            (unsigned long)arrivals_lost_read(), (unsigned long)spurious);
    polls_print();
    return 0;
}

RUN("synthetic", "sections and interrupts of exponential lengths and times (paper sync, section 5.1)", synthetic);
