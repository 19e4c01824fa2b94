/*
 * A scheme that is wrong on purpose, to test the tests: cli-spl-pessim whose handlers do not keep out their own level and below.
 */
#define interrupt_handler right_interrupt_handler
#include "sync/cli_spl_pessim.h"
#undef interrupt_handler

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
    intr_handle_nested(intr);
    sync_hart()->level = prev_level;
    pic_set_level(prev_level);
    if (prev_level == SPL_NONE && !sync_hart()->in_softint)
        intr_return_to_base();
}
#endif
