/*
 * The network stack, frame by frame, against the answers it must send; and frames of any content, which crash
 * nothing and lose no buffer. Sources: net/mbuf.c net/net.c net/arp.c net/ip.c net/ip_reassembly.c net/icmp.c net/udp.c
 * net/in_cksum.c net/ether_output.c mem/zone.c mem/page.c lock/simple_lock.c lib/printf.c
 * net/route.c net/ip_options.c. Options: ZONE_DEBUG=0
 * TCPIP_FILE="net/policy/connection.h"
 */
#include "net/net.h"

#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

#include "dev/clock.h"
#include "lib/minmax.h"
#include "lib/random.h"
#include "mem/page.h"
#include "net/if_ether.h"
#include "net/in.h"
#include "net/loop.h"
#include "test/host/host.h"
#include "test/host/pools.h"

/* TCP is not part of this unit: its segments are of an unknown protocol. */
const bool if_ether_in_threads = false;

void loop_output(struct mbuf *m)
{
    m_free(m);
}

void tcp_told(const struct told *of)
{
    (void)of;
}

void tcp_input(struct mbuf *m, uint32_t header)
{
    (void)header;
    m_free(m);
}

#define FUZZ_FRAMES 1000000 /* times HOST_TIMES */
#define PAGES 192
#define RAM_PAGES PAGES
#define OUR_IP 0x0a000002u
#define PEER_IP 0x0a000001u
#define ARP_BYTES 28
#define LEAST 60 /* bytes of a frame */

#include "test/host/ram.h"

static const uint8_t US[6] = {2, 'I', 'L', 'K', 0, 2}, PEER[6] = {2, 0, 0, 0, 0, 1};
#define SENT_MOST 64 /* a datagram of 65,535 bytes and more */

static struct mbuf *sent[SENT_MOST];
static uint64_t now;
static unsigned sent_count;

uint64_t cycles64(void)
{
    return now;
}

static void keep(struct mbuf *m)
{
    CHECK(sent_count < SENT_MOST);
    CHECK(!m->m_next);
    CHECK(m->m_len >= ETHER_HEADER && m->m_len <= ETHER_HEADER + IP_MTU);
    if (get16(m->m_data + 12) == ETHERTYPE_IP)
        CHECK(get16(m->m_data + ETHER_HEADER + 2) > IP_HEADER &&
              get16(m->m_data + ETHER_HEADER + 2) == m->m_len - ETHER_HEADER);
    CHECK(m->m_data >= m_begin(m) && m->m_data + m->m_len <= m_begin(m) + m_size(m));
    sent[sent_count++] = m;
}

static void begin(void)
{
    pages_init(BASE, BASE + sizeof memory);
    net_own = (struct net_address){{2, 'I', 'L', 'K', 0, 2}, OUR_IP, 0xffffff00};
    if_transmit = keep;
    arp_init();
}

static void forget(void)
{
    while (sent_count)
        m_free(sent[--sent_count]);
}

/* As the interface does: removes the header, and passes it on by its type. */
static void input(const uint8_t *frame, uint32_t length)
{
    struct mbuf *m = m_get(2 + MAX(length, LEAST), M_FRAME);
    CHECK(m);
    uint8_t *room = m_begin(m);
    uint32_t bytes = m_size(m);
    __asan_unpoison_memory_region(room, bytes);
    memset(room, 0, 2 + LEAST);
    m->m_data += 2;
    memcpy(m->m_data, frame, length);
    length = MAX(length, LEAST); /* as on the wire */
    m->m_len = length;
    uint32_t type = get16(frame + 12);
    if (type != ETHERTYPE_IP || !(get16(m->m_data + ETHER_HEADER + 6) & 0x3fff)) /* nothing may read that */
        __asan_poison_memory_region(m->m_data + length, bytes - 2 - length);
    m_adj(m, ETHER_HEADER);
    if (type == ETHERTYPE_IP)
        ip_input(m);
    else if (type == ETHERTYPE_ARP)
        arp_input(m);
    else
        m_free(m);
    __asan_unpoison_memory_region(room, bytes); /* for its next owner */
}

static void header(uint8_t *frame, uint32_t type)
{
    memcpy(frame, US, 6);
    memcpy(frame + 6, PEER, 6);
    put16(frame + 12, type);
}

static uint32_t arp_frame(uint8_t *frame, uint32_t operation, uint32_t from, uint32_t to)
{
    header(frame, ETHERTYPE_ARP);
    uint8_t *p = frame + ETHER_HEADER;
    memcpy(p, (const uint8_t[]){0, 1, 8, 0, 6, 4}, 6);
    put16(p + 6, operation);
    memcpy(p + 8, PEER, 6);
    put32(p + 14, from);
    memset(p + 18, 0, 6);
    put32(p + 24, to);
    return ETHER_HEADER + ARP_BYTES;
}

static uint32_t echo_frame(uint8_t *frame, uint32_t number, uint32_t bytes, uint32_t options)
{
    header(frame, ETHERTYPE_IP);
    uint8_t *ip = frame + ETHER_HEADER, *icmp = ip + IP_HEADER + options;
    memset(ip, 1, IP_HEADER + options);
    ip[0] = (uint8_t)(0x45 + options / 4);
    put16(ip + 2, IP_HEADER + options + 8 + bytes);
    put16(ip + 6, 0x4000); /* do not fragment */
    ip[9] = IPPROTO_ICMP;
    put32(ip + 12, PEER_IP);
    put32(ip + 16, OUR_IP);
    put16(ip + 10, 0);
    put16(ip + 10, in_cksum(ip, IP_HEADER + options, 0));
    memset(icmp, 0, 8);
    icmp[0] = 8;
    put16(icmp + 6, number);
    for (uint32_t i = 0; i < bytes; i++)
        icmp[8 + i] = (uint8_t)(i * 3 + number);
    put16(icmp + 2, in_cksum(icmp, 8 + bytes, 0));
    return ETHER_HEADER + IP_HEADER + options + 8 + bytes;
}

