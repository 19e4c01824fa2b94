/*
 * Fragments become datagrams again (RFC 791, 815), of up to 65,535 bytes (RFC 1122, 3.3.2). The data of a datagram lie
 * in parts of the size of this network's fragments, an mbuf with a cluster each; a fragment that is such a part is used
 * as received.
 * At most DATAGRAMS are incomplete at a time, with PARTS_MOST parts together: this bounds the memory that a flood of
 * fragments takes. If a fragment overlaps another one without being the same, its datagram is dropped, as in IPv6 (RFC
 * 5722): no honest host sends it.
 *
 * Locking: reassembly_lock guards the table.
 */
#include <string.h>

#include "arch/csr.h"
#include "dev/clock.h"
#include "lib/minmax.h"
#include "net/in.h"
#include "net/net.h"

#define DATAGRAMS 16
#define PARTS_MOST 128
#define PATIENCE (30ull * CLOCK_HZ) /* cycles of waiting for the rest of a datagram */
#define BLOCK 8                     /* bytes: the unit of offsets */
#define DATA_MOST (IP_MOST - IP_HEADER)
#define BLOCKS ((DATA_MOST + BLOCK - 1) / BLOCK)
#define PARTS ((DATA_MOST + IP_PART - 1) / IP_PART)
#define HEADERS (ETHER_HEADER + IP_HEADER)

DEFINE_SIMPLE_LOCK(reassembly_lock, "ip reassembly", SPL_NET);
static struct datagram_begun {
    bool begun;
    uint8_t header[HEADERS]; /* of the fragment at offset 0, or, until that has come, of the first received */
    struct mbuf *part[PARTS]; /* 0: nothing of it received */
    uint64_t since;
    uint32_t parts;  /* allocated */
    uint32_t end;    /* of the received data */
    uint32_t length; /* of all data; 0: last fragment not received */
    uint32_t blocks; /* received */
    uint32_t has[(BLOCKS + 31) / 32];
} datagrams_begun[DATAGRAMS];
static uint32_t parts_begun; /* of all of them */

/* A fragment: its data are `length` bytes from `offset` on. */
struct fragment {
    uint32_t offset, length;
    bool last;
    const uint8_t *data;
};

static bool is_fragment_of(const struct datagram_begun *d, const uint8_t *ip)
{
    const uint8_t *other = d->header + ETHER_HEADER;
    return d->begun && !memcmp(other + 12, ip + 12, 8) && !memcmp(other + 4, ip + 4, 2) && other[9] == ip[9];
}

static bool has_block(const struct datagram_begun *d, uint32_t block)
{
    return d->has[block / 32] >> block % 32 & 1;
}

/*
 * Drops a datagram: its parts are put before *gone, one after the other; with `told`, and if its first bytes were
 * received, the first part has its header, for an error message to its host.
 */
static void drop_datagram(struct datagram_begun *d, struct mbuf_list *gone, bool told)
{
    struct mbuf *first = told && has_block(d, 0) ? d->part[0] : 0;
    if (first) {
        first->m_data = first->m_ext + IP_AT;
        first->m_len = IP_HEADER + BLOCK;
        memcpy(first->m_data - ETHER_HEADER, d->header, HEADERS);
    }
    for (unsigned i = 0; i < PARTS; i++)
        if (d->part[i]) {
            STAILQ_INSERT_HEAD(gone, d->part[i], m_nextpkt);
            d->part[i]->m_len = d->part[i] == first ? first->m_len : 0; /* no error message for this one */
        }
    parts_begun -= d->parts;
    *d = (struct datagram_begun){0};
}

static struct datagram_begun *oldest(const struct datagram_begun *but)
{
    struct datagram_begun *best = 0;
    for (struct datagram_begun *d = datagrams_begun; d < datagrams_begun + DATAGRAMS; d++)
        if (d->begun && d != but && (!best || d->since < best->since))
            best = d;
    return best;
}

static void give_way(struct datagram_begun *d, struct mbuf_list *gone)
{
    NET_COUNT(ip_timeouts);
    drop_datagram(d, gone, false);
}

static void keep_header(struct datagram_begun *d, const struct mbuf *m)
{
    memcpy(d->header, m->m_data - ETHER_HEADER, HEADERS);
    d->header[ETHER_HEADER] = 0x45; /* without options */
}

