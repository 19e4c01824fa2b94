/*
 * Routes against a model: the longest prefix of a list of numbers; redirects; references; which frames leave. Sources:
 * net/mbuf.c net/net.c net/arp.c net/ip.c net/ip_reassembly.c net/icmp.c net/udp.c net/in_cksum.c net/ether_output.c
 * lock/simple_lock.c lib/printf.c net/ip_options.c. Options: ZONE_DEBUG=0
 * TCPIP_FILE="net/policy/connection.h"
 */
#include "net/route.c"

#include <stdlib.h>
#include <string.h>

#include "lib/random.h"
#include "lock/lock.h"
#include "test/host/host.h"
#include "test/host/objects.h"
#include "test/host/pools.h"
#include "test/host/peer.h"

#define STEPS 200000 /* times HOST_TIMES */
#define OTHER_GATEWAY 0x0a0000fdu

const bool if_ether_in_threads = true;
static struct random dice;
static unsigned sent;
static uint8_t frame[ETHER_HEADER + 60]; /* the beginning of the last one sent */

uint64_t cycles64(void)
{
    static uint64_t at;
    return at += 1000000;
}

void tcp_input(struct mbuf *m, uint32_t header)
{
    (void)header;
    m_free(m);
}

void tcp_told(const struct told *of)
{
    (void)of;
}

void loop_output(struct mbuf *m)
{
    m_free(m);
}

static void keep_frame(struct mbuf *m)
{
    memcpy(frame, m->m_data, m->m_len < sizeof frame ? m->m_len : sizeof frame);
    m_free(m);
    sent++;
}

static void begin(uint64_t seed)
{
    net_own = host_address;
    route_address_changed();
    if_transmit = keep_frame;
    arp_init();
    dice = random_from(seed, 3);
    peer_says_its_address();
    sent = 0;
}

static void no_route_is_left(void)
{
    arp_forget();
    CHECK_EQUAL(route_count, 0);
    CHECK_EQUAL(redirect_count, 0);
    CHECK_EQUAL(objects, 0);
}

/* The model -------------------------------------------------------------------------------------------------------- */

static struct kept_route {
    bool is, rejects;
    uint32_t to, bits, gateway;
} kept[ROUTES_MOST];

static uint32_t mask_of(uint32_t bits)
{
    return bits ? INADDR_BROADCAST << (32 - bits) : 0;
}

/* Addresses that share prefixes of all lengths, some on the interface's network. */
static uint32_t any_address(void)
{
    uint32_t spread = random_below(&dice, 33);
    uint32_t ip = random_below(&dice, 2) ? OUR_IP : 0xc0a80a05u;
    return ip ^ (spread ? (uint32_t)random_next(&dice) >> (32 - spread) : 0);
}

static uint32_t hop_of_the_model(uint32_t to)
{
    const struct kept_route *best = 0;
    for (const struct kept_route *k = kept; k < kept + ROUTES_MOST; k++)
        if (k->is && !((k->to ^ to) & mask_of(k->bits)) && (!best || k->bits > best->bits))
            best = k;
    if (!((to ^ OUR_IP) >> 8) && (!best || best->bits < 24))
        return to;
    return !best || best->rejects ? 0 : best->gateway ? best->gateway : to;
}

static void change_one(void)
{
    struct kept_route *same = 0, *empty = 0, wanted = {true, !random_below(&dice, 6), 0, random_below(&dice, 33), 0};
    wanted.to = any_address() & mask_of(wanted.bits);
    wanted.gateway = random_below(&dice, 3) ? PEER_IP : random_below(&dice, 2) ? OTHER_GATEWAY : 0;
    for (struct kept_route *k = kept; k < kept + ROUTES_MOST; k++) {
        if (k->is && k->to == wanted.to && k->bits == wanted.bits)
            same = k;
        if (!k->is)
            empty = k;
    }
    uint32_t mask = mask_of(wanted.bits);
    if (random_below(&dice, 2)) {
        int error = route_add(wanted.to, mask, wanted.gateway, wanted.rejects ? USER_RTF_REJECT : 0);
        CHECK_EQUAL(error, same ? -EEXIST : empty ? 0 : -ENOBUFS);
        if (!error)
            *empty = wanted;
    } else {
        bool right = same && (!wanted.gateway || wanted.gateway == same->gateway);
        CHECK_EQUAL(route_delete(wanted.to, mask, wanted.gateway), right ? 0 : -ESRCH);
        if (right)
            same->is = false;
    }
}

