#include "observers/perfetto.h"

#include <cstring>

namespace {

// Numbers of fields and values, as in Perfetto's .proto files.
namespace trace {
constexpr unsigned PACKET = 1;
}
namespace packet {
constexpr unsigned TIMESTAMP = 8, SEQUENCE = 10, TRACK_EVENT = 11, INTERNED_DATA = 12, SEQUENCE_FLAGS = 13,
                   TRACK_DESCRIPTOR = 60;
constexpr uint64_t STATE_CLEARED = 1, NEEDS_STATE = 2;
} // namespace packet
namespace descriptor {
constexpr unsigned UUID = 1, NAME = 2, PARENT = 5, COUNTER = 8, CHILD_ORDERING = 11, RANK = 12;
constexpr uint64_t EXPLICIT = 3;
} // namespace descriptor
namespace event {
constexpr unsigned ANNOTATION = 4, TYPE = 9, NAME_ID = 10, TRACK = 11, DOUBLE_VALUE = 44;
constexpr unsigned BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4;
} // namespace event
namespace annotation {
constexpr unsigned UINT = 3, NAME = 10;
}
namespace interned {
constexpr unsigned EVENT_NAMES = 2, ID = 1, NAME = 2;
}

constexpr uint64_t SEQUENCE = 1; // all packets are of one writer

} // namespace

class PerfettoTrace::Message {
  public:
    std::string bytes;

    Message &number(unsigned field, uint64_t value)
    {
        varint(field << 3 | VARINT);
        varint(value);
        return *this;
    }
    Message &real(unsigned field, double value)
    {
        char raw[sizeof value];
        std::memcpy(raw, &value, sizeof value);
        varint(field << 3 | FIXED64);
        bytes.append(raw, sizeof raw);
        return *this;
    }
    Message &text(unsigned field, const std::string &value)
    {
        varint(field << 3 | LENGTH);
        varint(value.size());
        bytes += value;
        return *this;
    }
    Message &message(unsigned field, const Message &inner) { return text(field, inner.bytes); }

  private:
    static constexpr unsigned VARINT = 0, FIXED64 = 1, LENGTH = 2;

    void varint(uint64_t value)
    {
        for (; value >= 0x80; value >>= 7)
            bytes += char(value | 0x80);
        bytes += char(value);
    }
};

PerfettoTrace::PerfettoTrace(const std::string &path, uint64_t clock_hz) : clock_hz(clock_hz)
{
    file.open(path);
    Message first;
    first.number(packet::SEQUENCE_FLAGS, packet::STATE_CLEARED);
    packet(first);
}

void PerfettoTrace::packet(Message &message)
{
    message.number(packet::SEQUENCE, SEQUENCE);
    Message trace;
    trace.message(trace::PACKET, message);
    file.write(trace.bytes);
}

PerfettoTrace::Track PerfettoTrace::track(const std::string &name, Track parent, Kind kind)
{
    Message track, message;
    track.number(descriptor::UUID, ++tracks).text(descriptor::NAME, name);
    track.number(descriptor::CHILD_ORDERING, descriptor::EXPLICIT).number(descriptor::RANK, tracks);
    if (parent)
        track.number(descriptor::PARENT, parent);
    if (kind == Kind::COUNTER)
        track.message(descriptor::COUNTER, Message());
    packet(message.message(packet::TRACK_DESCRIPTOR, track));
    return tracks;
}

void PerfettoTrace::event(unsigned type, Track track, const std::string *name, const double *value, uint64_t cycle)
{
    constexpr uint64_t NS = 1'000'000'000;
    Message event, message;
    event.number(event::TYPE, type).number(event::TRACK, track);
    if (name) {
        auto [known, is_new] = names.emplace(*name, names.size() + 1);
        if (is_new) {
            Message entry, data;
            entry.number(interned::ID, known->second).text(interned::NAME, *name);
            message.message(packet::INTERNED_DATA, data.message(interned::EVENT_NAMES, entry));
        }
        Message exact; // the timestamp is rounded to a nanosecond
        event.number(event::NAME_ID, known->second);
        event.message(event::ANNOTATION, exact.text(annotation::NAME, "cycle").number(annotation::UINT, cycle));
    }
    if (value)
        event.real(event::DOUBLE_VALUE, *value);
    uint64_t whole = cycle / clock_hz, rest = cycle % clock_hz;
    message.number(packet::TIMESTAMP, whole * NS + (rest * NS + clock_hz / 2) / clock_hz);
    message.number(packet::SEQUENCE_FLAGS, packet::NEEDS_STATE);
    packet(message.message(packet::TRACK_EVENT, event));
}

void PerfettoTrace::begin(Track track, const std::string &name, uint64_t cycle)
{
    event(event::BEGIN, track, &name, nullptr, cycle);
}

void PerfettoTrace::end(Track track, uint64_t cycle)
{
    event(event::END, track, nullptr, nullptr, cycle);
}

void PerfettoTrace::instant(Track track, const std::string &name, uint64_t cycle)
{
    event(event::INSTANT, track, &name, nullptr, cycle);
}

void PerfettoTrace::value(Track track, double value, uint64_t cycle)
{
    event(event::COUNTER, track, nullptr, &value, cycle);
}
