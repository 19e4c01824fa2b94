/*
 * The shapes of run=litmus (test/litmus.c): what two to four harts do to two words x and y, both 0 at the beginning,
 * and which outcome would show a reordering. Names as in Alglave, Maranget and Tautschnig, Herding Cats (2014): a
 * shape, then what stands between its accesses, thread by thread ("po": nothing; once if all have the same). Whether
 * the outcome is allowed is by RVWMO (RISC-V unprivileged specification, chapter RVWMO, section "Preserved program
 * order"): rules 1 to 3 same address, 4 FENCE, 5 to 7 acquire and release, 9 to 11 address, data and control
 * dependencies.
 *
 * A thread is a function of assembly code in a cache line of its own: x's address is in a0, y's in a1; what it reads is
 * in a2 (r0) and a3 (r1), returned in a0 and a1; a5 and a6 hold 1 and 2.
 */
#ifndef TEST_LITMUS_SHAPES_H
#define TEST_LITMUS_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#define LITMUS_THREADS 4

typedef uint64_t litmus_thread(volatile uint32_t *x, volatile uint32_t *y); /* r0, and r1 in the upper half */

struct litmus_shape {
    const char *name;
    const char *observed; /* the parts of an outcome: r0 of thread a is "a0"; "x" and "y" are the words at the end */
    const char *weak; /* the outcomes that show a reordering, '*' for any digit; several with spaces between */
    bool allowed;
    litmus_thread *thread[LITMUS_THREADS];
};

#define X "a0"
#define Y "a1"
#define R0 "a2"
#define R1 "a3"
#define ONE "a5"
#define TWO "a6"

