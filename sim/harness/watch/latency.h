// How long an interrupt takes: from the rise of a source's wire into the PIC to the first instruction of its driver's
// handler, and to where its interrupt thread begins (marks 15 and 17, whose value is the source).
#pragma once
#include <array>
#include <cstdint>

#include "watch/statistics.h"

class LatencyWatch {
  public:
    void rise(unsigned source, uint64_t cycle);
    // What an interrupt has just passed: false if there was no wire to count from, else since when.
    struct Passed {
        bool any = false;
        uint64_t rise = 0;

        explicit operator bool() const { return any; }
    };
    Passed handler(uint32_t source, uint64_t cycle);
    Passed thread(uint32_t source, uint64_t cycle);

    void open_window(uint64_t cycle)
    {
        window = true;
        window_began = cycle;
    }
    void close_window() { window = false; }
    void forget() { sources = {}; }
    void write(Json &json) const;

    template <class Archive> void serialize(Archive &archive) { archive(sources, window, window_began); }

  private:
    struct Way { // from the wire to one of the two places
        bool under_way = false;
        uint64_t since = 0; // the rise
        Spread cycles = {};

        template <class Archive> void serialize(Archive &archive) { archive(under_way, since, cycles); }
    };
    struct Source {
        uint64_t rises = 0;
        Way handler, thread;

        template <class Archive> void serialize(Archive &archive) { archive(rises, handler, thread); }
    };
    Passed arrive(Way &way, uint64_t cycle);

    std::array<Source, 32> sources{};
    bool window = false;
    uint64_t window_began = 0;
};
