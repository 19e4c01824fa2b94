/*
 * run=line-transfer: the floor of every hand-over, one coherent transfer of a line: from a store by one hart to the
 * load of another that sees it. Two harts answer each other, each through its own line, which the other polls until
 * it changes; half a round trip is a transfer. For each other hart than hart 0:
 *
 *   @line_transfer to=... cycles=... transfers=...
 *
 * Boot argument: transfers (400).
 */
#include "bench/line_transfer.h"

#include "bench/pace.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sync/sync.h"

static struct {
    volatile uint32_t round __attribute__((aligned(64)));
} line[2];

static uint32_t rounds, cycles; /* a round is two transfers */
static unsigned partner;

static void line_transfer_wait_for(volatile uint32_t *word, uint32_t value)
{
    while (*word != value)
        ;
}

static void player(unsigned h)
{
    crit_t s = crit_sec_enter(SPL_HIGH);
    uint32_t begin = cycles32();
    for (uint32_t i = 1; h == 0 && i <= rounds; i++) {
        line[0].round = i;
        line_transfer_wait_for(&line[1].round, i);
    }
    if (h == 0)
        cycles = cycles32() - begin;
    for (uint32_t i = 1; h == partner && i <= rounds; i++) {
        line_transfer_wait_for(&line[0].round, i);
        line[1].round = i;
    }
    crit_sec_leave(s);
}

int line_transfer(void)
{
    rounds = bootargs_number(BOOT(bench_line_transfer, transfers)) / 2;
    if (!rounds)
        panic("boot argument transfers: give 2 at least");
    for (partner = 1; partner < hart_count; partner++) {
        line[0].round = line[1].round = 0;
        pace_on_harts(partner + 1, player);
        uint32_t half = (uint32_t)((uint64_t)cycles * 100 / (2 * rounds));
        kprintf("@line_transfer to=%u cycles=%lu.%02lu transfers=%lu\n", partner, (unsigned long)half / 100,
                (unsigned long)half % 100, 2 * (unsigned long)rounds);
    }
    return 0;
}

RUN("line-transfer", "one coherent transfer of a line between harts", line_transfer);
