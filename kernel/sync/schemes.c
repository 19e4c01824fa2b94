/* The out-of-line half of the scheme that this image is built with, and what all schemes share. */
#define SYNC_IMPLEMENTATION
#include "sync/dispatch.h"
#include "sync/sync.h"

#include "arch/accounting.h"

/* Called by trap.S for every interrupt of the PIC, interrupts off on chip. */
void INTR_PATH interrupt(struct frame *frame)
{
    enum account was = account_switch(ACCOUNT_INTERRUPT);
    interrupt_handler(frame);
    account_switch(was);
}

void crit_sec_leave_slow(crit_t saved)
{
    enum account was = account_switch(ACCOUNT_INTERRUPT);
    PROBE(REPLAY_BEGIN);
    crit_sec_replay(crit_level(saved));
    PROBE(REPLAY_END);
    account_switch(was);
    intr_enable();
    sched_preempt_at_base(saved);
}

void intr_return_to_base(void)
{
    if (sync_hart()->pending)
        crit_sec_replay(SPL_NONE);
    if (sync_hart()->resched)
        sched_preempt_from_interrupt();
}
