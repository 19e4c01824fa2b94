/*
 * A scheme that is wrong on purpose, to test the tests: cli-optim whose enter forgets the flag.
 */
#define crit_sec_enter right_crit_sec_enter
#include "sync/cli_optim.h"
#undef crit_sec_enter

static inline crit_t crit_sec_enter(unsigned level)
{
    (void)level;
    return sync_hart()->level;
}