static void remove_all(void)
{
    struct route r;
    while (route_at(1, &r))
        CHECK_EQUAL(route_delete(r.to, r.mask, 0), 0);
    memset(kept, 0, sizeof kept);
}

HOST_TEST(the_longest_prefix_leads_the_way)
{
    begin(1);
    unsigned none = 0, near = 0, far = 0;
    for (unsigned n = 0; n < STEPS * host_times(); n++) {
        if (!random_below(&dice, 8))
            change_one();
        if (!random_below(&dice, 20000))
            remove_all();
        uint32_t to = any_address(), hop = hop_of_the_model(to);
        CHECK_EQUAL(route_first_hop(to), hop);
        none += !hop;
        near += hop == to;
        far += hop && hop != to;
    }
    CHECK(none && near && far);
    struct route r;
    unsigned listed = 0, is = 0;
    while (route_at(listed, &r))
        listed++;
    for (unsigned i = 0; i < ROUTES_MOST; i++)
        is += kept[i].is;
    CHECK_EQUAL(listed, is + 1); /* with the interface's own */
    CHECK(route_at(0, &r) && r.to == 0x0a000000u && r.mask == 0xffffff00u && !r.gateway);
    remove_all();
    no_route_is_left();
}

HOST_TEST(the_table_has_a_limit)
{
    begin(2);
    for (unsigned i = 0; i < ROUTES_MOST + 5; i++)
        CHECK_EQUAL(route_add(0xc0000000u + i, INADDR_BROADCAST, PEER_IP, 0), i < ROUTES_MOST ? 0 : -ENOBUFS);
    remove_all();
    no_route_is_left();
}

HOST_TEST(wrong_routes_are_refused)
{
    begin(3);
    CHECK_EQUAL(route_add(0xc0a80000u, 0xff00ff00u, PEER_IP, 0), -EINVAL);
    CHECK_EQUAL(route_add(0xc0a80001u, 0xffffff00u, PEER_IP, 0), -EINVAL);
    static const uint32_t gateways[] = {0xc0a80001u, OUR_IP, 0x0a0000ffu, 0x0a000000u, 0x7f000001u};
    for (unsigned i = 0; i < 5; i++)
        CHECK_EQUAL(route_add(0xc0a80000u, 0xffffff00u, gateways[i], 0), -ENETUNREACH);
    CHECK_EQUAL(route_delete(0, 0, 0), -ESRCH);
    no_route_is_left();
}

HOST_TEST(a_route_in_use_outlives_its_place_in_the_table)
{
    begin(4);
    CHECK_EQUAL(route_add(0, 0, PEER_IP, 0), 0);
    struct route *a = route_find(0x08080808u), *b = route_find(0x08080809u);
    CHECK(a && a == b);
    CHECK_EQUAL(route_delete(0, 0, PEER_IP), 0);
    CHECK(!route_find(0x08080808u));
    CHECK_EQUAL(a->gateway, PEER_IP);
    route_release(a);
    CHECK_EQUAL(b->gateway, PEER_IP);
    CHECK_EQUAL(objects, 1);
    route_release(b);
    no_route_is_left();
}

HOST_TEST(uses_are_counted)
{
    struct route r;
    begin(5);
    CHECK_EQUAL(route_add(0, 0, PEER_IP, 0), 0);
    for (unsigned i = 0; i < 7; i++)
        CHECK_EQUAL(route_first_hop(0x08080808u), PEER_IP);
    CHECK_EQUAL(route_first_hop(PEER_IP), PEER_IP);
    CHECK(route_at(1, &r) && r.uses == 7 && r.flags == (USER_RTF_UP | USER_RTF_GATEWAY));
    remove_all();
    no_route_is_left();
}

