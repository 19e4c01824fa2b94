#include "support/json.h"

#include "support/failure.h"

void Json::next(const char *key)
{
    if (!first)
        text += ',';
    if (depth)
        text += '\n' + std::string(2 * depth, ' ');
    first = false;
    if (key)
        text += quote(key) + ": ";
}

Json &Json::raw(const char *key, const std::string &value)
{
    next(key);
    text += value;
    return *this;
}

Json &Json::real(const char *key, double value)
{
    return raw(key, format("%.9g", value));
}

Json &Json::begin(const char *key, char open)
{
    next(key);
    text += open;
    depth++;
    first = true;
    return *this;
}

Json &Json::end(char close)
{
    depth--;
    if (!first)
        text += '\n' + std::string(2 * depth, ' ');
    text += close;
    first = false;
    return *this;
}

// The length of the well-formed UTF-8 sequence at `at`, or 0.
static size_t sequence(const std::string &s, size_t at)
{
    auto byte = [&](size_t i) { return i < s.size() ? uint8_t(s[i]) : 0; };
    uint8_t lead = byte(at);
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xc2 && lead < 0xe0 ? 2
                    : (lead & 0xf0) == 0xe0       ? 3
                    : lead >= 0xf0 && lead < 0xf5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++)
        if ((byte(at + i) & 0xc0) != 0x80)
            return 0;
    bool overlong = (lead == 0xe0 && byte(at + 1) < 0xa0) || (lead == 0xf0 && byte(at + 1) < 0x90);
    bool outside = (lead == 0xed && byte(at + 1) > 0x9f) || (lead == 0xf4 && byte(at + 1) > 0x8f);
    return overlong || outside ? 0 : length;
}

std::string Json::quote(const std::string &value)
{
    std::string out = "\"";
    for (size_t at = 0; at < value.size();) {
        size_t length = sequence(value, at);
        unsigned char c = value[at];
        if (length == 0) {
            out += "\\ufffd";
            length = 1;
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += char(c);
        } else if (c < 0x20 || c == 0x7f) {
            out += format("\\u%04x", c);
        } else {
            out.append(value, at, length);
        }
        at += length;
    }
    return out + '"';
}
