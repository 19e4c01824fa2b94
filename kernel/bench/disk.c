/*
 * run=disk: paper `sync`, section 6: a transfer to or from a disk, and how long each interrupt takes to handle. `bytes`
 * are moved, sector after sector, in requests of `request` bytes, of which `requests` are under way at once; op=read
 * or op=write. Prints
 *
 *   @disk op=... bytes=... request=... cycles=... interrupts=... spurious=... errors=... retried=...
 *   @disk_handler cause=seek|data|done|all count=... total=... squares=... min=... p50=... max=...
 *   @disk_busy harts=... alone=... beside=...
 *
 * With waits=1 each request has an event, for which a thread waits before it submits the next.
 * With handlers=1, instead of @disk_handler, the interrupts as a whole (bench/handlers.h): one clock access less in
 * each. `squares` is the sum of the squares of cycles. With busy=1 a thread on each hart goes through 16 KB of memory
 * meanwhile, reading three words and writing two of each line: how many lines per million cycles, without the disk and
 * beside it.
 */
#include <string.h>

#include "arch/csr.h"
#include "arch/probe.h"
#include "bench/handlers.h"
#include "bench/quantile.h"
#include "dev/disk.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/random.h"
#include "sched/sched.h"
#include "sync/pic.h"

#define MOST_AT_ONCE BOOT_MOST(bench_disk, requests)
#define MOST_REQUEST BOOT_MOST(bench_disk, request)
#define MOST_SAMPLES 16384

static uint8_t buffer[MOST_AT_ONCE][MOST_REQUEST] __attribute__((aligned(64), section(".noinit")));
static struct block_io io[MOST_AT_ONCE];
static uint32_t sample[DISK_CAUSES][MOST_SAMPLES] __attribute__((section(".noinit")));
static uint32_t samples[DISK_CAUSES];
static uint32_t next_sector, sectors, bench_disk_request, errors, outstanding;
static struct block_device *disk;
DEFINE_EVENT(all_done, "disk bench", SPL_BIO);
DEFINE_SIMPLE_LOCK(bench_lock, "disk bench", SPL_BIO);

static void bench_disk_note(enum disk_cause cause, uint32_t cycles)
{
    if (samples[cause] < MOST_SAMPLES)
        sample[cause][samples[cause]++] = cycles;
}

/* Submits the next request of the transfer in place of a completed one; false if there is none. */
static bool bench_disk_fill(struct block_io *i)
{
    crit_t s = simple_lock_enter(&bench_lock);
    uint32_t count = MIN(sectors - next_sector, bench_disk_request);
    i->lba = next_sector;
    i->count = count;
    next_sector += count;
    if (!count)
        outstanding--;
    bool last = !outstanding;
    simple_lock_leave(&bench_lock, s);
    if (last)
        event_post(&all_done);
    return count;
}

static void submit(struct block_io *i)
{
    if (bench_disk_fill(i) && block_submit(disk, i))
        panic("the disk refuses a request of %lu sectors at %lu", (unsigned long)i->count, (unsigned long)i->lba);
}

#define BUSY_WORDS 4096

static volatile uint32_t load[MAX_HARTS][BUSY_WORDS] __attribute__((aligned(64), section(".noinit")));
static volatile uint32_t lines[MAX_HARTS][16];
static volatile bool stop;

static void go_through(void *arg)
{
    unsigned h = (uintptr_t)arg;
    for (uint32_t at = 0; !stop; at = (at + 16) % BUSY_WORDS) {
        volatile uint32_t *line = load[h] + at;
        line[1] = line[0] + line[4];
        line[9] = line[8];
        lines[h][0]++;
    }
}

static uint32_t all_lines(void)
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += lines[h][0];
    return n;
}

static void bench_disk_again(struct block_io *i)
{
    errors += i->error != 0;
    submit(i);
}

static const char *const names[DISK_CAUSES] = {"nothing", "seek", "data", "done"};

static void print_handler(const char *cause, uint32_t *values, uint32_t n)
{
    uint64_t total = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        total += values[i];
        squares += (uint64_t)values[i] * values[i];
    }
    if (n)
        kprintf("@disk_handler cause=%s count=%lu total=%llu squares=%llu min=%lu p50=%lu max=%lu\n", cause,
                (unsigned long)n, (unsigned long long)total, (unsigned long long)squares,
                (unsigned long)quantile(values, n, 0), (unsigned long)quantile(values, n, 50),
                (unsigned long)quantile(values, n, 100));
}

/* Threads that go through memory, one on each hart, with lower priority than those of the transfer. */
struct busy {
    struct thread *thread[MAX_HARTS];
    uint32_t alone; /* lines per million cycles, before the transfer */
};

