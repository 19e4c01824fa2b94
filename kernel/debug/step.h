/*
 * Where the instruction at a place leads: a CPU without a trace mode is single-stepped by breakpoints behind the
 * instruction. RV32IMA (unprivileged specification 2.2), 32-bit instructions. Hardware-free.
 */
#ifndef DEBUG_STEP_H
#define DEBUG_STEP_H

#include <stdbool.h>
#include <stdint.h>

#define EBREAK 0x00100073u
#define STEP_MAX_TARGETS 6

/* What the instruction depends on; false where memory or a register cannot be read. */
struct step_source {
    bool (*instruction)(void *arg, uint32_t address, uint32_t *instruction);
    uint32_t (*register_)(void *arg, unsigned number);
    void *arg;
};

/*
 * Puts into `targets` all places at which the hart may be after the instruction at `pc`, and returns how many; 0 if
 * it nnot be told, as of MRET: the trap that stopped the hart has overwritten mepc. Usually that is one place. A
 * sequence from LR to SC is one step, because a trap inside it would make every SC fail; its places are behind the SC
 * and where its branches lead.
 */
unsigned step_targets(const struct step_source *source, uint32_t pc, uint32_t targets[STEP_MAX_TARGETS]);

/* WFI: there may be nothing to wake it, so a step passes over it. */
bool step_is_wfi(uint32_t instruction);

/* ECALL: what it calls may sleep, so interrupts must come during the step. */
bool step_is_ecall(uint32_t instruction);
#endif
