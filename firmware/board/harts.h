/* The harts besides hart 0: they wait until hart 0 calls all of them at once. */
#ifndef HARTS_H
#define HARTS_H

#include <stdint.h>

/* A hart other than 0 waits for calls here; start.S enters it. */
_Noreturn void harts_wait(unsigned hart);

/*
 * Runs `function` on every hart that has returned from all earlier calls, this one included, and waits until all have
 * returned, for at most `timeout` cycles after hart 0 has. Returns the mask of harts (of all that were built) that did
 * not take part or did not return: 0 if all is well. Called by hart 0 only.
 */
uint32_t harts_call(void (*function)(unsigned hart), uint32_t timeout);

/* Mask of the harts that are called. */
uint32_t harts_alive(void);

/*
 * Sends every hart to `entry` as out of reset: a0 = its number, machine mode, interrupts off, no software interrupt
 * pending, instructions written to memory visible. Does not wait for harts that do not answer.
 */
_Noreturn void harts_jump(uint32_t entry);
#endif
