#include "options/poke.h"

#include "support/failure.h"
#include "support/number.h"

Poke parse_poke(const std::string &option, const std::string &text)
{
    size_t equals = text.find('='), at = text.find('@');
    if (equals == std::string::npos || equals == 0 || at < equals)
        throw Failure(format("%s: '%s' is not NAME=VALUE or NAME=VALUE@CYCLE", option.c_str(), text.c_str()));
    Poke poke;
    poke.name = text.substr(0, equals);
    poke.value = uint32_t(whole_number(option, text.substr(equals + 1, at - equals - 1), UINT32_MAX));
    if (at != std::string::npos)
        poke.cycle = whole_number(option, text.substr(at + 1), Poke::AT_START - 1);
    return poke;
}
