/*
 * run=serial: paper `sync`, section 5.1, test Serial 115.2: a file of `bytes` bytes arrives on the data port at `baud`
 * bit/s and is read by a thread through the terminal line discipline. The bytes received go back to whoever runs the
 * target, and are checked against `crc` (CRC-32, hexadecimal) where it is given. Prints
 *
 *   @serial bytes=... crc=... overruns=... dropped=... cycles=... interrupts=... queued=... spurious=... switches=...
 */
#include "dev/host.h"
#include "dev/serial.h"
#include "dev/trace.h"
#include "dev/tty.h"
#include "dev/clock.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "sched/sched.h"
#include "sync/sync.h"

#include <stdlib.h>

#define MOST_BYTES 65536
#define PATIENCE 200 /* character times without a character; then the rest is taken for lost */

static uint8_t received[MOST_BYTES] __attribute__((section(".noinit")));
static struct tty tty;

/* CRC-32 of ISO 3309, as zip has it. */
static uint32_t crc32(const uint8_t *bytes, uint32_t n)
{
    uint32_t crc = ~0u;
    for (uint32_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static uint32_t sum_of(uint32_t (*count)(const struct hart *))
{
    uint32_t n = 0;
    for (unsigned h = 0; h < hart_count; h++)
        n += count(&harts[h]);
    return n;
}

static uint32_t deferred(const struct hart *h) { return h->deferred; }
static uint32_t spurious(const struct hart *h) { return h->spurious; }
static uint32_t switches(const struct hart *h) { return h->switches; }

static int serial(void)
{
    uint32_t n = bootargs_number("bytes", 512, MOST_BYTES);
    uint32_t baud = bootargs_number("baud", 115200, 15000000);
    char crc_text[12];
    uint32_t clock = clock_hz();
    if (!clock)
        panic("run=serial needs the clock: leave out hz=0");

    tty_open(&tty, &serial_data, baud, 0);
    uint32_t was_deferred = sum_of(deferred), was_spurious = sum_of(spurious), was_switches = sum_of(switches);
    trace(TRACE_SERIAL_GO, n);
    PROBE(WINDOW_BEGIN);
    uint64_t begin = cycles64();
    uint32_t got = ttread(&tty, received, n, PATIENCE * 10 * clock / baud + 2);
    uint64_t cycles = cycles64() - begin;
    PROBE(WINDOW_END);

    uint32_t crc = crc32(received, got);
    host_blob(HOST_BLOB_RECEIVED, received, got);
    kprintf("@serial bytes=%lu crc=%08lx overruns=%lu dropped=%lu cycles=%llu interrupts=%lu queued=%lu spurious=%lu "
            "switches=%lu\n",
            (unsigned long)got, (unsigned long)crc, (unsigned long)serial_overruns(&serial_data),
            (unsigned long)(serial_data.dropped + tty.dropped), (unsigned long long)cycles,
            (unsigned long)serial_data.interrupts, (unsigned long)(sum_of(deferred) - was_deferred),
            (unsigned long)(sum_of(spurious) - was_spurious), (unsigned long)(sum_of(switches) - was_switches));
    if (got != n) {
        kprintf("%lu of %lu bytes came\n", (unsigned long)got, (unsigned long)n);
        return 1;
    }
    if (bootargs_string("crc", crc_text, sizeof crc_text, 0) && strtoul(crc_text, 0, 16) != crc) {
        kprintf("the bytes received are not those sent: their CRC should be %s\n", crc_text);
        return 1;
    }
    return 0;
}

RUN("serial", "receive a file on the data port (paper sync, Serial 115.2)", serial);
