/* Polling the time spent in critical sections (polls.h). */
#include "bench/polls.h"

#if CRIT_TIMING
#include "arch/csr.h"
#include "arch/hart.h"
#include "lib/printf.h"
#include "sync/hart_part.h"

#define MOST_POLLS 200

struct sums {
    uint32_t sections;
    uint64_t cycles;
};

static struct poll {
    uint64_t at;
    struct sums sums;
} polls_seen[MOST_POLLS + 1];
static unsigned polls;
static struct sums at_begin[MAX_HARTS], at_end[MAX_HARTS];
static uint32_t longest[MAX_HARTS];

/* Another hart may be counting: its two halves of the cycles are reread until they match. */
static struct sums sums_of(unsigned hart)
{
    volatile struct crit_timing *t = &sync_hart_of(&harts[hart])->crit_timing;
    struct sums s;
    do {
        s.sections = t->sections;
        s.cycles = t->cycles;
    } while (s.sections != t->sections || s.cycles != t->cycles);
    return s;
}

static void polls_sample(void)
{
    struct poll p = {.at = cycles64()};
    for (unsigned h = 0; h < hart_count; h++) {
        struct sums s = sums_of(h);
        p.sums.sections += s.sections;
        p.sums.cycles += s.cycles;
    }
    polls_seen[polls] = p;
}

void polls_begin(void)
{
    for (unsigned h = 0; h < hart_count; h++) {
        at_begin[h] = sums_of(h);
        sync_hart_of(&harts[h])->crit_timing.longest = 0;
    }
    polls = 0;
    polls_sample();
}

void polls_take(void)
{
    if (polls < MOST_POLLS) {
        polls++;
        polls_sample();
    }
}

void polls_end(void)
{
    for (unsigned h = 0; h < hart_count; h++) {
        at_end[h] = sums_of(h);
        longest[h] = sync_hart_of(&harts[h])->crit_timing.longest;
    }
}

void polls_print(void)
{
    for (unsigned h = 0; h < hart_count; h++)
        kprintf("@crit_timing hart=%u sections=%lu cycles=%llu longest=%lu\n", h,
                (unsigned long)(at_end[h].sections - at_begin[h].sections),
                (unsigned long long)(at_end[h].cycles - at_begin[h].cycles), (unsigned long)longest[h]);
    for (unsigned i = 1; i <= polls; i++)
        kprintf("@crit_poll cycles=%llu sections=%lu section_cycles=%llu\n",
                (unsigned long long)(polls_seen[i].at - polls_seen[i - 1].at),
                (unsigned long)(polls_seen[i].sums.sections - polls_seen[i - 1].sums.sections),
                (unsigned long long)(polls_seen[i].sums.cycles - polls_seen[i - 1].sums.cycles));
}
#endif
