// Cycles, the unit of simulated time.
#pragma once
#include <cstdint>
#include <string>

constexpr uint64_t NEVER = UINT64_MAX;

inline std::string grouped(uint64_t value) // 1,234,567
{
    std::string text = std::to_string(value);
    for (size_t at = text.size(); at > 3;)
        text.insert(at -= 3, ",");
    return text;
}
