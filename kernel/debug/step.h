/*
 * The successors of an instruction: a CPU without a trace mode is single-stepped by breakpoints after the
 * instruction. RV32IMA (unprivileged specification 2.2), 32-bit instructions. Independent of hardware.
 */
#ifndef DEBUG_STEP_H
#define DEBUG_STEP_H

#include <stdbool.h>
#include <stdint.h>

#define EBREAK 0x00100073u
#define STEP_MAX_TARGETS 6

/* What the successors depend on; false where memory or a register cannot be read. */
struct step_source {
    bool (*instruction)(void *arg, uint32_t address, uint32_t *instruction);
    uint32_t (*register_)(void *arg, unsigned number);
    void *arg;
};

/*
 * Puts into `targets` all addresses at which the hart may be after the instruction at `pc`, and returns how many; 0 if
 * they are unknown, as for MRET: the trap that stopped the hart has overwritten mepc. Usually there is one. A
 * sequence from LR to SC is one step, because a trap inside it would make every SC fail; its successors are after the
 * SC and at the targets of its branches.
 */
unsigned step_targets(const struct step_source *source, uint32_t pc, uint32_t targets[STEP_MAX_TARGETS]);

/* WFI: there may be no interrupt to wake it, so a step skips it. */
bool step_is_wfi(uint32_t instruction);

/* ECALL: the call may sleep, so interrupts must be possible during the step. */
bool step_is_ecall(uint32_t instruction);
#endif
