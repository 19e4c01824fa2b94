/*
 * Driver of the arrival player (hw/arrivals): interrupts at intervals that are set beforehand; hardware plays the list
 * in a loop. Wire n is the PIC's source PIC_SOURCE_ARRIVAL(n), level-triggered.
 *
 * Locking: none. One thread enters the list and plays it; any handler acknowledges its own wire.
 */
#ifndef DEV_ARRIVALS_H
#define DEV_ARRIVALS_H

#include <generated/csr.h>

#include "lib/exponential.h"
#include "lib/minmax.h"
#include "sync/pic.h"

#define ARRIVALS_WIRES 8
#define ARRIVALS_ENTRIES 1024
#define ARRIVALS_LONGEST ((1u << 28) - 1) /* interval, cycles */

/* Stop, lower all wires, and begin a new list. */
static inline void arrivals_begin(void)
{
    arrivals_run_write(0);
    arrivals_acknowledge_write(0xff);
    arrivals_index_write(0);
}

/* The next of up to ARRIVALS_ENTRIES entries: `interval` cycles after the previous one, `wire` rises. */
static inline void arrivals_enter(uint32_t interval, unsigned wire)
{
    arrivals_entry_write(MIN(interval, ARRIVALS_LONGEST) | wire << 28);
}

/* Play the first `entries` of the list until arrivals_stop. */
static inline void arrivals_play(unsigned entries)
{
    io_fence(); /* handlers on other harts find their data in memory */
    arrivals_entries_write(entries);
    arrivals_run_write(1);
}

static inline void arrivals_stop(void)
{
    arrivals_run_write(0);
}

/* For the handler, before it reads why it was called: what arrives from here on is a new interrupt. */
static inline void arrivals_acknowledge(unsigned wire)
{
    arrivals_acknowledge_write(1u << wire);
}

/*
 * Enter `entries` arrivals of a Poisson process of mean interval `mean` cycles for each of the wires 0 to `wires` - 1:
 * one process of `wires` times the rate, each arrival on a random wire.
 */
void arrivals_enter_poisson(struct random *r, unsigned entries, uint32_t mean, unsigned wires);
#endif
