/* Lock statistics (lock_stats.h). */
#include "lock/lock_stats.h"

#if LOCK_STATS
#include <stdio.h>
#include <string.h>

#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/symbols.h"
#include "lock/lock_counts.h"

struct lock_site_table lock_sites[MAX_HARTS];
volatile uint32_t lock_stats_epoch;
static struct lock_site_table snapshot;

void lock_stats_clear(void)
{
    __atomic_fetch_add(&lock_stats_epoch, 1, __ATOMIC_RELAXED);
}

/* Its hart may be counting: two equal copies hold no half-written sum. */
static struct lock_counts steady(const struct lock_site *s)
{
    struct lock_counts once, again;
    do {
        memcpy(&once, &s->counts, sizeof once);
        barrier();
        memcpy(&again, &s->counts, sizeof again);
        barrier();
    } while (memcmp(&once, &again, sizeof once));
    return once;
}

static void merge_duration(struct lock_duration *into, const struct lock_duration *d)
{
    if (!d->count)
        return;
    into->min = into->count && into->min < d->min ? into->min : d->min;
    into->max = MAX(into->max, d->max);
    into->count += d->count;
    into->total += d->total;
}

static void merge(struct lock_counts *into, const struct lock_counts *c)
{
    into->attempts += c->attempts;
    into->misses += c->misses;
    into->blocks += c->blocks;
    into->fails += c->fails;
    merge_duration(&into->wait, &c->wait);
    merge_duration(&into->hold, &c->hold);
}

void lock_stats_snapshot(void)
{
    memset(&snapshot, 0, sizeof snapshot);
    for (unsigned h = 0; h < hart_count; h++)
        for (unsigned i = 0; i <= LOCK_SITES; i++) {
            const struct lock_site *s = &lock_sites[h].site[i];
            if (s->epoch != lock_stats_epoch || !(s->pc || i == LOCK_SITES))
                continue;
            struct lock_counts c = steady(s);
            merge(s->pc ? &lock_site_find(&snapshot, s->pc, s->class)->counts : &snapshot.site[i].counts, &c);
        }
}

static struct lock_counts class_counts(const struct lock_class *class)
{
    struct lock_counts sum = {0};
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

static uint32_t mean(const struct lock_duration *d)
{
    return d->count ? (uint32_t)(d->total / d->count) : 0;
}

static void print_heading(const char *what)
{
    kprintf("%-36s attempts  misses  blocks   fails      wait min     mean      max      hold min     mean      max\n",
            what);
}

static void print_row(const char *what, const struct lock_counts *c)
{
    kprintf("%-36s %8lu %7lu %7lu %7lu      %8lu %8lu %8lu      %8lu %8lu %8lu\n", what, (unsigned long)c->attempts,
            (unsigned long)c->misses, (unsigned long)c->blocks, (unsigned long)c->fails, (unsigned long)c->wait.min,
            (unsigned long)mean(&c->wait), (unsigned long)c->wait.max, (unsigned long)c->hold.min,
            (unsigned long)mean(&c->hold), (unsigned long)c->hold.max);
}

static void print_lost(void)
{
    const struct lock_counts *lost = &snapshot.site[LOCK_SITES].counts;
    if (lost->attempts || lost->hold.count)
        kprintf("%lu attempts are missing: more than %u call sites (LOCK_SITES)\n", (unsigned long)lost->attempts,
                LOCK_SITES);
}

void lock_stats_print_classes(void)
{
    print_heading("class");
    for (const struct lock_class *class = lock_classes; class < lock_classes_end; class ++) {
        struct lock_counts c = class_counts(class);
        if (c.attempts || c.hold.count)
            print_row(class->name, &c);
    }
    print_lost();
}

void lock_stats_print_sites(void)
{
    char where[40];
    for (const struct lock_class *class = lock_classes; class < lock_classes_end; class ++) {
        bool first = true;
        for (unsigned i = 0; i < LOCK_SITES; i++) {
            const struct lock_site *s = &snapshot.site[i];
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

static void print_result(const struct lock_class *class, const char *kind, const char *site,
                         const struct lock_counts *c)
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
    for (const struct lock_class *class = lock_classes; class < lock_classes_end; class ++) {
        struct lock_counts c = class_counts(class);
        if (c.attempts || c.hold.count)
            print_result(class, "lockstat", "", &c);
    }
    for (unsigned i = 0; i < LOCK_SITES && sites; i++) {
        const struct lock_site *s = &snapshot.site[i];
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
    const char *what = bootargs_string(BOOT(kernel, lockstat), text, sizeof text);
    bool sites = !strcmp(what, "sites");
    if (!strcmp(what, "none"))
        return;
    if (!sites && strcmp(what, "classes"))
        panic("boot argument lockstat=%s: give classes, sites or none", what);
    lock_stats_snapshot();
    lock_stats_print_results(sites);
}
#endif
