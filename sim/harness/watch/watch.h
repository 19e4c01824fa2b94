// Watches the harts from outside: every retired instruction, trap, interrupt wire and thread switch, at no cost to the
// target. An instruction costs one table look-up, unless it enters another function or carries a probe point.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "machine/image.h"
#include "machine/target_memory.h"
#include "support/hash.h"
#include "watch/latency.h"
#include "watch/locks.h"
#include "watch/observer.h"
#include "watch/statistics.h"

enum ProbeKind : uint32_t {
    CRIT_ENTER = 1,    // about to mask
    CRIT_ENTERED = 2,  // masked: the body begins
    CRIT_LEAVE = 3,    // the body has ended
    CRIT_LEFT = 4,     // the former level is restored
    WINDOW_BEGIN = 5,
    WINDOW_END = 6,
    CRIT_QUEUED = 7,
    THREAD_SWITCH = 8, // the switch last announced by trace event 1 takes effect here
    LOCK_ATTEMPT = 9,  // 9 to 14: the value is the address of the lock
    LOCK_MISS = 10,
    LOCK_BLOCK = 11,
    LOCK_ACQUIRED = 12,
    LOCK_RELEASED = 13,
    LOCK_FAILED = 14,
    INTR_HANDLER = 15, // 15 to 17: the value is the PIC's source
    INTR_DONE = 16,
    ITHREAD_RUNS = 17,
    IDLE_BEGIN = 18,
    IDLE_END = 19,
    SWITCH_BEGIN = 20,
    REPLAY_BEGIN = 21,
    REPLAY_END = 22,
    PREEMPT_BEGIN = 23,
    PREEMPT_END = 24,
};

constexpr uint32_t INTERRUPT = 0x80000000; // in a trap's cause

// A level: an interrupt or exception, or (the lowest) the thread itself, with its current primitive.
struct Level {
    enum Primitive { NONE, ENTERING, LEAVING } primitive = NONE;
    uint64_t primitive_began = 0, primitive_traps = 0; // cycle; cycles of traps inside
    uint64_t trap_began = 0;
    uint32_t cause = 0; // of the trap
    bool interrupt = false;         // this level, or one below it, is an interrupt
    bool spinning = false;          // waits for a simple lock
    bool preempting = false;        // the interrupt is done, and another thread may get the hart before it returns
    unsigned replays = 0;           // replays of interrupts that its sections deferred, nested
    uint64_t replay_began = 0;      // of a replay with a queued interrupt; 0: none under way
    enum Served { NOTHING, HANDLED, QUEUED, GAVE_WAY } served = NOTHING; // what the trap did: the maximum of these
    LockWatch::Attempts attempts{}; // begun at this level

    template <class Archive> void serialize(Archive &archive)
    {
        archive(primitive, primitive_began, primitive_traps, trap_began, cause, interrupt, spinning, preempting,
                replays, replay_began, served, attempts);
    }
};

// A thread's state across thread switches: its nesting of sections, and of traps on its stack.
struct Thread {
    static constexpr uint64_t UNNAMED = 1ull << 32; // and up: a hart's boot thread, until it first switches

    uint64_t id;
    unsigned depth;
    std::vector<Level> levels;
    bool idle = false;      // between the marks of the idle loop
    bool idle_loop = false; // has passed such a mark: its activity is no sign of life

    bool named() const { return id < UNNAMED; }
    template <class Archive> void serialize(Archive &archive) { archive(id, depth, levels, idle, idle_loop); }
};

struct Hart {
    static constexpr unsigned HISTORY = 16;
    static constexpr uint16_t NOWHERE = 0x7fff; // differs from every function, so the next instruction is examined

    uint64_t retired = 0;
    uint64_t stream = 0; // running hash of (pc, cycle)
    uint32_t pc = 0;
    uint16_t where = NOWHERE;

    uint16_t function = 0;
    uint64_t function_since = 0;
    std::array<uint16_t, HISTORY> history{}; // functions, a ring
    unsigned history_at = 0;

    uint8_t state = 3; // wfi << 2 | privilege
    uint64_t state_since = 0;
    Activity activity = Activity::SYSTEM;
    uint64_t activity_since = 0;
    uint64_t switch_began = 0; // 0: none under way

    Thread *thread = nullptr; // not saved here: Watch finds it again
    uint32_t announced = 0; // the thread of a switch that was announced and has not taken effect
    bool switch_announced = false, switch_reached = false;

    // The hart's current section. It survives a thread switch: the next thread continues it.
    bool in_section = false, section_hit = false;
    uint64_t section_began = 0, section_traps = 0;
    size_t section_level = 0;
    bool held_back = false; // an interrupt is queued, and its replay has not begun

    uint64_t window_retired = 0;
    Statistics statistics;

    // For the hang detector, reset by it.
    uint64_t wfi_cycles = 0;
    uint16_t candidate = 0;  // the function that the hart is suspected to spin in
    uint64_t candidate_cycles = 0, longest_stay = 0;
    uint16_t longest = 0;
    unsigned sample = 0;     // instructions still to be examined ...
    bool sampled_store = false; // ... whether one in the candidate function was a store

    // All but the thread, which Watch finds again.
    template <class Archive> void serialize(Archive &archive)
    {
        archive(retired, stream, pc, where, function, function_since, history, history_at, state, state_since, activity,
                activity_since, switch_began, announced, switch_announced, switch_reached, in_section, section_hit,
                section_began, section_traps, section_level, held_back, window_retired, statistics, wfi_cycles,
                candidate, candidate_cycles, longest_stay, longest, sample, sampled_store);
    }
};

class Watch {
  public:
    // `registers` are the harts' register files, in which the values of marks are found.
    Watch(std::vector<const uint32_t *> registers, const Image &image, const uint8_t *ram, size_t ram_bytes);

