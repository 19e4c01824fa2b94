/*
 * run=spinlocks: harts that contend for one lock (sync/spin). Each acquires it, works in it for `section` cycles,
 * releases it and pauses for `pause` cycles (more or less by half, at random), repeatedly for `window` cycles. First,
 * on several harts, the floor (line_transfer.c); then for each length of the list `section`:
 *
 *   @spinlocks algorithm=... harts=... section=... pause=... window=... acquisitions=... least=... most=... jain=...
 *       handovers=... handover=... handover_min=... handover_max=... wait=... wait_max=...
 *
 * least, most   acquisitions of the hart that got fewest and most
 * jain          fairness, (sum x)^2 / (n sum x^2) over the harts' acquisitions x: 1 is equal, 1/n is one hart has all
 *               (Jain, Chiu and Hawe, DEC-TR-301, 1984)
 * handovers     releases at which the next owner, another hart, was waiting already
 * handover      cycles from just before the release to just after the acquisition there: mean, least, most
 * wait          cycles from the attempt to the acquisition: mean, and the longest of all: how badly a hart may starve
 *
 * Last, on several harts, what the waiting harts cost the holder: a section that reads `lines` lines of memory that
 * are not in its cache, in cycles, when no other hart wants the lock and when all do:
 *
 *   @spinlocks_memory algorithm=... harts=... lines=... alone=... held=...
 *
 * Interrupts are masked in the window. The harts log to memory outside the section; the section itself
 * stores one word, a counter, which also proves that harts exclude each other. The caches are direct-mapped: measured
 * code lies in one function, and the window is divided among several addresses of the lock, so that no single one
 * decides by sharing its cache line with something else.
 *
 * Boot arguments: section (0,100,400), pause (100), window (40000), lines (10), seed.
 */
#include <stdlib.h>

#include "bench/line_transfer.h"
#include "bench/pace.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/random.h"
#include "lock/spin/spin.h"

#define LEAST_CYCLES 40 /* of an acquisition at least: no window overflows the log */
#define LOG_ENTRIES (BOOT_MOST(bench_spinlocks, window) / LEAST_CYCLES)
#define PLACES 4
#define LINES_APART 17
#define MEMORY_LINES BOOT_MOST(bench_spinlocks, lines)

struct acquisition {
    uint32_t hart, asked, got, released; /* cycles */
};

static struct acquisition log[LOG_ENTRIES] __attribute__((section(".noinit")));
static struct line {
    struct spin spin;
} __attribute__((aligned(64))) lines[PLACES][LINES_APART];
static volatile uint32_t acquisitions __attribute__((aligned(64)));

static struct {
    volatile uint32_t word;
} __attribute__((aligned(64))) memory[MAX_HARTS][MEMORY_LINES];

static uint32_t next_line[MAX_HARTS];
static uint32_t section, spinlocks_pause, window, lines_read;
static unsigned spinlocks_place;

/* Reads the next lines of the hart's memory, which is twice as large as its cache. */
static inline void read_lines(unsigned h, uint32_t *at)
{
    for (uint32_t n = lines_read; n; n--)
        (void)memory[h][++*at % MEMORY_LINES].word;
}

static void __attribute__((noinline, aligned(64))) worker(unsigned h)
{
    struct random r = random_from(run_seed, h + MAX_HARTS * spinlocks_place);
    struct spin *s = &lines[spinlocks_place][0].spin;
    crit_t saved = crit_sec_enter(SPL_HIGH);
    uint32_t begin = cycles32(), asked, line = next_line[h];
    while ((asked = cycles32()) - begin < window / PLACES) {
        spin_place_t queue;
        if (!spin_take(s, &queue))
            spin_wait(s, queue);
        uint32_t got = cycles32();
        uint32_t n = acquisitions++;
        pace(section);
        read_lines(h, &line);
        uint32_t released = cycles32();
        spin_release(s);
        log[n] = (struct acquisition){h, asked, got, released};
        pace(spinlocks_pause / 2 + random_below(&r, spinlocks_pause + 1));
    }
    next_line[h] = line;
    crit_sec_leave(saved);
}

/* "1.234" of thousandths. */
#define THOUSANDTHS "%lu.%03lu"
#define SPLIT(x) (unsigned long)((x) / 1000), (unsigned long)((x) % 1000)

