/*
 * The Ethernet addresses of IP addresses (RFC 826). An unanswered entry keeps the last packet that waits for the
 * answer; an entry is replaced when another address needs its place, and requested again after twenty minutes.
 *
 * Of RFC 5227: a host that probes for this host's address is answered; one that uses it gets an announcement, once in
 * ten seconds, and this host keeps the address (2.4, c). It does not probe for the address itself: a boot argument
 * gives it, and probing takes three seconds.
 *
 * Locking: arp_lock guards the table.
 */
#include <string.h>

#include "arch/csr.h"
#include "dev/clock.h"
#include "lib/minmax.h"
#include "net/in.h"
#include "net/net.h"

#define ARP_BYTES 28
#define ARP_REQUEST 1
#define ARP_REPLY 2
#define ENTRIES 16
/* Each request for an address comes at least twice as long after the last as that one did (RFC 1122, 2.3.2.1). */
#define ASK_FIRST (CLOCK_HZ / 1000u) /* cycles, all of them */
#define ASK_MOST CLOCK_HZ
#define KNOWN_FOR (1200ull * CLOCK_HZ) /* older answers are requested again */
#define DEFEND_INTERVAL (10ull * CLOCK_HZ) /* cycles */

static const uint8_t BROADCAST[ETHER_ADDRESS] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t FIXED[6] = {0, 1, 8, 0, 6, 4}; /* Ethernet, IP, and the lengths of their addresses */

DEFINE_SIMPLE_LOCK(arp_lock, "arp table", SPL_NET);
static struct entry {
    uint32_t ip; /* 0: none */
    bool known;
    uint8_t ether[ETHER_ADDRESS];
    uint64_t since; /* when it became known, or was last requested */
    uint32_t ask_interval; /* time before the next request; 0: none sent yet */
    struct mbuf *waiting;
} table[ENTRIES];
static uint16_t next_victim;
static bool asks; /* packets may wait here */
static uint64_t defend_at; /* earliest time to defend the own address again */

void arp_init(void)
{
    crit_t s = simple_lock_enter(&arp_lock);
    memset(table, 0, sizeof table); /* no packet waits: never, or since arp_forget */
    next_victim = 0;
    asks = true;
    defend_at = 0;
    simple_lock_leave(&arp_lock, s);
}

void arp_forget(void)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        crit_t s = simple_lock_enter(&arp_lock);
        asks = false;
        struct mbuf *waiting = table[i].waiting;
        table[i] = (struct entry){0};
        simple_lock_leave(&arp_lock, s);
        if (waiting) {
            NET_COUNT(arp_dropped);
            m_free(waiting);
        }
    }
}

static struct entry *arp_find(uint32_t ip)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        if (table[i].ip == ip)
            return &table[i];
    return 0;
}

/* A new entry for `ip`, which has none. */
static struct entry *arp_make(uint32_t ip, struct mbuf **dropped)
{
    struct entry *e = arp_find(0);
    if (!e)
        e = &table[next_victim++ % ENTRIES];
    *dropped = e->waiting;
    *e = (struct entry){.ip = ip};
    return e;
}

static void arp_send(uint32_t operation, const uint8_t *to, uint32_t to_ip)
{
    struct mbuf *m = m_get(IP_AT + ARP_BYTES, M_PROTOCOL);
    if (!m) {
        NET_COUNT(no_mbuf);
        return;
    }
    m->m_data += IP_AT;
    m->m_len = ARP_BYTES;
    uint8_t *p = m->m_data;
    memcpy(p, FIXED, sizeof FIXED);
    put16(p + 6, operation);
    memcpy(p + 8, net_own.ether, ETHER_ADDRESS);
    put32(p + 14, net_own.ip);
    memcpy(p + 18, operation == ARP_REPLY ? to : (const uint8_t[ETHER_ADDRESS]){0}, ETHER_ADDRESS);
    put32(p + 24, to_ip);
    ether_output(m, to, ETHERTYPE_ARP);
}

