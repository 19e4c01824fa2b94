/*
 * The kernel's only way to protect a critical section from interrupts: the interface that each of the five schemes of
 * paper `sync` (sections 3 and 7) implements, one file each:
 *
 *   spl_pessim.h  spl_optim.h  cli_pessim.h  cli_optim.h  cli_spl_pessim.h
 *
 * One scheme is compiled into an image (make SYNC=...), so that a primitive has no cost of selection.
 *
 *   crit_t crit_sec_enter(level)      from here on no interrupt handler and no soft interrupt of `level` or lower runs
 *                                     on this hart, and the thread stays on it. Sections nest; the level never falls.
 *   void crit_sec_raise(level)        raises the section to `level`, if that is higher; its leave restores the level at
 *                                     its enter
 *   void crit_sec_leave(saved)        restores what the matching enter found; what is pending runs now.
 *   void crit_sec_leave_masked(saved) the same from the trap path, which must end with interrupts off on chip.
 *   void interrupt_handler(frame)     the interrupt path: called by the trap with interrupts off on chip.
 *   CRIT_BASE                         the `saved` of a section entered at base level (a new thread leaves with it)
 *   CRIT_SWITCH_MIE                   whether interrupts are on, on chip, during a thread switch
 *   crit_is_base(saved)               whether leaving with `saved` returns to base level
 *   crit_level(saved)                 the level to which leaving with `saved` returns, as crit_sec_replay takes it
 *   CRIT_MASKS_ALL                    whether a section masks all interrupts, whatever its level
 *   crit_level_masks(of)              whether the hart's present level or flag masks level `of`
 *   crit_is_deaf()                    whether the scheme's sections may have masked interrupts on this hart for
 *                                     long: a thread switch then posts SPL_SOFTPREEMPT, so that the return to base
 *                                     level takes the longer path
 *   crit_stay_open()                  if so: wait until interrupts in transit arrive; at base level, interrupts off
 *                                     on chip
 *   crit_was_open(since)              this hart has been at base level since that time, by cycles32()
 *   HANDLERS_NEST                     whether a handler can be interrupted by one of a higher level
 *   QUEUE_GOES_FIRST                  whether a queued interrupt is handled before a higher one that came later
 *   SOFTINT_NEEDS_KICK                whether a soft interrupt posted in a thread's section needs the CLINT to start it
 *
 * A scheme masks only the hart it runs on: data that harts share is guarded by a simple lock taken inside the section
 * (lock/simple_lock.h). A lock has one level, at least that of every handler that takes it.
 */
#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include <stdint.h>

#include "arch/csr.h"
#include "arch/frame.h"
#include "arch/hart.h"
#include "lib/compiler.h"
#include "sync/hart_part.h"
#include "sync/pic.h"
#include "sync/crit_timing.h"
#include "arch/probe.h"
#include "sync/spl.h"

typedef uint32_t crit_t;

/*
 * Defined in higher layers, called with interrupts off on chip, which they leave off. The preemption of the running
 * thread (sched/sched.c), on the return to base level. And the posted soft interrupts (intr/softint.c): those above
 * `level`, highest first, with the logical level raised meanwhile; or all, unless one runs already.
 */
void sched_preempt_from_interrupt(void);
void softint_dispatch_above(unsigned level);
void softint_dispatch(void);

/* Runs what is pending above `level` on this hart, highest first; ends with interrupts off on chip. */
void crit_sec_replay(unsigned level);

/* The slow path of leaving a section: something is pending. Replays it, and lets a thread that it woke run. */
void crit_sec_leave_slow(crit_t saved);

/* The outermost handler is done, the hart is about to return to base level, interrupts are off on chip. */
void intr_return_to_base(void);

#ifdef SYNC_IMPLEMENTATION
static inline __attribute__((always_inline)) void interrupt_handler(struct frame *frame);
#endif

#include SYNC_SCHEME_FILE

#ifndef crit_is_deaf
#define crit_is_deaf() 0
#define crit_stay_open() ((void)0)
#define crit_was_open(since) ((void)(since))
#endif

#ifndef crit_level_masks
#define crit_level_masks(of) (sync_hart()->level >= (of))
#endif

#endif