static void bench_spinlocks_report(void)
{
    uint32_t of[MAX_HARTS] = {0}, total = acquisitions, least = ~0u, most = 0;
    uint32_t handovers = 0, handover_min = ~0u, handover_max = 0, wait_max = 0;
    uint64_t handover_sum = 0, wait_sum = 0, squares = 0;
    for (uint32_t n = 0; n < total; n++) {
        const struct acquisition *a = &log[n], *before = n ? a - 1 : 0;
        uint32_t wait = a->got - a->asked;
        of[a->hart]++;
        wait_sum += wait;
        wait_max = MAX(wait, wait_max);
        if (!before)
            continue;
        if ((int32_t)(a->got - before->released) < 0)
            panic("acquisition %u began before the one before it ended", (unsigned)n);
        if (before->hart == a->hart || (int32_t)(a->asked - before->released) >= 0)
            continue;
        uint32_t handover = a->got - before->released;
        handovers++;
        handover_sum += handover;
        handover_min = MIN(handover, handover_min);
        handover_max = MAX(handover, handover_max);
    }
    for (unsigned h = 0; h < hart_count; h++) {
        squares += (uint64_t)of[h] * of[h];
        least = MIN(of[h], least);
        most = MAX(of[h], most);
    }
    uint32_t jain = (uint32_t)((uint64_t)total * total * 1000 / (hart_count * squares));
    uint32_t handover = handovers ? (uint32_t)(handover_sum * 1000 / handovers) : 0;
    uint32_t wait = (uint32_t)(wait_sum * 1000 / total);
    kprintf("@spinlocks algorithm=" SPINLOCK_NAME " harts=%u section=%lu pause=%lu window=%lu acquisitions=%lu",
            hart_count, (unsigned long)section, (unsigned long)spinlocks_pause, (unsigned long)window,
            (unsigned long)total);
    kprintf(" least=%lu most=%lu jain=" THOUSANDTHS " handovers=%lu handover=" THOUSANDTHS, (unsigned long)least,
            (unsigned long)most, SPLIT(jain), (unsigned long)handovers, SPLIT(handover));
    kprintf(" handover_min=%lu handover_max=%lu wait=" THOUSANDTHS " wait_max=%lu\n",
            (unsigned long)(handovers ? handover_min : 0), (unsigned long)handover_max, SPLIT(wait),
            (unsigned long)wait_max);
}

static void compete(unsigned count)
{
    acquisitions = 0;
    for (spinlocks_place = 0; spinlocks_place < PLACES; spinlocks_place++)
        pace_on_harts(count, worker);
}

/* Mean time of a section in thousandths of cycles. */
static uint32_t mean_held(unsigned count)
{
    uint64_t sum = 0;
    compete(count);
    for (uint32_t n = 0; n < acquisitions; n++)
        sum += log[n].released - log[n].got;
    return (uint32_t)(sum * 1000 / acquisitions);
}

static int bench_spinlocks(void)
{
    char list[64];
    spinlocks_pause = bootargs_number(BOOT(bench_spinlocks, pause));
    window = bootargs_number(BOOT(bench_spinlocks, window));
    pace_calibrate();
    if (hart_count > 1 && line_transfer())
        return 2;
    for (const char *at = bootargs_string(BOOT(bench_spinlocks, section), list, sizeof list); *at;) {
        char *end;
        section = strtoul(at, &end, 10);
        if (end == at || (*end && *end != ',') || section > window)
            panic("boot argument section=%s: give numbers up to the window's %lu, with commas between", list,
                  (unsigned long)window);
        at = *end ? end + 1 : end;
        compete(hart_count);
        bench_spinlocks_report();
    }
    if (hart_count > 1) {
        section = 0;
        lines_read = bootargs_number(BOOT(bench_spinlocks, lines));
        uint32_t alone = mean_held(1), held = mean_held(hart_count);
        kprintf("@spinlocks_memory algorithm=" SPINLOCK_NAME " harts=%u lines=%lu alone=" THOUSANDTHS
                " held=" THOUSANDTHS "\n",
                hart_count, (unsigned long)lines_read, SPLIT(alone), SPLIT(held));
        lines_read = 0;
    }
    return 0;
}

RUN("spinlocks", "throughput, fairness and hand-over of a contended lock", bench_spinlocks);