/* An address of the own network goes by a longer prefix, and by none when the network changes. */
HOST_TEST(a_part_of_the_own_network_may_be_elsewhere)
{
    begin(6);
    CHECK_EQUAL(route_add(0x0a000040u, 0xfffffff0u, PEER_IP, 0), 0);
    CHECK_EQUAL(route_first_hop(0x0a000041u), PEER_IP);
    CHECK_EQUAL(route_first_hop(0x0a000051u), 0x0a000051u);
    net_own.mask = 0xfffffff8u; /* the part is outside now */
    route_address_changed();
    CHECK_EQUAL(route_first_hop(0x0a000041u), PEER_IP);
    CHECK_EQUAL(route_first_hop(0x0a000051u), 0);
    net_own.mask = 0xffffff00u;
    route_address_changed();
    CHECK_EQUAL(route_first_hop(0x0a000041u), PEER_IP);
    remove_all();
    no_route_is_left();
}

/* Redirects -------------------------------------------------------------------------------------------------------- */

HOST_TEST(a_redirect_counts_from_the_first_hop_alone)
{
    struct route r;
    begin(7);
    CHECK_EQUAL(route_add(0, 0, PEER_IP, 0), 0);
    route_redirect(0x08080808u, OTHER_GATEWAY, 0x0a000005u); /* from another host */
    route_redirect(0x08080808u, 0xc0a80001u, PEER_IP); /* to a gateway of another network */
    route_redirect(0x08080808u, OUR_IP, PEER_IP);
    route_redirect(0x08080808u, PEER_IP, PEER_IP);
    route_redirect(0x0a000009u, OTHER_GATEWAY, 0x0a000009u); /* a host of this network needs none */
    route_redirect(0xe0000001u, OTHER_GATEWAY, PEER_IP);
    CHECK_EQUAL(route_count, 1);
    route_redirect(0x08080808u, OTHER_GATEWAY, PEER_IP);
    CHECK_EQUAL(route_first_hop(0x08080808u), OTHER_GATEWAY);
    CHECK_EQUAL(route_first_hop(0x08080809u), PEER_IP);
    CHECK(route_at(2, &r) && r.flags == (USER_RTF_UP | USER_RTF_GATEWAY | USER_RTF_HOST | USER_RTF_DYNAMIC));
    route_redirect(0x08080808u, 0x0a000007u, PEER_IP); /* it is not the first hop any more */
    CHECK_EQUAL(route_first_hop(0x08080808u), OTHER_GATEWAY);
    route_redirect(0x08080808u, 0x0a000007u, OTHER_GATEWAY);
    CHECK_EQUAL(route_first_hop(0x08080808u), 0x0a000007u);
    CHECK_EQUAL(redirect_count, 1);
    CHECK_EQUAL(route_add(0x08080800u, INADDR_BROADCAST, PEER_IP, 0), 0);
    route_redirect(0x08080800u, OTHER_GATEWAY, PEER_IP);
    CHECK_EQUAL(route_first_hop(0x08080800u), OTHER_GATEWAY);
    CHECK(route_at(3, &r) && r.flags == (USER_RTF_UP | USER_RTF_GATEWAY | USER_RTF_HOST | USER_RTF_MODIFIED));
    remove_all();
    no_route_is_left();
}

HOST_TEST(redirects_replace_the_oldest_and_leave_other_routes)
{
    begin(8);
    CHECK_EQUAL(route_add(0, 0, PEER_IP, 0), 0);
    for (unsigned i = 0; i < 3 * REDIRECTS_MOST; i++) {
        route_redirect(0x08080800u + i, OTHER_GATEWAY, PEER_IP);
        CHECK_EQUAL(redirect_count, i < REDIRECTS_MOST ? i + 1 : REDIRECTS_MOST);
        for (unsigned j = 0; j <= i; j++)
            CHECK_EQUAL(route_first_hop(0x08080800u + j), i - j < REDIRECTS_MOST ? OTHER_GATEWAY : PEER_IP);
    }
    for (unsigned i = 0; route_count < ROUTES_MOST; i++)
        CHECK_EQUAL(route_add(0xc0000000u + i, INADDR_BROADCAST, PEER_IP, 0), 0);
    route_redirect(0x09090909u, OTHER_GATEWAY, PEER_IP);
    CHECK_EQUAL(route_first_hop(0x09090909u), OTHER_GATEWAY);
    CHECK_EQUAL(route_count, ROUTES_MOST);
    remove_all();
    no_route_is_left();
}

