/*
 * run=test-serial: what a port receives comes to its line discipline in order, on the port's hart, one character at a
 * time. The data port belongs to `hart`, the console to hart 0; `bytes` arrive on the data port while handlers on all
 * harts post the soft interrupt of both, at random, and threads on all keep sections and yield. Character i is the low
 * byte of 7 i + i / 256.
 *
 * `hold=1`: a section masks the soft interrupt until all have come; those that the ring has room for come first, in
 * order, the others are counted. Only under the spl schemes, as the cli schemes mask the port's interrupt, too.
 */
#include "arch/trace.h"
#include "dev/serial.h"
#include "intr/softint.h"
#include "lib/minmax.h"
#include "test/test.h"

#define SILENCE 100000 /* cycles after which the rest counts as lost */

static volatile uint32_t got, last_at;
static volatile bool inside, test_serial_done;
static unsigned port_hart;

static void input(void *arg, int c)
{
    (void)arg;
    if (curhart->id != port_hart || inside)
        panic("character %lu is handed on by hart %u, the port is hart %u's", (unsigned long)got, (unsigned)curhart->id,
              port_hart);
    inside = true;
    if (c != (int)((7 * got + got / 256) & 0xff))
        panic("character %lu is %#x", (unsigned long)got, (unsigned)c);
    test_spin(cycles32() % 200); /* others have time to take the next one */
    got++;
    last_at = cycles32();
    inside = false;
}

static void test_serial_posts(void *arg)
{
    (void)arg;
    softint_schedule(SPL_SOFTTTY);
}

static void test_serial_worker(void *arg)
{
    unsigned h = (uintptr_t)arg;
    struct random r = random_from(run_seed, 950 + h);
    while (!test_serial_done) {
        crit_t s = crit_sec_enter(random_below(&r, SPL_TTY));
        pic_raise(1u << test_source(random_below(&r, test_harts()), random_below(&r, TEST_SOURCES)));
        test_spin(random_below(&r, 300));
        crit_sec_leave(s);
        thread_yield();
        uint32_t last = last_at;
        if (h == 0 && cycles32() - last > SILENCE)
            test_serial_done = true;
    }
}

static uint32_t come(void)
{
    barrier();
    return serial_data.rx_head + serial_data.dropped;
}

static void hold_back(uint32_t bytes)
{
    thread_bind((int)port_hart);
    crit_t s = crit_sec_enter(SPL_SOFTTTY);
    trace(TRACE_SERIAL_GO, bytes); /* the far end begins */
    for (uint32_t begin = cycles32(); come() < bytes && cycles32() - begin < SILENCE;)
        ;
    assert(!got);
    crit_sec_leave(s);
    uint32_t most = MIN(bytes, SERIAL_RX_RING);
    if (got != most || serial_data.dropped != bytes - most)
        panic("%lu of %lu characters came, %lu are counted as dropped", (unsigned long)got, (unsigned long)bytes,
              (unsigned long)serial_data.dropped);
    kprintf("@test name=serial bytes=%lu dropped=%lu\n", (unsigned long)got, (unsigned long)serial_data.dropped);
}

static int serial_test(void)
{
    uint32_t bytes = bootargs_number(BOOT(test_serial, bytes));
    port_hart = bootargs_number(BOOT_WITHIN(test_serial, hart, hart_count - 1, hart_count - 1));
    serial_configure(&serial_data, bootargs_number(BOOT(test_serial, baud)));
    test_establish(test_serial_posts);
    last_at = cycles32();
    serial_start(&serial_data, port_hart, input, 0);
    if (bootargs_number(BOOT(test_serial, hold))) {
        hold_back(bytes);
        return 0;
    }
    trace(TRACE_SERIAL_GO, bytes); /* the far end begins */
    test_on_every_hart(test_serial_worker);
    assert(!serial_overruns(&serial_data) && !serial_data.dropped);
    if (got != bytes)
        panic("%lu characters came, %lu were sent", (unsigned long)got, (unsigned long)bytes);
    kprintf("@test name=serial bytes=%lu\n", (unsigned long)got);
    return 0;
}

RUN("test-serial", "test: what a port receives comes in order, on its hart", serial_test);