/* Its place, or a free one, or that of the oldest datagram. */
static struct datagram_begun *place_for(const struct mbuf *m, struct mbuf_list *gone)
{
    struct datagram_begun *place = 0;
    for (struct datagram_begun *d = datagrams_begun; d < datagrams_begun + DATAGRAMS; d++) {
        if (is_fragment_of(d, m->m_data))
            return d;
        if (!d->begun)
            place = d;
    }
    if (!place) {
        place = oldest(0);
        give_way(place, gone);
    }
    place->begun = true;
    place->since = cycles64();
    keep_header(place, m);
    return place;
}

/* How many of the fragment's blocks have been received. */
static uint32_t blocks_there(const struct datagram_begun *d, const struct fragment *f)
{
    uint32_t n = 0;
    for (uint32_t block = f->offset / BLOCK; block * BLOCK < f->offset + f->length; block++)
        n += has_block(d, block);
    return n;
}

/* The bytes of a datagram from `at` on; *room: how many follow in the same part. */
static uint8_t *bytes_at(const struct datagram_begun *d, uint32_t at, uint32_t *room)
{
    *room = IP_PART - at % IP_PART;
    return d->part[at / IP_PART]->m_ext + IP_AT + IP_HEADER + at % IP_PART;
}

static bool is_the_same(const struct datagram_begun *d, const struct fragment *f)
{
    for (uint32_t done = 0, room; done < f->length; done += room) {
        const uint8_t *there = bytes_at(d, f->offset + done, &room);
        room = MIN(room, f->length - done);
        if (memcmp(there, f->data + done, room))
            return false;
    }
    return true;
}

/* Whether its packet can serve as a part. */
static bool is_part(const struct mbuf *m, const struct fragment *f)
{
    return !(f->offset % IP_PART) && m->m_ext && m->m_data == m->m_ext + IP_AT;
}

/* Uses its packet as a part if that is missing; else copies its bytes into parts, of which two may be missing. */
static struct mbuf *take_bytes(struct datagram_begun *d, struct mbuf *m, const struct fragment *f,
                               struct mbuf_list *spare)
{
    uint32_t first = f->offset / IP_PART, last = (f->offset + f->length - 1) / IP_PART;
    if (is_part(m, f) && !d->part[first]) {
        memmove(m->m_ext + IP_AT + IP_HEADER, f->data, f->length); /* no options between */
        d->part[first] = m;
        d->parts++;
        parts_begun++;
        return 0;
    }
    for (uint32_t i = first; i <= last; i++)
        if (!d->part[i]) {
            d->part[i] = STAILQ_FIRST(spare);
            STAILQ_REMOVE_HEAD(spare, m_nextpkt);
            d->parts++;
            parts_begun++;
        }
    for (uint32_t done = 0, room; done < f->length; done += room) {
        uint8_t *to = bytes_at(d, f->offset + done, &room);
        room = MIN(room, f->length - done);
        memcpy(to, f->data + done, room);
    }
    return m;
}

/* Whether the fragment is consistent with those received; `again`: all of it has been received. */
static bool fits(const struct datagram_begun *d, const struct fragment *f, bool *again)
{
    uint32_t blocks = (f->length + BLOCK - 1) / BLOCK, there = blocks_there(d, f), end = f->offset + f->length;
    *again = there;
    if (there)
        return there == blocks && (!f->last || d->length == end) && is_the_same(d, f);
    return d->length ? !f->last && end <= d->length : !f->last || end >= d->end;
}

/* Records the fragment as received. */
static void note(struct datagram_begun *d, const struct fragment *f)
{
    uint32_t end = f->offset + f->length;
    for (uint32_t block = f->offset / BLOCK; block * BLOCK < end; block++)
        d->has[block / 32] |= 1u << block % 32;
    d->blocks += (f->length + BLOCK - 1) / BLOCK;
    d->length = f->last ? end : d->length;
    d->end = MAX(d->end, end);
}

