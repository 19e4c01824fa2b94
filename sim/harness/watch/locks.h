// Lock statistics from outside: the marks at each step of an acquisition (kernel/lock/lock_hooks.h), counted per class
// of locks and per call site. README, "Locks", says what each figure means.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "machine/image.h"
#include "machine/target_memory.h"
#include "watch/statistics.h"

// An acquisition that has begun, by a thread or a handler. A few may be open at once: a blocking lock takes a simple
// one inside.
struct LockAttempt {
    uint32_t lock, site; // address of the lock's object, of the mark that began the attempt
    uint64_t missed_at;  // with `missed`
    unsigned blocks, counts; // the count of statistics that it belongs to; 0: begun outside a window
    bool missed;

    template <class Archive> void serialize(Archive &archive)
    {
        archive(lock, site, missed_at, blocks, counts, missed);
    }
};

class LockWatch {
  public:
    using Attempts = std::vector<LockAttempt>;

    LockWatch(const Image &image, TargetMemory memory) : image(image), memory(memory) {}

    void attempt(Attempts &open, uint32_t lock, uint32_t site);
    bool miss(Attempts &open, uint32_t lock, uint64_t cycle); // whether the hart spins from now on
    void block(Attempts &open, uint32_t lock);
    bool acquired(Attempts &open, uint32_t lock, uint64_t thread, uint64_t cycle); // both: whether an attempt ended
    bool failed(Attempts &open, uint32_t lock);
    void released(uint32_t lock, uint64_t thread, uint64_t cycle);

    // Statistics are kept in windows; what was seen before the target's first window is dropped.
    void open_window(uint64_t cycle)
    {
        window = true;
        window_began = cycle;
    }
    void close_window() { window = false; }
    void forget()
    {
        classes.clear();
        sites.clear();
        stray = 0;
        counts++;
    }

    struct Hold {
        uint64_t thread;
        uint64_t since;
        uint32_t site, class_address;

        template <class Archive> void serialize(Archive &archive) { archive(thread, since, site, class_address); }
    };
    // By lock, with one hold, or those of the readers that share it; may have locks that are not held.
    const std::unordered_map<uint32_t, std::vector<Hold>> &holds() const { return held; }
    std::string describe(uint32_t lock) const; // its name, kind and class

    void abandoned(const Attempts &open); // at the end of the run: counts what never ended
    void write(Json &json) const;

    template <class Archive> void serialize(Archive &archive)
    {
        archive(window, window_began, stray, counts, classes_at, held, classes, sites);
    }

  private:
    struct Figures {
        uint64_t attempts = 0, misses = 0, blocks = 0, failures = 0;
        Spread wait, hold;

        template <class Archive> void serialize(Archive &archive)
        {
            archive(attempts, misses, blocks, failures, wait, hold);
        }
        void write(Json &json) const;
    };
    struct Class {
        std::string name, kind;
        bool spins;

        template <class Archive> void serialize(Archive &archive) { archive(name, kind, spins); }
        bool operator<(const Class &other) const { return std::tie(name, kind) < std::tie(other.name, other.kind); }
    };
    LockAttempt *find(Attempts &open, uint32_t lock);
    uint32_t class_address(uint32_t lock) const;
    const Class &class_at(uint32_t address);
    const Class &class_of(uint32_t lock) { return class_at(class_address(lock)); }
    Class read_class(uint32_t address) const;
    void count(const LockAttempt &attempt, const Class &lock_class, bool failure);
    template <typename Action> void for_both(const Class &lock_class, uint32_t site, Action action);

    const Image &image;
    TargetMemory memory; // not saved: main RAM
    bool window = false;
    uint64_t window_began = 0;
    uint64_t stray = 0;
    unsigned counts = 1; // which count of statistics this is

    std::unordered_map<uint32_t, Class> classes_at; // by the address of their struct, which never moves
    std::unordered_map<uint32_t, std::vector<Hold>> held; // by lock; several for a lock that readers share
    std::map<Class, Figures> classes;
    std::map<std::pair<uint32_t, Class>, Figures> sites;
};
