/* The trap frame: what trap.S saves on the kernel stack of the interrupted code. Offsets in bytes. */
#ifndef ARCH_FRAME_H
#define ARCH_FRAME_H

#define FRAME_RA 0
#define FRAME_T0 4 /* t0..t6 */
#define FRAME_A0 32 /* a0..a7 */
#define FRAME_S1 64 /* s1..s11; in a full frame only: C keeps them across interrupts and system calls */
#define FRAME_SP 108 /* the interrupted sp, gp, tp: in a full frame and in one from user mode */
#define FRAME_GP 112
#define FRAME_TP 116
#define FRAME_HART 120 /* in a frame from user mode: the hart that will take the thread's next trap */
#define FRAME_MSTATUS 124
#define FRAME_S0 136   /* s0 and mepc end the frame, */
#define FRAME_MEPC 140 /* so that a backtrace walks through it */
#define FRAME_SIZE 144

#ifndef __ASSEMBLER__
#include <stdint.h>

struct hart;

struct frame {
    uint32_t ra, t[7], a[8], s1_s11[11], sp, gp, tp;
    struct hart *hart;
    uint32_t mstatus, unused[2], s0, mepc;
};
#ifdef __riscv
_Static_assert(sizeof(struct frame) == FRAME_SIZE, "frame.h");
#endif
#endif
#endif
