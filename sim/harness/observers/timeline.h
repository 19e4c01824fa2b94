// What each hart does over time, as a trace for Perfetto: its threads with the traps, waits and thread switches inside
// them; its time accounts; its critical sections; its wire from the PIC. And the holder of each lock, and the PIC's
// sources.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "inspect/inspect.h"
#include "observers/perfetto.h"
#include "watch/observer.h"
#include "watch/watch.h"

class Timeline final : public Observer {
  public:
    Timeline(const Watch &watch, const Inspector &inspector, const std::string &path, uint64_t clock_hz);

    void begin(uint64_t cycle) override;
    void probe(unsigned hart, uint32_t kind, uint32_t value, uint32_t pc, uint64_t cycle) override;
    void changed(unsigned hart, uint64_t cycle) override;
    void arrivals(uint32_t before, uint32_t now, uint64_t cycle) override;
    void sources(uint32_t before, uint32_t now, uint64_t cycle) override;
    void finish(uint64_t cycle) override;

    PerfettoTrace trace;
    PerfettoTrace::Track group(unsigned hart) const { return harts[hart].group; } // for more about it

  private:
    // A track and the slices open on it, outermost first: shown as they should be, by ending and beginning what
    // differs.
    struct Stack {
        PerfettoTrace::Track track = 0;
        std::vector<std::string> open;
    };
    struct Tracks {
        PerfettoTrace::Track group;
        Stack runs, does, section, wire;
        uint64_t section_began = 0;
    };

    void show(Stack &stack, const std::vector<std::string> &wanted, uint64_t cycle);
    std::vector<std::string> running(const Hart &hart) const;
    void show_lock(uint32_t lock, uint64_t cycle);

    const Watch &watch;
    const Inspector &inspector;
    std::vector<Tracks> harts;
    PerfettoTrace::Track lock_group, source_group;
    std::map<uint32_t, Stack> locks;
    std::map<unsigned, Stack> pic_sources;
};

// What a trap is called: "timer interrupt", "load page fault".
std::string trap_name(uint32_t cause);
