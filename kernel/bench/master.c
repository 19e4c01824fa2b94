/*
 * run=master: what the master restriction costs (sched/master.h). First the moves to the master and back from each
 * hart, alone and with no other load; then the same work in parallel threads, one a hart, `operations` each:
 * `section` cycles, inside unix_master or not, and `pause` cycles that never are. Prints
 *
 *   @master_move from=HART pairs=... enter=... release=... nested=...
 *   @master wrapped=0|1 harts=... section=... pause=... operations=... cycles=... per_megacycle=...
 *
 * enter, release, nested: cycles, mean; nested is a pair inside another. from=0 moves nothing. per_megacycle:
 * operations of all threads per million cycles. Boot arguments: section (2000), pause (2000), operations (40), pairs
 * (40).
 */
#include "arch/csr.h"
#include "bench/pace.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/master.h"
#include "sched/sched.h"

static uint32_t section, bench_master_pause, operations;

static void move_cost(void *arg)
{
    uint32_t pairs = bootargs_number(BOOT(bench_master, pairs));
    uint64_t enter = 0, release = 0, nested = 0;
    if (!pairs)
        panic("run=master needs pairs=1 to 100000");
    for (uint32_t i = 0; i < pairs; i++) {
        uint64_t begin = cycles64();
        unix_master();
        uint64_t entered = cycles64();
        unix_master();
        unix_release();
        uint64_t leaving = cycles64();
        unix_release();
        release += cycles64() - leaving;
        nested += leaving - entered;
        enter += entered - begin;
    }
    kprintf("@master_move from=%u pairs=%lu enter=%lu release=%lu nested=%lu\n", (unsigned)(uintptr_t)arg,
            (unsigned long)pairs, (unsigned long)(enter / pairs), (unsigned long)(release / pairs),
            (unsigned long)(nested / pairs));
}

static void bench_master_work(void *wrapped)
{
    for (uint32_t i = 0; i < operations; i++) {
        if (wrapped)
            unix_master();
        pace(section);
        if (wrapped)
            unix_release();
        pace(bench_master_pause);
    }
}

static void bench_master_measure(bool wrapped)
{
    struct thread *t[MAX_HARTS];
    uint64_t begin = cycles64();
    for (unsigned h = 0; h < hart_count; h++)
        t[h] = thread_create(bench_master_work, (void *)(uintptr_t)wrapped, PRI_NORMAL, (int)h, "work");
    for (unsigned h = 0; h < hart_count; h++)
        thread_join(t[h]);
    uint64_t cycles = cycles64() - begin, rate = (uint64_t)operations * hart_count * 100000000 / cycles;
    kprintf("@master wrapped=%u harts=%u section=%lu pause=%lu operations=%lu cycles=%lu per_megacycle=%lu.%02lu\n",
            wrapped, hart_count, (unsigned long)section, (unsigned long)bench_master_pause,
            (unsigned long)operations * hart_count, (unsigned long)cycles, (unsigned long)(rate / 100),
            (unsigned long)(rate % 100));
}

static int master(void)
{
    section = bootargs_number(BOOT(bench_master, section));
    bench_master_pause = bootargs_number(BOOT(bench_master, pause));
    operations = bootargs_number(BOOT(bench_master, operations));
    if (!operations)
        panic("run=master needs operations=1 to 1000000");
    pace_calibrate();
    for (unsigned h = 0; h < hart_count; h++)
        thread_join(thread_create(move_cost, (void *)(uintptr_t)h, PRI_NORMAL, (int)h, "moves"));
    bench_master_measure(false);
    bench_master_measure(true);
    return 0;
}

RUN("master", "cost of the master restriction", master);
