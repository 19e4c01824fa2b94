// Main RAM as the harness reads it: the program's words and strings, at their addresses in the target. Data caches are
// write-through, so a store is here some dozens of cycles later.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "machine/image.h"

class TargetMemory {
  public:
    TargetMemory(const uint8_t *ram, size_t bytes) : ram(ram), bytes(bytes) {}

    bool word(uint32_t address, uint32_t &value) const // false: there is no aligned word of main RAM
    {
        uint64_t offset = uint64_t(address) - RAM_BASE;
        if (address < RAM_BASE || address % 4 || offset + 4 > bytes)
            return false;
        std::memcpy(&value, ram + offset, 4);
        return true;
    }

    std::string text(uint32_t address) const // a C string, cut if it is too long; empty outside main RAM
    {
        constexpr size_t MOST = 64;
        uint64_t offset = uint64_t(address) - RAM_BASE;
        if (address < RAM_BASE || offset >= bytes)
            return "";
        const char *begin = reinterpret_cast<const char *>(ram + offset);
        return std::string(begin, strnlen(begin, bytes - offset < MOST ? bytes - offset : MOST));
    }

  private:
    const uint8_t *ram;
    size_t bytes;
};
