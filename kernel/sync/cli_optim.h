/*
 * cli-optim (paper `sync`, section 3.4): a section sets a flag; an interrupt that arrives while it is set is queued,
 * and the on-chip mask holds off further ones until the section ends.
 *
 *   crit_sec_enter()         crit_sec_leave()                 interrupt_handler(intr_level)
 *     in_crit_sec = true       if (any queued interrupts)       if (in_crit_sec)
 *                                handle queued interrupts         queue interrupt
 *                              in_crit_sec = false              else
 *                                                                 disable_all_interrupts()
 *                                                                 handle interrupt
 *                                                                 enable_all_interrupts()
 *
 * in_crit_sec is the hart's `level` (0 or 1). To queue is to claim without ending the service and to return from the
 * trap with interrupts off. That state belongs to the hart: a thread that switches inside its section leaves it to the
 * next thread, whose section replays the queue and turns interrupts on again. The flag is cleared before the queue is
 * checked, so that an interrupt between the two is handled and not stranded.
 */
#define CRIT_BASE 0
#define CRIT_SWITCH_MIE 1
#define SOFTINT_NEEDS_KICK 0
#define CRIT_MASKS_ALL 1
#define HANDLERS_NEST 0
#define QUEUE_GOES_FIRST 1
#define crit_is_base(saved) ((saved) == 0)
#define crit_level(saved) SPL_NONE
#define crit_level_masks(of) (sync_hart()->level != 0)

static inline crit_t crit_sec_enter(unsigned level)
{
    (void)level;
    PROBE(CRIT_ENTER);
    crit_t saved = sync_hart()->level;
    sync_hart()->level = 1;
    PROBE(CRIT_ENTERED);
    crit_timing_entered();
    hart_may_have_changed();
    return saved;
}

static inline void crit_sec_raise(unsigned level)
{
    (void)level;
}

static inline unsigned crit_restore(crit_t saved)
{
    barrier();
    PROBE(CRIT_LEAVE);
    crit_timing_left();
    sync_hart()->level = saved;
    hart_may_have_changed();
    unsigned waiting = sync_hart()->pending & (saved - 1); /* 0 inside an outer section (saved is 1) */
    return waiting;
}

#include "sync/leave.h"

#ifdef SYNC_IMPLEMENTATION
static COLD void queue_interrupt(struct claim c, struct frame *frame)
{
    PROBE(CRIT_QUEUED);
    sync_hart()->queued[c.priority] |= 1u << c.source;
    __atomic_fetch_or(&sync_hart()->pending, 1u << c.priority, __ATOMIC_RELAXED);
    sync_hart()->deferred++;
    frame->mstatus &= ~MSTATUS_MPIE; /* the trap returns with all interrupts disabled */
}

/* Interrupts are off; the flag keeps sections inside the handler from replaying or enabling anything. */
static inline void handle_with_flag(unsigned source)
{
    sync_hart()->level = 1;
    intr_handle(intr_begin(source));
    sync_hart()->level = 0;
}

void crit_sec_replay(unsigned level)
{
    intr_disable();
    if (sync_hart()->in_softint)
        level = SPL_SOFT_MAX; /* a section inside a soft interrupt: the queue is handled, other soft interrupts wait */
    for (;;) {
        unsigned waiting = sync_hart()->pending >> (level + 1);
        if (!waiting)
            break;
        unsigned next = level + 32 - __builtin_clz(waiting);
        if (next <= SPL_SOFT_MAX) {
            softint_dispatch();
            continue;
        }
        unsigned source = __builtin_ctz(sync_hart()->queued[next]);
        sync_hart()->queued[next] &= sync_hart()->queued[next] - 1;
        if (!sync_hart()->queued[next])
            __atomic_fetch_and(&sync_hart()->pending, ~(1u << next), __ATOMIC_RELAXED);
        handle_with_flag(source);
    }
}

static inline void interrupt_handler(struct frame *frame)
{
    struct claim c = pic_claim();
    if (unlikely(c.none)) {
        sync_hart()->spurious++;
        return;
    }
    if (sync_hart()->level) {
        queue_interrupt(c, frame);
        return;
    }
    handle_with_flag(c.source);
    if (!sync_hart()->in_softint)
        intr_return_to_base();
}
#endif
