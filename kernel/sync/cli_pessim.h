/*
 * cli-pessim (paper `sync`, section 3.3): a section, and every handler, turns all interrupts off on the chip.
 *
 *   crit_sec_enter()             crit_sec_leave()            interrupt_handler(intr_level)
 *     disable_all_interrupts()     enable_all_interrupts()     crit_sec_enter()
 *                                                              handle interrupt
 *                                                              crit_sec_leave()
 *
 * The sections are in cli.h. The trap itself has disabled interrupts when the handler starts, and returning from it
 * enables them again.
 */
#include "sync/cli.h"

#define HANDLERS_NEST 0

#ifdef SYNC_IMPLEMENTATION
static inline void interrupt_handler(struct frame *frame)
{
    (void)frame;
    struct claim c = pic_claim();
    if (unlikely(c.none)) {
        sync_hart()->spurious++;
        return;
    }
    intr_handle(intr_begin(c.source));
    if (!sync_hart()->in_softint)
        intr_return_to_base();
}
#endif
