/* Interrupt dispatch (intr.h) and the trap's entry into it. */
#include "intr/intr.h"

#include "arch/csr.h"
#include "arch/frame.h"
#include "arch/hart.h"
#include "dev/clint.h"
#include "intr/pic.h"
#include "lib/panic.h"
#include "sched/sched.h"
#include "sync/sync.h"

static struct {
    intr_fn *fn;
    void *arg;
    const char *name;
    unsigned hart;
    uint32_t count[MAX_HARTS];
} table[PIC_SOURCES];

static void call(unsigned source)
{
    intr_fn *fn = table[source].fn;
    void *arg = table[source].arg;
    if (!fn)
        panic("interrupt of source %u, which has no handler", source);
    PROBE_VALUE(INTR_HANDLER, source);
    fn(arg);
    PROBE_VALUE(INTR_DONE, source);
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
    if (source >= PIC_SOURCES || level <= SPL_SOFT_MAX || level > SPL_HIGH || (hart != PIC_ANY_HART && hart >= hart_count))
        panic("intr_establish: source %u at level %u", source, level);
    if (table[source].fn)
        panic("intr_establish: source %u belongs to %s already", source, table[source].name);
    table[source].arg = arg;
    table[source].name = name;
    table[source].hart = hart;
    table[source].fn = fn;
    barrier();
    pic_configure(source, level, edge, hart);
    set_enabled(source, hart, true);
}

void intr_disestablish(unsigned source)
{
    set_enabled(source, table[source].hart, false);
    table[source].fn = 0;
}

void intr_handle(unsigned source)
{
    curhart->interrupts++;
    curhart->intr_depth++;
    table[source].count[curhart->id]++;
    call(source);
    curhart->intr_depth--;
    pic_eoi(source);
}

void intr_handle_nested(unsigned source)
{
    curhart->interrupts++;
    curhart->intr_depth++;
    table[source].count[curhart->id]++;
    intr_enable();
    call(source);
    intr_disable();
    curhart->intr_depth--;
    pic_eoi(source);
}

const char *intr_name(unsigned source)
{
    return table[source].fn ? table[source].name : 0;
}

uint32_t intr_count(unsigned source)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += table[source].count[h];
    return n;
}

/* Called by trap.S, interrupts off on chip. */
void interrupt(uint32_t cause, struct frame *frame)
{
    if (cause == CAUSE_EXTERNAL) {
        interrupt_handler(frame);
    } else if (cause == CAUSE_SOFTWARE && SOFTINT_NEEDS_KICK) {
        clint_clear_software(curhart->id);
        if (!curhart->intr_depth && !curhart->in_softint)
            intr_return_to_base();
    } else {
        panic("unexpected interrupt, mcause %#x", (unsigned)cause);
    }
}

static void ipi(void *arg)
{
    (void)arg;
    if (panicking()) {
        intr_disable();
        for (;;)
            __asm__ volatile("wfi");
    }
    if (curhart->resched)
        sched_request();
}

void intr_init_hart(void)
{
    pic_set_level(SPL_NONE);
    intr_establish(PIC_SOURCE_IPI(curhart->id), SPL_IPI, INTR_EDGE, curhart->id, ipi, 0, "ipi");
    csr_write(mie, MIE_MEIE | (SOFTINT_NEEDS_KICK ? MIE_MSIE : 0));
}