static bool arp_usable(const struct mbuf *m)
{
    const uint8_t *p = m->m_data;
    if (m->m_len < ARP_BYTES || memcmp(p, FIXED, sizeof FIXED) || p[8] & 1 ||
        !memcmp(p + 8, net_own.ether, ETHER_ADDRESS)) /* a group is no sender, and the own address is an echo */
        return false;
    uint32_t operation = get16(p + 6);
    return operation == ARP_REQUEST || (operation == ARP_REPLY && get32(p + 14));
}

void arp_announce(void)
{
    arp_send(ARP_REQUEST, BROADCAST, net_own.ip);
}

/* Another host uses this host's address. */
static void arp_conflict(void)
{
    crit_t s = simple_lock_enter(&arp_lock);
    uint64_t now = cycles64();
    bool defends = now >= defend_at;
    if (defends)
        defend_at = now + DEFEND_INTERVAL;
    simple_lock_leave(&arp_lock, s);
    NET_COUNT(arp_conflicts);
    if (defends)
        arp_announce();
}

void arp_input(struct mbuf *m)
{
    uint8_t *p = m->m_data;
    NET_COUNT(arp_in);
    if (!arp_usable(m)) {
        NET_COUNT(arp_bad);
        m_free(m);
        return;
    }
    uint32_t operation = get16(p + 6);
    uint8_t from[ETHER_ADDRESS];
    memcpy(from, p + 8, ETHER_ADDRESS);
    uint32_t from_ip = get32(p + 14), to_ip = get32(p + 24);
    m_free(m);
    if (from_ip == net_own.ip) {
        arp_conflict();
        return;
    }

    struct mbuf *waiting = 0, *dropped = 0;
    crit_t s = simple_lock_enter(&arp_lock);
    struct entry *e = from_ip ? arp_find(from_ip) : 0; /* 0: a probe */
    if (!e && from_ip && to_ip == net_own.ip)
        e = arp_make(from_ip, &dropped);
    if (e) {
        memcpy(e->ether, from, ETHER_ADDRESS);
        e->known = true;
        e->since = cycles64();
        e->ask_interval = 0;
        waiting = e->waiting;
        e->waiting = 0;
    }
    simple_lock_leave(&arp_lock, s);
    if (dropped) {
        NET_COUNT(arp_dropped);
        m_free(dropped);
    }
    if (waiting)
        ether_output(waiting, from, ETHERTYPE_IP);
    if (operation == ARP_REQUEST && to_ip == net_own.ip) {
        NET_COUNT(arp_replies);
        arp_send(ARP_REPLY, from, from_ip);
    }
}

/* Whether a request for an unknown entry is sent now. */
static bool arp_may_ask(struct entry *e)
{
    uint64_t now = cycles64();
    if (e->ask_interval && now - e->since < e->ask_interval)
        return false;
    e->since = now;
    e->ask_interval = e->ask_interval ? MIN(2 * e->ask_interval, ASK_MOST) : ASK_FIRST;
    return true;
}

void arp_resolve(struct mbuf *m, uint32_t ip)
{
    uint8_t to[ETHER_ADDRESS];
    struct mbuf *dropped = 0;
    bool ask = false;
    crit_t s = simple_lock_enter(&arp_lock);
    struct entry *e = arp_find(ip);
    if (e && e->known && cycles64() - e->since >= KNOWN_FOR)
        e->known = false;
    bool known = e && e->known;
    if (known) {
        memcpy(to, e->ether, ETHER_ADDRESS);
    } else if (!asks) {
        dropped = m;
    } else {
        if (e)
            dropped = e->waiting;
        else
            e = arp_make(ip, &dropped);
        e->waiting = m;
        ask = arp_may_ask(e);
    }
    simple_lock_leave(&arp_lock, s);
    if (dropped) {
        NET_COUNT(arp_dropped);
        m_free(dropped);
    }
    if (known) {
        ether_output(m, to, ETHERTYPE_IP);
    } else if (ask) {
        NET_COUNT(arp_requests);
        arp_send(ARP_REQUEST, BROADCAST, ip);
    }
}