/* The complete datagram, with a header without options. */
static struct mbuf *datagram_whole(struct datagram_begun *d)
{
    struct mbuf *m = d->part[0];
    for (uint32_t i = 0; i < d->parts; i++) {
        struct mbuf *part = d->part[i];
        part->m_data = part->m_ext + IP_AT + IP_HEADER;
        part->m_len = MIN(d->length - i * IP_PART, IP_PART);
        part->m_next = i + 1 < d->parts ? d->part[i + 1] : 0;
    }
    m->m_data -= IP_HEADER;
    m->m_len += IP_HEADER;
    memcpy(m->m_data - ETHER_HEADER, d->header, HEADERS);
    put16(m->m_data + 2, IP_HEADER + d->length);
    put16(m->m_data + 6, 0);
    parts_begun -= d->parts;
    *d = (struct datagram_begun){0};
    return m;
}

static bool is_possible(const struct mbuf *m, uint32_t header, struct fragment *f)
{
    uint32_t field = get16(m->m_data + 6);
    *f = (struct fragment){(field & IP_OFFSET) * BLOCK, m->m_len - header, !(field & IP_MORE), m->m_data + header};
    return f->length && (f->last || f->length % BLOCK == 0) && f->offset + f->length <= DATA_MOST &&
           f->length <= IP_PART;
}

/* Buffers for parts that may be missing; false: out of memory. Without the lock. */
static bool get_spare(const struct mbuf *of, const struct fragment *f, struct mbuf_list *spare)
{
    uint32_t wanted = is_part(of, f) ? 0 : f->offset % IP_PART + f->length > IP_PART ? 2 : 1;
    for (; wanted; wanted--) {
        struct mbuf *m = m_get(MCLBYTES, M_FRAME);
        if (!m) {
            NET_COUNT(no_mbuf);
            return false;
        }
        STAILQ_INSERT_HEAD(spare, m, m_nextpkt);
    }
    return true;
}

/* The fragment's datagram if it is complete now; unused packets are put before *gone. With the lock held. */
static struct mbuf *reassemble(struct mbuf *m, const struct fragment *f, struct mbuf_list *spare,
                               struct mbuf_list *gone)
{
    bool again;
    struct datagram_begun *d = place_for(m, gone);
    bool good = fits(d, f, &again);
    if (!good) {
        NET_COUNT(ip_fragments_bad);
        drop_datagram(d, gone, false);
    } else if (!again) {
        if (!f->offset)
            keep_header(d, m);
        m = take_bytes(d, m, f, spare);
        note(d, f);
    }
    if (m) {
        STAILQ_INSERT_HEAD(gone, m, m_nextpkt);
        m->m_len = 0;
    }
    for (struct datagram_begun *other; good && parts_begun > PARTS_MOST && (other = oldest(d));)
        give_way(other, gone);
    return good && d->length && d->blocks == (d->length + BLOCK - 1) / BLOCK ? datagram_whole(d) : 0;
}

struct mbuf *ip_reassemble(struct mbuf *m, uint32_t header)
{
    struct fragment f;
    struct mbuf *done = 0;
    struct mbuf_list gone = STAILQ_HEAD_INITIALIZER(gone), spare = STAILQ_HEAD_INITIALIZER(spare);
    NET_COUNT(ip_fragments);
    if (!is_possible(m, header, &f)) {
        NET_COUNT(ip_fragments_bad);
        m_free(m);
        return 0;
    }
    if (get_spare(m, &f, &spare)) {
        crit_t s = simple_lock_enter(&reassembly_lock);
        done = reassemble(m, &f, &spare, &gone);
        simple_lock_leave(&reassembly_lock, s);
    } else {
        m_free(m);
    }
    if (done)
        NET_COUNT(ip_reassembled);
    m_free_chain(STAILQ_FIRST(&gone));
    m_free_chain(STAILQ_FIRST(&spare));
    return done;
}

static void reassembly_drop(bool all)
{
    struct mbuf_list gone = STAILQ_HEAD_INITIALIZER(gone);
    struct mbuf *m, *next;
    crit_t s = simple_lock_enter(&reassembly_lock);
    for (unsigned i = 0; i < DATAGRAMS; i++) {
        struct datagram_begun *d = &datagrams_begun[i];
        if (!d->begun || !(all || cycles64() - d->since >= PATIENCE))
            continue;
        NET_COUNT(ip_timeouts);
        drop_datagram(d, &gone, !all);
    }
    simple_lock_leave(&reassembly_lock, s);
    STAILQ_FOREACH_SAFE(m, &gone, m_nextpkt, next) {
        if (m->m_len)
            icmp_error(m, ICMP_TIME_EXCEEDED, 1);
        else
            m_free(m);
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
