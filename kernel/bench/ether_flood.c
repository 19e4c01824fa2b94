/*
 * run=load: the program netload (user/commands/netload.c) with the words of args=PERIOD,MS and WINDOW_FROM on the
 * nodes 0 and 1, and on node 2 a flood for it: datagrams to node 0's port FLOOD_PORT, one every PERIOD cycles (0: none)
 * from FLOOD_FROM until MS milliseconds after WINDOW_FROM. They are entered into the transmit ring directly, so that a
 * hart can fill the wire.
 * Prints
 *
 *   @net_flood period=... offered=...      datagrams put on the wire from WINDOW_FROM on
 *
 * and the counters of the network on node 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/csr.h"
#include "dev/clock.h"
#include "dev/ether.h"
#include "dev/node.h"
#include "init/run.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "net/net.h"
#include "proc/run.h"

#define PROGRAM "netload"
#define FLOOD_PORT 9
/* In cycles since reset: the programs have begun by then; the first datagrams fill the rings. */
#define FLOOD_FROM 6000000u
#define WINDOW_FROM 6600000u
#define SIGNAL_EXIT_CODE 128
#define DATA 18 /* bytes of a datagram: the least frame */
#define UDP_HEADER 8
#define SERVER 0x0a000002u /* 10.0.0.2: node 0 */
#define MS_MOST 10000

static uint8_t flood_frame[ETHER_HEADER + 20 + UDP_HEADER + DATA] __attribute__((aligned(8)));

static void fill_in(void)
{
    static const uint8_t ethernet[ETHER_HEADER] = {2, 'I', 'L', 'K', 0, 2, 2, 'I', 'L', 'K', 0, 4, 8, 0};
    uint8_t *ip = flood_frame + ETHER_HEADER, *udp = ip + 20;
    memcpy(flood_frame, ethernet, sizeof ethernet);
    ip[0] = 0x45;
    put16(ip + 2, 20 + UDP_HEADER + DATA);
    ip[8] = 64;
    ip[9] = IPPROTO_UDP;
    put32(ip + 12, SERVER + 2);
    put32(ip + 16, SERVER);
    put16(ip + 10, in_cksum(ip, 20, 0));
    put16(udp, FLOOD_PORT);
    put16(udp + 2, FLOOD_PORT);
    put16(udp + 4, UDP_HEADER + DATA); /* no checksum: 0 */
}

static void flood(uint32_t period, uint32_t end)
{
    uint32_t offered = 0;
    fill_in();
    if_ether_start();
    if ((int32_t)(cycles32() - FLOOD_FROM) > 0)
        panic("run=load: the flood is to begin at cycle %u, and that is over", FLOOD_FROM);
    for (uint32_t at = FLOOD_FROM; period && (int32_t)(at - end) < 0; at += period) {
        while ((int32_t)(cycles32() - at) < 0)
            ;
        while (ether_tx_reclaim())
            ;
        if (ether_tx_put(flood_frame, flood_frame, sizeof flood_frame, false))
            offered += (int32_t)(at - WINDOW_FROM) >= 0;
    }
    while (ether_tx_waits())
        ether_tx_reclaim();
    kprintf("@net_flood period=%lu offered=%lu\n", (unsigned long)period, (unsigned long)offered);
}

static int run_load(void)
{
    static struct arguments arguments;
    static char words[64];
    char from[12];
    uint32_t number[2] = {0, 0};
    unsigned count = 0;
    arguments_clear(&arguments);
    arguments_add(&arguments, PROGRAM);
    char *rest = (char *)bootargs_string(BOOT(kernel, args), words, sizeof words);
    for (char *word, *end; (word = strtok_r(rest, ",", &rest)); count++) {
        arguments_add(&arguments, word);
        uint32_t value = strtoul(word, &end, 10);
        if (*end || count >= 2)
            panic("run=load: give args=PERIOD,MS");
        number[count] = value;
    }
    if (count != 2 || !number[1] || number[1] > MS_MOST)
        panic("run=load: give args=PERIOD,MS, of ms 1 to %u", MS_MOST);
    snprintf(from, sizeof from, "%u", WINDOW_FROM);
    arguments_add(&arguments, from);
    if (node_number() == 2) {
        flood(number[0], WINDOW_FROM + number[1] * (CLOCK_HZ / 1000));
        return 0;
    }
    int id = process_spawn(0, PROGRAM, &arguments, ANY_HART);
    int status = id > 0 ? user_wait_for_all(id) : 0;
    if (id < 0)
        panic("run=load: " PROGRAM ": error %d", id);
    net_print_results();
    ether_print_results();
    return status & 0xff ? SIGNAL_EXIT_CODE + status : status >> 8;
}

RUN("load", "servers of TCP and UDP in user mode on node 0 under a flood: args=PERIOD,MS, on three nodes", run_load);
