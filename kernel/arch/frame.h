/* The trap frame: what trap.S saves on the stack of whatever was interrupted. Offsets in bytes. */
#ifndef ARCH_FRAME_H
#define ARCH_FRAME_H

#define FRAME_RA 0
#define FRAME_T0 4 /* t0..t6 */
#define FRAME_A0 32 /* a0..a7 */
#define FRAME_S1 64 /* s1..s11; saved by exceptions only: C keeps them across interrupts */
#define FRAME_MSTATUS 108
#define FRAME_S0 120   /* s0 and mepc end the frame, */
#define FRAME_MEPC 124 /* so that a backtrace walks through it */
#define FRAME_SIZE 128

#ifndef __ASSEMBLER__
#include <stdint.h>
struct frame {
    uint32_t ra, t[7], a[8], s1_s11[11], mstatus, unused[2], s0, mepc;
};
_Static_assert(sizeof(struct frame) == FRAME_SIZE, "frame.h");
#endif
#endif
