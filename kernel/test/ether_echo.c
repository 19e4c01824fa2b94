/*
 * run=net: the network is up until so many ICMP echo requests (`echoes`) have been answered, or so many milliseconds (`ms`)
 * have passed; then what was counted.
 */
#include "arch/trace.h"
#include "dev/ether.h"
#include "net/if_ether.h"
#include "test/test.h"

#define IDLE_TICKS 1

static int run_net(void)
{
    uint32_t echoes = bootargs_number("echoes", 0, UINT32_MAX), ms = bootargs_number("ms", 1000, 1000000);
    uint64_t until = cycles64() + (uint64_t)ms * (CLOCK_HZ / 1000);
    if_ether_start();
    kprintf("network: up\n");
    trace(TRACE_ETHER_GO, 0);
    uint32_t answered;
    do {
        thread_delay(IDLE_TICKS);
        answered = net_counts().icmp_echo;
    } while ((!echoes || answered < echoes) && cycles64() < until);
    thread_delay(IDLE_TICKS); /* what was answered leaves */
    struct if_ether_counts c = if_ether_counts();
    if_ether_stop();
    net_print_results();
    ether_print_results();
    kprintf("@test name=net echoes=%lu interrupts=%lu frames=%lu rounds=%lu full=%lu\n", (unsigned long)answered,
            (unsigned long)c.interrupts, (unsigned long)c.frames, (unsigned long)c.rounds, (unsigned long)c.full);
    return echoes && answered < echoes;
}

RUN("net", "answers pings over Ethernet (echoes=, ms=)", run_net);
