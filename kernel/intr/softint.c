/* Soft interrupts (softint.h). */
#include "intr/softint.h"

#include "arch/csr.h"
#include "arch/hart.h"
#include "arch/clint.h"
#include "lib/panic.h"
#include "sync/sync.h"

#define SOFT_MASK (((1u << SPL_SOFT_MAX) - 1) << 1)

static struct {
    softint_fn *fn;
    void *arg;
} table[SPL_SOFT_MAX + 1];

void softint_establish(unsigned level, softint_fn *fn, void *arg)
{
    if (level == SPL_NONE || level > SPL_SOFT_MAX)
        panic("softint_establish: level %u", level);
    table[level].arg = arg;
    table[level].fn = fn;
}

void softint_post(unsigned level)
{
    __atomic_fetch_or(&curhart->pending, 1u << level, __ATOMIC_RELAXED);
    if (SOFTINT_NEEDS_KICK && !curhart->intr_depth && !curhart->in_softint)
        clint_set_software(curhart->id);
}

void softint_schedule(unsigned level)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    softint_post(level);
    crit_sec_leave(s);
}

/* Takes the highest posted level above `level`; 0 if there is none. */
static unsigned take(unsigned level)
{
    unsigned waiting = (curhart->pending & SOFT_MASK) >> (level + 1);
    if (!waiting)
        return 0;
    unsigned next = level + 32 - __builtin_clz(waiting);
    __atomic_fetch_and(&curhart->pending, ~(1u << next), __ATOMIC_RELAXED);
    return next;
}

static void call(unsigned level)
{
    if (level == SPL_SOFTPREEMPT)
        return; /* whoever dispatches looks at `resched` next */
    if (!table[level].fn)
        panic("soft interrupt at level %u, which has no handler", level);
    intr_enable();
    table[level].fn(table[level].arg);
    intr_disable();
}

void softint_dispatch_above(unsigned level)
{
    curhart->in_softint++;
    for (unsigned next; (next = take(level));) {
        curhart->level = next;
        call(next);
        curhart->level = level;
    }
    curhart->in_softint--;
}

void softint_dispatch(void)
{
    if (curhart->in_softint)
        return;
    curhart->in_softint = 1;
    for (unsigned next; (next = take(SPL_NONE));)
        call(next);
    curhart->in_softint = 0;
}
