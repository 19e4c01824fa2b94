/*
 * run=serial: paper `sync`, section 5.1, test Serial 115.2: a file of `bytes` bytes arrives on the data port at
 * `baud` bit/s and is read by a thread through the terminal line discipline. The bytes received are returned to the
 * host, and are checked against `crc` (CRC-32, hexadecimal) if it is given. `fifo` is the depth of the
 * port's FIFOs, `patience` how many character times without a character mean that the rest is lost, `poll` after how
 * many bytes the time in critical sections is polled (bench/polls.h).
 *
 * On a board, `player=1` plays the bytes that the host has put into `serial_input`, instead of a line from
 * outside.
 *
 * With `busy.us` another device interrupts `busy.rate` times a second at a lower priority, and its handler works for
 * so many microseconds: the disk with programmed input of section 6, beside which a fast line may lose characters. With
 * handlers=1 the time of the port's handler is printed (bench/handlers.h).
 * Prints
 *
 *   @serial bytes=... crc=... overruns=... dropped=... cycles=... interrupts=... queued=... spurious=... switches=...
 *   @busy interrupts=... lost=...
 */
#include "arch/trace.h"
#include "bench/handlers.h"
#include "bench/pace.h"
#include "bench/polls.h"
#include "dev/arrivals.h"
#include "dev/clock.h"
#include "dev/host.h"
#include "dev/player.h"
#include "dev/serial.h"
#include "dev/tty.h"
#include "init/run.h"
#include "intr/intr.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/sched.h"
#include "sync/sync.h"

#include <stdlib.h>

#define MOST_BYTES BOOT_MOST(bench_serial, bytes)
#define BUSY_WIRE 0
#define BUSY_LEVEL SPL_BIO /* below SPL_TTY: where levels count, characters are received meanwhile */

static uint8_t received[MOST_BYTES] __attribute__((section(".noinit")));
#ifdef CSR_PLAYER_BASE
uint8_t serial_input[MOST_BYTES] __attribute__((aligned(8), section(".noinit"))); /* the host finds it by its name */
#endif
static struct tty tty;
static uint32_t busy_turns;

/* CRC-32 of ISO 3309, as in zip. */
static uint32_t bench_serial_crc32(const uint8_t *bytes, uint32_t n)
{
    uint32_t crc = ~0u;
    for (uint32_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static uint32_t sum_of(uint32_t (*count)(struct hart *))
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += count(&harts[h]);
    return n;
}

static uint32_t deferred(struct hart *h)
{
    return sync_hart_of(h)->deferred;
}
static uint32_t spurious(struct hart *h)
{
    return sync_hart_of(h)->spurious;
}
static uint32_t switches(struct hart *h)
{
    return sched_hart_of(h)->switches;
}

static void bench_serial_busy(void *arg)
{
    (void)arg;
    arrivals_acknowledge(BUSY_WIRE);
    pace_turns(busy_turns);
}

static void start_busy_device(uint32_t us, uint32_t rate)
{
    if (!rate)
        panic("boot argument busy.rate=0: give interrupts a second");
    pace_calibrate();
    busy_turns = (uint32_t)((uint64_t)us * CLOCK_HZ / 1000000 * 16 / pace_cycles_of_16_turns);
    intr_establish(PIC_SOURCE_ARRIVAL(BUSY_WIRE), BUSY_LEVEL, INTR_LEVEL, 0, bench_serial_busy, 0, "busy");
    arrivals_begin();
    arrivals_enter(CLOCK_HZ / rate, BUSY_WIRE);
    arrivals_play(1);
}

static void stop_busy_device(void)
{
    arrivals_stop();
    intr_disestablish(PIC_SOURCE_ARRIVAL(BUSY_WIRE));
    kprintf("@busy interrupts=%lu lost=%lu\n", (unsigned long)intr_count(PIC_SOURCE_ARRIVAL(BUSY_WIRE)),
            (unsigned long)arrivals_lost_read());
}

/* Receives up to `n` bytes, with a poll after each `every` of them. */
static uint32_t bench_serial_receive(uint32_t n, uint32_t every, uint32_t ticks)
{
    uint32_t got = 0;
    while (got < n) {
        uint32_t part = MIN(n - got, every), came = ttread(&tty, received + got, part, ticks);
        got += came;
        if (came < part)
            break;
        polls_take();
    }
    return got;
}

static int serial(void)
{
    uint32_t n = bootargs_number(BOOT(bench_serial, bytes));
    uint32_t baud = bootargs_number(BOOT(bench_serial, baud));
    uint32_t patience = bootargs_number(BOOT(bench_serial, patience)), poll = bootargs_number(BOOT(bench_serial, poll));
    uint32_t busy_us = bootargs_number(BOOT(bench_serial, busy_us)),
             busy_rate = bootargs_number(BOOT(bench_serial, busy_rate));
    char crc_text[12];
    uint32_t clock = clock_hz();
    if (!clock)
        panic("run=serial needs the clock: leave out hz=0");

    serial_set_depth(&serial_data, bootargs_number(BOOT_OR(bench_serial, fifo, serial_depth(&serial_data))));
    tty_open(&tty, &serial_data, baud, 0);
    bool timed = bootargs_number(BOOT(bench_serial, handlers));
    if (timed)
        handlers_time(PIC_SOURCE_UART1, "serial");
    uint32_t was_deferred = sum_of(deferred), was_spurious = sum_of(spurious), was_switches = sum_of(switches);
    if (busy_us)
        start_busy_device(busy_us, busy_rate);
#ifdef CSR_PLAYER_BASE
    if (n && bootargs_number(BOOT(bench_serial, player)))
        player_arm(serial_input, n, baud);
#endif
    trace(TRACE_SERIAL_GO, n);
    polls_begin();
    PROBE(WINDOW_BEGIN);
    uint64_t begin = cycles64();
    /* a FIFO reports its first character only when it is half full */
    uint64_t characters = patience + serial_depth(&serial_data);
    uint32_t got = bench_serial_receive(n, poll ? poll : n, (uint32_t)(characters * 10 * clock / baud) + 2);
    uint64_t cycles = cycles64() - begin;
    PROBE(WINDOW_END);
    polls_end();
    if (busy_us)
        stop_busy_device();
    if (timed)
        handlers_end();

    uint32_t crc = bench_serial_crc32(received, got);
    host_blob(HOST_BLOB_RECEIVED, received, got);
    kprintf("@serial bytes=%lu crc=%08lx overruns=%lu dropped=%lu cycles=%llu interrupts=%lu queued=%lu spurious=%lu "
            "switches=%lu\n",
            (unsigned long)got, (unsigned long)crc, (unsigned long)serial_overruns(&serial_data),
            (unsigned long)(serial_data.dropped + tty.dropped), (unsigned long long)cycles,
            (unsigned long)serial_data.interrupts, (unsigned long)(sum_of(deferred) - was_deferred),
            (unsigned long)(sum_of(spurious) - was_spurious), (unsigned long)(sum_of(switches) - was_switches));
    polls_print();
    if (got != n) {
        kprintf("%lu of %lu bytes came\n", (unsigned long)got, (unsigned long)n);
        return 1;
    }
    const char *expected = bootargs_string(BOOT(bench_serial, crc), crc_text, sizeof crc_text);
    if (*expected && strtoul(expected, 0, 16) != crc) {
        kprintf("the bytes received are not those sent: their CRC should be %s\n", expected);
        return 1;
    }
    return 0;
}

RUN("serial", "receive a file on the data port (paper sync, Serial 115.2)", serial);