    // Reports all events to it from now on.
    void attach(Observer &observer) { observers.push_back(&observer); }
    // Also reports calls, jumps and returns of functions; one observer can have that.
    void follow(Observer &observer);

    // From now on calls `action` in each cycle in which a hart retires the instruction at `pc`. Throws Failure if there
    // is none.
    void at(uint32_t pc, std::function<void()> action);

    template <class Archive> void save(Archive &archive) const
    {
        archive(harts, threads, unnamed, locks, latency, window, window_by_target, window_count, window_began,
                window_ended, window_cycles, active);
        for (const Hart &hart : harts)
            archive(hart.thread->id);
    }
    template <class Archive> void load(Archive &archive)
    {
        archive(harts, threads, unnamed, locks, latency, window, window_by_target, window_count, window_began,
                window_ended, window_cycles, active);
        for (Hart &hart : harts) {
            uint64_t id;
            archive(id);
            hart.thread =
                id < Thread::UNNAMED ? threads.at(uint32_t(id)).get() : unnamed.at(id - Thread::UNNAMED).get();
        }
    }

    void retired(unsigned hart, uint32_t pc, uint64_t cycle)
    {
        Hart &h = harts[hart];
        h.retired++;
        h.pc = pc;
        h.stream = (h.stream ^ pc ^ cycle << 24) * 0x9e3779b97f4a7c15u;
        uint32_t index = (pc - code_begin) >> 2;
        uint16_t mark = index < code.size() ? code[index] : 0;
        if (mark != h.where)
            passed(hart, pc, mark, cycle);
    }
    void state(unsigned hart, uint8_t state, uint64_t cycle)
    {
        if (state != harts[hart].state) {
            account_state(harts[hart], state, cycle);
            tell([=](Observer &o) { o.changed(hart, cycle); });
        }
    }
    void trapped(unsigned hart, uint32_t cause, uint32_t pc, uint64_t cycle);
    void interrupt_wires(uint32_t before, uint32_t now, uint64_t cycle);
    void sources(uint32_t before, uint32_t now, uint64_t cycle);
    void announce_switch(unsigned hart, uint32_t thread, uint64_t cycle);
    void begin(uint64_t cycle); // the run begins, or resumes from a checkpoint
    void finish(uint64_t cycle); // the run has ended: closes what is open

    const LockWatch &lock_watch() const { return locks; }
    const Thread &thread(uint64_t id) const // one that was seen
    {
        return id < Thread::UNNAMED ? *threads.at(uint32_t(id)) : *unnamed.at(id - Thread::UNNAMED);
    }
    std::string image_describe(uint32_t pc) const { return image.describe(pc); }
    int function_at(uint32_t pc) const { return image.function_at(pc); } // -1: outside the image
    bool in_window() const { return window; }
    const char *function_name(uint16_t function) const; // as numbered in Observer; 0: outside the image
    void write_hart(Json &json, const Hart &hart) const;
    void write_shared(Json &json) const; // the figures of no single hart

    std::vector<Hart> harts;
    std::unordered_map<uint32_t, std::unique_ptr<Thread>> threads; // by id
    std::vector<std::unique_ptr<Thread>> unnamed; // by hart
    bool window_by_target = false; // a window probe was passed; else the whole run is the window
    uint64_t window_count = 0, window_began = 0, window_ended = 0, window_cycles = 0;
    bool active = false; // something other than idling happened: set here and by the main loop, cleared by Hang
    void settle(uint64_t cycle); // bring all cycle counts up to `cycle`

  private:
    void passed(unsigned hart, uint32_t pc, uint16_t mark, uint64_t cycle);
    void probe(unsigned hart, uint32_t kind, uint32_t value, uint32_t pc, uint64_t cycle);
    void lock_probe(Hart &hart, uint32_t kind, uint32_t lock, uint32_t pc, uint64_t cycle);
    void trap_return(unsigned hart, uint32_t pc, uint64_t cycle);
    void enter_function(Hart &hart, uint16_t function, uint64_t cycle);
    void account_state(Hart &hart, uint8_t state, uint64_t cycle);
    void account_activity(Hart &hart, uint64_t cycle);
    template <typename Action> void tell(Action action)
    {
        for (Observer *observer : observers)
            action(*observer);
    }
    void open_section(Hart &hart, uint64_t cycle);
    void close_section(Hart &hart, uint64_t cycle);
    void apply_switch(unsigned hart, uint64_t cycle);
    void open_window(uint64_t cycle);
    void close_window(uint64_t cycle);

    const Image &image;
    const uint8_t *ram;
    std::vector<const uint32_t *> registers; // not saved: the model's
    LockWatch locks;
    LatencyWatch latency;
    bool window = false;

    // Not saved: it follows from the image, and from this run's observers.
    bool switch_probe = false; // the image marks where a thread switch takes effect
    // Per instruction of the code: function + 1 (0: none), with MARKED if its retirement triggers something.
    static constexpr uint16_t MARKED = 0x8000;
    uint32_t code_begin;
    std::vector<uint16_t> code;
    std::unordered_map<uint32_t, std::vector<ProbePoint>> marks; // pc -> probe points, in order
    static constexpr uint32_t TRAP_RETURN = UINT32_MAX; // kinds of our own: mret or sret,
    static constexpr uint32_t ACTION = UINT32_MAX - 1; // an action of `at`,
    static constexpr uint32_t TRANSFER = UINT32_MAX - 2; // a call, jump or return
    std::unordered_map<uint32_t, std::vector<std::function<void()>>> actions; // by pc
    std::vector<Observer *> observers;
    Observer *follower = nullptr;
};
