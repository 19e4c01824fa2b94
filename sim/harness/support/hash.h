// SHA-256 for what must be recognised elsewhere (image, input files), and a fast 64-bit mix for the run's digest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

std::string sha256(const void *data, size_t length); // lower-case hexadecimal

// Order-dependent, not cryptographic: it distinguishes runs, but does not resist an adversary.
struct Mix {
    uint64_t value = 0xcbf29ce484222325u;

    template <class Archive> void serialize(Archive &archive) { archive(value); }

    void add(uint64_t word)
    {
        value = (value ^ word) * 0x9e3779b97f4a7c15u;
        value ^= value >> 29;
    }

    void add(const void *data, size_t length)
    {
        const auto *bytes = static_cast<const uint8_t *>(data);
        for (; length >= 8; bytes += 8, length -= 8) {
            uint64_t word;
            std::memcpy(&word, bytes, 8);
            add(word);
        }
        uint64_t word = length;
        for (size_t i = 0; i < length; i++)
            word = word << 8 | bytes[i];
        add(word);
    }
};
