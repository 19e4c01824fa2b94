/* How long handlers take (handlers.h). */
#include "bench/handlers.h"

#include <string.h>

#include "arch/csr.h"
#include "bench/quantile.h"
#include "intr/intr.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sync/pic.h"

#define MOST 6
#define MOST_SAMPLES 16384

/* For one name; a source's handler is on one hart at a time, and those of one name are numbered separately. */
static struct timed {
    unsigned source;
    const char *name;
    struct intr_vector own;
    uint32_t samples;
    uint64_t total, squares; /* of all, including those without room in the log */
    uint32_t count;
    struct pic_counters before;
} timed[MOST];
static unsigned used;
static uint32_t sample[MOST][MOST_SAMPLES] __attribute__((section(".noinit")));

static void handlers_call(void *arg)
{
    struct timed *t = arg;
    struct intr_vector own = t->own; /* before the time begins: not an access of the handler */
    barrier();
    uint32_t begin = cycles32();
    own.fn(own.arg);
    uint32_t took = cycles32() - begin;
    t->count++;
    t->total += took;
    t->squares += (uint64_t)took * took;
    if (t->samples < MOST_SAMPLES)
        sample[t - timed][t->samples++] = took;
}

void handlers_time(unsigned source, const char *name)
{
    if (used == MOST)
        panic("handlers_time: %u sources at most", MOST);
    struct timed *t = &timed[used++];
    *t = (struct timed){.source = source, .name = name, .before = pic_counters(source)};
    intr_exchange(source, (struct intr_vector){handlers_call, t}, &t->own);
}

static void handlers_print(unsigned first)
{
    struct timed sum = timed[first];
    uint32_t n = sum.samples;
    struct pic_counters all = {0};
    for (unsigned i = first; i < used; i++) {
        struct timed *t = &timed[i];
        if (strcmp(t->name, sum.name))
            continue;
        struct pic_counters now = pic_counters(t->source);
        all.deliveries += now.deliveries - t->before.deliveries;
        all.merged += now.merged - t->before.merged;
        all.max_wait = MAX(now.max_wait, all.max_wait);
        if (i == first)
            continue;
        sum.count += t->count;
        sum.total += t->total;
        sum.squares += t->squares;
        uint32_t more = MIN(t->samples, MOST_SAMPLES - n);
        memcpy(&sample[first][n], sample[i], more * sizeof sample[i][0]);
        n += more;
    }
    if (n)
        kprintf("@handler name=%s count=%lu total=%llu squares=%llu min=%lu p50=%lu max=%lu\n", sum.name,
                (unsigned long)sum.count, (unsigned long long)sum.total, (unsigned long long)sum.squares,
                (unsigned long)quantile(sample[first], n, 0), (unsigned long)quantile(sample[first], n, 50),
                (unsigned long)quantile(sample[first], n, 100));
    kprintf("@waits name=%s interrupts=%lu merged=%lu max_wait=%lu\n", sum.name, (unsigned long)all.deliveries,
            (unsigned long)all.merged, (unsigned long)all.max_wait);
}

void handlers_end(void)
{
    for (unsigned i = 0; i < used; i++) {
        struct intr_vector mine;
        intr_exchange(timed[i].source, timed[i].own, &mine);
    }
    for (unsigned i = 0; i < used; i++) {
        bool again = false;
        for (unsigned k = 0; k < i; k++)
            again |= !strcmp(timed[k].name, timed[i].name);
        if (!again)
            handlers_print(i);
    }
    used = 0;
}
