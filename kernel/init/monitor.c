/* run=monitor: commands typed on the console, to inspect a running system. */
#include <stdlib.h>
#include <string.h>

#include "arch/accounting.h"
#include "arch/hart.h"
#include "dev/clock.h"
#include "dev/console.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/printf.h"
#include "lock/lock_held.h"
#include "lock/lock_stats.h"
#include "mem/zone.h"
#include "sched/ithread.h"
#include "sched/sched.h"
#include "sync/pic.h"

#define LINE 80
#define MOST_LATENCY BOOT_MOST(kernel, link_latency)
#define WORDS 4

static void show_harts(void)
{
    kprintf("hart  thread            level  ticks  merged  interrupts  spurious  queued  switches\n");
    for (unsigned h = 0; h < hart_count; h++)
        kprintf("%4u  %-16s  %5lu  %5lu  %6lu  %10lu  %8lu  %6lu  %8lu\n", h, harts[h].thread->name,
                (unsigned long)sync_hart_of(&harts[h])->level, (unsigned long)dev_hart_of(&harts[h])->ticks,
                (unsigned long)clock_merged(h), (unsigned long)sync_hart_of(&harts[h])->interrupts,
                (unsigned long)sync_hart_of(&harts[h])->spurious, (unsigned long)sync_hart_of(&harts[h])->deferred,
                (unsigned long)sched_hart_of(&harts[h])->switches);
}

static void show_interrupts(void)
{
    kprintf("source  name           handled  rises  merged  most cycles to claim\n");
    for (unsigned s = 0; s < PIC_SOURCES; s++) {
        struct pic_counters c = pic_counters(s);
        if (intr_name(s) || c.rises)
            kprintf("%6u  %-13s  %7lu  %5lu  %6lu  %20lu\n", s, intr_name(s) ? intr_name(s) : "-",
                    (unsigned long)intr_count(s), (unsigned long)c.rises, (unsigned long)c.merged,
                    (unsigned long)c.max_wait);
    }
}

static void set_latency(unsigned words, char **word)
{
    unsigned long read = words > 1 ? strtoul(word[1], 0, 0) : MOST_LATENCY + 1,
                  write = words > 2 ? strtoul(word[2], 0, 0) : read;
    if (read > MOST_LATENCY || write > MOST_LATENCY)
        kprintf("latency READ [WRITE]: cycles that a PIC access stalls its hart, 0 to %u\n", MOST_LATENCY);
    else
        pic_set_access_latency(read, write);
}

static void monitor_lockstat(unsigned words, char **word)
{
#if LOCK_STATS
    bool sites = words > 1 && !strcmp(word[1], "sites");
    if (words > 1 && !strcmp(word[1], "clear")) {
        lock_stats_clear();
        return;
    }
    if (words > 1 && !sites) {
        kprintf("lockstat [sites | clear]: what locks cost since the last clear, by class or by call site\n");
        return;
    }
    lock_stats_snapshot();
    if (sites)
        lock_stats_print_sites();
    else
        lock_stats_print_classes();
#else
    (void)words;
    (void)word;
    kprintf("lockstat: this image counts no locks, build it with LOCK_STATS=1\n");
#endif
}

static void monitor_locks(void)
{
#if LOCK_HOOKS
    lock_held_print_harts();
    sched_print_locks();
#else
    kprintf("locks: this image keeps no lists of them, build it with LOCK_DEBUG=1 or LOCK_STATS=1\n");
#endif
}

static void monitor_accounting(void)
{
#if ACCOUNTING
    accounting_show();
#else
    kprintf("accounting: this image keeps no account of its harts' time, build it with ACCOUNTING=1\n");
#endif
}

/* Executes a command; false when it is the last. */
static bool command(unsigned words, char **word)
{
    if (!words)
        return true;
    if (!strcmp(word[0], "exit"))
        return false;
    if (!strcmp(word[0], "harts"))
        show_harts();
    else if (!strcmp(word[0], "threads"))
        sched_dump();
    else if (!strcmp(word[0], "interrupts"))
        show_interrupts();
    else if (!strcmp(word[0], "ithreads"))
        ithread_dump();
    else if (!strcmp(word[0], "latency"))
        set_latency(words, word);
    else if (!strcmp(word[0], "lockstat"))
        monitor_lockstat(words, word);
    else if (!strcmp(word[0], "locks"))
        monitor_locks();
    else if (!strcmp(word[0], "accounting"))
        monitor_accounting();
    else if (!strcmp(word[0], "zones"))
        zones_show();
    else if (!strcmp(word[0], "run") && words > 1)
        kprintf("exit code %d\n", run_named(word[1]));
    else
        kprintf("harts | threads | interrupts | ithreads | latency READ [WRITE] | lockstat [sites | clear] | locks | "
                "accounting | zones | run NAME | exit\n");
    return true;
}

static int monitor(void)
{
    char line[LINE], *word[WORDS];
    do {
        kprintf("> ");
        console_read_line(line, sizeof line);
        unsigned words = 0;
        for (char *rest = line; words < WORDS && (word[words] = strtok_r(rest, " ", &rest)); words++)
            ;
        if (!command(words, word))
            return 0;
    } while (true);
}

RUN("monitor", "commands typed on the console", monitor);
