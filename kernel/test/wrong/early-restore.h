/*
 * A scheme that is wrong on purpose, to test the tests: cli-pessim whose leave turns interrupts on though the section
 * is nested in another.
 */
#define crit_sec_leave right_crit_sec_leave
#include "sync/cli_pessim.h"
#undef crit_sec_leave

static inline void crit_sec_leave(crit_t saved)
{
    (void)saved;
    csr_set(mstatus, MSTATUS_MIE);
}
