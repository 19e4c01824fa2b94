// Instructions that may leave their function.
#pragma once
#include <cstdint>

#include "watch/observer.h"

// The calling convention's: a call leaves the return address in ra (or t0), a return goes there.
inline Transfer transfer_of(uint32_t instruction)
{
    constexpr uint32_t JAL = 0x6f, JALR = 0x67, OPCODE = 0x7f, ZERO = 0, RA = 1, T0 = 5;
    uint32_t opcode = instruction & OPCODE, to = instruction >> 7 & 31, from = instruction >> 15 & 31;
    if (opcode != JAL && opcode != JALR)
        return Transfer::NONE;
    if (to != ZERO)
        return to == RA || to == T0 ? Transfer::CALL : Transfer::JUMP;
    if (opcode == JALR)
        return from == RA || from == T0 ? Transfer::RETURN : Transfer::JUMP;
    return Transfer::DIRECT_JUMP;
}

inline uint32_t jump_target(uint32_t pc, uint32_t instruction) // of a JAL
{
    uint32_t sign = uint32_t(int32_t(instruction) >> 31);
    return pc +
           ((sign & 0xfff00000) | (instruction & 0xff000) | (instruction >> 9 & 0x800) | (instruction >> 20 & 0x7fe));
}
