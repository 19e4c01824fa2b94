/*
 * Leaving a section in the schemes that check for pending work: spl_pessim.h, spl_optim.h and cli_optim.h. Each has its
 * crit_restore(saved): it restores the former level or flag and returns whether anything is pending above it.
 */
static inline void crit_sec_leave(crit_t saved)
{
    if (unlikely(crit_restore(saved))) {
        PROBE(CRIT_LEFT);
        crit_sec_leave_slow(saved);
    } else {
        PROBE(CRIT_LEFT); /* after the check for pending work: that is part of the cost */
    }
    hart_may_have_changed();
}

static inline void crit_sec_leave_masked(crit_t saved)
{
    intr_disable();
    unsigned waiting = crit_restore(saved);
    PROBE(CRIT_LEFT);
    if (waiting)
        crit_sec_replay(crit_level(saved));
}