/* Frames ----------------------------------------------------------------------------------------------------------- */

static void send_to(uint32_t to)
{
    struct mbuf *m = m_get(IP_AT + IP_HEADER + 8, M_PROTOCOL);
    CHECK(m);
    m->m_data += IP_AT;
    m->m_len = IP_HEADER + 8;
    memset(m->m_data, 0, m->m_len);
    m->m_data[0] = 0x45;
    m->m_data[9] = IPPROTO_UDP;
    put16(m->m_data + 2, m->m_len);
    put32(m->m_data + 12, OUR_IP);
    put32(m->m_data + 16, to);
    ip_output(m, to);
    CHECK_EQUAL(host_locks_held, 0);
}

/* A redirect for packets to `to`, by the host `from`, whose quoted packet has that source. */
static void redirect_comes(uint32_t from, uint32_t to, uint32_t gateway, uint32_t source, bool cut)
{
    struct mbuf *m = m_get(IP_AT + IP_HEADER + 8 + IP_HEADER + 8, M_FRAME);
    CHECK(m);
    m->m_data += IP_AT;
    m->m_len = IP_HEADER + 8 + (cut ? 16 : IP_HEADER + 8);
    uint8_t *ip = m->m_data, *icmp = ip + IP_HEADER, *quoted = icmp + 8;
    memset(ip - ETHER_HEADER, 0, ETHER_HEADER + IP_HEADER + 8 + IP_HEADER + 8);
    put16(ip - 2, ETHERTYPE_IP);
    ip[0] = quoted[0] = 0x45;
    put16(ip + 2, m->m_len);
    ip[9] = IPPROTO_ICMP;
    put32(ip + 12, from);
    put32(ip + 16, OUR_IP);
    put16(ip + 10, in_cksum(ip, IP_HEADER, 0));
    icmp[0] = ICMP_REDIRECT;
    icmp[1] = 1;
    put32(icmp + 4, gateway);
    put32(quoted + 12, source);
    put32(quoted + 16, to);
    put16(icmp + 2, in_cksum(icmp, m->m_len - IP_HEADER, 0));
    ip_input(m);
    CHECK_EQUAL(host_locks_held, 0);
}

HOST_TEST(what_goes_elsewhere_goes_to_the_gateway)
{
    static const uint8_t peer[] = {2, 0, 0, 0, 0, 1};
    begin(9);
    send_to(0x08080808u);
    CHECK_EQUAL(sent, 0);
    CHECK_EQUAL(net_counts().no_route, 1);
    CHECK_EQUAL(route_add(0, 0, PEER_IP, 0), 0);
    send_to(0x08080808u);
    CHECK_EQUAL(sent, 1);
    CHECK(!memcmp(frame, peer, 6));
    CHECK_EQUAL(get32(frame + ETHER_HEADER + 16), 0x08080808u);
    redirect_comes(PEER_IP, 0x08080808u, OTHER_GATEWAY, 0x0a000009u, false); /* about another host's packet */
    redirect_comes(0x0a000009u, 0x08080808u, OTHER_GATEWAY, OUR_IP, false); /* from another host */
    redirect_comes(PEER_IP, 0x08080808u, OTHER_GATEWAY, OUR_IP, true);
    send_to(0x08080808u);
    CHECK(!memcmp(frame, peer, 6));
    CHECK_EQUAL(sent, 2);
    redirect_comes(PEER_IP, 0x08080808u, OTHER_GATEWAY, OUR_IP, false);
    send_to(0x08080808u);
    CHECK_EQUAL(sent, 3); /* a request for the other gateway's address */
    CHECK_EQUAL(get16(frame + 12), ETHERTYPE_ARP);
    CHECK_EQUAL(get32(frame + ETHER_HEADER + 24), OTHER_GATEWAY);
    CHECK_EQUAL(net_counts().icmp_redirects, 2);
    remove_all();
    no_route_is_left();
}