#define THREAD(id, code)                                                                                           \
    litmus_thread id;                                                                                              \
    __asm__(".text\n.align 6\n.type " #id ", @function\n" #id ": li a5, 1\n li a6, 2\n li a2, 0\n li a3, 0\n" code \
            "mv a0, a2\n mv a1, a3\n ret\n.size " #id ", . - " #id)

#define W(where, v) "sw " v ", (" where ")\n"
#define R(r, where) "lw " r ", (" where ")\n"
#define R_LR(r, where) "lr.w " r ", (" where ")\n"
#define R_LR_AQ(r, where) "lr.w.aq " r ", (" where ")\n"
#define R_AMO(r, where) "amoor.w " r ", zero, (" where ")\n"
#define R_AMO_AQ(r, where) "amoor.w.aq " r ", zero, (" where ")\n"
#define W_AMO(where, v) "amoswap.w zero, " v ", (" where ")\n"
#define W_AMO_AQ(where, v) "amoswap.w.aq zero, " v ", (" where ")\n"
#define W_AMO_RL(where, v) "amoswap.w.rl zero, " v ", (" where ")\n"
#define FENCE(before, behind) "fence " before ", " behind "\n"

/* An access that depends on an earlier read: by its address, by the value it stores, by a branch. */
#define R_ADDR(r, where, on) "xor t0, " on ", " on "\n add t0, t0, " where "\n lw " r ", (t0)\n"
#define W_ADDR(where, v, on) "xor t0, " on ", " on "\n add t0, t0, " where "\n sw " v ", (t0)\n"
#define W_DATA(where, v, on) "xor t0, " on ", " on "\n add t0, t0, " v "\n sw t0, (" where ")\n"
#define CTRL(on) "bnez " on ", 1f\n 1:\n"

/* Two writes. */
THREAD(wx1_wy1, W(X, ONE) W(Y, ONE));
THREAD(wx1_fence_ww_wy1, W(X, ONE) FENCE("w", "w") W(Y, ONE));
THREAD(wx1_fence_rww_wy1, W(X, ONE) FENCE("rw", "w") W(Y, ONE));
THREAD(wx1_rl_wy1, W(X, ONE) W_AMO_RL(Y, ONE));
THREAD(wx2_wy1, W(X, TWO) W(Y, ONE));
THREAD(wx2_fence_ww_wy1, W(X, TWO) FENCE("w", "w") W(Y, ONE));
THREAD(wx2_rl_wy1, W(X, TWO) W_AMO_RL(Y, ONE));
THREAD(wx1_wy2, W(X, ONE) W(Y, TWO));
THREAD(wx1_fence_ww_wy2, W(X, ONE) FENCE("w", "w") W(Y, TWO));
THREAD(wx1_rl_wy2, W(X, ONE) W_AMO_RL(Y, TWO));
THREAD(wy1_wx2, W(Y, ONE) W(X, TWO));
THREAD(wy1_fence_ww_wx2, W(Y, ONE) FENCE("w", "w") W(X, TWO));
THREAD(wy1_rl_wx2, W(Y, ONE) W_AMO_RL(X, TWO));
THREAD(wx1_wx2, W(X, ONE) W(X, TWO));

/* Two reads. */
THREAD(ry_rx, R(R0, Y) R(R1, X));
THREAD(rx_ry, R(R0, X) R(R1, Y));
THREAD(ry_fence_rr_rx, R(R0, Y) FENCE("r", "r") R(R1, X));
THREAD(rx_fence_rr_ry, R(R0, X) FENCE("r", "r") R(R1, Y));
THREAD(ry_addr_rx, R(R0, Y) R_ADDR(R1, X, R0));
THREAD(rx_addr_ry, R(R0, X) R_ADDR(R1, Y, R0));
THREAD(ry_ctrl_rx, R(R0, Y) CTRL(R0) R(R1, X));
THREAD(ry_aq_rx, R_LR_AQ(R0, Y) R(R1, X));
THREAD(rx_aq_ry, R_LR_AQ(R0, X) R(R1, Y));
THREAD(ry_amo_aq_rx, R_AMO_AQ(R0, Y) R(R1, X));
THREAD(ry_amo_fence_rrw_rx, R_AMO(R0, Y) FENCE("r", "rw") R(R1, X));
THREAD(rx_rx, R(R0, X) R(R1, X));
THREAD(rx_lr_rx, R_LR(R0, X) R(R1, X));
THREAD(rx_lr_aq_rx, R_LR_AQ(R0, X) R(R1, X));
THREAD(rx_lr_nop_rx, R_LR(R0, X) "nop\n" R(R1, X));
THREAD(rx_lr_nop3_rx, R_LR(R0, X) "nop\nnop\nnop\n" R(R1, X));
THREAD(rx_amo_nop_rx, R_AMO(R0, X) "nop\n" R(R1, X));
THREAD(rx_amo_rx, R_AMO(R0, X) R(R1, X));
THREAD(rx_rx_lr, R(R0, X) R_LR(R1, X));

/* A write, then a read. */
THREAD(wx1_ry, W(X, ONE) R(R0, Y));
THREAD(wy1_rx, W(Y, ONE) R(R0, X));
THREAD(wx1_fence_rwrw_ry, W(X, ONE) FENCE("rw", "rw") R(R0, Y));
THREAD(wy1_fence_rwrw_rx, W(Y, ONE) FENCE("rw", "rw") R(R0, X));
THREAD(wx1_fence_wr_ry, W(X, ONE) FENCE("w", "r") R(R0, Y));
THREAD(wy1_fence_wr_rx, W(Y, ONE) FENCE("w", "r") R(R0, X));
THREAD(wx1_rl_aq_ry, W_AMO_RL(X, ONE) R_LR_AQ(R0, Y));
THREAD(wy1_rl_aq_rx, W_AMO_RL(Y, ONE) R_LR_AQ(R0, X));
THREAD(wx1_amo_aq_ry, W_AMO_AQ(X, ONE) R(R0, Y));
THREAD(wy1_amo_aq_rx, W_AMO_AQ(Y, ONE) R(R0, X));
THREAD(wy2_rx, W(Y, TWO) R(R0, X));
THREAD(wy2_fence_rwrw_rx, W(Y, TWO) FENCE("rw", "rw") R(R0, X));
THREAD(wy2_fence_wr_rx, W(Y, TWO) FENCE("w", "r") R(R0, X));
THREAD(wx1_rx, W(X, ONE) R(R0, X));
THREAD(wx1_amo_rx, W_AMO(X, ONE) R(R0, X));

/* A read, then a write. */
THREAD(rx_wy1, R(R0, X) W(Y, ONE));
THREAD(ry_wx1, R(R0, Y) W(X, ONE));
THREAD(rx_fence_rwrw_wy1, R(R0, X) FENCE("rw", "rw") W(Y, ONE));
THREAD(ry_fence_rwrw_wx1, R(R0, Y) FENCE("rw", "rw") W(X, ONE));
THREAD(rx_addr_wy1, R(R0, X) W_ADDR(Y, ONE, R0));
THREAD(ry_addr_wx1, R(R0, Y) W_ADDR(X, ONE, R0));
THREAD(rx_data_wy1, R(R0, X) W_DATA(Y, ONE, R0));
THREAD(ry_data_wx1, R(R0, Y) W_DATA(X, ONE, R0));
THREAD(rx_ctrl_wy1, R(R0, X) CTRL(R0) W(Y, ONE));
THREAD(ry_ctrl_wx1, R(R0, Y) CTRL(R0) W(X, ONE));
THREAD(rx_aq_wy1, R_LR_AQ(R0, X) W(Y, ONE));
THREAD(ry_aq_wx1, R_LR_AQ(R0, Y) W(X, ONE));
THREAD(rx_rl_wy1, R(R0, X) W_AMO_RL(Y, ONE));
THREAD(ry_rl_wx1, R(R0, Y) W_AMO_RL(X, ONE));
THREAD(ry_fence_rw_wx1, R(R0, Y) FENCE("r", "w") W(X, ONE));
THREAD(rx_wx1, R(R0, X) W(X, ONE));

/* One write. */
THREAD(wx1, W(X, ONE));
THREAD(wx2, W(X, TWO));
THREAD(wy1, W(Y, ONE));

static const struct litmus_shape litmus_shapes[] = {
    /* Message passing: a thread that sees the flag y sees the data x. */
    {"MP", "b0b1", "10", true, {wx1_wy1, ry_rx}},
    {"MP+fence.w.w+po", "b0b1", "10", true, {wx1_fence_ww_wy1, ry_rx}},
    {"MP+po+fence.r.r", "b0b1", "10", true, {wx1_wy1, ry_fence_rr_rx}},
    {"MP+fence.w.w+ctrl", "b0b1", "10", true, {wx1_fence_ww_wy1, ry_ctrl_rx}},
    {"MP+fence.w.w+fence.r.r", "b0b1", "10", false, {wx1_fence_ww_wy1, ry_fence_rr_rx}},
    {"MP+fence.w.w+addr", "b0b1", "10", false, {wx1_fence_ww_wy1, ry_addr_rx}},
    {"MP+rl+aq", "b0b1", "10", false, {wx1_rl_wy1, ry_aq_rx}},
    {"MP+rl+amo.aq", "b0b1", "10", false, {wx1_rl_wy1, ry_amo_aq_rx}},
    {"MP+fence.rw.w+amo-fence.r.rw", "b0b1", "10", false, {wx1_fence_rww_wy1, ry_amo_fence_rrw_rx}},

    /* Store buffering: one of the two sees the other's store. */
    {"SB", "a0b0", "00", true, {wx1_ry, wy1_rx}},
    {"SB+fence.rw.rw+po", "a0b0", "00", true, {wx1_fence_rwrw_ry, wy1_rx}},
    {"SB+fence.rw.rw", "a0b0", "00", false, {wx1_fence_rwrw_ry, wy1_fence_rwrw_rx}},
    {"SB+fence.w.r", "a0b0", "00", false, {wx1_fence_wr_ry, wy1_fence_wr_rx}},
    {"SB+rl-aq", "a0b0", "00", false, {wx1_rl_aq_ry, wy1_rl_aq_rx}},
    {"SB+amo.aq", "a0b0", "00", false, {wx1_amo_aq_ry, wy1_amo_aq_rx}},

    /* Load buffering: no value comes from its own future. */
    {"LB", "a0b0", "11", true, {rx_wy1, ry_wx1}},
    {"LB+fence.rw.rw", "a0b0", "11", false, {rx_fence_rwrw_wy1, ry_fence_rwrw_wx1}},
    {"LB+addr", "a0b0", "11", false, {rx_addr_wy1, ry_addr_wx1}},
    {"LB+data", "a0b0", "11", false, {rx_data_wy1, ry_data_wx1}},
    {"LB+ctrl", "a0b0", "11", false, {rx_ctrl_wy1, ry_ctrl_wx1}},
    {"LB+aq", "a0b0", "11", false, {rx_aq_wy1, ry_aq_wx1}},
    {"LB+rl", "a0b0", "11", false, {rx_rl_wy1, ry_rl_wx1}},

    {"S", "b0x", "12", true, {wx2_wy1, ry_wx1}},
    {"S+fence.w.w+data", "b0x", "12", false, {wx2_fence_ww_wy1, ry_data_wx1}},
    {"S+fence.w.w+fence.r.w", "b0x", "12", false, {wx2_fence_ww_wy1, ry_fence_rw_wx1}},
    {"S+rl+aq", "b0x", "12", false, {wx2_rl_wy1, ry_aq_wx1}},

    {"R", "b0y", "02", true, {wx1_wy1, wy2_rx}},
    {"R+fence.rw.rw", "b0y", "02", false, {wx1_fence_rww_wy1, wy2_fence_rwrw_rx}},
    {"R+fence.w.w+fence.w.r", "b0y", "02", false, {wx1_fence_ww_wy1, wy2_fence_wr_rx}},

    {"2+2W", "xy", "11", true, {wx1_wy2, wy1_wx2}},
    {"2+2W+fence.w.w", "xy", "11", false, {wx1_fence_ww_wy2, wy1_fence_ww_wx2}},
    {"2+2W+rl", "xy", "11", false, {wx1_rl_wy2, wy1_rl_wx2}},

    /* One location: all harts see its values in one order, also through LR and AMO, which bypass the caches. */
    {"CoRR", "b0b1", "10", false, {wx1, rx_rx}},
    {"CoRR+lr", "b0b1", "10", false, {wx1, rx_lr_rx}},
    {"CoRR+lr.aq", "b0b1", "10", false, {wx1, rx_lr_aq_rx}},
    {"CoRR+lr-nop", "b0b1", "10", false, {wx1, rx_lr_nop_rx}},
    {"CoRR+lr-nop3", "b0b1", "10", false, {wx1, rx_lr_nop3_rx}},
    {"CoRR+amo-nop", "b0b1", "10", false, {wx1, rx_amo_nop_rx}},
    {"CoRR+amo", "b0b1", "10", false, {wx1, rx_amo_rx}},
    {"CoRR+po-lr", "b0b1", "10", false, {wx1, rx_rx_lr}},
    {"CoWW", "b0b1x", "10* 20* 21* **0 **1", false, {wx1_wx2, rx_rx}},
    {"CoRW1", "a0", "1", false, {rx_wx1}},
    {"CoRW2", "a0x", "22", false, {rx_wx1, wx2}},
    {"CoWR", "a0x", "0* 21", false, {wx1_rx, wx2}},
    {"CoWR+amo", "a0x", "0* 21", false, {wx1_amo_rx, wx2}},

    /* Three and four harts: a store is seen by all others at once. */
    {"WRC+data+addr", "b0c0c1", "110", false, {wx1, rx_data_wy1, ry_addr_rx}},
    {"WRC+fence.rw.rw+fence.r.r", "b0c0c1", "110", false, {wx1, rx_fence_rwrw_wy1, ry_fence_rr_rx}},
    {"IRIW", "c0c1d0d1", "1010", true, {wx1, wy1, rx_ry, ry_rx}},
    {"IRIW+fence.r.r", "c0c1d0d1", "1010", false, {wx1, wy1, rx_fence_rr_ry, ry_fence_rr_rx}},
    {"IRIW+addr", "c0c1d0d1", "1010", false, {wx1, wy1, rx_addr_ry, ry_addr_rx}},
    {"IRIW+aq", "c0c1d0d1", "1010", false, {wx1, wy1, rx_aq_ry, ry_aq_rx}},
};
#endif
