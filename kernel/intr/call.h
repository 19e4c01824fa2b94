/*
 * Calls between harts, over the CLINT's software interrupt: on the chip, and not masked by any level of the PIC.
 *
 *   hart_call(harts, CALL_PREEMPT)        posts a call of a fixed type to each hart of the mask, and does not wait; a
 *                                         call posted again before it is answered is answered once
 *   hart_call_run(harts, fn, arg)         calls fn(arg) on each of them; returns when all have returned
 *
 * A hart answers a call in its trap, interrupts off on chip: in sections and handlers of the spl schemes too, as
 * those do not mask on chip; where a cli scheme masks, at the end of the masked section. So a called function is
 * short and takes no locks, and it may change the hart's own data only as an interrupt at any instruction
 * might.
 *
 * A hart that waits in hart_call_run answers calls meanwhile, so two harts that call each other do not deadlock. The
 * caller must not hold a simple lock, which the hart that it waits for may spin for with interrupts off; with
 * LOCK_DEBUG a caller that holds one panics.
 *
 * Locking: a hart's word of posted calls is changed by atomic instructions. The hart that answers a call sees all
 * stores from before it was posted.
 */
#ifndef INTR_CALL_H
#define INTR_CALL_H

#include <stdint.h>

#include "arch/hart.h"

enum hart_call {
    CALL_PREEMPT, /* the scheduler's: check whether to preempt the running thread */
    CALL_RETURN,  /* no action: a hart in user mode passes through the kernel (proc/process.c) */
    CALL_RUN,     /* hart_call_run */
    CALL_HALT,    /* a panic: halt */
    CALLS
};

struct intr_hart {
    volatile uint32_t calls;   /* bit c: call c is posted */
    volatile uint32_t callers; /* bit h: hart h has a function to run here */
    volatile uint32_t halted;  /* this hart is halted */
    uint32_t runs;             /* whether it is running functions for other harts */
};

HART_PART_OF(intr)

typedef void hart_call_fn(void);

/* Sets what a call of this type does; before any is posted. */
void hart_call_establish(enum hart_call type, hart_call_fn *fn);

/* `harts`: bit h for hart h; not the calling hart. */
void hart_call(uint32_t harts, enum hart_call type);

/*
 * From thread level, on a hart that the caller stays on; `harts` may include it. Panics in a function that it calls.
 */
void hart_call_run(uint32_t harts, void (*fn)(void *arg), void *arg);

/* Answers the calls posted to this hart: called by the trap, and by code that waits with interrupts off on chip. */
void hart_calls_answer(void);

void hart_calls_init(void);
#endif
