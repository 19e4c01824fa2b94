/*
 * run=softint-cost: the cost of calling a soft interrupt that was posted in a section. The spl schemes and cli-optim
 * check for it when the section ends; the cli schemes, whose sections end with one instruction, have it called by the
 * CLINT's software interrupt: a store to the CLINT, and a trap (intr/softint.c). The model of paper `sync`, Table 2,
 * includes neither. Prints
 *
 *   @softint_cost samples=... post=... call=... back=... more=...
 *
 * in cycles, medians, everything in the caches. post: the posting itself; call: from the end of the posting to the
 * first instruction of the called function; back: from its end to the code after the section; more: all
 * that, less the cost of an empty section. Needs hz=0. Boot argument: samples (64).
 */
#include "arch/csr.h"
#include "bench/quantile.h"
#include "dev/clock.h"
#include "init/run.h"
#include "intr/softint.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sync/sync.h"

#define MOST_SAMPLES BOOT_MOST(bench_softint_cost, samples)
#define WARM 4

static volatile uint32_t called_at;
static volatile bool is_called;

static void softint_cost_called(void *arg)
{
    (void)arg;
    called_at = cycles32();
    is_called = true;
}

/* An empty section that posts nothing, or SPL_SOFTNET: cycles32() at its steps. */
struct steps {
    uint32_t begin, posted, end;
};

static __attribute__((noinline)) struct steps softint_cost_section(bool posts)
{
    is_called = !posts;
    struct steps at = {.begin = cycles32()};
    crit_t s = crit_sec_enter(SPL_HIGH);
    if (posts)
        softint_post(SPL_SOFTNET);
    at.posted = cycles32();
    crit_sec_leave(s);
    while (!is_called) /* the CLINT's interrupt comes some instructions later */
        ;
    at.end = cycles32();
    return at;
}

static int softint_cost(void)
{
    static uint32_t post[MOST_SAMPLES], call[MOST_SAMPLES], back[MOST_SAMPLES], whole[MOST_SAMPLES],
        empty[MOST_SAMPLES];
    uint32_t samples = bootargs_number(BOOT(bench_softint_cost, samples));
    if (!samples || clock_hz())
        panic("run=softint-cost needs hz=0, and samples=1 to %u", MOST_SAMPLES);
    softint_establish(SPL_SOFTNET, softint_cost_called, 0);
    for (uint32_t i = 0; i < samples + WARM; i++) {
        struct steps without = softint_cost_section(false), with = softint_cost_section(true);
        uint32_t at = i < WARM ? 0 : i - WARM;
        empty[at] = without.end - without.begin;
        post[at] = with.posted - with.begin - (without.posted - without.begin);
        call[at] = called_at - with.posted;
        back[at] = with.end - called_at;
        whole[at] = with.end - with.begin;
    }
    kprintf("@softint_cost samples=%lu post=%lu call=%lu back=%lu more=%lu\n", (unsigned long)samples,
            (unsigned long)quantile(post, samples, 50), (unsigned long)quantile(call, samples, 50),
            (unsigned long)quantile(back, samples, 50),
            (unsigned long)(quantile(whole, samples, 50) - quantile(empty, samples, 50)));
    return 0;
}

RUN("softint-cost", "what calling a soft interrupt costs that was posted in a section", softint_cost);
