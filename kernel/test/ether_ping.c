/*
 * run=ping: asks `to` (an address, or the next node's) for `count` echoes of `bytes` bytes, one every `us`
 * microseconds, and answers others meanwhile, for `ms` milliseconds: every echo comes back once, unchanged. With
 * `behind`, every second one has that many bytes and follows at once: its frame waits for the wire while
 * the harts sleep.
 */
#include "dev/ether.h"
#include "dev/node.h"
#include "lib/minmax.h"
#include "lock/simple_lock.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "test/test.h"

#define MOST BOOT_MOST(test_ether_ping, count)

DEFINE_SIMPLE_LOCK(answers_lock, "ping answers", SPL_NET);
static uint32_t asked_at[MOST];
static uint8_t answers[MOST];
static uint32_t ether_ping_answered, shortest = UINT32_MAX, longest;
static uint64_t all;

static void ether_ping_answer(uint32_t from, uint32_t number, uint32_t bytes, bool right)
{
    uint32_t now = cycles32();
    if (!right || number >= MOST)
        panic("an echo of %lu bytes, number %lu, from %lx is not what was sent", (unsigned long)bytes,
              (unsigned long)number, (unsigned long)from);
    crit_t s = simple_lock_enter(&answers_lock);
    if (answers[number]++)
        panic("echo %lu came twice", (unsigned long)number);
    ether_ping_answered++;
    uint32_t took = now - asked_at[number];
    all += took;
    shortest = MIN(took, shortest);
    longest = MAX(took, longest);
    simple_lock_leave(&answers_lock, s);
}

static int run_ping(void)
{
    uint32_t count = bootargs_number(BOOT(test_ether_ping, count)),
             bytes = bootargs_number(BOOT(test_ether_ping, bytes)),
             behind = bootargs_number(BOOT(test_ether_ping, behind));
    uint32_t us = bootargs_number(BOOT(test_ether_ping, us)), ms = bootargs_number(BOOT(test_ether_ping, ms));
    uint64_t until = cycles64() + (uint64_t)ms * (CLOCK_HZ / 1000);
    if_ether_start();
    uint32_t next = net_own.ip - node_number() + (node_number() + 1) % node_count();
    uint32_t to = bootargs_number(BOOT_OR(test_ether_ping, to, next));
    icmp_answer = ether_ping_answer;
    uint64_t at = cycles64() + bootargs_number(BOOT(test_ether_ping, start)); /* the others are up, too */
    for (uint32_t number = 0; number < count; number++) {
        bool follows = behind && number & 1;
        while (!follows && cycles64() < at)
            behind ? thread_delay(1) : thread_yield();
        asked_at[number] = cycles32();
        if (!icmp_ask(to, number, follows ? behind : bytes))
            panic("memory is out");
        if (!follows)
            at += us * (CLOCK_HZ / 1000000);
    }
    while (cycles64() < until)
        thread_delay(1);
    if_ether_stop();
    net_print_results();
    ether_print_results();
    kprintf("@test name=ping asked=%lu answered=%lu mean=%lu shortest=%lu longest=%lu\n", (unsigned long)count,
            (unsigned long)ether_ping_answered, (unsigned long)(ether_ping_answered ? all / ether_ping_answered : 0),
            (unsigned long)shortest, (unsigned long)longest);
    return ether_ping_answered != count;
}

RUN("ping", "asks another node for echoes over Ethernet (count=, bytes=, us=, ms=)", run_ping);
