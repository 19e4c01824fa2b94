/* The terminal line discipline, with its timeouts. Sources: dev/tty.c sched/timeout.c lock/simple_lock.c */
#include "dev/tty.h"

#include <string.h>

#include "intr/softint.h"
#include "lib/random.h"
#include "sched/sched.h"
#include "test/host/host.h"

static struct serial port;
static struct tty tty;
static void (*input)(void *arg, int c);
static softint_fn *softclock;
static bool posted, woken;
static const char *coming; /* characters that arrive one by one while the reader sleeps; then ticks pass */

void serial_configure(struct serial *configured, uint32_t baud)
{
    CHECK(configured == &port && baud == 115200);
}

void serial_start(struct serial *started, unsigned hart, void (*fn)(void *arg, int c), void *arg)
{
    CHECK(started == &port && hart == 0 && arg == &tty);
    input = fn;
}

void softint_establish(unsigned level, softint_fn *fn, void *arg)
{
    (void)level, (void)arg;
    softclock = fn;
}

void softint_schedule(unsigned level)
{
    (void)level;
    posted = true;
}

void thread_yield(void) {}

void thread_wakeup(const void *channel)
{
    CHECK(channel == &tty && !simple_lock_held(&tty.lock));
    woken = true;
}

void thread_sleep(const void *channel, struct simple_lock *interlock)
{
    CHECK(channel == &tty && interlock == &tty.lock && simple_lock_held(interlock));
    simple_unlock(interlock);
    for (woken = false; !woken;)
        if (coming && *coming) {
            input(&tty, (uint8_t)*coming++);
        } else {
            timeout_tick(1);
            if (posted)
                softclock(0);
            posted = false;
        }
    simple_lock(interlock);
}

static void start(void)
{
    timeout_init();
    tty_open(&tty, &port, 115200, 0);
}

static void type(const char *text)
{
    while (*text)
        input(&tty, (uint8_t)*text++);
}

static void check_read(const char *text, uint32_t ticks)
{
    uint8_t got[64];
    CHECK_EQUAL(ttread(&tty, got, (uint32_t)strlen(text), ticks), strlen(text));
    CHECK(!memcmp(got, text, strlen(text)));
    CHECK_EQUAL(sync_hart()->level, SPL_NONE);
}

HOST_TEST(what_was_typed_is_read)
{
    start();
    type("hello");
    check_read("he", 0);
    check_read("llo", 0);
}

HOST_TEST(a_reader_sleeps_until_it_comes)
{
    start();
    type("a");
    coming = "bcd";
    check_read("abcd", 0);
}

HOST_TEST(a_reader_gives_up_after_its_ticks)
{
    uint8_t got[8];
    start();
    coming = "xy";
    uint32_t before = clock_ticks();
    CHECK_EQUAL(ttread(&tty, got, sizeof got, 5), 2);
    CHECK_EQUAL(clock_ticks() - before, 5);
    CHECK(!timeout_cancel(&tty.limit));
}

HOST_TEST(bytes_have_eight_bits)
{
    uint8_t got[2];
    start();
    input(&tty, 0xff);
    input(&tty, 0);
    CHECK_EQUAL(ttread(&tty, got, 2, 1), 2);
    CHECK(got[0] == 0xff && got[1] == 0);
}

/* Any mix of input and reading, also more than the queue holds: characters that are not dropped come in order. */
HOST_TEST(a_full_queue_drops_the_newest)
{
    static uint8_t model[TTY_QUEUE];
    uint32_t head = 0, tail = 0, dropped = 0;
    struct random r = random_from(1, 0);
    start();
    for (unsigned turn = 0; turn < 400; turn++) {
        for (uint32_t n = random_below(&r, 700); n; n--) {
            uint8_t c = (uint8_t)random_next(&r);
            if (head - tail < TTY_QUEUE)
                model[head++ % TTY_QUEUE] = c;
            else
                dropped++;
            input(&tty, c);
        }
        for (uint32_t n = random_below(&r, 700); n && head != tail; n--) {
            uint8_t c;
            CHECK_EQUAL(ttread(&tty, &c, 1, 1), 1);
            CHECK_EQUAL(c, model[tail++ % TTY_QUEUE]);
        }
        CHECK_EQUAL(tty.dropped, dropped);
    }
    CHECK(dropped > 1000);
}
