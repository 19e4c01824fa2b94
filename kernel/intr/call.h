/*
 * Calls between harts, over the CLINT's software interrupt: on the chip, and held back by no level of the PIC.
 *
 *   hart_call(harts, CALL_PREEMPT)        posts a call of a fixed type to each hart of the mask, and does not wait; one
 *                                         that is posted again before it is answered is answered once
 *   hart_call_run(harts, fn, arg)         fn(arg) is called on each of them; returns when all have
 *
 * A call is answered in the trap of the hart that is called, interrupts off on chip: in a section of the spl schemes
 * and in their handlers too, as those do not mask on chip; where a cli scheme masks, at the end of that. So what is
 * called is short and takes no locks, and what it does to the hart's own data is what an interrupt might do at any
 * instruction.
 *
 * A hart that waits in hart_call_run answers calls meanwhile: two that call each other do not wait for each other for
 * ever. It must not hold a simple lock, which the hart that it waits for may want with interrupts off; so with
 * LOCK_DEBUG a panic says who does.
 *
 * Locking: a hart's word of posted calls is changed by atomic instructions. What was stored before a call is posted is
 * seen by whoever answers it.
 */
#ifndef INTR_CALL_H
#define INTR_CALL_H

#include <stdint.h>

#include "arch/hart.h"

enum hart_call {
    CALL_PREEMPT, /* the scheduler's: look whether the thread that runs is to be preempted */
    CALL_RETURN,  /* nothing: a hart in user mode comes by the kernel on its way back there (proc/process.c) */
    CALL_RUN,     /* hart_call_run */
    CALL_HALT,    /* a panic: stand still */
    CALLS
};

struct intr_hart {
    volatile uint32_t calls;   /* bit c: call c is posted */
    volatile uint32_t callers; /* bit h: hart h has a function to run here */
    volatile uint32_t halted;  /* it stands still */
    uint32_t runs;             /* whether functions of other harts run here */
};

HART_PART_OF(intr)

typedef void hart_call_fn(void);

/* What a call of this type does; before any is posted. */
void hart_call_establish(enum hart_call type, hart_call_fn *fn);

/* `harts`: bit h for hart h; not the one that calls. */
void hart_call(uint32_t harts, enum hart_call type);

/*
 * From thread level, on a hart that the caller stays on; `harts` may name it, too. Panics in a function that it calls.
 */
void hart_call_run(uint32_t harts, void (*fn)(void *arg), void *arg);

/* Answers what is posted here: the trap, and whoever waits with interrupts off on chip. */
void hart_calls_answer(void);

void hart_calls_init(void);
#endif
