/*
 * Calling the handler of a source: inlined into the interrupt path of each scheme (sync/schemes.c), because the code
 * between the trap and the driver's first instruction delays every interrupt (run=intr-floor measures it). Work that
 * can wait until the driver has run, such as counting, does.
 */
#ifndef SYNC_DISPATCH_H
#define SYNC_DISPATCH_H

#include "arch/csr.h"
#include "arch/hart.h"
#include "arch/probe.h"
#include "sync/handler_level.h"
#include "sync/hart_part.h"
#include "sync/pic.h"

typedef void intr_fn(void *arg);

/* An interrupt whose service has begun. */
struct intr {
    intr_fn *fn;
    void *arg;
    unsigned source;
};

/* Called before a scheme changes the mask, so that these loads are done when the handler is called. */
static inline struct intr intr_begin(unsigned source)
{
    sync_hart()->intr_depth++;
    const struct intr_vector *v = &sync_hart()->vector[source];
    return (struct intr){v->fn, v->arg, source};
}

static inline void intr_call(struct intr i)
{
    PROBE_VALUE(INTR_HANDLER, i.source);
    unsigned outer = handler_begins(source_level[i.source]);
    i.fn(i.arg);
    handler_ends(outer);
    PROBE_VALUE(INTR_DONE, i.source);
}

static inline void intr_end(struct intr i)
{
    sync_hart()->intr_depth--;
    sync_hart()->interrupts++;
    sync_hart()->handled[i.source]++;
    pic_eoi(i.source);
}

/* Run the handler and end the service, with the on-chip mask as it is. */
static inline void intr_handle(struct intr i)
{
    intr_call(i);
    intr_end(i);
}

/* The same, but with interrupts on, on chip, while the handler runs; they are off before and after. */
static inline void intr_handle_nested(struct intr i)
{
    intr_enable();
    intr_call(i);
    intr_disable();
    intr_end(i);
}
#endif
