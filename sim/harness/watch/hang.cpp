#include "watch/hang.h"

bool Hang::idles(Hart &h, uint64_t cycle)
{
    uint64_t stay = cycle - h.function_since; // cut the current stay at the end of the slice
    if (h.function == h.candidate)
        h.candidate_cycles += stay;
    if (stay > h.longest_stay)
        h.longest = h.function;
    h.function_since = cycle;

    uint64_t most = slice / 8 * 7;
    bool waits = h.wfi_cycles >= most;
    bool spins = h.candidate_cycles >= most && !h.sampled_store;

    h.candidate = h.longest;
    h.candidate_cycles = h.longest_stay = h.wfi_cycles = 0;
    h.sample = SAMPLE;
    h.sampled_store = false;
    h.where = Hart::NOWHERE;
    return waits || spins;
}

bool Hang::check(uint64_t cycle)
{
    watch.settle(cycle);
    bool all = true;
    for (Hart &h : watch.harts)
        all &= idles(h, cycle);
    dead = all && !watch.active ? dead + 1 : 0;
    watch.active = false;
    next = cycle + slice;
    return dead_long();
}
