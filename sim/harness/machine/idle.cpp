#include "machine/idle.h"

#include <algorithm>
#include <cstring>

uint64_t Word::get() const
{
    switch (bytes) {
    case 1: return *static_cast<const uint8_t *>(at);
    case 2: return *static_cast<const uint16_t *>(at);
    case 4: return *static_cast<const uint32_t *>(at);
    default: return *static_cast<const uint64_t *>(at);
    }
}

void Word::set(uint64_t value) const
{
    if (bits < 64)
        value &= (uint64_t(1) << bits) - 1;
    switch (bytes) {
    case 1: *static_cast<uint8_t *>(at) = uint8_t(value); break;
    case 2: *static_cast<uint16_t *>(at) = uint16_t(value); break;
    case 4: *static_cast<uint32_t *>(at) = uint32_t(value); break;
    default: *static_cast<uint64_t *>(at) = value;
    }
}

Idle::Idle(Root &root) : state(reinterpret_cast<char *>(&root)), table(idle_table(root))
{
    std::sort(table.members.begin(), table.members.end(),
              [](const Member &a, const Member &b) { return a.offset < b.offset; });
    const Part *last = nullptr;
    for (const Member &member : table.members) {
        Part *part = member.kind != Member::COMPARED    ? nullptr
                     : member.bytes <= sizeof(uint64_t) ? &registers
                                                        : &memories;
        if (part)
            part->add(member, part == last);
        last = part;
    }
}

void Idle::Part::add(const Member &member, bool next)
{
    size_t end = next ? ranges.back().offset + ranges.back().bytes : 0, more = member.bytes;
    if (next && member.offset - end < MOST_PADDING)
        ranges.back().bytes += more += member.offset - end;
    else
        ranges.push_back({member.offset, member.bytes});
    before.resize(before.size() + more);
}

void Idle::Part::remember(const char *state)
{
    char *to = before.data();
    for (const Range &range : ranges) {
        std::memcpy(to, state + range.offset, range.bytes);
        to += range.bytes;
    }
}

bool Idle::Part::stood_still(const char *state) const
{
    const char *from = before.data();
    for (const Range &range : ranges) {
        if (std::memcmp(from, state + range.offset, range.bytes))
            return false;
        from += range.bytes;
    }
    return true;
}

bool Idle::quiet() const
{
    return std::all_of(table.still.begin(), table.still.end(), [](const Word &word) { return word.get() == 0; });
}

void Idle::remember(What what)
{
    registers.remember(state);
    if (what == What::ALL)
        memories.remember(state);
    for (IdleClock &clock : table.clocks)
        clock.before = clock.counter.get();
    for (IdleCountdown &countdown : table.countdowns)
        countdown.before = countdown.counter.get();
    for (IdleBitTimer &timer : table.bit_timers)
        timer.before = timer.timer.get();
}

bool Idle::stood_still(What what) const
{
    return registers.stood_still(state) && (what == What::REGISTERS || memories.stood_still(state)) && quiet();
}

uint64_t Idle::horizon() const
{
    uint64_t cycles = UINT64_MAX;
    for (const IdleClock &clock : table.clocks) {
        uint64_t now = clock.counter.get();
        for (const Word &alarm : clock.alarms)
            if (alarm.get() >= now)
                cycles = std::min(cycles, alarm.get() - now);
    }
    auto running = [&cycles](uint64_t before, uint64_t now, uint64_t end) {
        if (now == before)
            return;
        bool steady = now == before - 1 && now >= end;
        cycles = std::min(cycles, steady ? now - end : 0);
    };
    for (const IdleCountdown &countdown : table.countdowns)
        running(countdown.before, countdown.counter.get(), countdown.end);
    for (const IdleBitTimer &timer : table.bit_timers)
        if (timer.state.get() != timer.rest)
            running(timer.before, timer.timer.get(), 0);
    return cycles;
}

void Idle::advance(uint64_t cycles)
{
    for (IdleClock &clock : table.clocks) {
        uint64_t now = clock.counter.get();
        clock.counter.set(now + (now - clock.before) * cycles);
    }
    for (IdleCountdown &countdown : table.countdowns) {
        uint64_t now = countdown.counter.get();
        if (now != countdown.before)
            countdown.counter.set(now - cycles);
    }
    for (IdleBitTimer &timer : table.bit_timers) {
        uint64_t now = timer.timer.get(), period = timer.period.get();
        timer.timer.set(cycles <= now ? now - cycles : period - 1 - (cycles - now - 1) % period);
    }
}
