/*
 * run=test-console: long output does not occupy the processor. A thread writes lines, far more than the transmit ring
 * holds; a less urgent thread on the same hart counts the turns of a loop meanwhile, and gets at least SHARE per cent
 * of what it counts alone in as many cycles; `console.baud` must leave that much processor time (2,000,000). A handler
 * and a section print in between, and every line comes whole: test_robust.py checks that from outside. `bytes`: how
 * many are written.
 *
 * `brim=1`: only lines that just fit into the transmit ring, or are too long by a character or a few; and then lines
 * while another thread stops the port again and again, as a program may.
 */
#include <string.h>

#include "dev/console.h"
#include "dev/serial.h"
#include "test/test.h"

#define SHARE 25
#define LINE 64
#define LONGEST 256
#define BREAK 2 /* characters that end a line */

static volatile uint32_t turns;
static volatile bool stop;

static void test_console_counts(void *arg)
{
    (void)arg;
    while (!stop)
        turns++;
}

static void prints(void *arg)
{
    kprintf("handler of source %02lu says: %.30s\n", (unsigned long)(uintptr_t)arg, "abcdefghijklmnopqrstuvwxyzabcdef");
}

static uint32_t test_console_alone(uint32_t cycles)
{
    uint32_t before = turns;
    for (uint32_t begin = cycles32(); cycles32() - begin < cycles;)
        turns++;
    return turns - before;
}

/* "line 0017 0000000...17|", with its end `length` characters: by hand, as formatting takes longer than sending. */
static void write_line(uint32_t number, unsigned length)
{
    char text[LONGEST];
    memcpy(text, "line ", 5);
    memset(text + 5, '0', length - 5);
    text[9] = ' ';
    for (unsigned i = 0; i < 4; i++, number /= 10)
        text[8 - i] = text[length - 3 - i] = (char)('0' + number % 10);
    text[length - 2] = '|';
    text[length - 1] = '\n';
    console_write(text, length);
}

static void write_lines(uint32_t lines)
{
    for (uint32_t i = 0; i < lines; i++) {
        if (i % 16 == 5)
            pic_raise(1u << test_source(0, i / 16 % TEST_SOURCES));
        if (i % 16 == 11) {
            crit_t s = crit_sec_enter(SPL_HIGH);
            write_line(i, LINE);
            crit_sec_leave(s);
        } else {
            write_line(i, LINE);
        }
    }
}

static unsigned test_console_room(void)
{
    return SERIAL_TX_RING - (serial_console.tx_head - serial_console.tx_tail);
}

/* Only a writer that finds the ring full empties it meanwhile. Returns the number of the line behind the last. */
static uint32_t fill_to_the_brim(uint32_t number)
{
    for (unsigned beyond = 0; beyond <= 2 * BREAK; beyond++) {
        crit_t s = crit_sec_enter(SPL_HIGH);
        while (test_console_room() > LONGEST - 2 * BREAK)
            write_line(number++, LINE);
        write_line(number++, test_console_room() - BREAK + 1 + beyond);
        assert(test_console_room() < SERIAL_TX_RING);
        crit_sec_leave(s);
    }
    return number;
}

static void stops(void *arg)
{
    (void)arg;
    while (!stop) {
        serial_stop_output(&serial_console, true);
        thread_yield();
    }
}

/* The number of the line behind the last. */
static uint32_t write_to_a_stopped_port(uint32_t number)
{
    struct thread *t = thread_create(stops, 0, PRI_NORMAL, 0, "stops");
    thread_bind(0);
    thread_yield(); /* it has stopped the port once */
    for (unsigned i = 0; i < 3 * SERIAL_TX_RING / LINE; i++)
        write_line(number++, LINE);
    stop = true;
    thread_join(t);
    return number;
}

static int console(void)
{
    uint32_t lines = bootargs_number(BOOT(test_console, bytes)) / LINE;
    if (bootargs_number(BOOT(test_console, brim))) {
        uint32_t number = write_to_a_stopped_port(fill_to_the_brim(0));
        kprintf("@test name=console lines=%lu\n", (unsigned long)number);
        return 0;
    }
    thread_bind(0);
    test_establish(prints);
    struct thread *t = thread_create(test_console_counts, 0, PRI_NORMAL + 1, 0, "counts");
    uint32_t begin = cycles32(), before = turns;
    write_lines(lines);
    uint32_t took = cycles32() - begin, meanwhile = turns - before;
    stop = true;
    thread_join(t);
    uint32_t share = 100 * meanwhile / (test_console_alone(took / 8) * 8 + 1);
    kprintf("@test name=console lines=%lu cycles=%lu share=%lu\n", (unsigned long)lines, (unsigned long)took,
            (unsigned long)share);
    assert(share >= SHARE);
    return 0;
}

RUN("test-console", "test: long output leaves the processor to others, lines stay whole", console);
