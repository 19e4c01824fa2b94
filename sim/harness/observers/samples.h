// Counters over simulated time: what each hart did in every interval of so many cycles, a line of CSV per hart. With a
// timeline, the most significant ones are counters in it, too.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "observers/timeline.h"
#include "support/files.h"
#include "watch/observer.h"
#include "watch/watch.h"

class Samples final : public Observer {
  public:
    // `timeline` may be null.
    Samples(const Watch &watch, const std::string &path, uint64_t period, Timeline *timeline);

    uint64_t due() const { return next; } // the cycle before which `sample` wants to be called
    void sample(uint64_t cycle);

    void begin(uint64_t cycle) override;
    void probe(unsigned hart, uint32_t kind, uint32_t value, uint32_t pc, uint64_t cycle) override;
    void trap(unsigned hart, uint32_t cause, uint32_t pc, uint64_t cycle) override;
    void thread(unsigned hart, uint64_t) override { harts[hart].switches++; }
    void changed(unsigned hart, uint64_t cycle) override;
    void arrivals(uint32_t before, uint32_t now, uint64_t cycle) override;
    void finish(uint64_t cycle) override; // writes the last, shorter stretch

  private:
    struct Counts {
        std::array<uint64_t, size_t(Activity::COUNT)> activity{}; // cycles
        uint64_t waiting = 0;                                     // cycles in WFI
        uint64_t traps = 0, interrupts = 0, arrivals = 0, switches = 0, sections = 0, lock_attempts = 0,
                 lock_misses = 0;
        uint64_t retired = 0; // before the stretch
        Activity doing = Activity::SYSTEM;
        bool waits = false;
        uint64_t since = 0;
    };
    void account(unsigned hart, uint64_t cycle);

    const Watch &watch;
    OutFile file;
    uint64_t period, next = UINT64_MAX, began = 0;
    std::vector<Counts> harts;
    Timeline *timeline;
    std::vector<PerfettoTrace::Track> per_cycle, busy; // by hart
};