/* A checksum by its definition: the sum of numbers of two bytes. */
static uint32_t by_the_book(const uint8_t *p, uint32_t length)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < length; i++)
        sum += i % 2 ? p[i] : p[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

HOST_TEST(checksums_are_those_of_the_book)
{
    uint8_t bytes[1600] __attribute__((aligned(8)));
    struct random r = random_from(1, 1);
    for (unsigned n = 0; n < 3000; n++) {
        uint32_t at = 2 * random_below(&r, 20), length = random_below(&r, 1500), kind = random_below(&r, 3);
        for (uint32_t i = 0; i < length; i++)
            bytes[at + i] = kind == 0 ? 0xff : kind == 1 ? 0 : (uint8_t)random_next(&r);
        CHECK_EQUAL(in_cksum(bytes + at, length, 0), by_the_book(bytes + at, length));
    }
}

HOST_TEST(an_echo_comes_back_as_it_was_in_the_buffer_that_asked)
{
    begin();
    uint8_t frame[1600] __attribute__((aligned(8)));
    input(frame, arp_frame(frame, 1, PEER_IP, OUR_IP));
    CHECK_EQUAL(sent_count, 1);
    CHECK_EQUAL(get16(sent[0]->m_data + ETHER_HEADER + 6), 2);
    CHECK(!memcmp(sent[0]->m_data + ETHER_HEADER + 8, US, 6));
    CHECK_EQUAL(get32(sent[0]->m_data + ETHER_HEADER + 14), OUR_IP);
    forget();
    for (uint32_t options = 0; options <= 40; options += 20)
        for (uint32_t bytes = 0; bytes <= 1472 - options; bytes += bytes < 70 ? 1 : 351) {
            uint32_t length = echo_frame(frame, bytes, bytes, options);
            input(frame, length);
            CHECK_EQUAL(sent_count, 1);
            const uint8_t *ip = sent[0]->m_data + ETHER_HEADER, *icmp = ip + IP_HEADER;
            CHECK_EQUAL(sent[0]->m_len, length - options);
            CHECK(!memcmp(sent[0]->m_data, PEER, 6) && !memcmp(sent[0]->m_data + 6, US, 6));
            CHECK_EQUAL(ip[0], 0x45);
            CHECK_EQUAL(get16(ip + 2), length - options - ETHER_HEADER);
            CHECK_EQUAL(by_the_book(ip, IP_HEADER), 0);
            CHECK_EQUAL(get32(ip + 12), OUR_IP);
            CHECK_EQUAL(get32(ip + 16), PEER_IP);
            CHECK_EQUAL(icmp[0], 0);
            CHECK_EQUAL(by_the_book(icmp, 8 + bytes), 0);
            CHECK(!memcmp(icmp + 4, frame + ETHER_HEADER + IP_HEADER + options + 4, 4 + bytes));
            forget();
        }
    CHECK_EQUAL(m_in_use(), 0);
}

HOST_TEST(an_echo_without_its_whole_header_is_none)
{
    begin();
    uint8_t frame[100] __attribute__((aligned(8)));
    echo_frame(frame, 1, 10, 0);
    uint8_t *ip = frame + ETHER_HEADER;
    put16(ip + 2, IP_HEADER + 4);
    put16(ip + 10, 0);
    put16(ip + 10, in_cksum(ip, IP_HEADER, 0));
    put32(ip + IP_HEADER, 0x0800f7ff); /* with a right checksum */
    input(frame, ETHER_HEADER + IP_HEADER + 4);
    CHECK_EQUAL(net_counts().icmp_bad, 1);
    CHECK_EQUAL(m_in_use(), 0);
}

HOST_TEST(what_came_to_one_host_in_a_frame_to_all_is_nobodys)
{
    begin();
    uint8_t frame[100] __attribute__((aligned(8)));
    uint32_t length = echo_frame(frame, 1, 10, 0);
    memset(frame, 0xff, 6);
    input(frame, length);
    CHECK_EQUAL(sent_count, 0);
    CHECK_EQUAL(net_counts().ip_other, 1);
    CHECK_EQUAL(m_in_use(), 0);
}

HOST_TEST(who_is_not_known_is_asked_for_and_gets_the_last_packet)
{
    begin();
    uint8_t frame[1600] __attribute__((aligned(8)));
    for (uint32_t number = 1; number <= 3; number++, now += CLOCK_HZ) {
        input(frame, echo_frame(frame, number, 4, 0));
        CHECK_EQUAL(sent_count, 1);
        CHECK_EQUAL(get16(sent[0]->m_data + 12), ETHERTYPE_ARP);
        CHECK_EQUAL(get32(sent[0]->m_data + ETHER_HEADER + 24), PEER_IP);
        forget();
    }
    CHECK_EQUAL(m_in_use(), 1);
    input(frame, arp_frame(frame, 2, PEER_IP, OUR_IP));
    CHECK_EQUAL(sent_count, 1);
    CHECK_EQUAL(get16(sent[0]->m_data + ETHER_HEADER + IP_HEADER + 6), 3);
    forget();
    CHECK_EQUAL(m_in_use(), 0);
    CHECK_EQUAL(net_counts().arp_dropped, 2);
}

/*
 * RFC 1122, 2.3.2.1: packets to a host that does not answer cause no flood of requests, and a host that is silent for
 * twenty minutes is asked for again; the packet that caused the request is sent when the answer comes.
 */
HOST_TEST(questions_are_asked_less_and_less_often_and_answers_grow_old)
{
    begin();
    uint8_t frame[1600] __attribute__((aligned(8)));
    uint64_t last_asked = 0, least = 0;
    unsigned asked = 0, number = 0;
    for (uint64_t end = now + 20ull * CLOCK_HZ; now < end; now += CLOCK_HZ / 5000) {
        input(frame, echo_frame(frame, ++number & 0xffff, 4, 0));
        CHECK(sent_count <= 1);
        if (sent_count) {
            CHECK_EQUAL(get16(sent[0]->m_data + 12), ETHERTYPE_ARP);
            CHECK(!asked || now - last_asked >= least);
            least = asked ? MIN(2 * (now - last_asked), CLOCK_HZ) : CLOCK_HZ / 2000;
            least = MIN(least, CLOCK_HZ) * 3 / 4;
            last_asked = now;
            asked++;
        }
        forget();
    }
    CHECK(asked >= 25 && asked <= 31); /* once a second in the end, and soon at first */
    for (unsigned days = 0; days < 3; days++) {
        input(frame, arp_frame(frame, 2, PEER_IP, OUR_IP));
        CHECK_EQUAL(sent_count, 1);
        CHECK_EQUAL(get16(sent[0]->m_data + ETHER_HEADER + IP_HEADER + 6), number & 0xffff);
        forget();
        for (unsigned minute = 0; minute < 25; minute++, now += 60ull * CLOCK_HZ) {
            input(frame, echo_frame(frame, ++number & 0xffff, 4, 0));
            CHECK_EQUAL(sent_count, 1);
            CHECK_EQUAL(get16(sent[0]->m_data + 12), minute < 20 ? ETHERTYPE_IP : ETHERTYPE_ARP);
            forget();
        }
    }
    arp_forget();
    CHECK_EQUAL(m_in_use(), 0);
}

/* RFC 826 and 5227: every ARP packet, from every host, is answered, taken, reported or ignored as they say. */
HOST_TEST(addresses_are_asked_probed_announced_and_defended)
{
    static const uint32_t FROM[] = {0, OUR_IP, PEER_IP, PEER_IP + 5},
                          TO[] = {0, OUR_IP, PEER_IP, PEER_IP + 5, PEER_IP + 9};
    uint8_t frame[100] __attribute__((aligned(8)));
    for (uint32_t known = 0; known < 2; known++)
        for (uint32_t operation = 0; operation < 4; operation++)
            for (unsigned from = 0; from < sizeof FROM / sizeof *FROM; from++)
                for (unsigned to = 0; to < sizeof TO / sizeof *TO; to++) {
                    begin();
                    now += 100ull * CLOCK_HZ;
                    struct net_counts before = net_counts();
                    bool usable = operation == 1 || (operation == 2 && FROM[from]), ours = FROM[from] == OUR_IP;
                    if (known && FROM[from] && !ours) { /* with another address than it has now */
                        uint32_t length = arp_frame(frame, 2, FROM[from], OUR_IP);
                        frame[ETHER_HEADER + 8 + 5] = 9;
                        input(frame, length);
                        CHECK_EQUAL(sent_count, 0);
                    }
                    input(frame, arp_frame(frame, operation, FROM[from], TO[to]));
                    struct net_counts after = net_counts();
                    CHECK_EQUAL(after.arp_bad - before.arp_bad, !usable);
                    CHECK_EQUAL(after.arp_conflicts - before.arp_conflicts, usable && ours);
                    bool answered = operation == 1 && TO[to] == OUR_IP && !ours;
                    CHECK_EQUAL(sent_count, (usable && ours) || answered);
                    if (sent_count) {
                        const uint8_t *p = sent[0]->m_data + ETHER_HEADER;
                        CHECK_EQUAL(get16(p + 6), answered ? 2 : 1);
                        CHECK(!memcmp(p + 8, US, 6));
                        CHECK_EQUAL(get32(p + 14), OUR_IP);
                        CHECK_EQUAL(get32(p + 24), answered ? FROM[from] : OUR_IP);
                        CHECK(!memcmp(sent[0]->m_data,
                                      answered ? PEER : (const uint8_t[]){255, 255, 255, 255, 255, 255}, 6));
                    }
                    forget();
                    /* Which hosts are known now? */
                    bool learned = usable && FROM[from] && !ours && (known || TO[to] == OUR_IP);
                    struct mbuf *m = m_get(IP_AT + IP_HEADER + 8, M_PROTOCOL);
                    m->m_data += IP_AT;
                    m->m_len = IP_HEADER + 8;
                    memset(m->m_data, 0, m->m_len);
                    put16(m->m_data + 2, m->m_len);
                    arp_resolve(m, FROM[from] && !ours ? FROM[from] : PEER_IP);
                    CHECK_EQUAL(sent_count, 1);
                    bool asks = get16(sent[0]->m_data + 12) == ETHERTYPE_ARP;
                    CHECK_EQUAL(!asks, learned || (known && FROM[from] && !ours));
                    if (!asks)
                        CHECK_EQUAL(sent[0]->m_data[5], learned ? PEER[5] : 9);
                    forget();
                    arp_forget();
                    CHECK_EQUAL(m_in_use(), 0);
                }
}

/* Two hosts that defend one address do not do so for ever: RFC 5227, 2.4. */
HOST_TEST(an_address_is_defended_once_in_ten_seconds)
{
    begin();
    uint8_t frame[100] __attribute__((aligned(8)));
    now = 1;
    unsigned told = 0;
    for (unsigned half_seconds = 0; half_seconds < 60; half_seconds++, now += CLOCK_HZ / 2) {
        input(frame, arp_frame(frame, 1 + half_seconds % 2, OUR_IP, half_seconds % 3 ? OUR_IP : PEER_IP));
        CHECK_EQUAL(sent_count, half_seconds % 20 == 0);
        told += sent_count;
        forget();
    }
    CHECK_EQUAL(told, 3);
    CHECK_EQUAL(net_counts().arp_conflicts, 60);
}

#define FAR_IP 0x0a000032u
#define ROUTE_MOST 7 /* addresses */

/* A source route with these addresses behind others; returns the length of all, and where it is. */
static uint32_t put_options(uint8_t *to, struct random *r, const uint32_t *by, uint32_t hosts, uint32_t *route)
{
    uint32_t at = 0;
    memset(to, 0, 40);
    while (at < 6 && random_below(r, 2)) {
        to[at] = random_below(r, 2) ? 1 : 200; /* nothing, or unknown */
        if (to[at] == 200)
            to[at + 1] = 2;
        at += to[at] == 200 ? 2 : 1;
    }
    *route = at;
    to[at] = random_below(r, 2) ? 131 : 137;
    to[at + 1] = (uint8_t)(3 + 4 * hosts);
    to[at + 2] = (uint8_t)(4 + 4 * hosts);
    for (uint32_t i = 0; i < hosts; i++)
        put32(to + at + 3 + 4 * i, by[i]);
    return (at + 3 + 4 * hosts + 3) / 4 * 4;
}

/* An answer that goes back by the addresses that its echo came by. */
static void goes_back(const uint8_t *ip, uint8_t type, const uint32_t *by, uint32_t hosts)
{
    uint32_t length = IP_HEADER + (hosts ? 4 + 4 * hosts : 0);
    CHECK_EQUAL((ip[0] & 15) * 4, length);
    CHECK_EQUAL(by_the_book(ip, length), 0);
    CHECK_EQUAL(get32(ip + 16), PEER_IP);
    CHECK_EQUAL(ip[length], 0); /* an echo's answer */
    CHECK_EQUAL(by_the_book(ip + length, 18), 0);
    if (!hosts)
        return;
    CHECK_EQUAL(get32(ip + IP_HEADER), 0x01000004u | (uint32_t)type << 16 | (3 + 4 * hosts) << 8);
    for (uint32_t i = 0; i < hosts; i++)
        CHECK_EQUAL(get32(ip + IP_HEADER + 4 + 4 * i), i + 1 < hosts ? by[hosts - 2 - i] : FAR_IP);
}

/* RFC 1122, 3.2.1.8, 3.2.2.5 and 3.2.2.6. */
HOST_TEST(a_source_route_leads_an_answer_back_or_is_refused)
{
    begin();
    uint8_t frame[200] __attribute__((aligned(8)));
    struct random r = random_from(4, 4);
    unsigned kinds[3] = {0};
    input(frame, arp_frame(frame, 2, PEER_IP, OUR_IP));
    forget();
    for (unsigned n = 0; n < 3000; n++) {
        uint8_t options[40];
        uint32_t by[ROUTE_MOST + 1], hosts = random_below(&r, ROUTE_MOST + 1), route;
        for (uint32_t i = 0; i < hosts; i++)
            by[i] = i + 1 < hosts ? 0x0a000064u + random_below(&r, 100) : PEER_IP;
        uint32_t length = put_options(options, &r, by, hosts, &route), kind = random_below(&r, hosts ? 3 : 2);
        if (kind == 1) /* it does not fit into the header */
            options[route + 1] = (uint8_t)(length - route + 1 + random_below(&r, 100));
        if (kind == 2) /* it goes on */
            options[route + 2] = (uint8_t)(4 + 4 * random_below(&r, hosts));
        uint32_t bytes = echo_frame(frame, n, 10, length);
        uint8_t *ip = frame + ETHER_HEADER;
        memcpy(ip + IP_HEADER, options, length);
        put32(ip + 12, kind || !hosts ? PEER_IP : FAR_IP);
        put16(ip + 10, 0);
        put16(ip + 10, by_the_book(ip, IP_HEADER + length));
        now += CLOCK_HZ / 4; /* less than 20 minutes in all: the peer's address stays known */
        input(frame, bytes);
        CHECK_EQUAL(sent_count, 1);
        ip = sent[0]->m_data + ETHER_HEADER;
        if (!kind)
            goes_back(ip, options[route], by, hosts);
        else
            CHECK_EQUAL(get32(ip + IP_HEADER) >> 16, kind == 1 ? 0x0c00 : 0x0305);
        CHECK(kind != 1 || ip[IP_HEADER + 4] == IP_HEADER + route);
        kinds[kind]++;
        forget();
    }
    CHECK(kinds[0] && kinds[1] && kinds[2]);
    CHECK_EQUAL(net_counts().ip_bad, kinds[1]);
    CHECK_EQUAL(net_counts().ip_other, kinds[2]);
}

HOST_TEST(a_table_that_is_full_loses_no_packet)
{
    begin();
    uint8_t frame[1600] __attribute__((aligned(8)));
    for (uint32_t n = 0; n < 100; n++) {
        uint32_t length = echo_frame(frame, n, 4, 0);
        uint8_t *ip = frame + ETHER_HEADER;
        put32(ip + 12, PEER_IP + 9 + n);
        put16(ip + 10, 0);
        put16(ip + 10, in_cksum(ip, IP_HEADER, 0));
        input(frame, length);
        forget();
    }
    CHECK(m_in_use() <= 16);
    CHECK_EQUAL(net_counts().arp_dropped + m_in_use(), 100);
}

HOST_TEST(datagrams_wait_for_their_reader)
{
    begin();
    static struct udp_port port = {.port = 9, .queue = IFQUEUE(port.queue, "port", 3)};
    udp_bind(&port);
    uint8_t frame[100] __attribute__((aligned(8)));
    for (unsigned n = 0; n < 5; n++) {
        uint32_t length = echo_frame(frame, n, 10, 0);
        uint8_t *ip = frame + ETHER_HEADER, *udp = ip + IP_HEADER;
        ip[9] = IPPROTO_UDP;
        put16(ip + 10, 0);
        put16(ip + 10, in_cksum(ip, IP_HEADER, 0));
        put16(udp, 4000);
        put16(udp + 2, 9);
        put16(udp + 4, 18);
        put16(udp + 6, 0);
        udp[8] = (uint8_t)n;
        uint32_t sum = IPPROTO_UDP + 18;
        for (unsigned at = 12; at < 20; at += 2)
            sum += get16(ip + at);
        put16(udp + 6, in_cksum(udp, 18, sum) + (n == 1)); /* one is wrong */
        input(frame, length);
    }
    CHECK_EQUAL(net_counts().udp_bad, 1);
    CHECK_EQUAL(net_counts().udp_full, 1);
    for (unsigned n = 0; n < 4; n++) {
        if (n == 1)
            continue;
        struct mbuf *m = IF_DEQUEUE(&port.queue);
        CHECK(m);
        CHECK_EQUAL(m->m_len, 10);
        CHECK_EQUAL(m->m_data[0], n);
        m_free(m);
    }
    CHECK(!IF_DEQUEUE(&port.queue));
    for (unsigned n = 0; n < 3; n++) /* empty in between, the queue works as before */
        for (unsigned count = 0; count <= n; count++) {
            struct mbuf *m = m_get(n == 1 ? MLEN + 1 : 0, M_PROTOCOL);
            CHECK(IF_ENQUEUE(&port.queue, m));
            if (count == n)
                for (unsigned left = n + 1; left; left--)
                    m_free(IF_DEQUEUE(&port.queue));
        }
    CHECK(!IF_DEQUEUE(&port.queue));
    CHECK_EQUAL(m_in_use(), 0);
}

static void knows_peer(uint8_t *frame)
{
    begin();
    input(frame, arp_frame(frame, 1, PEER_IP, OUR_IP));
    forget();
}

/* Headers that state every length around what there is: what fits to the byte is taken, a byte more is bad. */
HOST_TEST(lengths_that_headers_state_count_to_the_byte)
{
    begin();
    static struct udp_port port = {.port = 9, .queue = IFQUEUE(port.queue, "lengths", 3)};
    udp_bind(&port);
    uint8_t frame[100] __attribute__((aligned(8)));
    uint8_t *ip = frame + ETHER_HEADER, *udp = ip + IP_HEADER;
    for (uint32_t room = 0; room <= 40; room++) /* bytes behind the header of IP */
        for (uint32_t stated = 0; stated <= room + 9; stated++) {
            echo_frame(frame, 1, 40, 0);
            ip[9] = IPPROTO_UDP;
            put16(ip + 2, IP_HEADER + room);
            put16(ip + 10, 0);
            put16(ip + 10, in_cksum(ip, IP_HEADER, 0));
            put16(udp + 2, 9);
            put16(udp + 4, stated);
            put16(udp + 6, 0); /* no checksum */
            uint32_t bad = net_counts().udp_bad;
            input(frame, ETHER_HEADER + IP_HEADER + room);
            bool good = stated >= 8 && stated <= room;
            CHECK_EQUAL(net_counts().udp_bad - bad, !good);
            struct mbuf *m = IF_DEQUEUE(&port.queue);
            CHECK_EQUAL(m != 0, good);
            if (m) {
                CHECK_EQUAL(m->m_len, stated - 8);
                m_free(m);
            }
        }
    knows_peer(frame);
    for (uint32_t bytes = 0; bytes < 3; bytes++) {
        input(frame, echo_frame(frame, bytes, bytes, 0));
        CHECK_EQUAL(sent_count, 1);
        CHECK_EQUAL(sent[0]->m_len, ETHER_HEADER + IP_HEADER + 8 + bytes);
        forget();
    }
    for (uint32_t bytes = IP_MTU - IP_HEADER - 10; bytes < IP_MTU - IP_HEADER - 5; bytes++) {
        CHECK_EQUAL(icmp_ask(PEER_IP, 1, bytes), bytes + IP_HEADER + 8 <= IP_MTU);
        CHECK_EQUAL(sent_count, bytes + IP_HEADER + 8 <= IP_MTU);
        forget();
    }
    arp_forget();
    CHECK_EQUAL(m_in_use(), 0);
}

/*
 * Good frames with some bytes changed, and random frames, of any length: mostly with the checksums corrected.
 */
HOST_TEST(frames_of_any_content_take_nothing_down_and_lose_no_buffer)
{
    begin();
    uint8_t frame[1514] __attribute__((aligned(8)));
    struct random r = random_from(7, 7);
    for (unsigned n = 0; n < FUZZ_FRAMES * host_times(); n++) {
        uint32_t length;
        switch (random_below(&r, 4)) {
        case 0: length = echo_frame(frame, n & 0xffff, random_below(&r, 200), 4 * random_below(&r, 11)); break;
        case 1: length = arp_frame(frame, 1 + random_below(&r, 2), PEER_IP + random_below(&r, 40), OUR_IP); break;
        default:
            length = ETHER_HEADER + random_below(&r, random_below(&r, 4) ? 80 : sizeof frame - ETHER_HEADER + 1);
            for (uint32_t i = 0; i < length; i++)
                frame[i] = (uint8_t)random_next(&r);
            header(frame, random_below(&r, 2) ? ETHERTYPE_IP : ETHERTYPE_ARP);
        }
        for (uint32_t wrong = random_below(&r, 4); wrong; wrong--)
            frame[ETHER_HEADER + random_below(&r, 40) % (length - ETHER_HEADER + 1) % 1500] = (uint8_t)random_next(&r);
        uint8_t *ip = frame + ETHER_HEADER;
        uint32_t words = (ip[0] & 0xf) * 4u;
        if (random_below(&r, 4) && words >= IP_HEADER && words + ETHER_HEADER <= length) {
            if (random_below(&r, 2))
                put32(ip + 16, OUR_IP);
            if (random_below(&r, 2))
                put16(ip + 2, random_below(&r, length));
            put16(ip + 10, 0);
            put16(ip + 10, in_cksum(ip, words, 0));
        }
        input(frame, length);
        forget();
        CHECK(m_in_use() <= 32); /* packets that wait for an address, or for the rest of their datagram */
    }
    struct net_counts c = net_counts();
    CHECK(c.icmp_echo && c.ip_bad && c.ip_checksum && c.arp_bad && c.arp_replies && c.ip_fragments && c.icmp_bad);
    CHECK(c.ip_fragments_bad && c.icmp_errors);
    CHECK_EQUAL(c.ip_in + c.ip_reassembled, c.ip_short + c.ip_bad + c.ip_checksum + c.ip_fragments + c.ip_other +
                                                c.ip_protocol + c.icmp_in + c.udp_in);
    CHECK_EQUAL(c.icmp_in, c.icmp_bad + c.icmp_ignored + c.icmp_echo + c.icmp_told + c.icmp_redirects);
}

/* Fragments -------------------------------------------------------------------------------------------------------- */

static struct random dice;

/* Bytes `from` to `to` of the data of a datagram, whose frame is `whole`, as a fragment with options or not. */
static void input_fragment(const uint8_t *whole, uint32_t data, uint32_t from, uint32_t to, uint32_t options)
{
    uint8_t piece[1600] __attribute__((aligned(8)));
    CHECK(to - from <= IP_PART);
    uint8_t *ip = piece + ETHER_HEADER;
    memcpy(piece, whole, ETHER_HEADER + IP_HEADER);
    memset(ip + IP_HEADER, 1, options);
    memcpy(ip + IP_HEADER + options, whole + ETHER_HEADER + IP_HEADER + from, to - from);
    ip[0] = (uint8_t)(0x45 + options / 4);
    put16(ip + 2, IP_HEADER + options + to - from);
    put16(ip + 6, (to < data ? 0x2000u : 0) | from / 8);
    put16(ip + 10, 0);
    put16(ip + 10, in_cksum(ip, IP_HEADER + options, 0));
    input(piece, ETHER_HEADER + IP_HEADER + options + to - from);
}

/* A datagram with an echo request, without options; the bytes of its data. */
static uint32_t echo_datagram(uint8_t *frame, uint32_t number, uint32_t bytes)
{
    echo_frame(frame, number & 0xffff, bytes, 0);
    put16(frame + ETHER_HEADER + 4, number);
    return 8 + bytes;
}

#define WHOLE_MOST (ETHER_HEADER + IP_MOST + 1)

/* The answer is sent whole, or in fragments in order, each as long as possible. */
static void answered_once(const uint8_t *whole, uint32_t data)
{
    static uint8_t answer[WHOLE_MOST] __attribute__((aligned(8)));
    uint32_t at = 0;
    CHECK_EQUAL(sent_count, (data + IP_PART - 1) / IP_PART);
    for (unsigned i = 0; i < sent_count; i++) {
        const uint8_t *ip = sent[i]->m_data + ETHER_HEADER;
        uint32_t n = MIN(data - at, IP_PART);
        CHECK_EQUAL(ip[0], 0x45);
        CHECK_EQUAL(get16(ip + 2), IP_HEADER + n);
        CHECK_EQUAL(get16(ip + 4), get16(whole + ETHER_HEADER + 4));
        CHECK_EQUAL(get16(ip + 6), at / 8 | (at + n < data ? 0x2000u : 0));
        CHECK_EQUAL(by_the_book(ip, IP_HEADER), 0);
        CHECK_EQUAL(get32(ip + 16), PEER_IP);
        memcpy(answer + at, ip + IP_HEADER, n);
        at += n;
    }
    CHECK(!memcmp(answer + 4, whole + ETHER_HEADER + IP_HEADER + 4, data - 4));
    CHECK_EQUAL(by_the_book(answer, data), 0);
    forget();
}

HOST_TEST(fragments_in_any_order_and_twice_are_the_datagram)
{
    static uint8_t frame[WHOLE_MOST] __attribute__((aligned(8)));
    static uint32_t cut[IP_MOST / 8 + 2], order[IP_MOST / 8 + 2];
    static const uint32_t sizes[] = {1472, 1473, 1480, 2952, 2953, IP_MOST - IP_HEADER - 8};
    knows_peer(frame);
    dice = random_from(2, 2);
    for (unsigned n = 0; n < 3000; n++) {
        uint32_t most = n % 100 ? 1472 : n % 3 ? 9000 : IP_MOST - IP_HEADER - 8;
        uint32_t data = echo_datagram(frame, n, n % 500 < 6 ? sizes[n % 500] : 1 + random_below(&dice, most)),
                 pieces = 0;
        bool usual = random_below(&dice, 2); /* as hosts of this network send them */
        cut[0] = 0;
        while (cut[pieces] < data) {
            uint32_t blocks = usual ? 185 : 1 + random_below(&dice, random_below(&dice, 2) ? 4 : 180);
            cut[pieces + 1] = MIN(cut[pieces] + 8 * blocks, data);
            pieces++;
        }
        if (pieces == 1)
            continue; /* no fragment */
        for (uint32_t i = 0; i < pieces; i++) {
            uint32_t at = random_below(&dice, i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        for (uint32_t i = 0; i < pieces; i++)
            for (uint32_t twice = i + 1 < pieces ? random_below(&dice, 2) : 0, again = 0; again <= twice; again++) {
                CHECK_EQUAL(sent_count, 0);
                uint32_t from = cut[order[i]], to = cut[order[i] + 1];
                input_fragment(frame, data, from, to, to - from < 1400 ? 4 * random_below(&dice, 11) : 0);
            }
        answered_once(frame, data);
        CHECK_EQUAL(m_in_use(), 0);
    }
}

/* Overlapping, with other bytes or another end (Teardrop, Bonk): no datagram is assembled, no buffer is lost. */
HOST_TEST(fragments_over_each_other_take_their_datagram_with_them)
{
    uint8_t frame[1600] __attribute__((aligned(8)));
    knows_peer(frame);
    dice = random_from(3, 3);
    for (unsigned n = 0; n < 3000; n++) {
        uint32_t data = echo_datagram(frame, n, 100 + random_below(&dice, 1300));
        uint32_t first = 8 * (3 + random_below(&dice, (data - 48) / 8)), before = net_counts().ip_fragments_bad;
        input_fragment(frame, data, 0, first, 0);
        switch (random_below(&dice, 4)) {
        case 0: input_fragment(frame, data, first - 8, first + 8, 0); break; /* a part of it again, and more */
        case 1: /* the same, except for a byte */
            frame[ETHER_HEADER + IP_HEADER + random_below(&dice, first)] ^= 1;
            input_fragment(frame, data, 0, first, 0);
            break;
        case 2: input_fragment(frame, first - 8, 8, first - 8, 0); break; /* it ends before what has come */
        default: /* an end in the middle */
            input_fragment(frame, data, 0, first, 0);
            input_fragment(frame, data, first, first + 8 * (1 + (data - first) / 16), 0);
            input_fragment(frame, first, 8, first, 0);
        }
        CHECK_EQUAL(net_counts().ip_fragments_bad, before + 1);
        input_fragment(frame, data, first, data, 0); /* alone it has no effect */
        CHECK_EQUAL(sent_count, 0);
        ip_forget();
        CHECK_EQUAL(m_in_use(), 0);
    }
    put16(frame + ETHER_HEADER + 4, 7);
    uint32_t data = echo_datagram(frame, 9, 1000);
    uint8_t large[1600] __attribute__((aligned(8)));
    memcpy(large, frame, sizeof large);
    uint32_t before = net_counts().ip_fragments_bad;
    for (uint32_t at = 65504; at <= 65528; at += 8) { /* of a longer datagram than there may be (Ping of Death) */
        uint8_t *ip = large + ETHER_HEADER;
        put16(ip + 2, IP_HEADER + 16);
        put16(ip + 6, at / 8);
        put16(ip + 10, 0);
        put16(ip + 10, in_cksum(ip, IP_HEADER, 0));
        input(large, ETHER_HEADER + IP_HEADER + 16);
    }
    CHECK_EQUAL(net_counts().ip_fragments_bad - before, 4);
    input_fragment(frame, data, 0, 13, 0); /* no other one can begin behind it */
    CHECK_EQUAL(net_counts().ip_fragments_bad - before, 5);
    CHECK_EQUAL(m_in_use(), 0);
    input_fragment(frame, data, 0, 496, 0);
    input_fragment(frame, data, 496, data, 0);
    answered_once(frame, data);
}

HOST_TEST(a_flood_of_fragments_costs_sixteen_buffers_for_half_a_minute)
{
    uint8_t frame[1600] __attribute__((aligned(8)));
    knows_peer(frame);
    for (unsigned n = 0; n < 10000; n++) {
        uint32_t data = echo_datagram(frame, n, 1000);
        input_fragment(frame, data, n % 2 ? 0 : 8, 504, 0);
        CHECK(m_in_use() <= 16);
        now += 1000;
    }
    CHECK_EQUAL(m_in_use(), 16);
    ip_slow();
    CHECK_EQUAL(m_in_use(), 16);
    uint8_t other[1600] __attribute__((aligned(8)));
    uint32_t data = echo_datagram(frame, 20000, 1000);
    echo_datagram(other, 20001, 1000);
    input_fragment(frame, data, 504, data, 0); /* an honest host gets through, and so does another one */
    now += 1000;
    input_fragment(other, data, 504, data, 0);
    input_fragment(frame, data, 0, 504, 0);
    answered_once(frame, data);
    input_fragment(other, data, 0, 504, 0);
    answered_once(other, data);
    now += 31ull * CLOCK_HZ;
    ip_slow();
    CHECK_EQUAL(net_counts().ip_timeouts, 10000);
    CHECK(sent_count >= 7); /* if its first fragment has come, the host gets an error (RFC 1122, 3.3.2) */
    for (unsigned i = 0; i < sent_count; i++) {
        const uint8_t *ip = sent[i]->m_data + ETHER_HEADER, *icmp = ip + IP_HEADER;
        CHECK_EQUAL(icmp[0], 11);
        CHECK_EQUAL(icmp[1], 1);
        CHECK_EQUAL(get16(ip + 2), IP_HEADER + 8 + IP_HEADER + 8);
        CHECK_EQUAL(by_the_book(icmp, get16(ip + 2) - IP_HEADER), 0);
        CHECK_EQUAL(get32(icmp + 8 + 12), PEER_IP);
    }
    forget();
    CHECK_EQUAL(m_in_use(), 0);
}

/* Fragments that fill parts of long datagrams with a few bytes take no more memory than their limit, and free it. */
HOST_TEST(a_flood_of_long_datagrams_costs_what_all_may_have)
{
    static uint8_t frame[WHOLE_MOST] __attribute__((aligned(8))), honest[WHOLE_MOST] __attribute__((aligned(8)));
    knows_peer(frame);
    dice = random_from(5, 5);
    uint32_t data = echo_datagram(frame, 1, 65000), most = 0;
    for (unsigned n = 0; n < 20000; n++, now += 1000) {
        put16(frame + ETHER_HEADER + 4, random_below(&dice, n % 3000 < 1500 ? 10 : 20));
        uint32_t at = 32 * random_below(&dice, data / 32), bytes = random_below(&dice, 1000) ? 32 : 40;
        input_fragment(frame, data, at, MIN(at + bytes, data), 0);
        most = MAX(most, m_in_use());
        CHECK(m_in_use() <= 128 + 2);
        forget();
        if (n % 1000)
            continue;
        uint32_t of = echo_datagram(honest, 30000 + n, 20000);
        for (uint32_t from = 0; from < of; from += IP_PART, now += 1000)
            input_fragment(honest, of, from, MIN(from + IP_PART, of), 0);
        answered_once(honest, of);
    }
    CHECK(most > 100);
    ip_forget();
    CHECK_EQUAL(m_in_use(), 0);
}

/* RFC 1122, 3.2.2: requests for what is absent get an error, ICMP errors and broadcasts do not; at a limited rate. */
HOST_TEST(errors_are_said_of_what_one_host_has_sent_and_not_too_often)
{
    uint8_t frame[1600] __attribute__((aligned(8)));
    knows_peer(frame);
    now += CLOCK_HZ;
    for (unsigned what = 0; what < 8; what++) {
        uint32_t length = echo_frame(frame, 1, 40, what == 7 ? 8 : 0);
        uint8_t *ip = frame + ETHER_HEADER, *udp = ip + IP_HEADER + (what == 7 ? 8 : 0);
        ip[9] = what == 1 ? 99 : IPPROTO_UDP;
        put32(ip + 16, what == 2 ? INADDR_BROADCAST : what == 3 ? 0x0a0000ffu : OUR_IP);
        put32(ip + 12, what == 4 ? 0 : what == 5 ? 0xe0000001u : what == 6 ? 0x0a0000ffu : PEER_IP);
        put16(ip + 10, 0);
        put16(ip + 10, in_cksum(ip, IP_HEADER + (what == 7 ? 8 : 0), 0));
        put16(udp, 4000);
        put16(udp + 2, 77);
        put16(udp + 4, 48);
        put16(udp + 6, 0);
        input(frame, length);
        bool told = what < 2 || what == 7;
        CHECK_EQUAL(sent_count, told);
        if (told) {
            const uint8_t *icmp = sent[0]->m_data + ETHER_HEADER + IP_HEADER;
            uint32_t quoted = what == 7 ? 36 : 28;
            CHECK_EQUAL(sent[0]->m_len, ETHER_HEADER + IP_HEADER + 8 + quoted);
            CHECK(icmp[0] == 3 && icmp[1] == (what == 1 ? 2 : 3) && !get32(icmp + 4));
            CHECK(!memcmp(icmp + 8, ip, quoted));
            CHECK_EQUAL(by_the_book(icmp, 8 + quoted), 0);
        }
        forget();
    }
    uint32_t before = net_counts().icmp_errors;
    uint32_t length = echo_frame(frame, 1, 40, 0);
    frame[ETHER_HEADER + 9] = 99;
    put16(frame + ETHER_HEADER + 10, 0);
    put16(frame + ETHER_HEADER + 10, in_cksum(frame + ETHER_HEADER, IP_HEADER, 0));
    now += CLOCK_HZ;
    for (unsigned n = 0; n < 1000; n++, forget())
        input(frame, length);
    CHECK_EQUAL(net_counts().icmp_errors - before, 20);
    now += CLOCK_HZ;
    input(frame, length);
    CHECK_EQUAL(net_counts().icmp_errors - before, 21);
    forget();
    CHECK_EQUAL(m_in_use(), 0);
}
