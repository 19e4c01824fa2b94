/*
 * Addresses of what is placed while the kernel runs: stacks, page frames, a program's stack and heap. The image's
 * layout (build option `layout`) decides them, as it decides where the link puts functions and data.
 */
#ifndef LIB_LAYOUT_H
#define LIB_LAYOUT_H

#include <stdint.h>

extern uint32_t layout_seed; /* the image's number, never written (arch/kernel.ld); 0: nothing is drawn */

enum layout_of { LAYOUT_OF_KERNEL_STACK = 1, LAYOUT_OF_FRAME, LAYOUT_OF_USER_STACK, LAYOUT_OF_HEAP };

/* Which of `choices` places the `n`th object of its kind gets: drawn from the layout, or in turn. */
static inline uint32_t layout_choice(enum layout_of kind, uint32_t n, uint32_t choices)
{
    if (!layout_seed)
        return n % choices;
    uint32_t x = layout_seed * 0x9e3779b9u + (uint32_t)kind * 0x85ebca6bu + n; /* mixed as by lowbias32 */
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return (x ^ x >> 16) % choices;
}
#endif
