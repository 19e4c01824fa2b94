// A moment of a run, as the command line names it: cycle:N, before the cycle N; or after the cycle in which a hart
// retires an instruction, pc:SYMBOL[+OFFSET] or pc:0xADDRESS; or after that of a trace event, event:ID[:ARGUMENT].
#pragma once
#include <cstdint>
#include <optional>
#include <string>

struct Moment {
    enum class Kind { NONE, CYCLE, PC, EVENT };

    Kind kind = Kind::NONE;
    std::string text;                 // as given
    uint64_t cycle = UINT64_MAX;      // of a CYCLE, else never
    std::string place;                // of a PC: what Image::address_of understands
    uint32_t event = 0;               // of an EVENT,
    std::optional<uint32_t> argument; // and its argument; none: any

    bool is_event(uint32_t id, uint32_t value) const
    {
        return kind == Kind::EVENT && id == event && value == argument.value_or(value);
    }
};

// Throws Failure with one line that names `option`.
Moment parse_moment(const std::string &option, const std::string &text);
