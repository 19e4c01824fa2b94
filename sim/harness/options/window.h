// Which cycles are recorded: from one moment of the run up to another, or so many cycles.
#pragma once
#include <algorithm>
#include <cstdint>

#include "options/moment.h"

class Window {
  public:
    // `begin` NONE: the first cycle; `end` NONE: `length` cycles, or until the run ends.
    Window(const Moment &begin, const Moment &end, uint64_t length = UINT64_MAX)
        : begin_at(begin), end_at(end), length(length)
    {
    }

    void start(uint64_t cycle) // the first cycle of the run
    {
        if (begin_at.kind == Moment::Kind::NONE)
            open(cycle);
        else if (begin_at.kind == Moment::Kind::CYCLE)
            open(std::max(begin_at.cycle, cycle));
    }
    // A hart passed the instruction of one of the moments, or its event came; true: something changes after this cycle.
    // Only the first occurrence counts, and an end only after the beginning.
    bool reached(const Moment &moment, uint64_t now)
    {
        if (&moment == &begin_at && first == UINT64_MAX)
            open(now + 1);
        else if (&moment == &end_at && now >= first && now + 1 < behind)
            behind = now + 1;
        else
            return false;
        return true;
    }
    uint64_t shared(uint64_t from, uint64_t to) const // cycles of these that are in it
    {
        return std::max(from, first) < std::min(to, behind) ? std::min(to, behind) - std::max(from, first) : 0;
    }
    bool holds(uint64_t cycle) const { return cycle >= first && cycle < behind; }
    uint64_t
    next_change(uint64_t cycle) const // the first cycle after `cycle` where that changes, as far as it is known
    {
        return cycle < first ? first : cycle < behind ? behind : UINT64_MAX;
    }

    const Moment begin_at, end_at;

  private:
    void open(uint64_t cycle)
    {
        first = cycle;
        if (length < UINT64_MAX - cycle)
            behind = cycle + length;
        if (end_at.kind == Moment::Kind::CYCLE)
            behind = std::max(end_at.cycle, cycle);
    }

    uint64_t length, first = UINT64_MAX, behind = UINT64_MAX;
};
