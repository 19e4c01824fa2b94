/*
 * Fragments become datagrams again (RFC 791, 815). A datagram is put together in one mbuf, so it has at most the bytes
 * that an interface may send (RFC 1122, 3.3.2), and at most DATAGRAMS of them are begun: a flood of fragments costs
 * the memory of those. A fragment that overlaps another one and is not the same takes its datagram with it, as in IPv6
 * (RFC 5722): no honest host sends it.
 *
 * Locking: reassembly_lock guards the table.
 */
#include <string.h>

#include "arch/csr.h"
#include "dev/clock.h"
#include "net/in.h"
#include "net/net.h"

#define DATAGRAMS 16
#define PATIENCE (30ull * CLOCK_HZ) /* cycles that the rest of a datagram is waited for */
#define BLOCK 8                     /* bytes: what offsets count */
#define DATA_MOST (IP_MTU - IP_HEADER)
#define BLOCKS ((DATA_MOST + BLOCK - 1) / BLOCK)
#define MORE 0x2000u
#define OFFSET 0x1fffu

DEFINE_SIMPLE_LOCK(reassembly_lock, "ip reassembly", SPL_NET);
static struct datagram_begun {
    struct mbuf *m; /* 0: none. Its header is that of the first fragment that came, the data are where they belong */
    uint64_t since;
    uint32_t length; /* of all data; 0: the last fragment has not come */
    uint32_t blocks; /* that have come */
    uint32_t has[(BLOCKS + 31) / 32];
} datagrams_begun[DATAGRAMS];

/* A fragment: its data are `length` bytes from `offset` on. */
struct fragment {
    uint32_t offset, length;
    bool last;
};

static bool is_fragment_of(const struct datagram_begun *d, const uint8_t *ip)
{
    const uint8_t *other = d->m ? d->m->m_data : 0;
    return other && !memcmp(other + 12, ip + 12, 8) && !memcmp(other + 4, ip + 4, 2) && other[9] == ip[9];
}

/* Its place, or a free one, or the one that has waited longest; what has to be freed is put before *gone. */
static struct datagram_begun *place_for(const uint8_t *ip, struct mbuf **gone)
{
    struct datagram_begun *best = &datagrams_begun[0];
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        struct datagram_begun *d = &datagrams_begun[i];
        if (is_fragment_of(d, ip))
            return d;
        if (best->m && (!d->m || d->since < best->since))
            best = d;
    }
    if (best->m) {
        NET_COUNT(ip_timeouts);
        best->m->m_nextpkt = *gone;
        *gone = best->m;
    }
    *best = (struct datagram_begun){.since = cycles64()};
    return best;
}

static bool has_block(const struct datagram_begun *d, uint32_t block)
{
    return d->has[block / 32] >> block % 32 & 1;
}

/* How many of the fragment's blocks are there. */
static uint32_t blocks_there(const struct datagram_begun *d, const struct fragment *f)
{
    uint32_t n = 0;
    for (uint32_t block = f->offset / BLOCK; block * BLOCK < f->offset + f->length; block++)
        n += has_block(d, block);
    return n;
}

/* Whether the fragment goes with those that are there; its bytes are then. */
static bool fits(struct datagram_begun *d, const struct fragment *f, const uint8_t *data)
{
    uint8_t *to = d->m->m_data + IP_HEADER + f->offset;
    uint32_t blocks = (f->length + BLOCK - 1) / BLOCK, there = blocks_there(d, f), end = f->offset + f->length;
    if (there)
        return there == blocks && (!f->last || d->length == end) && !memcmp(to, data, f->length);
    if (d->length ? f->last || end > d->length : f->last && end < d->m->m_len)
        return false;
    for (uint32_t block = f->offset / BLOCK; block * BLOCK < end; block++)
        d->has[block / 32] |= 1u << block % 32;
    d->blocks += blocks;
    if (f->last)
        d->length = end;
    if (end > d->m->m_len)
        d->m->m_len = end; /* the end of what has come, until it is whole */
    memmove(to, data, f->length);
    return true;
}

/* The first fragment's header is the datagram's, without options. */
static void begin_datagram(struct datagram_begun *d, struct mbuf *m, uint32_t header, const struct fragment *f)
{
    d->m = m;
    memmove(m->m_data + IP_HEADER + f->offset, m->m_data + header, f->length);
    m->m_data[0] = 0x45;
    m->m_len = 0;
}

static struct mbuf *datagram_whole(struct datagram_begun *d)
{
    struct mbuf *m = d->m;
    d->m = 0;
    m->m_len = IP_HEADER + d->length;
    put16(m->m_data + 2, m->m_len);
    put16(m->m_data + 6, 0);
    return m;
}

static bool is_possible(const struct mbuf *m, uint32_t header, struct fragment *f)
{
    uint32_t field = get16(m->m_data + 6);
    *f = (struct fragment){(field & OFFSET) * BLOCK, m->m_len - header, !(field & MORE)};
    return f->length && (f->last || f->length % BLOCK == 0) && f->offset + f->length <= DATA_MOST &&
           m->m_data - m->m_buf + IP_MTU <= MBUF_BYTES;
}

struct mbuf *ip_reassemble(struct mbuf *m, uint32_t header)
{
    struct fragment f;
    struct mbuf *done = 0, *gone = 0;
    NET_COUNT(ip_fragments);
    if (!is_possible(m, header, &f)) {
        NET_COUNT(ip_fragments_bad);
        m_free(m);
        return 0;
    }
    crit_t s = simple_lock_enter(&reassembly_lock);
    struct datagram_begun *d = place_for(m->m_data, &gone);
    const uint8_t *data = m->m_data + header;
    bool first = !d->m;
    if (first) {
        begin_datagram(d, m, header, &f);
        data = m->m_data + IP_HEADER + f.offset;
    }
    bool good = fits(d, &f, data);
    if (good && d->length && d->blocks == (d->length + BLOCK - 1) / BLOCK)
        done = datagram_whole(d);
    if (!good) {
        d->m->m_nextpkt = gone;
        gone = d->m;
        d->m = 0;
    }
    simple_lock_leave(&reassembly_lock, s);
    if (done)
        NET_COUNT(ip_reassembled);
    if (!good)
        NET_COUNT(ip_fragments_bad);
    if (!first)
        m_free(m);
    m_free_chain(gone);
    return done;
}

static void reassembly_drop(bool all)
{
    struct mbuf *gone = 0;
    crit_t s = simple_lock_enter(&reassembly_lock);
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        struct datagram_begun *d = &datagrams_begun[i];
        if (!d->m || !(all || cycles64() - d->since >= PATIENCE))
            continue;
        NET_COUNT(ip_timeouts);
        d->m->m_nextpkt = gone;
        gone = d->m;
        if (!has_block(d, 0))
            d->m->m_data[9] = 0; /* nobody is told: what it would have to quote has not come */
        d->m = 0;
    }
    simple_lock_leave(&reassembly_lock, s);
    for (struct mbuf *next; gone; gone = next) {
        next = gone->m_nextpkt;
        gone->m_len = IP_HEADER + BLOCK;
        if (all || !gone->m_data[9])
            m_free(gone);
        else
            icmp_error(gone, ICMP_TIME_EXCEEDED, 1);
    }
}

void ip_slow(void)
{
    reassembly_drop(false);
}

void ip_forget(void)
{
    reassembly_drop(true);
}
