/*
 * The level of the innermost handler or soft interrupt that a hart runs, in images with LOCK_DEBUG: a lock taken there
 * must have at least this level (lock/lock_debug.c). The schemes that mask on chip record it nowhere else.
 *
 * Locking: a hart writes its own, in the interrupt path; `source_level` is written before the source is enabled.
 */
#ifndef SYNC_HANDLER_LEVEL_H
#define SYNC_HANDLER_LEVEL_H

#include <stdint.h>

#if LOCK_DEBUG
#include "arch/hart.h"

extern volatile uint8_t handler_level[MAX_HARTS]; /* 0: none */
extern uint8_t source_level[];                    /* by source of the PIC */

/* Returns what handler_ends restores. */
static inline unsigned handler_begins(unsigned level)
{
    unsigned outer = handler_level[curhart->id];
    handler_level[curhart->id] = (uint8_t)level;
    return outer;
}

static inline void handler_ends(unsigned outer)
{
    handler_level[curhart->id] = (uint8_t)outer;
}

#define source_level_is(source, level) ((void)(source_level[source] = (uint8_t)(level)))
#else
#define handler_begins(level) 0
#define handler_ends(outer) ((void)(outer))
#define source_level_is(source, level) ((void)0)
#endif
#endif
