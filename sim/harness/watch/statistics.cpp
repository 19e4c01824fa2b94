#include "watch/statistics.h"

#include <string>

void Spread::write(Json &json, const char *key) const
{
    json.object(key).number("count", count).number("total", total);
    json.number("min", count ? least : 0).number("max", most).array("log2");
    size_t used = log2.size();
    while (used && !log2[used - 1])
        used--;
    for (size_t i = 0; i < used; i++)
        json.number(nullptr, log2[i]);
    json.end_array().end_object();
}

void Lengths::write(Json &json, const char *key) const
{
    size_t used = counts.size();
    while (used && !counts[used - 1])
        used--;
    std::string list; // on one line: there are many
    for (size_t i = 0; i < used; i++)
        list += (i ? ", " : "") + std::to_string(counts[i]);
    json.object(key).number("step", STEP).raw("counts", "[" + list + "]").number("beyond", beyond).end_object();
}

void Statistics::write(Json &json) const
{
    json.number("instructions", instructions).number("wfi_cycles", wfi_cycles);
    json.object("privilege_cycles");
    json.number("user", privilege_cycles[0]).number("supervisor", privilege_cycles[1]);
    json.number("machine", privilege_cycles[3]).end_object();

    static const char *const ACTIVITY[] = {"user", "system", "interrupt", "spinning", "idle"};
    json.object("accounting");
    for (size_t i = 0; i < accounting.size(); i++)
        json.number(ACTIVITY[i], accounting[i]);
    json.end_object();

    uint64_t interrupts_taken = 0;
    for (auto [cause, count] : interrupts)
        interrupts_taken += count;
    json.number("traps", traps).number("interrupts", interrupts_taken).object("interrupts_by_cause");
    for (auto [cause, count] : interrupts)
        json.number(std::to_string(cause).c_str(), count);
    json.end_object().number("thread_switches", thread_switches);
    switch_cycles.write(json, "switch_cycles");

    json.number("entered", entered).number("outermost", outermost);
    body.write(json, "body_cycles");
    body_net.write(json, "body_net_cycles");
    lengths.write(json, "body_net_lengths");
    enter.write(json, "enter_cycles");
    leave.write(json, "leave_cycles");
    json.number("interrupts_in_section", interrupts_in_section);
    json.number("interrupts_in_primitive", interrupts_in_primitive);
    json.number("arrivals", arrivals).number("arrivals_in_section", arrivals_in_section);
    json.number("arrivals_in_primitive", arrivals_in_primitive);
    json.number("sections_interrupted", sections_interrupted).object("source_rises_in_section");
    for (size_t s = 0; s < source_rises_in_section.size(); s++)
        if (source_rises_in_section[s])
            json.number(std::to_string(s).c_str(), source_rises_in_section[s]);
    json.end_object().number("queued", queued);
    queueing_traps.write(json, "queueing_trap_cycles");
    handling_traps.write(json, "handling_trap_cycles");
    replays.write(json, "replay_cycles");
    json.number("unmatched_probes", unmatched).object("other_probes");
    for (auto [kind, count] : other_probes)
        json.number(std::to_string(kind).c_str(), count);
    json.end_object();
}
