/* Lock statistics (lock_stats.h). */
#include "sync/lock_stats.h"

#if LOCK_STATS
#include <stdio.h>
#include <string.h>

#include "arch/hart.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/symbols.h"

struct duration {
    uint32_t count, min, max;
    uint64_t total;
};

struct counts {
    uint32_t attempts, misses, blocks, fails;
    struct duration wait, hold;
};

struct site {
    uintptr_t pc; /* 0: free */
    const struct lock_class *class;
    uint32_t epoch; /* in which `counts` were counted */
    struct counts counts;
};

struct table {
    uint32_t lost; /* events that found no room */
    struct site site[LOCK_SITES];
};

static struct table by_hart[MAX_HARTS], snapshot;
static volatile uint32_t epoch;

/* The place of this pair, made if it is not there; 0: the table is full. */
static struct site *place(struct table *t, uintptr_t pc, const struct lock_class *class)
{
    uint32_t hash = ((uint32_t)pc ^ (uint32_t)(uintptr_t)class << 7) * 2654435761u >> 24;
    for (unsigned i = 0; i < LOCK_SITES; i++) {
        struct site *s = &t->site[(hash + i) % LOCK_SITES];
        if (s->pc == pc && s->class == class)
            return s;
        if (!s->pc) {
            s->class = class;
            s->pc = pc;
            return s;
        }
    }
    t->lost++;
    return 0;
}

/* Where this hart counts what happens at `pc` now; 0: nowhere. */
static struct counts *counts_of(const struct lock_object *o, uintptr_t pc)
{
    struct site *s = place(&by_hart[curhart->id], pc, o->class);
    if (!s)
        return 0;
    if (s->epoch != epoch) {
        s->counts = (struct counts){0};
        s->epoch = epoch;
    }
    return &s->counts;
}

static void add(struct duration *d, struct duration more)
{
    if (!more.count)
        return;
    d->min = d->count && d->min < more.min ? d->min : more.min;
    d->max = d->max > more.max ? d->max : more.max;
    d->count += more.count;
    d->total += more.total;
}

#define COUNT(event)                                                     \
    void lock_count_##event(const struct lock_object *o, uintptr_t site) \
    {                                                                    \
        struct counts *c = counts_of(o, site);                           \
        if (c)                                                           \
            c->COUNTER_##event++;                                        \
    }
#define COUNTER_attempt attempts
#define COUNTER_miss misses
#define COUNTER_block blocks
#define COUNTER_fail fails
COUNT(attempt)
COUNT(miss)
COUNT(block)
COUNT(fail)

#define TIME(event)                                                                       \
    void lock_count_##event(const struct lock_object *o, uintptr_t site, uint32_t cycles) \
    {                                                                                     \
        struct counts *c = counts_of(o, site);                                            \
        if (c)                                                                            \
            add(&c->event, (struct duration){1, cycles, cycles, cycles});                 \
    }
TIME(wait)
TIME(hold)

void lock_stats_clear(void)
{
    __atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
}

/* Its hart may be counting: two copies that are alike hold no half-written sum. */
static struct counts steady(const struct site *s)
{
    struct counts once, again;
    do {
        memcpy(&once, &s->counts, sizeof once);
        barrier();
        memcpy(&again, &s->counts, sizeof again);
        barrier();
    } while (memcmp(&once, &again, sizeof once));
    return once;
}

static void merge(struct counts *into, const struct counts *c)
{
    into->attempts += c->attempts;
    into->misses += c->misses;
    into->blocks += c->blocks;
    into->fails += c->fails;
    add(&into->wait, c->wait);
    add(&into->hold, c->hold);
}

void lock_stats_snapshot(void)
{
    memset(&snapshot, 0, sizeof snapshot);
    for (unsigned h = 0; h < hart_count; h++) {
        snapshot.lost += by_hart[h].lost;
        for (unsigned i = 0; i < LOCK_SITES; i++) {
            const struct site *s = &by_hart[h].site[i];
            if (!s->pc || s->epoch != epoch)
                continue;
            struct counts c = steady(s);
            struct site *sum = place(&snapshot, s->pc, s->class);
            if (sum)
                merge(&sum->counts, &c);
        }
    }
}

static struct counts class_counts(const struct lock_class *class)
{
    struct counts sum = {0};
    for (unsigned i = 0; i < LOCK_SITES; i++)
        if (snapshot.site[i].pc && snapshot.site[i].class == class)
            merge(&sum, &snapshot.site[i].counts);
    return sum;
}

