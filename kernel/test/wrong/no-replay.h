/*
 * A scheme that is wrong on purpose, to test the tests: spl-optim whose leave never looks at what it queued.
 */
#define crit_sec_leave right_crit_sec_leave
#include "sync/spl_optim.h"
#undef crit_sec_leave

static inline void crit_sec_leave(crit_t saved)
{
    crit_restore(saved);
    PROBE(CRIT_LEFT);
}
