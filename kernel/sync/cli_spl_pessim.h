/*
 * cli-spl-pessim (paper `sync`, section 7.1): sections turn all interrupts off on the chip, because they are short;
 * handlers, which are long, only mask their own level and below, at the off-chip controller.
 *
 *   void crit_sec_enter(int level)   void crit_sec_leave(int level)   void interrupt_handler
 *     disable all interrupts           enable all interrupts            prev_level = cur_interrupt_level
 *                                                                       PIC_mask(interrupt_level)
 *                                                                       handle_interrupt
 *                                                                       PIC_mask(prev_level)
 *
 * The sections are in cli.h. cur_interrupt_level is the hart's `level`. It changes with interrupts off, so sections
 * need not check it.
 */
#include "sync/cli.h"

#define HANDLERS_NEST 1

#ifdef SYNC_IMPLEMENTATION
static inline void interrupt_handler(struct frame *frame)
{
    (void)frame;
    struct claim c = pic_claim();
    if (unlikely(c.none)) {
        sync_hart()->spurious++;
        return;
    }
    struct intr intr = intr_begin(c.source);
    unsigned prev_level = sync_hart()->level;
    sync_hart()->level = c.priority;
    pic_set_level(c.priority);
    intr_handle_nested(intr);
    sync_hart()->level = prev_level;
    pic_set_level(prev_level);
    if (prev_level == SPL_NONE && !sync_hart()->in_softint)
        intr_return_to_base();
}
#endif
