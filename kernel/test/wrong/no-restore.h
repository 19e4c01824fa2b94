/*
 * A scheme that is wrong on purpose, to test the tests: spl-pessim whose leave forgets to restore the PIC's level.
 */
#define crit_sec_leave right_crit_sec_leave
#include "sync/spl_pessim.h"
#undef crit_sec_leave

static inline void crit_sec_leave(crit_t saved)
{
    sync_hart()->level = saved;
    if (unlikely(sync_hart()->pending >> (saved + 1)))
        crit_sec_leave_slow(saved);
}
