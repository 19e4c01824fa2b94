/*
 * Sections that turn all interrupts off on the chip: the common part of cli_pessim.h and cli_spl_pessim.h. They nest,
 * so leaving restores mstatus.MIE as enter found it. The level is not used: priorities only order the interrupts that
 * are pending when interrupts are enabled again.
 */
#define CRIT_BASE MSTATUS_MIE
#define CRIT_SWITCH_MIE 0
#define SOFTINT_NEEDS_KICK 1
#define CRIT_MASKS_ALL 1
#define QUEUE_GOES_FIRST 0
#define crit_level(saved) SPL_NONE
#define crit_is_base(saved) (((saved) & MSTATUS_MIE) != 0)

static inline crit_t crit_sec_enter(unsigned level)
{
    (void)level;
    PROBE(CRIT_ENTER);
    crit_t saved = csr_read_clear(mstatus, MSTATUS_MIE);
    PROBE(CRIT_ENTERED);
    crit_timing_entered();
    hart_may_have_changed();
    return saved;
}

static inline void crit_sec_raise(unsigned level)
{
    (void)level;
}

static inline void crit_sec_leave(crit_t saved)
{
    PROBE(CRIT_LEAVE);
    crit_timing_left();
    csr_set(mstatus, saved & MSTATUS_MIE);
    PROBE(CRIT_LEFT);
    hart_may_have_changed();
}

static inline void crit_sec_leave_masked(crit_t saved)
{
    crit_sec_leave(saved); /* a section entered from the trap path was entered with interrupts off */
}

#ifdef SYNC_IMPLEMENTATION
void crit_sec_replay(unsigned level)
{
    (void)level; /* only soft interrupts are ever pending in software */
    intr_disable();
    softint_dispatch();
}
#endif
