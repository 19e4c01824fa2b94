// Distinguishes a target that hangs from one that works or sleeps. Time is cut into slices; a slice is dead when no
// byte, trace record, memory blob or probe point of thread code came, and every hart either waited (WFI for 7/8 of the
// slice) or spun (7/8 in one function, in which a sample of instructions showed no store). Eight dead slices in a row
// are a hang, even though a timer may still tick.
#pragma once
#include "watch/watch.h"

class Hang {
  public:
    Hang(Watch &watch, uint64_t cycles) : watch(watch), slice(cycles / SLICES), next(slice ? slice : UINT64_MAX) {}

    uint64_t due() const { return next; } // the cycle at which check is to be called; UINT64_MAX: never
    bool check(uint64_t cycle); // true: the target hangs
    bool dead_long() const { return dead >= SLICES; } // at the last check

    // A run may be restored with other `cycles` than it was saved with: then the first slice begins there.
    template <class Archive> void save(Archive &archive) const { archive(slice, next, dead); }
    template <class Archive> void load(Archive &archive, uint64_t cycle)
    {
        uint64_t saved_slice, saved_next;
        unsigned saved_dead;
        archive(saved_slice, saved_next, saved_dead);
        bool same = saved_slice == slice;
        next = same ? saved_next : slice ? cycle + slice : UINT64_MAX;
        dead = same ? saved_dead : 0;
    }

  private:
    static constexpr unsigned SLICES = 8, SAMPLE = 256;
    bool idles(Hart &hart, uint64_t cycle);

    Watch &watch;
    uint64_t slice, next;
    unsigned dead = 0;
};
