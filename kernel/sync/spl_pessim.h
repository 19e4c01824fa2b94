/*
 * spl-pessim (paper `sync`, section 3.1): every section writes to the off-chip controller.
 *
 *   crit_sec_enter()            crit_sec_leave()         interrupt_handler(intr_level)
 *     saved_mask = cur_mask       PIC_mask(saved_mask)     saved_mask = cur_mask
 *     PIC_mask(all)                                        PIC_mask(intr <= intr_level)
 *                                                          handle interrupt
 *                                                          PIC_mask(saved_mask)
 *
 * cur_mask is the hart's `level`; a mask is one write of the PIC's LEVEL register, which stalls the hart. `level` is
 * always set before the PIC is: an interrupt between the two finds the new level in `level`, does not lower the PIC
 * below it, and leaves the PIC at it, so that the section's own write that follows is merely redundant.
 */
#include "sync/spl_sections.h"

static inline crit_t crit_sec_enter(unsigned level)
{
    PROBE(CRIT_ENTER);
    crit_t saved = sync_hart()->level;
    unsigned new = saved > level ? saved : level;
    hart_set_level(new);
    pic_set_level(new);
    PROBE(CRIT_ENTERED);
    crit_timing_entered();
    hart_may_have_changed();
    return saved;
}

static inline void crit_sec_raise(unsigned level)
{
    if (level > sync_hart()->level) {
        hart_set_level(level);
        pic_set_level(level);
    }
}

static inline unsigned crit_restore(crit_t saved)
{
    PROBE(CRIT_LEAVE);
    crit_timing_left();
    sync_hart()->level = saved;
    pic_set_level(saved);
    hart_may_have_changed();
    unsigned waiting = sync_hart()->pending >> (saved + 1); /* soft interrupts */
    return waiting;
}

/*
 * The next section's mask cancels a rise of the hart's wire that is in transit (hw/pic). So a hart whose sections
 * follow each other faster than a rise gets no interrupts; one that switches threads in a loop never would. `heard` is
 * when it last is known to have been unmasked for the time of a rise, and none came. If it switches threads a multiple
 * of that time later (crit_is_deaf), its return to base level waits for a rise (crit_stay_open).
 */
#define OPEN_EVERY 32 /* times of a rise: so it is unmasked for at least 1/33 of the time */

extern struct heard {
    uint32_t at;
} spl_pessim_heard[MAX_HARTS];

/*
 * The time from a write of the PIC's level, or the rise of a source, until the hart's `mip` shows it; the PIC's own
 * part is 4.
 */
static inline uint32_t spl_pessim_rise(void)
{
    return pic_worst_delivery + pic_worst_access + 16;
}

#define crit_is_deaf() (cycles32() - spl_pessim_heard[curhart->id].at > OPEN_EVERY * spl_pessim_rise())

void spl_pessim_stay_open(void);
#define crit_stay_open()              \
    do {                              \
        if (unlikely(crit_is_deaf())) \
            spl_pessim_stay_open();   \
    } while (0)

#define crit_was_open(since)                               \
    do {                                                   \
        if (cycles32() - (since) >= spl_pessim_rise())     \
            spl_pessim_heard[curhart->id].at = cycles32(); \
    } while (0)

#include "sync/leave.h"

#ifdef SYNC_IMPLEMENTATION
struct heard spl_pessim_heard[MAX_HARTS];

/*
 * Interrupts are off on chip, so no section runs in between, and a device's interrupt is taken before a call from
 * another hart. A wire that is up ends the wait and does not count as heard: less urgent sources may be pending, and
 * the wire may fall late.
 */
void spl_pessim_stay_open(void)
{
    uint32_t begin = cycles32();
    while (!(csr_read(mip) & MIE_MEIE)) {
        uint32_t now = cycles32();
        if (now - begin < spl_pessim_rise())
            continue;
        spl_pessim_heard[curhart->id].at = now;
        return;
    }
}

void crit_sec_replay(unsigned level)
{
    intr_disable();
    softint_dispatch_above(level); /* soft levels lie below all levels of the PIC: the logical level is enough */
}

static inline void interrupt_handler(struct frame *frame)
{
    (void)frame;
    unsigned saved = sync_hart()->level;
    struct claim c = pic_claim();
    unsigned new = c.priority;
    if (unlikely(new <= saved)) { /* true for a spurious claim, too: its priority is 0 */
        if (c.none) {
            sync_hart()->spurious++;
            return;
        }
        new = saved;
    }
    struct intr intr = intr_begin(c.source);
    sync_hart()->level = new;
    pic_set_level(new);
    intr_handle_nested(intr);
    sync_hart()->level = saved;
    pic_set_level(saved);
    if (saved == SPL_NONE)
        intr_return_to_base();
}
#endif