static void busy_begin(struct busy *b)
{
    for (unsigned h = 0; h < hart_count; h++)
        b->thread[h] = thread_create(go_through, (void *)(uintptr_t)h, PRI_NORMAL + 1, (int)h, "busy");
    thread_delay(2);
    uint32_t first = all_lines(), from = cycles32();
    thread_delay(2);
    b->alone = (uint32_t)((uint64_t)(all_lines() - first) * 1000000 / (cycles32() - from));
}

/* The transfer took `cycles`, and began when the threads had gone through `first` lines. */
static void busy_end(const struct busy *b, uint32_t first, uint64_t cycles)
{
    uint32_t beside = (uint32_t)((uint64_t)(all_lines() - first) * 1000000 / cycles);
    stop = true;
    for (unsigned h = 0; h < hart_count; h++)
        thread_join(b->thread[h]);
    kprintf("@disk_busy harts=%u alone=%lu beside=%lu\n", hart_count, (unsigned long)b->alone, (unsigned long)beside);
}

static void print_handlers(void)
{
    static uint32_t all[MOST_SAMPLES] __attribute__((section(".noinit")));
    uint32_t n = 0;
    for (unsigned cause = DISK_FOR_SEEK; cause < DISK_CAUSES; cause++) {
        for (uint32_t i = 0; i < samples[cause] && n < MOST_SAMPLES; i++)
            all[n++] = sample[cause][i];
        print_handler(names[cause], sample[cause], samples[cause]);
    }
    print_handler("all", all, n);
}

static int disk_run(void)
{
    char op[8];
    bool waits = bootargs_number(BOOT(bench_disk, waits)), timed = bootargs_number(BOOT(bench_disk, handlers));
    if (!timed)
        disk_watch(bench_disk_note); /* before it is opened: its first handler is watched */
    disk = disk_open(bootargs_number(BOOT(bench_disk, unit)));
    if (!disk)
        panic("run=disk: there is no drive: build the machine with disks=1 and give --disk IMAGE");
    bool writes = !strcmp(bootargs_string(BOOT(bench_disk, op), op, sizeof op), "write");
    uint32_t bytes = bootargs_number(BOOT(bench_disk, bytes)), size = bootargs_number(BOOT(bench_disk, request));
    uint32_t at_once = bootargs_number(BOOT(bench_disk, requests));
    sectors = bytes / SECTOR_SIZE;
    bench_disk_request = size / SECTOR_SIZE;
    if (!bench_disk_request || !at_once || !sectors || sectors > disk->sectors)
        panic("run=disk: bytes and request are some sectors of %u bytes, no more than the disk has, requests is 1 at "
              "least",
              SECTOR_SIZE);
    struct random r = random_from(run_seed, 1);
    for (unsigned i = 0; i < at_once; i++)
        for (uint32_t n = 0; writes && n < size / 4; n++)
            ((uint32_t *)buffer[i])[n] = random_next(&r);
    if (timed)
        handlers_time(PIC_SOURCE_DISK(bootargs_number(BOOT(bench_disk, unit))), "disk");
    bool is_busy = bootargs_number(BOOT(bench_disk, busy));
    struct busy busy;
    if (is_busy)
        busy_begin(&busy);
    outstanding = at_once;
    uint32_t first = all_lines();
    uint64_t begin = cycles64();
    PROBE(WINDOW_BEGIN);
    for (uint32_t lba = 0; waits && lba < sectors; lba += bench_disk_request)
        errors += block_transfer(disk, writes ? BLOCK_WRITE : BLOCK_READ, lba, MIN(sectors - lba, bench_disk_request),
                                 buffer[0]) != 0;
    for (unsigned i = 0; !waits && i < at_once; i++) {
        io[i] = (struct block_io){.op = writes ? BLOCK_WRITE : BLOCK_READ, .data = buffer[i], .done = bench_disk_again};
        submit(&io[i]);
    }
    if (!waits)
        event_wait(&all_done);
    PROBE(WINDOW_END);
    uint64_t cycles = cycles64() - begin;
    disk_watch(0);
    if (timed)
        handlers_end();
    if (is_busy)
        busy_end(&busy, first, cycles);
    kprintf("@disk op=%s bytes=%lu request=%lu cycles=%llu interrupts=%lu spurious=%lu errors=%lu retried=%lu\n",
            writes ? "write" : "read", (unsigned long)sectors * SECTOR_SIZE, (unsigned long)size,
            (unsigned long long)cycles, (unsigned long)intr_count(PIC_SOURCE_DISK(0)),
            (unsigned long)disk_spurious(disk), (unsigned long)errors, (unsigned long)disk->retried);
    print_handlers();
    return errors != 0;
}

RUN("disk", "a transfer to or from a disk (paper sync, Table 7)", disk_run);
