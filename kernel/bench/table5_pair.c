/*
 * Paper `sync`, section 5.3: a pair of operations, set and unset, in a tight loop. Compiled once for each scheme, as
 * PAIR(iterations), so that one image measures them all. Keeps no `volatile` statistics: nothing else may be in the
 * loop.
 */
#include "bench/table5_pair.h"
#include "sync/sync.h"

uint64_t __attribute__((aligned(64))) PAIR(uint32_t iterations)
{
    uint64_t begin = cycles64();
    for (uint32_t i = iterations; i; i--) {
        crit_t s = crit_sec_enter(SPL_HIGH);
        barrier();
        crit_sec_leave(s);
    }
    return cycles64() - begin;
}