static void name_site(char *text, unsigned size, uintptr_t pc)
{
    uint32_t offset = 0;
    const char *name = symbol_of(pc, &offset);
    snprintf(text, size, "%s+0x%lx", name ? name : "?", (unsigned long)offset);
}

static uint32_t mean(const struct duration *d)
{
    return d->count ? (uint32_t)(d->total / d->count) : 0;
}

static void print_heading(const char *what)
{
    kprintf("%-36s attempts  misses  blocks   fails      wait min     mean      max      hold min     mean      max\n",
            what);
}

static void print_row(const char *what, const struct counts *c)
{
    kprintf("%-36s %8lu %7lu %7lu %7lu      %8lu %8lu %8lu      %8lu %8lu %8lu\n", what, (unsigned long)c->attempts,
            (unsigned long)c->misses, (unsigned long)c->blocks, (unsigned long)c->fails, (unsigned long)c->wait.min,
            (unsigned long)mean(&c->wait), (unsigned long)c->wait.max, (unsigned long)c->hold.min,
            (unsigned long)mean(&c->hold), (unsigned long)c->hold.max);
}

static void print_lost(void)
{
    if (snapshot.lost)
        kprintf("%lu events are missing: more than %u call sites (LOCK_SITES)\n", (unsigned long)snapshot.lost,
                LOCK_SITES);
}

void lock_stats_print_classes(void)
{
    print_heading("class");
    for (const struct lock_class *class = lock_classes; class < lock_classes_end; class++) {
        struct counts c = class_counts(class);
        if (c.attempts || c.hold.count)
            print_row(class->name, &c);
    }
    print_lost();
}

void lock_stats_print_sites(void)
{
    char where[40];
    for (const struct lock_class *class = lock_classes; class < lock_classes_end; class++) {
        bool first = true;
        for (unsigned i = 0; i < LOCK_SITES; i++) {
            const struct site *s = &snapshot.site[i];
            if (!s->pc || s->class != class)
                continue;
            if (first)
                print_heading(class->name);
            first = false;
            name_site(where, sizeof where, s->pc);
            print_row(where, &s->counts);
        }
    }
    print_lost();
}

static void print_result(const struct lock_class *class, const char *kind, const char *site, const struct counts *c)
{
    static const char *const kinds[] = {"simple", "mutex", "rw"};
    char name[40];
    snprintf(name, sizeof name, "%s", class->name);
    for (char *p = name; *p; p++)
        if (*p == ' ')
            *p = '_';
    kprintf("@%s class=%s kind=%s%s attempts=%lu misses=%lu blocks=%lu fails=%lu "
            "waits=%lu wait_min=%lu wait_max=%lu wait_total=%llu holds=%lu hold_min=%lu hold_max=%lu hold_total=%llu\n",
            kind, name, kinds[class->kind], site, (unsigned long)c->attempts, (unsigned long)c->misses,
            (unsigned long)c->blocks, (unsigned long)c->fails, (unsigned long)c->wait.count, (unsigned long)c->wait.min,
            (unsigned long)c->wait.max, (unsigned long long)c->wait.total, (unsigned long)c->hold.count,
            (unsigned long)c->hold.min, (unsigned long)c->hold.max, (unsigned long long)c->hold.total);
}

void lock_stats_print_results(bool sites)
{
    for (const struct lock_class *class = lock_classes; class < lock_classes_end; class++) {
        struct counts c = class_counts(class);
        if (c.attempts || c.hold.count)
            print_result(class, "lockstat", "", &c);
    }
    for (unsigned i = 0; i < LOCK_SITES && sites; i++) {
        const struct site *s = &snapshot.site[i];
        char where[40], words[80];
        if (!s->pc)
            continue;
        name_site(where, sizeof where, s->pc);
        snprintf(words, sizeof words, " site=%s pc=0x%08lx", where, (unsigned long)s->pc);
        print_result(s->class, "lockstat_site", words, &s->counts);
    }
    print_lost();
}

void lock_stats_report(void)
{
    char text[12];
    const char *what = bootargs_string("lockstat", text, sizeof text, "classes");
    bool sites = !strcmp(what, "sites");
    if (!strcmp(what, "none"))
        return;
    if (!sites && strcmp(what, "classes"))
        panic("boot argument lockstat=%s: give classes, sites or none", what);
    lock_stats_snapshot();
    lock_stats_print_results(sites);
}
#endif
