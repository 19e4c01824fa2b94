/* The out-of-line half of the scheme that this image is built with, and the code that all schemes share. */
#define SYNC_IMPLEMENTATION
#include "sync/dispatch.h"
#include "sync/sync.h"

#include "arch/accounting.h"

#if LOCK_DEBUG
volatile uint8_t handler_level[MAX_HARTS];
uint8_t source_level[HART_SOURCES];
#endif

/* Called by trap.S for every interrupt of the PIC, interrupts off on chip. */
void interrupt(struct frame *frame)
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
    if (crit_is_base(saved) && !sync_hart()->intr_depth && !sync_hart()->in_softint)
        intr_return_to_base();
    intr_enable();
}

/*
 * A preemption ends with a section's end, whose replay may request another one; and by then the preempted thread may
 * have moved to another hart. So check until nothing is pending, which stays so with interrupts off on chip. Mostly
 * only the preemption itself is pending.
 */
void intr_return_to_base(void)
{
    uint32_t pending;
    while ((pending = sync_hart()->pending) || sync_hart()->resched) {
        if (pending == 1u << SPL_SOFTPREEMPT)
            sync_hart()->pending = 0;
        else if (pending)
            crit_sec_replay(SPL_NONE);
        if (sync_hart()->resched)
            sched_preempt_from_interrupt();
    }
    crit_stay_open();
}
