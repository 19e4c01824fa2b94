#include "devices/trace_port.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>

#include "support/failure.h"
#include "support/json.h"

TracePort::TracePort(const Pins &machine, std::function<void(const Record &, uint64_t)> told, bool &life)
    : Device("trace"), machine(machine), life(life), told(std::move(told))
{
    wants.pins = TRACE_VALID;
}

void TracePort::after_edge(uint64_t cycle, unsigned pins)
{
    if (!(pins & TRACE_VALID))
        return;
    const Pins::Traced traced = machine.traced();
    const Record record{traced.cycle, traced.hart, traced.event, traced.argument};
    records++;
    mix.add(record.cycle);
    mix.add(uint64_t(record.hart) << 42 | uint64_t(record.event) << 32 | record.argument);
    if (file.wanted())
        file.write(
            format("%llu,%u,%u,%u\n", (unsigned long long)record.cycle, record.hart, record.event, record.argument));
    life = true;
    told(record, cycle);
}

void TracePort::open(const std::string &folder, bool keep)
{
    if (!folder.empty()) {
        file.open(folder + "/trace.csv");
        file.write("cycle,hart,event,argument\n");
    }
    if (keep)
        file.keep();
}

void TracePort::save(cereal::BinaryOutputArchive &archive) const
{
    archive(mix, records, file.kept());
}

void TracePort::load(cereal::BinaryInputArchive &archive)
{
    archive(mix, records, before);
}

void TracePort::record(Json &json) const
{
    json.number("trace_records", records);
}
