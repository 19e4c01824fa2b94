/* Which handler belongs to which source (intr.h), and the interrupts that do not come from the PIC. */
#include "intr/intr.h"

#include "arch/csr.h"
#include "arch/exception.h"
#include "arch/hart.h"
#include "intr/call.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lock/spin/spin.h"
#include "sync/dispatch.h"
#include "sync/pic.h"
#include "sync/sync.h"

static struct {
    const char *name; /* 0: it has no handler */
    unsigned hart;
    uint32_t elsewhere; /* claims for which no handler of the kernel was called: those of run=intr-floor */
} intr_owner[PIC_SOURCES];

_Static_assert(HART_SOURCES == PIC_SOURCES, "hart.h");

static void set_vector(unsigned source, intr_fn *fn, void *arg)
{
    for (unsigned h = 0; h < MAX_HARTS; h++)
        sync_hart_of(&harts[h])->vector[source] = (struct intr_vector){fn, arg};
}

static bool confined; /* device interrupts go to the master only (sched/master.h) */

static void stray(void *arg)
{
    if (pic_read(PIC_ID) == PIC_GONE)
        panic("the interrupt controller does not answer: look at its cable, then reset");
    panic("interrupt of source %u, which has no handler", (unsigned)(uintptr_t)arg);
}

/* Every context's ENABLE bit of a source, on one hart or on all. */
static void set_enabled(unsigned source, unsigned hart, bool on)
{
    for (unsigned h = 0; h < hart_count; h++)
        if (hart == PIC_ANY_HART || hart == h)
            pic_write(PIC_CONTEXT + PIC_CONTEXT_STRIDE * h + (on ? PIC_UNMASK : PIC_MASK), source);
}

void intr_establish(unsigned source, unsigned level, int edge, unsigned hart, intr_fn *fn, void *arg, const char *name)
{
    if (source >= PIC_SOURCES || level <= SPL_SOFT_MAX || level > SPL_HIGH ||
        (hart != PIC_ANY_HART && hart >= hart_count))
        panic("intr_establish: source %u at level %u", source, level);
    if (confined && source >= PIC_SOURCE_UART0)
        hart = MASTER_HART;
    if (intr_owner[source].name)
        panic("intr_establish: source %u belongs to %s already", source, intr_owner[source].name);
    intr_owner[source].name = name;
    intr_owner[source].hart = hart;
    intr_owner[source].elsewhere = pic_deliveries(source) - intr_count(source);
    set_vector(source, fn, arg);
    source_level_is(source, level);
    io_fence(); /* another hart may take the interrupt before this hart's stores are in memory */
    pic_configure(source, level, edge, hart);
    set_enabled(source, hart, true);
}

/* Whether a hart has claimed the source and not ended its service. */
static bool in_service(unsigned source)
{
    for (unsigned h = 0; h < hart_count; h++)
        if (pic_read(PIC_CONTEXT + PIC_CONTEXT_STRIDE * h + PIC_INSERVICE) & 1u << source)
            return true;
    return false;
}

static bool may_wait_for_handlers(void)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    bool may = crit_is_base(s) && !sync_hart()->intr_depth && !sync_hart()->in_softint;
    crit_sec_leave(s);
    return may;
}

/*
 * The source is masked, and no handler of it runs or is queued. It is not claimed any more, so the PIC's count of
 * claims is final. A handler is counted when it has returned, whether it was called at once or queued: none is left
 * when both counts are equal (except for those of run=intr-floor, for which no handler of the kernel is called:
 * `elsewhere`). Counting this way adds no cost to the path to a handler. A hart's stores reach memory in order
 * (hw/cpu/README.md), so the stores of a counted handler are visible.
 */
static void quiesce(const char *who, unsigned source)
{
    if (source >= PIC_SOURCES || !intr_owner[source].name)
        panic("%s: source %u has no handler", who, source);
    if (!may_wait_for_handlers())
        panic("%s: source %u (%s), at interrupt level or in a section: its handler might be what is waiting", who,
              source, intr_owner[source].name);
    set_enabled(source, intr_owner[source].hart, false);
    uint32_t claims = pic_deliveries(source) - intr_owner[source].elsewhere;
    while (intr_count(source) != claims || in_service(source))
        spin_pause();
    fence_acquire();
}

void intr_disestablish(unsigned source)
{
    quiesce("intr_disestablish", source);
    pic_write(PIC_CLEAR, 1u << source);
    set_vector(source, stray, (void *)(uintptr_t)source);
    intr_owner[source].name = 0;
}

void intr_exchange(unsigned source, struct intr_vector with, struct intr_vector *was)
{
    quiesce("intr_exchange", source);
    *was = sync_hart()->vector[source];
    set_vector(source, with.fn, with.arg);
    io_fence();
    set_enabled(source, intr_owner[source].hart, true);
}

const char *intr_name(unsigned source)
{
    return intr_owner[source].name;
}

unsigned intr_route(unsigned source)
{
    return intr_owner[source].hart;
}

uint32_t intr_count(unsigned source)
{
    barrier();
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += sync_hart_of(&harts[h])->handled[source];
    return n;
}

void interrupt_other(uint32_t cause)
{
    if (cause != CAUSE_SOFTWARE)
        panic("unexpected interrupt, mcause %#x", (unsigned)cause);
    hart_calls_answer();
    if (!sync_hart()->intr_depth && !sync_hart()->in_softint && !crit_level_masks(SPL_SOFTPREEMPT))
        intr_return_to_base();
}

void intr_init(void)
{
    hart_calls_init();
    confined = bootargs_number(BOOT(kernel, intr_master)) || UNIX_SERIAL;
    for (unsigned source = 0; source < PIC_SOURCES; source++)
        set_vector(source, stray, (void *)(uintptr_t)source);
}

void intr_init_hart(void)
{
    pic_set_level(SPL_NONE);
    csr_write(mie, MIE_MEIE | MIE_MSIE);
}
