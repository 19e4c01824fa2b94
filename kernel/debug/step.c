/* Successors of an instruction (step.h). Uses no library, so that breakpoints may be set in it. */
#include "debug/step.h"

#define LONGEST_SEQUENCE 16 /* instructions of a constrained LR/SC loop (unprivileged specification, section 8.3) */

enum { OPCODE_BRANCH = 0x63, OPCODE_JALR = 0x67, OPCODE_JAL = 0x6f, OPCODE_AMO = 0x2f };

#define ECALL 0x00000073u
#define MRET 0x30200073u
#define WFI 0x10500073u

static unsigned field(uint32_t instruction, unsigned low, unsigned width)
{
    return instruction >> low & ((1u << width) - 1);
}

static unsigned opcode(uint32_t i)
{
    return i & 0x7f;
}

/* The immediates have their sign in bit 31. */
static uint32_t branch_offset(uint32_t i)
{
    return (uint32_t)((int32_t)i >> 31) << 12 | field(i, 7, 1) << 11 | field(i, 25, 6) << 5 | field(i, 8, 4) << 1;
}

static uint32_t jal_offset(uint32_t i)
{
    return (uint32_t)((int32_t)i >> 31) << 20 | field(i, 12, 8) << 12 | field(i, 20, 1) << 11 | field(i, 21, 10) << 1;
}

static bool branch_taken(const struct step_source *s, uint32_t i)
{
    uint32_t a = s->register_(s->arg, field(i, 15, 5)), b = s->register_(s->arg, field(i, 20, 5));
    bool taken;
    switch (field(i, 13, 2)) {
    case 0: taken = a == b; break;
    case 2: taken = (int32_t)a < (int32_t)b; break;
    default: taken = a < b; break;
    }
    return taken != (field(i, 12, 1) != 0);
}

static bool is_lr(uint32_t i)
{
    return opcode(i) == OPCODE_AMO && field(i, 27, 5) == 2;
}

static bool is_sc(uint32_t i)
{
    return opcode(i) == OPCODE_AMO && field(i, 27, 5) == 3;
}

/* From an LR on: after the SC, and the targets of branches before it. Any other sequence, such as one that waits for
 * the word to change before its SC, is stepped instruction by instruction. */
static unsigned sequence(const struct step_source *s, uint32_t pc, uint32_t targets[STEP_MAX_TARGETS])
{
    unsigned n = 1;
    uint32_t at = pc + 4, i;
    for (unsigned length = 1; length < LONGEST_SEQUENCE && s->instruction(s->arg, at, &i); length++, at += 4) {
        if (is_sc(i)) {
            targets[0] = at + 4;
            return n;
        }
        bool leaves = opcode(i) == OPCODE_BRANCH && (int32_t)branch_offset(i) > 0;
        if (leaves && n < STEP_MAX_TARGETS)
            targets[n++] = at + branch_offset(i);
        else if (opcode(i) == OPCODE_BRANCH || opcode(i) == OPCODE_JAL || opcode(i) == OPCODE_JALR || is_lr(i))
            break;
    }
    targets[0] = pc + 4;
    return 1;
}

unsigned step_targets(const struct step_source *s, uint32_t pc, uint32_t targets[STEP_MAX_TARGETS])
{
    uint32_t i;
    if (!s->instruction(s->arg, pc, &i))
        return 0;
    if (is_lr(i))
        return sequence(s, pc, targets);
    targets[0] = pc + 4;
    if (opcode(i) == OPCODE_BRANCH && branch_taken(s, i))
        targets[0] = pc + branch_offset(i);
    else if (opcode(i) == OPCODE_JAL)
        targets[0] = pc + jal_offset(i);
    else if (opcode(i) == OPCODE_JALR)
        targets[0] = (s->register_(s->arg, field(i, 15, 5)) + (uint32_t)((int32_t)i >> 20)) & ~1u;
    return i != MRET;
}

bool step_is_wfi(uint32_t instruction)
{
    return instruction == WFI;
}

bool step_is_ecall(uint32_t instruction)
{
    return instruction == ECALL;
}
