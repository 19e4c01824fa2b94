/*
 * Leaving a section in the schemes that look for what waits: spl_pessim.h, spl_optim.h and cli_optim.h, each of which
 * gives crit_restore(saved): it restores the former level or flag and returns whether anything waits above it.
 */
static inline void crit_sec_leave(crit_t saved)
{
    if (unlikely(crit_restore(saved))) {
        PROBE(CRIT_LEFT);
        crit_sec_leave_slow(saved);
    } else {
        PROBE(CRIT_LEFT); /* after the look at what waits: that belongs to the cost */
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
