// A register of the model that is set from outside: --poke NAME=VALUE[@CYCLE]. The names are those of the CSRs
// (support/parameters/machine.py).
#pragma once
#include <cstdint>
#include <functional>
#include <string>

struct Poke {
    static constexpr uint64_t AT_START = UINT64_MAX;

    std::string name;
    uint32_t value = 0;
    uint64_t cycle = AT_START; // the first cycle whose clock edge sees the value

    template <class Archive> void serialize(Archive &archive) { archive(name, value, cycle); }
};

// The model's registers that can be poked; `ports.h`, made by sim/model/build.py, lists them.
struct Pokable {
    const char *name;
    unsigned bits;
    std::function<void(uint32_t)> write;
};

// Throws Failure with one line that names `option`.
Poke parse_poke(const std::string &option, const std::string &text);
