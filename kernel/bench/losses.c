/*
 * run=losses: which device loses what (paper `sync`, section 6.4). A file of `bytes` bytes arrives on the data port
 * at `baud` bit/s while the disk is written by programmed I/O without a pause (disk.mode=pio; requests of `request`
 * bytes, two
 * under way) and datagrams of `frame.bytes` bytes arrive, one each `frame.period` cycles (0: none), at a port that
 * is not in use. `fifo` is the depth of the port's FIFOs, `flow` what tells the far end to wait (dev/serial.h: 0 none,
 * 1 the driver, 2 the port), `patience` after how many character times without one the rest is lost. Every 500 us
 * a device interrupts, at the clock's level, that keeps at most one interrupt pending: ticks that find the previous one
 * pending are merged with it. Prints
 *
 *   @losses sent=... bytes=... overruns=... dropped=... frames=... no_descriptor=... overrun=... full=... disk=...
 *   cycles=...
 *           ticks=... merged=... starved=...
 *   @handler name=serial|disk|ether|ticker ..., @waits likewise (bench/handlers.h)
 *
 * bytes: received; dropped: by the driver; frames: taken; no_descriptor, overrun: dropped by the core; full: by a full
 * ipintrq; disk: completed requests; starved: 1 if the handlers left the reader no time, until after PATIENCE
 * times the time that the characters take the clock's handler removed the load.
 */
#include <generated/csr.h>

#include "arch/trace.h"
#include "bench/handlers.h"
#include "dev/arrivals.h"
#include "dev/clock.h"
#include "dev/disk.h"
#include "dev/ether.h"
#include "dev/host.h"
#include "dev/serial.h"
#include "dev/tty.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "net/if_ether.h"
#include "sched/sched.h"
#include "sync/pic.h"

#define MOST_BYTES BOOT_MOST(bench_losses, bytes)
#define MOST_REQUEST BOOT_MOST(bench_losses, request)
#define AT_ONCE 2
#define TICKER_WIRE 0
#define PATIENCE 20

static uint8_t received[MOST_BYTES] __attribute__((section(".noinit")));
static uint8_t buffer[MOST_REQUEST] __attribute__((aligned(64), section(".noinit")));
static struct block_io io[AT_ONCE];
static struct tty tty;
static struct block_device *disk;
static uint32_t losses_request, next_sector, over;
static volatile bool stop, starved;
static uint64_t losses_until; /* cycles64() */
DEFINE_EVENT(stopped, "losses", SPL_BIO);
DEFINE_SIMPLE_LOCK(disk_lock, "losses", SPL_BIO);
static unsigned under_way;

/* At the disk's end, continues at its beginning. */
static void losses_again(struct block_io *i)
{
    crit_t s = simple_lock_enter(&disk_lock);
    bool goes_on = !stop;
    if (goes_on) {
        next_sector = next_sector + 2 * losses_request > disk->sectors ? 0 : next_sector + losses_request;
        i->lba = next_sector;
    } else {
        under_way--;
    }
    bool last = !under_way;
    over++;
    simple_lock_leave(&disk_lock, s);
    if (goes_on && block_submit(disk, i))
        panic("the disk refuses a request");
    if (last)
        event_post(&stopped);
}

static void start_disk(void)
{
    disk = disk_open(0);
    if (!disk)
        panic("run=losses: there is no drive: build the machine with disks=1 and give --disk IMAGE");
    losses_request = bootargs_number(BOOT(bench_losses, request)) / SECTOR_SIZE;
    if (!losses_request || losses_request > disk->sectors)
        panic("boot argument request: give some sectors of %u bytes, no more than the disk has", SECTOR_SIZE);
    handlers_time(PIC_SOURCE_DISK(0), "disk");
    under_way = AT_ONCE;
    for (unsigned i = 0; i < AT_ONCE; i++) {
        io[i] = (struct block_io){.op = BLOCK_WRITE, .count = losses_request, .data = buffer, .done = losses_again};
        if (block_submit(disk, &io[i]))
            panic("the disk refuses a request");
    }
}

static void losses_tick(void *arg)
{
    (void)arg;
    arrivals_acknowledge(TICKER_WIRE);
    if (!stop && cycles64() > losses_until) {
        starved = stop = true;
        trace(TRACE_ETHER_FLOOD, 0);
    }
}

static void start_ticker(void)
{
    intr_establish(PIC_SOURCE_ARRIVAL(TICKER_WIRE), SPL_CLOCK, INTR_LEVEL, 0, losses_tick, 0, "ticker");
    handlers_time(PIC_SOURCE_ARRIVAL(TICKER_WIRE), "ticker");
    arrivals_begin();
    arrivals_enter(CLOCK_HZ / 2000, TICKER_WIRE);
    arrivals_play(1);
}

static int losses(void)
{
    uint32_t n = bootargs_number(BOOT(bench_losses, bytes)), baud = bootargs_number(BOOT(bench_losses, baud));
    uint32_t period = bootargs_number(BOOT(bench_losses, frame_period)),
             size = bootargs_number(BOOT(bench_losses, frame_bytes));
    uint32_t clock = clock_hz();
    if (!clock)
        panic("run=losses needs the clock: leave out hz=0");
    serial_set_depth(&serial_data, bootargs_number(BOOT_OR(bench_losses, fifo, serial_depth(&serial_data))));
    tty_open(&tty, &serial_data, baud, 0);
    serial_flow(&serial_data, (enum serial_flow)bootargs_number(BOOT(bench_losses, flow)));
    if_ether_start();
    handlers_time(PIC_SOURCE_UART1, "serial");
    for (unsigned q = 0; q < ETHER_QUEUES; q++)
        handlers_time(PIC_SOURCE_ETHER(q), "ether");
    uint64_t characters = bootargs_number(BOOT(bench_losses, patience)) + serial_depth(&serial_data);
    losses_until = cycles64() + PATIENCE * (n + characters) * 10 * CLOCK_HZ / baud;
    start_ticker();
    start_disk();
    uint64_t begin = cycles64();
    if (period) {
        trace(TRACE_ETHER_FRAMES, UINT32_MAX);
        trace(TRACE_ETHER_FLOOD, size << 20 | period);
    }
    trace(TRACE_SERIAL_GO, n);
    uint32_t got = ttread(&tty, received, n, (uint32_t)(characters * 10 * clock / baud) + 2);
    uint64_t cycles = cycles64() - begin;
    stop = true;
    trace(TRACE_ETHER_FLOOD, 0);
    event_wait(&stopped);
    arrivals_stop();
    uint32_t ticks = intr_count(PIC_SOURCE_ARRIVAL(TICKER_WIRE));
    handlers_end();
    if_ether_stop();
    host_blob(HOST_BLOB_RECEIVED, received, got);
    struct if_ether_counts c = if_ether_counts();
    kprintf("@losses sent=%lu bytes=%lu overruns=%lu dropped=%lu frames=%lu no_descriptor=%lu overrun=%lu full=%lu "
            "disk=%lu cycles=%llu ticks=%lu merged=%lu starved=%d\n",
            (unsigned long)n, (unsigned long)got, (unsigned long)serial_overruns(&serial_data),
            (unsigned long)(serial_data.dropped + tty.dropped), (unsigned long)c.frames,
            (unsigned long)ether_rx_no_descriptor_read(), (unsigned long)ether_rx_overrun_read(), (unsigned long)c.full,
            (unsigned long)over, (unsigned long long)cycles, (unsigned long)ticks, (unsigned long)arrivals_lost_read(),
            starved);
    return 0;
}

RUN("losses", "who loses what: serial line, disk and Ethernet at once (paper sync, 6.4)", losses);
