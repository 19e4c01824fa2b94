/*
 * spl-optim (paper `sync`, section 3.2): a section sets a variable; only an arriving interrupt goes off-chip.
 *
 *   crit_sec_enter()         crit_sec_leave()                 interrupt_handler(intr_level)
 *     in_crit_sec = true       if (any queued interrupts)       if (in_crit_sec || intr_level < cur_level)
 *                                handle queued interrupts         queue interrupt
 *                              in_crit_sec = false              else
 *                                                                 saved_mask = cur_mask
 *                                                                 PIC_mask(intr <= intr_level)
 *                                                                 handle interrupt
 *                                                                 PIC_mask(saved_mask)
 *                                                                 handle queued interrupts
 *
 * The variable is the hart's `level`: an interrupt is masked when its level is not greater. To queue one is to claim
 * it without ending its service, note it in `queued`, and write the logical level to the PIC (the pessimistic
 * fall-back: no further interrupt of that level disturbs this section). Leaving stores the old level first and checks
 * `pending` afterwards: an interrupt between the two is not masked any more and runs at once, so none is stranded.
 * `pending` has the bit of every level with something queued, and of the level last written to the PIC, so that one
 * shift tests both.
 *
 * `hw_level` is the level last written to the PIC. Whenever interrupts are on, on chip,
 *
 *   hw_level >= every level with something queued      no second edge of a queued source is claimed and merged with the
 *                                                      first
 *   hw_level >= the level of the innermost handler     masked interrupts wait at the PIC, and do not disturb
 *                                                      it
 *   hw_level <= `level`, or its bit is in `pending`    none waits at the PIC longer than the section that masks it
 *
 * A replay lowers the PIC to the level it handles, one level after the other, and leaves it at the level it returns to
 * if anything is queued there or below, or a handler is active; else at 0, optimistic again.
 */
#include "sync/spl_sections.h"

static inline crit_t crit_sec_enter(unsigned level)
{
    PROBE(CRIT_ENTER);
    crit_t saved = sync_hart()->level;
    if (level > saved)
        sync_hart()->level = level;
    PROBE(CRIT_ENTERED);
    crit_timing_entered();
    hart_may_have_changed();
    return saved;
}

static inline void crit_sec_raise(unsigned level)
{
    if (level > sync_hart()->level)
        sync_hart()->level = level;
    barrier();
}

static inline unsigned crit_restore(crit_t saved)
{
    barrier();
    PROBE(CRIT_LEAVE);
    crit_timing_left();
    sync_hart()->level = saved;
    hart_may_have_changed();
    unsigned waiting = sync_hart()->pending >> (saved + 1);
    return waiting;
}

#include "sync/leave.h"

#ifdef SYNC_IMPLEMENTATION
static COLD void queue_interrupt(struct claim c)
{
    PROBE(CRIT_QUEUED);
    sync_hart()->queued[c.priority] |= 1u << c.source;
    sync_hart()->hw_level = sync_hart()->level; /* it was lower, or the PIC would not have delivered this */
    pic_set_level(sync_hart()->hw_level);
    /* atomic, because the thread below may be in the middle of posting a soft interrupt */
    __atomic_fetch_or(&sync_hart()->pending, 1u << c.priority | 1u << sync_hart()->hw_level, __ATOMIC_RELAXED);
    sync_hart()->deferred++;
}

static void lower_pic(unsigned level)
{
    if (sync_hart()->hw_level > level) {
        sync_hart()->hw_level = level;
        pic_set_level(level);
    }
}

/* Nothing is queued above `level`, to which this hart returns: lowers the PIC to what is still needed. */
static void settle_pic(unsigned level)
{
    bool needed = sync_hart()->intr_depth || sync_hart()->pending >> (SPL_SOFT_MAX + 1);
    if (needed && sync_hart()->hw_level > level)
        __atomic_fetch_or(&sync_hart()->pending, 1u << level, __ATOMIC_RELAXED);
    lower_pic(needed ? level : SPL_NONE);
}

void crit_sec_replay(unsigned level)
{
    intr_disable();
    for (;;) {
        unsigned waiting = sync_hart()->pending >> (level + 1);
        if (!waiting)
            break;
        unsigned next = level + 32 - __builtin_clz(waiting);
        if (next <= SPL_SOFT_MAX) {
            settle_pic(level);
            softint_dispatch_above(level);
            continue;
        }
        if (!sync_hart()->queued[next]) { /* only the mark of the PIC's level; nothing is queued at this level */
            __atomic_fetch_and(&sync_hart()->pending, ~(1u << next), __ATOMIC_RELAXED);
            continue;
        }
        unsigned source = __builtin_ctz(sync_hart()->queued[next]);
        sync_hart()->queued[next] &= sync_hart()->queued[next] - 1;
        sync_hart()->level = next;
        lower_pic(next); /* pending interrupts at the PIC that outrank this one go first */
        intr_handle_nested(intr_begin(source));
        sync_hart()->level = level;
    }
    settle_pic(level);
}

static inline void interrupt_handler(struct frame *frame)
{
    (void)frame;
    unsigned saved = sync_hart()->level;
    struct claim c = pic_claim();
    if (unlikely(c.priority <= saved)) { /* true for a spurious claim, too: its priority is 0 */
        if (c.none)
            sync_hart()->spurious++;
        else
            queue_interrupt(c);
        return;
    }
    struct intr intr = intr_begin(c.source);
    unsigned saved_hw = sync_hart()->hw_level;
    sync_hart()->level = c.priority;
    sync_hart()->hw_level = c.priority;
    pic_set_level(c.priority);
    intr_handle_nested(intr);
    sync_hart()->level = saved;
    sync_hart()->hw_level = saved_hw;
    pic_set_level(saved_hw);
    if (saved == SPL_NONE)
        intr_return_to_base();
    else if (sync_hart()->pending >> (saved + 1))
        crit_sec_replay(saved);
}
#endif
