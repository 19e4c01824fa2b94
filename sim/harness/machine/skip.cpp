#include "machine/skip.h"

#include <cstring>
#include <string>

#include "support/failure.h"

// The model's state but main RAM: what Verilator saves, and its variables that each cycle recomputes.
void Skip::keep(std::vector<char> &state) const
{
    state.clear();
    const char *root = reinterpret_cast<const char *>(&model.root());
    for (const Member &member : idle.members())
        if (member.kind != Member::RAM)
            state.insert(state.end(), root + member.offset, root + member.offset + member.bytes);
}

void Skip::put_back(const std::vector<char> &state)
{
    char *root = reinterpret_cast<char *>(&model.root());
    const char *from = state.data();
    for (const Member &member : idle.members()) {
        if (member.kind == Member::RAM)
            continue;
        std::memcpy(root + member.offset, from, member.bytes);
        from += member.bytes;
    }
    model.replaced();
}

void Skip::compare(bool nothing, bool around_stood_still, uint64_t began, uint64_t cycles) const
{
    constexpr unsigned SHOWN = 8;
    unsigned different = 0;
    std::string names;
    const char *root = reinterpret_cast<const char *>(&model.root());
    const char *from = left_out.data();
    for (const Member &member : idle.members()) {
        bool ram = member.kind == Member::RAM;
        const void *expected = ram ? static_cast<const void *>(ram_before.data()) : from;
        if (std::memcmp(root + member.offset, expected, member.bytes) && ++different <= SHOWN)
            names += (names.empty() ? "" : ", ") + std::string(member.name);
        from += ram ? 0 : member.bytes;
    }
    if (nothing && around_stood_still && !different)
        return;
    throw Failure(format("skipping is not exact: %llu cycles from cycle %llu on, %s", (unsigned long long)cycles,
                         (unsigned long long)began,
                         different  ? (std::to_string(different) + " variables differ: " + names).c_str()
                         : !nothing ? "in which a hart did something"
                                    : "in which a device did something"));
}
