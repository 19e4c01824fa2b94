/*
 * cli-spl-pessim (paper `sync`, section 7.1): sections turn all interrupts off on the chip, because they are short;
 * handlers, which are long, only keep out their own level and below, at the off-chip controller.
 *
 *   void crit_sec_enter(int level)   void crit_sec_leave(int level)   void interrupt_handler
 *     disable all interrupts           enable all interrupts            prev_level = cur_interrupt_level
 *                                                                       PIC_mask(interrupt_level)
 *                                                                       handle_interrupt
 *                                                                       PIC_mask(prev_level)
 *
 * cur_interrupt_level is the hart's `level`. It changes with interrupts off, so sections need not look at it.
 */
#define CRIT_BASE MSTATUS_MIE
#define CRIT_SWITCH_MIE 0
#define SOFTINT_NEEDS_KICK 1
#define CRIT_MASKS_ALL 1
#define HANDLERS_NEST 1
#define QUEUE_GOES_FIRST 0
#define crit_level(saved) SPL_NONE
#define crit_is_base(saved) (((saved) & MSTATUS_MIE) != 0)

static inline crit_t crit_sec_enter(unsigned level)
{
    (void)level;
    PROBE(CRIT_ENTER);
    crit_t saved = csr_read_clear(mstatus, MSTATUS_MIE);
    PROBE(CRIT_ENTERED);
    return saved;
}

static inline void crit_sec_leave(crit_t saved)
{
    PROBE(CRIT_LEAVE);
    csr_set(mstatus, saved & MSTATUS_MIE);
    PROBE(CRIT_LEFT);
}

static inline void crit_sec_leave_masked(crit_t saved)
{
    crit_sec_leave(saved); /* a section entered from the trap path was entered with interrupts off */
}

#ifdef SYNC_IMPLEMENTATION
void crit_sec_replay(unsigned level)
{
    (void)level; /* nothing but soft interrupts is ever left waiting in software */
    intr_disable();
    softint_dispatch();
}

void interrupt_handler(struct frame *frame)
{
    (void)frame;
    struct claim c = pic_claim();
    if (c.none) {
        curhart->spurious++;
        return;
    }
    unsigned prev_level = curhart->level;
    curhart->level = c.priority;
    pic_set_level(c.priority);
    intr_handle_nested(c.source);
    curhart->level = prev_level;
    pic_set_level(prev_level);
    if (prev_level == SPL_NONE && !curhart->in_softint)
        intr_return_to_base();
}
#endif
