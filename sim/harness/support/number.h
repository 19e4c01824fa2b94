// Parses numbers of the command line.
#pragma once
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "support/failure.h"

// A whole number, decimal, 0x... or 0..., at most `most`. Throws Failure with one line that names `option`.
inline uint64_t whole_number(const std::string &option, const std::string &text, uint64_t most = UINT64_MAX)
{
    char *end;
    errno = 0;
    unsigned long long value = std::strtoull(text.c_str(), &end, 0);
    if (text.empty() || text[0] == '-' || text[0] == '+' || *end || errno)
        throw Failure(format("%s: '%s' is not a whole number", option.c_str(), text.c_str()));
    if (value > most)
        throw Failure(
            format("%s: %s is out of range, 0 to %llu", option.c_str(), text.c_str(), (unsigned long long)most));
    return value;
}
