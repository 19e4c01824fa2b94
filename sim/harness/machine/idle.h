// Detects cycles in which nothing happens, from the model's state: everything in it keeps its value but the counters
// that the cores declare (hw/common/idle.py). Then the next cycles can do nothing else, until one of the counters has
// run out or the pins change: so those cycles need not be simulated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

class Vinterlock___024root;
using Root = Vinterlock___024root;

// A register of up to 64 bits.
struct Word {
    void *at;
    unsigned bytes, bits;

    uint64_t get() const;
    void set(uint64_t value) const; // modulo its width
};

// Kinds as in hw/common/idle.py. `before` is the value a cycle ago.
struct IdleClock {
    Word counter;
    std::vector<Word> alarms;
    uint64_t before = 0;
};
struct IdleCountdown {
    Word counter;
    uint64_t end;
    uint64_t before = 0;
};
struct IdleBitTimer {
    Word timer, period, state;
    uint64_t rest;
    uint64_t before = 0;
};

// A piece of the model's state, by its place in Verilator's class.
struct Member {
    enum Kind { COMPARED, FREE, RAM }; // FREE: may change in an idle cycle
    const char *name;
    size_t offset, bytes;
    Kind kind;
};

struct IdleTable {
    std::vector<IdleClock> clocks;
    std::vector<IdleCountdown> countdowns;
    std::vector<IdleBitTimer> bit_timers;
    std::vector<Word> still;
    std::vector<Member> members;
};

IdleTable idle_table(Root &root); // made by sim/model/idle.py

class Idle {
  public:
    // After a skip so many cycles have to be simulated until the state is as if the skipped ones had been simulated:
    // registers that follow the counters have their values then (hw/common/idle.py, SETTLE_CYCLES).
    static constexpr uint64_t SETTLE = 4;

    explicit Idle(Root &root);

    bool quiet() const; // a quick test: a full comparison is worth while
    // What is compared. Memories are most of the state to copy, and seldom change while no register does.
    enum class What { REGISTERS, ALL };
    void remember(What what); // before a cycle ...
    bool stood_still(What what) const; // ... and after it: nothing of this but the counters changed in it
    uint64_t horizon() const; // after that: for so many cycles nothing else happens
    void advance(uint64_t cycles); // advances the counters; the caller lets the model settle

    const std::vector<Member> &members() const { return table.members; }

  private:
    struct Range {
        size_t offset, bytes;
    };
    struct Part {
        // Between two variables, each aligned to a word or two: nothing writes there, so it is compared with them.
        static constexpr size_t MOST_PADDING = 8;

        std::vector<Range> ranges;
        std::vector<char> before; // packed

        void add(const Member &member, bool next); // whether that added last is the one before it
        void remember(const char *state);
        bool stood_still(const char *state) const;
    };

    char *state;
    IdleTable table;
    Part registers, memories;
};
