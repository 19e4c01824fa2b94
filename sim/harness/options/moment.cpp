#include "options/moment.h"

#include "support/failure.h"
#include "support/number.h"

Moment parse_moment(const std::string &option, const std::string &text)
{
    size_t colon = text.find(':');
    std::string kind = text.substr(0, colon);
    std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    Moment moment;
    moment.text = text;
    if (kind == "cycle") {
        moment.kind = Moment::Kind::CYCLE;
        moment.cycle = whole_number(option, rest);
    } else if (kind == "pc" && !rest.empty()) {
        moment.kind = Moment::Kind::PC;
        moment.place = rest;
    } else if (kind == "event" && !rest.empty()) {
        constexpr uint64_t LAST_EVENT = 1023, LAST_ARGUMENT = UINT32_MAX;
        moment.kind = Moment::Kind::EVENT;
        size_t second = rest.find(':');
        moment.event = uint32_t(whole_number(option, rest.substr(0, second), LAST_EVENT));
        if (second != std::string::npos)
            moment.argument = uint32_t(whole_number(option, rest.substr(second + 1), LAST_ARGUMENT));
    } else {
        throw Failure(format("%s: '%s' is not a moment: give cycle:N, pc:SYMBOL[+OFFSET], pc:0xADDRESS or "
                             "event:ID[:ARGUMENT]",
                             option.c_str(), text.c_str()));
    }
    return moment;
}
