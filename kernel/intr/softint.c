/* Soft interrupts (softint.h). */
#include "intr/softint.h"

#include "arch/clint.h"
#include "arch/csr.h"
#include "arch/hart.h"
#include "lib/panic.h"
#include "sync/handler_level.h"
#include "sync/sync.h"

#define SOFT_MASK (((1u << SPL_SOFT_MAX) - 1) << 1)

static struct {
    softint_fn *fn;
    void *arg;
} softint_table[SPL_SOFT_MAX + 1];

void softint_establish(unsigned level, softint_fn *fn, void *arg)
{
    if (level == SPL_NONE || level > SPL_SOFT_MAX)
        panic("softint_establish: level %u", level);
    softint_table[level].arg = arg;
    softint_table[level].fn = fn;
}

void softint_post(unsigned level)
{
    softint_mark(level);
    if (SOFTINT_NEEDS_KICK && !sync_hart()->intr_depth && !sync_hart()->in_softint)
        clint_set_software(curhart->id);
}

void softint_schedule(unsigned level)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    softint_post(level);
    crit_sec_leave(s);
}

/* Takes the highest posted level above `level`; 0 if there is none. */
static unsigned softint_highest(unsigned level)
{
    unsigned waiting = (sync_hart()->pending & SOFT_MASK) >> (level + 1);
    if (!waiting)
        return 0;
    unsigned next = level + 32 - __builtin_clz(waiting);
    __atomic_fetch_and(&sync_hart()->pending, ~(1u << next), __ATOMIC_RELAXED);
    return next;
}

static void softint_call(unsigned level)
{
    if (level == SPL_SOFTPREEMPT)
        return; /* the dispatching code checks `resched` next */
    if (!softint_table[level].fn)
        panic("soft interrupt at level %u, which has no handler", level);
    unsigned outer = handler_begins(level);
    intr_enable();
    softint_table[level].fn(softint_table[level].arg);
    intr_disable();
    handler_ends(outer);
}

void softint_dispatch_above(unsigned level)
{
    sync_hart()->in_softint++;
    for (unsigned next; (next = softint_highest(level));) {
        sync_hart()->level = next;
        softint_call(next);
        sync_hart()->level = level;
    }
    sync_hart()->in_softint--;
}

void softint_dispatch(void)
{
    if (sync_hart()->in_softint)
        return;
    sync_hart()->in_softint = 1;
    for (unsigned next; (next = softint_highest(SPL_NONE));)
        softint_call(next);
    sync_hart()->in_softint = 0;
}
