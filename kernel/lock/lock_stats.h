/*
 * Lock statistics, in images with LOCK_STATS: how often locks are attempted, found held, slept for and refused, the
 * times of waiting and of holding, for each call site and class (paper `mach`, section 5). A call site is the address
 * of the acquisition's ATTEMPT mark (lock/lock_hooks.h). The simulator counts the same from outside, at no cost to the
 * target.
 *
 * Each hart has its own counters, so counting does not contend. Clearing starts a new epoch; a hart clears a counter
 * when it next counts there, so no hart writes another hart's counters.
 *
 * Times are in cycles. A wait lasts from the MISS mark to the ACQUIRED mark of attempts that missed, a hold from
 * ACQUIRED to RELEASED (to the second RELEASED where a reader upgrades: two holds); a hold counts when it ends, at the
 * site that acquired the lock.
 *
 * As results, for the simulator's record, one line per class and one per site ("_" for blanks in names, 0 for a minimum
 * of none):
 *
 *   @lockstat class=C kind=simple|mutex|rw attempts=N misses=N blocks=N fails=N waits=N wait_min=N wait_max=N
 *             wait_total=N holds=N hold_min=N hold_max=N hold_total=N
 *   @lockstat_site class=C kind=K site=FUNCTION+0xOFFSET pc=0xADDRESS attempts=N ... as above
 *
 * blocks: forced reschedules. fails: conditional attempts that were refused, upgrades that had to release the lock.
 */
#ifndef LOCK_LOCK_STATS_H
#define LOCK_LOCK_STATS_H

#include <stdbool.h>

#include "lock/lock_class.h"

#define LOCK_SITES 256 /* pairs of site and class per hart; further ones are counted as lost */

#if LOCK_STATS
void lock_stats_clear(void);

/* Copies the counters of all harts, for the printing that follows; one thread at a time. */
void lock_stats_snapshot(void);
void lock_stats_print_classes(void); /* tables, for people */
void lock_stats_print_sites(void);
void lock_stats_print_results(bool sites); /* @lockstat lines; `sites`: those of the sites, too */

/* At the end of a run: results as the boot argument lockstat=classes|sites|none says; default: classes. */
void lock_stats_report(void);
#endif
#endif
