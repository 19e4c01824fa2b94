/*
 * run=test-net-restart: the network is stopped and started again (`again` times, up for `ms` each time) while `senders`
 * threads send, in turn, frames that need no address lookup and echo requests, one every `us`; they end before the
 * last stop. Then every packet has been counted once, and all buffers are free. Prints what net_print_results and
 * ether_print_results print, and
 *
 *   @test name=net-restart asked=... refused=...      packets that were handed to the network, and those that found no
 *                                                     buffer
 */
#include <string.h>

#include "arch/trace.h"
#include "dev/ether.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "net/net.h"
#include "test/test.h"

#define MOST_SENDERS BOOT_MOST(test_ether_restart, senders)
#define TO 0x0a000001u
#define BYTES 18
#define CYCLES_OF_US (CLOCK_HZ / 1000000)
#define EXPERIMENTAL 0x88b5 /* IEEE 802's type for experiments */

static const uint8_t PEER[6] = {2, 'I', 'L', 'K', 0, 1};

static volatile bool ether_restart_ends;
static uint32_t us, ether_restart_asked, refused;

/* Straight to the interface. */
static bool send_frame(void)
{
    struct mbuf *m = m_get(IP_AT + BYTES, M_PROTOCOL);
    if (!m)
        return false;
    m->m_data += IP_AT;
    m->m_len = BYTES;
    memset(m->m_data, 0, BYTES);
    ether_output(m, PEER, EXPERIMENTAL);
    return true;
}

static void sender(void *arg)
{
    uint32_t me = (uintptr_t)arg;
    for (uint32_t n = 0; !ether_restart_ends; n++) {
        bool handed = n % 2 ? send_frame() : icmp_ask(TO, me << 12 | (n & 0xfff), BYTES);
        __atomic_fetch_add(handed ? &ether_restart_asked : &refused, 1, __ATOMIC_RELAXED);
        test_yield(us * CYCLES_OF_US);
    }
}

static int test_net_restart(void)
{
    struct thread *threads[MOST_SENDERS];
    uint32_t ms = bootargs_number(BOOT(test_ether_restart, ms)),
             again = bootargs_number(BOOT(test_ether_restart, again));
    uint32_t senders = bootargs_number(BOOT(test_ether_restart, senders));
    us = bootargs_number(BOOT(test_ether_restart, us));
    for (uint32_t i = 0; i <= again; i++) {
        if_ether_start();
        if (!i)
            trace(TRACE_ETHER_GO, 0);
        for (uint32_t k = 0; !i && k < senders; k++)
            threads[k] = thread_create(sender, (void *)(uintptr_t)k, PRI_NORMAL, ANY_HART, "sender");
        test_yield(ms * 1000 * CYCLES_OF_US);
        ether_restart_ends = i == again;
        for (uint32_t k = 0; ether_restart_ends && k < senders; k++)
            thread_join(threads[k]);
        if_ether_stop();
    }
    net_print_results();
    ether_print_results();
    kprintf("@test name=net-restart asked=%lu refused=%lu\n", (unsigned long)ether_restart_asked,
            (unsigned long)refused);
    return 0;
}

RUN("test-net-restart", "who sends while the network stops and starts again does it no harm", test_net_restart);
