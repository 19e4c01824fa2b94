/*
 * run=livelock: how much of an offered load of datagrams is delivered, and the time that it leaves others (Mogul and
 * Ramakrishnan, *Eliminating Receiver Livelock in an Interrupt-driven Kernel*, USENIX 1996). For each of `periods`
 * cycles the wire carries a datagram of `bytes` bytes in so many cycles, for `window` cycles. A reader, of higher
 * priority than the program beside it, takes them from its queue of QUEUE and reads each byte; the program counts while
 * it has the hart. With `feedback` the reader's queue holds the interface (net/if_ether.h) when it is three quarters
 * full, until at most one quarter is. Prints
 *
 *   @livelock period=... offered=... delivered=... counted=... alone=... no_descriptor=... full=... unread=...
 *   interrupts=...
 *
 * `late=` delays the hold by so many cycles after the queue is checked (0): for a test.
 *
 * offered, delivered: datagrams on the wire and read in the window; counted: by the program in it; alone: in a window
 * of that length without load; no_descriptor, full, unread: dropped at the ring, at ipintrq and at the reader's queue.
 */
#include <generated/csr.h>
#include <stdlib.h>

#include "arch/csr.h"
#include "arch/trace.h"
#include "dev/clock.h"
#include "dev/ether.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "net/if_ether.h"
#include "net/net.h"
#include "sched/sched.h"

#define QUEUE 32
#define PORT 9
#define PRI_READER (PRI_NORMAL - 1)
#define PRI_PROGRAM (PRI_NORMAL + 1)
#define LONGEST_PERIOD 0xfffff
#define MOST_PERIODS 16

static void notified(struct udp_port *p);
static struct udp_port port = {.port = PORT, .queue = IFQUEUE(port.queue, "reader", QUEUE), .notify = notified};
static bool feedback;
static uint32_t late;
static volatile uint32_t livelock_delivered, livelock_counted, sum;
static volatile uint32_t began, livelock_length; /* of the window: anything after it does not count */

static void notified(struct udp_port *p)
{
    if (feedback && p->queue.ifq_len >= QUEUE * 3 / 4) {
        for (uint32_t from = cycles32(); cycles32() - from < late;)
            ;
        if_ether_hold();
        if (p->queue.ifq_len <= QUEUE / 4) /* the reader, on another hart, has passed that mark meanwhile */
            if_ether_go_on();
    }
    thread_wakeup(p);
}

static void ether_livelock_reader(void *arg)
{
    (void)arg;
    for (;;) {
        crit_t s = simple_lock_enter(&port.queue.ifq_lock);
        while (!port.queue.ifq_len)
            thread_sleep(&port, &port.queue.ifq_lock);
        simple_lock_leave(&port.queue.ifq_lock, s);
        struct mbuf *m = IF_DEQUEUE(&port.queue);
        for (uint32_t i = 0; i < m->m_len; i++)
            sum += m->m_data[i];
        m_free(m);
        livelock_delivered += cycles32() - began < livelock_length;
        if (feedback && port.queue.ifq_len <= QUEUE / 4)
            if_ether_go_on();
    }
}

static void program(void *arg)
{
    (void)arg;
    for (;;)
        livelock_counted += cycles32() - began < livelock_length;
}

/*
 * Both counters over the next `window` cycles. The caller has the highest priority of all threads, but under load may
 * run long after the window's end.
 */
static void ether_livelock_measure(uint32_t window, uint32_t *read, uint32_t *done)
{
    uint32_t before = livelock_delivered, so_far = livelock_counted;
    livelock_length = 0;
    began = cycles32();
    livelock_length = window;
    thread_delay(window / (CLOCK_HZ / clock_hz()) + 1);
    *read = livelock_delivered - before;
    *done = livelock_counted - so_far;
}

static void one(uint32_t period, uint32_t bytes, uint32_t window)
{
    uint32_t read, done, alone, nothing, frames = window / period;
    ether_livelock_measure(window, &nothing, &alone);
    struct net_counts before = net_counts();
    struct if_ether_counts was = if_ether_counts();
    uint32_t lost = ether_rx_no_descriptor_read();
    trace(TRACE_ETHER_FRAMES, frames);
    trace(TRACE_ETHER_FLOOD, bytes << 20 | period);
    ether_livelock_measure(window, &read, &done);
    thread_delay(3); /* the reader empties the queue */
    struct net_counts after = net_counts();
    struct if_ether_counts is = if_ether_counts();
    kprintf(
        "@livelock period=%lu window=%lu offered=%lu delivered=%lu counted=%lu alone=%lu no_descriptor=%lu full=%lu "
        "unread=%lu interrupts=%lu frames=%lu rounds=%lu\n",
        (unsigned long)period, (unsigned long)window, (unsigned long)frames, (unsigned long)read, (unsigned long)done,
        (unsigned long)alone, (unsigned long)(ether_rx_no_descriptor_read() - lost),
        (unsigned long)(is.full - was.full), (unsigned long)(after.udp_full - before.udp_full),
        (unsigned long)(is.interrupts - was.interrupts), (unsigned long)(is.frames - was.frames),
        (unsigned long)(is.rounds - was.rounds));
}

static void ether_livelock_sweep(void *arg)
{
    (void)arg;
    char list[120];
    uint32_t bytes = bootargs_number(BOOT(bench_ether_livelock, bytes)),
             window = bootargs_number(BOOT(bench_ether_livelock, window));
    for (const char *at = bootargs_string(BOOT(bench_ether_livelock, periods), list, sizeof list); *at;) {
        char *end;
        uint32_t period = strtoul(at, &end, 10);
        if (end == at || !period || period > LONGEST_PERIOD)
            panic("boot argument periods=%s: give numbers from 1 to %u with commas between", list, LONGEST_PERIOD);
        one(period, bytes, window);
        at = *end == ',' ? end + 1 : end;
    }
}

static int run_livelock(void)
{
    if (clock_hz() < 100)
        panic("run=livelock measures in clock ticks: give hz=1000");
    feedback = bootargs_number(BOOT(bench_ether_livelock, feedback));
    late = bootargs_number(BOOT(bench_ether_livelock, late));
    udp_bind(&port);
    if_ether_start();
    if (!thread_create(ether_livelock_reader, 0, PRI_READER, ANY_HART, "reader") ||
        !thread_create(program, 0, PRI_PROGRAM, ANY_HART, "program"))
        panic("no thread is free");
    thread_join(thread_create(ether_livelock_sweep, 0, 0, ANY_HART, "sweep"));
    ether_print_results();
    return 0;
}

RUN("livelock", "delivered against offered load of datagrams (periods=, bytes=, window=, feedback=)", run_livelock);
