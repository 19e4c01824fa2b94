// The figures measured from outside, per hart: see "Statistics" in the README for what each means.
#pragma once
#include <array>
#include <cstdint>
#include <map>

#include "support/json.h"

struct Spread {
    uint64_t count = 0, total = 0, least = UINT64_MAX, most = 0;
    std::array<uint64_t, 64> log2{}; // [i]: values of 2^i up to 2^(i+1)-1; 0 counts with 1

    void add(uint64_t value)
    {
        count++;
        total += value;
        least = value < least ? value : least;
        most = value > most ? value : most;
        log2[value ? 63 - __builtin_clzll(value) : 0]++;
    }
    template <class Archive> void serialize(Archive &archive) { archive(count, total, least, most, log2); }
    void write(Json &json, const char *key) const;
};

// How often each length occurred, in steps of a few cycles: the shape that powers of two hide.
struct Lengths {
    static constexpr uint64_t STEP = 4; // cycles
    std::array<uint64_t, 512> counts{}; // [i]: lengths of i * STEP up to, not with, (i + 1) * STEP
    uint64_t beyond = 0;                // longer than all of them

    void add(uint64_t value) { (value / STEP < counts.size() ? counts[value / STEP] : beyond)++; }
    template <class Archive> void serialize(Archive &archive) { archive(counts, beyond); }
    void write(Json &json, const char *key) const;
};

// A hart's activities; at each moment one of these.
enum class Activity { USER, SYSTEM, INTERRUPT, SPINNING, IDLE, COUNT };

struct Statistics {
    uint64_t instructions = 0;
    uint64_t wfi_cycles = 0;
    std::array<uint64_t, 4> privilege_cycles{}; // U, S, -, M
    uint64_t traps = 0;                         // exceptions and interrupts
    std::map<uint32_t, uint64_t> interrupts;    // by cause, without its top bit
    std::array<uint64_t, size_t(Activity::COUNT)> accounting{};
    uint64_t thread_switches = 0;
    Spread switch_cycles;   // from before the first register is saved until the new thread runs

    uint64_t entered = 0;   // sections, nested ones too
    uint64_t outermost = 0;
    Spread body;            // cycles of outermost sections, with everything that happened meanwhile
    Spread body_net;        // ... without the traps taken inside
    Lengths lengths;        // the same as body_net
    Spread enter, leave;    // cycles in the primitives, without the traps taken inside
    uint64_t interrupts_in_section = 0, interrupts_in_primitive = 0;
    uint64_t arrivals = 0, arrivals_in_section = 0, arrivals_in_primitive = 0;
    uint64_t sections_interrupted = 0; // outermost sections with at least one arrival
    std::array<uint64_t, 32> source_rises_in_section{};
    uint64_t queued = 0;
    Spread queueing_traps; // traps that queued their interrupt: from trap to mret
    Spread handling_traps; // traps that handled one without a thread switch
    Spread replays;        // queued interrupts that thread code handled after its section
    uint64_t unmatched = 0; // ENTERED without ENTER, LEAVE outside a section
    std::map<uint32_t, uint64_t> other_probes;

    template <class Archive> void serialize(Archive &archive)
    {
        archive(instructions, wfi_cycles, privilege_cycles, traps, interrupts, accounting, thread_switches,
                switch_cycles, entered, outermost, body, body_net, lengths, enter, leave, interrupts_in_section,
                interrupts_in_primitive, arrivals, arrivals_in_section, arrivals_in_primitive, sections_interrupted,
                source_rises_in_section, queued, queueing_traps, handling_traps, replays, unmatched, other_probes);
    }
    void write(Json &json) const;
};
