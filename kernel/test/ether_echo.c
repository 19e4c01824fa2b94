/*
 * run=net: the network is up until so many ICMP echo requests (`echoes`) have been answered, or so many milliseconds
 * (`ms`) have passed since frames may come, or interrupts took so many frames (`frames`); then it prints the counts.
 * With handlers=1 also the time of the handlers (bench/handlers.h). With again=N it is stopped and started again N
 * times, for `ms` each time, and the counts are of all times.
 *
 *   @test name=net echoes=... interrupts=... frames=... rounds=... full=... cycles=...
 *
 * cycles: from when frames may come to the clock tick (without a clock, the millisecond) at which the last one is found
 * answered or taken.
 */
#include "arch/trace.h"
#include "bench/handlers.h"
#include "dev/ether.h"
#include "net/if_ether.h"
#include "test/test.h"

#define IDLE_TICKS 1

/* A tick, or a millisecond without a clock, where nothing wakes a thread that sleeps for a time. */
static void a_while(void)
{
    if (clock_hz()) {
        thread_delay(IDLE_TICKS);
        return;
    }
    test_yield(CLOCK_HZ / 1000);
}

static int run_net(void)
{
    uint32_t echoes = bootargs_number(BOOT(test_ether_echo, echoes)), ms = bootargs_number(BOOT(test_ether_echo, ms));
    uint32_t frames = bootargs_number(BOOT(test_ether_echo, frames)),
             again = bootargs_number(BOOT(test_ether_echo, again));
    bool timed = bootargs_number(BOOT(test_ether_echo, handlers));
    uint32_t answered;
    uint64_t cycles;
    for (uint32_t n = 0; n <= again; n++) {
        if_ether_start();
        for (unsigned q = 0; timed && q < ETHER_QUEUES; q++)
            handlers_time(PIC_SOURCE_ETHER(q), "ether");
        kprintf("network: up\n");
        if (!n)
            trace(TRACE_ETHER_GO, 0);
        uint64_t begin = cycles64(), until = begin + (uint64_t)ms * (CLOCK_HZ / 1000);
        do {
            a_while();
            answered = net_counts().icmp_echo;
        } while ((!echoes || answered < echoes) && if_ether_counts().frames < frames && cycles64() < until);
        cycles = cycles64() - begin;
        a_while(); /* the answers leave */
        if (timed)
            handlers_end();
        if (n < again)
            if_ether_stop();
    }
    struct if_ether_counts c = if_ether_counts();
    if_ether_stop();
    c.full = if_ether_counts().full; /* with those that only the stop has counted */
    net_print_results();
    ether_print_results();
    kprintf("@test name=net echoes=%lu interrupts=%lu frames=%lu rounds=%lu full=%lu cycles=%llu\n",
            (unsigned long)answered, (unsigned long)c.interrupts, (unsigned long)c.frames, (unsigned long)c.rounds,
            (unsigned long)c.full, (unsigned long long)cycles);
    return echoes && answered < echoes;
}

RUN("net", "answers pings over Ethernet (echoes=, frames=, ms=)", run_net);
