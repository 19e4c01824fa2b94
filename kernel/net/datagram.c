/* Datagram sockets (datagram.h). */
#include "net/datagram.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "lib/minmax.h"
#include "lock/simple_lock.h"
#include "mem/zone.h"
#include "net/if_ioctl.h"
#include "net/in.h"
#include "net/in_pcb.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/policy.h"
#include "net/route.h"
#include "net/waiting.h"
#include "sched/sched.h"

#define UDP_HEADER 8
#define DATAGRAM_MOST (IP_MOST - IP_HEADER - UDP_HEADER)
#define RECEIVE_BUFFER (32u * (MSIZE + MCLBYTES)) /* of memory: a datagram takes whole mbufs and clusters */
#define RECEIVE_LEAST (2u * (MSIZE + MCLBYTES))
#define RECEIVE_MOST (128u * (MSIZE + MCLBYTES))
#define PORT_FIRST 49152u /* RFC 6335: dynamic ports */
#define PORTS 16384u
#define TTL 64 /* unless IP_TTL says another */
#define TTL_MOST 255
#define SENDER_BYTES 8 /* right before the data of a queued packet */

struct datagram {
    LIST_ENTRY(datagram) link; /* of all */
    struct simple_lock lock;
    struct ends ends;
    uint32_t bound; /* ends.laddr while it is not connected */
    struct mbuf_list queue;
    uint32_t waiting, waiting_most; /* bytes of memory */
    bool receive_shut, send_shut, reuse_address, broadcast; /* the last: it may send to all hosts */
    bool raw; /* a raw socket of ICMP: its ports are IPPROTO_ICMP, the foreign one if it is connected */
    uint8_t ttl;
    int error; /* about what a connected socket has sent, reported once */
    struct so_limits limits;
};

static SIMPLE_LOCK_CLASS(list_class, "datagram list", SPL_SOFTCLOCK); /* under it, the next */
static SIMPLE_LOCK_CLASS(datagram_class, "datagram", SPL_SOFTCLOCK); /* waiting.h */
static struct simple_lock list_lock_of_datagrams = SIMPLE_LOCK("datagram list", list_class);
static LIST_HEAD(datagram_list, datagram) datagrams, raws;
DEFINE_ZONE(datagram_zone, "datagram", sizeof(struct datagram), _Alignof(struct datagram), SPL_SOFTPREEMPT, 0);

static struct datagram *create_in(struct datagram_list *list)
{
    struct datagram *d = zone_alloc(&datagram_zone);
    if (!d)
        return 0;
    *d = (struct datagram){.lock = SIMPLE_LOCK("datagram", datagram_class),
                           .waiting_most = RECEIVE_BUFFER,
                           .ttl = TTL,
                           .raw = list == &raws};
    STAILQ_INIT(&d->queue);
    if (d->raw)
        d->ends.lport = IPPROTO_ICMP;
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    LIST_INSERT_HEAD(list, d, link);
    simple_lock_leave(&list_lock_of_datagrams, s);
    return d;
}

struct datagram *datagram_create(void)
{
    return create_in(&datagrams);
}

struct datagram *datagram_create_raw(void)
{
    return create_in(&raws);
}

void datagram_destroy(struct datagram *d)
{
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    LIST_REMOVE(d, link);
    simple_lock_leave(&list_lock_of_datagrams, s);
    m_free_chain(STAILQ_FIRST(&d->queue)); /* it cannot be found any more */
    simple_lock_destroy(&d->lock);
    zone_free(&datagram_zone, d);
}

static void datagram_close(struct file *f)
{
    datagram_destroy(f->data);
}

/* Addresses -------------------------------------------------------------------------------------------------------- */

/* Whether another socket has the port for this address, or for any. With the list's lock held. */
static bool is_used(const struct datagram *d, uint32_t laddr, uint32_t lport)
{
    const struct datagram *other;
    LIST_FOREACH(other, &datagrams, link)
        if (other != d && other->ends.lport == lport && (!laddr || !other->ends.laddr || other->ends.laddr == laddr) &&
            (!d->reuse_address || !other->reuse_address))
            return true;
    return false;
}

/* A free port, in an unpredictable order (RFC 6056). With the list's lock held. */
static uint32_t free_port(const struct datagram *d, uint32_t faddr, uint32_t fport)
{
    static uint32_t chosen;
    uint32_t from = in_pcb_hash(&(struct inpcb){.laddr = net_own.ip, .faddr = faddr, .fport = (uint16_t)fport}, 2);
    for (uint32_t i = 0; i < PORTS; i++) {
        uint32_t port = PORT_FIRST + (from + chosen++) % PORTS;
        if (!is_used(d, 0, port))
            return port;
    }
    return 0;
}

int datagram_bind(struct datagram *d, uint32_t laddr, uint32_t lport)
{
    int error = 0;
    if (laddr && !loop_has(laddr))
        return -EADDRNOTAVAIL;
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    if (d->raw)
        lport = IPPROTO_ICMP;
    else if (d->ends.lport)
        error = -EINVAL;
    else if (lport && is_used(d, laddr, lport))
        error = -EADDRINUSE;
    else if (!lport && !(lport = free_port(d, 0, 0)))
        error = -EADDRNOTAVAIL;
    if (!error) {
        d->ends.laddr = d->bound = laddr;
        d->ends.lport = lport;
    }
    simple_lock_leave(&list_lock_of_datagrams, s);
    return error;
}

/* Whether there is a route. Without a lock held. */
static bool has_route(uint32_t faddr)
{
    if ((faddr & net_own.mask) == (net_own.ip & net_own.mask))
        return true;
    inet_enter();
    bool has = route_first_hop(faddr);
    inet_leave();
    return has;
}

/* Valid destinations: a host that a route leads to, all of this network if `to_all`, or this host. */
static int datagram_reaches(uint32_t faddr, uint32_t fport, bool to_all)
{
    if (!faddr || !fport)
        return -EINVAL;
    if (loop_has(faddr))
        return 0;
    if (ip_is_all(faddr))
        return to_all ? 0 : -EACCES; /* without SO_BROADCAST */
    return has_route(faddr) ? 0 : -ENETUNREACH;
}

/* The source address of a datagram to `faddr`. */
static uint32_t own_address_to(uint32_t faddr)
{
    return faddr >> 24 == LOOPBACK_NET ? faddr : net_own.ip;
}

/* Chooses its own port, if it has none, and the ends of a datagram to an address. */
static int ends_to(struct datagram *d, uint32_t faddr, uint32_t fport, struct ends *ends)
{
    if (d->raw)
        fport = IPPROTO_ICMP;
    int error = faddr ? datagram_reaches(faddr, fport, d->broadcast) : 0;
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    *ends = d->ends;
    if (faddr) {
        ends->faddr = faddr;
        ends->fport = fport;
    } else if (!ends->fport) {
        error = -EDESTADDRREQ;
    }
    if (!error && d->send_shut)
        error = -EPIPE;
    if (!error && !d->ends.lport && !(d->ends.lport = free_port(d, ends->faddr, ends->fport)))
        error = -EADDRNOTAVAIL;
    ends->lport = d->ends.lport;
    if (!ends->laddr)
        ends->laddr = own_address_to(ends->faddr);
    simple_lock_leave(&list_lock_of_datagrams, s);
    return error;
}

int datagram_connect(struct datagram *d, uint32_t faddr, uint32_t fport)
{
    struct ends ends = {0};
    if (!faddr && fport && !d->raw)
        return -EACCES;
    int error = faddr ? ends_to(d, faddr, fport, &ends) : 0;
    if (error)
        return error;
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    d->ends.faddr = ends.faddr;
    d->ends.fport = ends.fport;
    d->ends.laddr = d->bound || !faddr ? d->bound : own_address_to(faddr);
    simple_lock_leave(&list_lock_of_datagrams, s);
    return 0;
}

struct ends datagram_ends(struct datagram *d)
{
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    struct ends ends = d->ends;
    simple_lock_leave(&list_lock_of_datagrams, s);
    return ends;
}

static void each_of(const struct datagram_list *list, void (*fn)(const struct ends *, uint32_t, uint32_t))
{
    struct datagram *d;
    LIST_FOREACH(d, list, link) {
        simple_lock(&d->lock);
        fn(&d->ends, d->raw ? USER_SOCK_RAW : USER_SOCK_DGRAM, d->waiting);
        simple_unlock(&d->lock);
    }
}

void datagram_each(void (*fn)(const struct ends *ends, uint32_t type, uint32_t received))
{
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    each_of(&datagrams, fn);
    each_of(&raws, fn);
    simple_lock_leave(&list_lock_of_datagrams, s);
}

/* Receiving -------------------------------------------------------------------------------------------------------- */

static bool datagram_fits(const struct ends *e, const struct ends *of)
{
    return e->lport == of->lport && (!e->laddr || e->laddr == of->laddr) &&
           (!e->fport || (e->fport == of->fport && e->faddr == of->faddr));
}

static struct datagram *receiver(const struct ends *of)
{
    struct datagram *best = 0, *d;
    unsigned best_fits = 0;
    LIST_FOREACH(d, &datagrams, link) {
        const struct ends *e = &d->ends;
        if (!datagram_fits(e, of))
            continue;
        unsigned fits = 1 + !!e->laddr + 2 * !!e->fport;
        if (fits > best_fits) {
            best = d;
            best_fits = fits;
        }
    }
    return best;
}

/* Writes the sender's address over a header; it stays right before the data until these are read. */
static void put_sender(struct mbuf *m, const struct ends *of)
{
    put32(m->m_data - SENDER_BYTES, of->faddr);
    put16(m->m_data - SENDER_BYTES + 4, of->fport);
}

/* Appends it to the socket's queue, if that has room. With the list's lock held. */
static bool datagram_queue(struct datagram *d, struct mbuf *m, const struct ends *of)
{
    simple_lock(&d->lock);
    uint32_t more = m_packet_memory(m);
    bool takes = !d->receive_shut &&
                 (STAILQ_EMPTY(&d->queue) || d->waiting + more <= d->waiting_most); /* the first: any length */
    if (takes) {
        put_sender(m, of);
        STAILQ_INSERT_TAIL(&d->queue, m, m_nextpkt);
        d->waiting += more;
        thread_wakeup(&d->queue);
    }
    simple_unlock(&d->lock);
    return takes;
}

/* Queues a datagram to all hosts in all sockets, as copies; in `last` the caller's. With the list's lock held. */
static bool datagram_queue_all(struct mbuf *m, const struct ends *of, struct datagram *last)
{
    for (struct datagram *d = LIST_FIRST(&datagrams); d != last; d = LIST_NEXT(d, link)) {
        struct mbuf *copy = datagram_fits(&d->ends, of) ? m_copy(m) : 0;
        if (copy && !datagram_queue(d, copy, of))
            m_free(copy);
    }
    return datagram_queue(last, m, of);
}

static bool to_socket(struct mbuf *m, uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport)
{
    struct ends of = {laddr, faddr, lport, fport};
    bool takes = false, to_all = ip_is_all(laddr);
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    struct datagram *d = receiver(&of);
    for (struct datagram *next = d; to_all && next; next = LIST_NEXT(next, link))
        d = datagram_fits(&next->ends, &of) ? next : d;
    if (d)
        takes = to_all ? datagram_queue_all(m, &of, d) : datagram_queue(d, m, &of);
    simple_lock_leave(&list_lock_of_datagrams, s);
    if (!d)
        return false;
    if (!takes) {
        NET_COUNT(udp_full);
        m_free(m);
    }
    if (takes || to_all)
        poll_wakeup();
    return true;
}

/* An ICMP message, with its IP header: a copy for each raw socket that it fits. */
static void datagram_icmp(const struct mbuf *m)
{
    struct ends of = {get32(m->m_data + 16), get32(m->m_data + 12), IPPROTO_ICMP, IPPROTO_ICMP};
    struct datagram *d;
    bool taken = false;
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    LIST_FOREACH(d, &raws, link) {
        if (!datagram_fits(&d->ends, &of))
            continue;
        struct mbuf *copy = m_copy(m);
        bool takes = copy && datagram_queue(d, copy, &of);
        taken |= takes;
        if (!takes) {
            NET_COUNT(raw_full);
            m_free(copy);
        }
    }
    simple_lock_leave(&list_lock_of_datagrams, s);
    if (taken)
        poll_wakeup();
}

/* An ICMP error, for the socket that is connected there. */
static void datagram_told(const struct told *of)
{
    uint32_t lport = get16(of->header), fport = get16(of->header + 2);
    crit_t s = simple_lock_enter(&list_lock_of_datagrams);
    struct datagram *d = receiver(&(struct ends){of->laddr, of->faddr, lport, fport});
    if (d && d->ends.fport) {
        simple_lock(&d->lock);
        d->error = of->error;
        thread_wakeup(&d->queue);
        simple_unlock(&d->lock);
    }
    simple_lock_leave(&list_lock_of_datagrams, s);
    poll_wakeup();
}

static int datagram_taken_error(struct datagram *d)
{
    crit_t s = simple_lock_enter(&d->lock);
    int error = d->error;
    d->error = 0;
    simple_lock_leave(&d->lock, s);
    return error;
}

void datagram_start(void)
{
    udp_to_socket = to_socket;
    udp_told = datagram_told;
    icmp_to_raw = datagram_icmp;
}

int datagram_shut(struct datagram *d, bool receive, bool send)
{
    if (!datagram_ends(d).fport)
        return -ENOTCONN;
    crit_t s = simple_lock_enter(&d->lock);
    d->receive_shut |= receive;
    d->send_shut |= send;
    thread_wakeup(&d->queue);
    simple_lock_leave(&d->lock, s);
    poll_wakeup();
    return 0;
}

/* The first one, or 0 and the error: none if receiving has been shut down. With the lock held. */
static struct mbuf *datagram_there_is(struct datagram *d, struct waiting *w, int *error)
{
    *error = 0;
    while (STAILQ_EMPTY(&d->queue) && !d->receive_shut && !*error) {
        if (d->error) {
            *error = d->error;
            d->error = 0;
        } else {
            *error = waiting_sleep(w);
        }
    }
    return STAILQ_FIRST(&d->queue); /* even after a signal */
}

static struct mbuf *take_first(struct datagram *d)
{
    struct mbuf *m = STAILQ_FIRST(&d->queue);
    STAILQ_REMOVE_HEAD(&d->queue, m_nextpkt);
    d->waiting -= m_packet_memory(m);
    return m;
}

static void datagram_put_back(struct datagram *d, struct mbuf *m)
{
    crit_t s = simple_lock_enter(&d->lock);
    STAILQ_INSERT_HEAD(&d->queue, m, m_nextpkt);
    d->waiting += m_packet_memory(m);
    thread_wakeup(&d->queue);
    simple_lock_leave(&d->lock, s);
    poll_wakeup();
}

int datagram_receive(struct datagram *d, struct transfer *t, struct ends *from, bool waits, bool peek)
{
    int error;
    struct waiting w;
    waiting_begin(&w, waits, d->limits.receive, &d->queue, &d->lock);
    crit_t s = simple_lock_enter(&d->lock);
    struct mbuf *m = datagram_there_is(d, &w, &error);
    if (m)
        take_first(d);
    simple_lock_leave(&d->lock, s);
    waiting_end(&w);
    if (!m)
        return error;
    uint32_t n = 0;
    *from = (struct ends){.faddr = get32(m->m_data - SENDER_BYTES), .fport = get16(m->m_data - SENDER_BYTES + 4)};
    error = 0;
    for (const struct mbuf *part = m; part && t->left && !error; part = part->m_next) {
        uint32_t some = MIN(part->m_len, t->left);
        error = transfer_out(t, part->m_data, some);
        n += some;
    }
    if (peek || error)
        datagram_put_back(d, m);
    else
        m_free(m);
    return error ? error : (int)n;
}

/* Sending ---------------------------------------------------------------------------------------------------------- */

/* Copies the whole piece, with room for headers, into an mbuf for each fragment; 0: the error is in *error. */
static struct mbuf *datagram_taken_in(struct transfer *t, uint32_t header, int *error)
{
    struct mbuf *m = 0, **end = &m;
    *error = 0;
    for (; !m || (t->left && !*error); header = 0) {
        uint32_t bytes = MIN(t->left, IP_PART - header);
        struct mbuf *part = *end = m_get(IP_AT + IP_HEADER + header + bytes, M_USER);
        if (!part) {
            NET_COUNT(no_mbuf);
            *error = -ENOBUFS;
            break;
        }
        end = &part->m_next;
        part->m_data += IP_AT + IP_HEADER + header;
        part->m_len = bytes;
        *error = transfer_in(t, part->m_data, part->m_len);
    }
    if (!*error)
        return m;
    m_free(m);
    return 0;
}

/* The header of UDP and its checksum; the packet's IP header has the addresses. */
static void put_udp(struct mbuf *m, const struct ends *ends, uint32_t length)
{
    uint8_t *ip = m->m_data, *udp = ip + IP_HEADER;
    put16(udp, ends->lport);
    put16(udp + 2, ends->fport);
    put16(udp + 4, length);
    put16(udp + 6, 0);
    uint32_t sum = in_cksum_packet(m, IP_HEADER, in_pseudo_sum(ip, IPPROTO_UDP, length));
    put16(udp + 6, sum ? sum : 0xffff); /* 0 would mean no checksum */
    NET_COUNT(udp_out);
}

int datagram_send(struct datagram *d, struct transfer *t, uint32_t faddr, uint32_t fport)
{
    static uint32_t identification;
    struct ends ends;
    uint32_t n = t->left, header = d->raw ? 0 : UDP_HEADER;
    int error = datagram_taken_error(d);
    if (!error)
        error = n > IP_MOST - IP_HEADER - header ? -EMSGSIZE : ends_to(d, faddr, fport, &ends);
    if (error)
        return error;
    struct mbuf *m = datagram_taken_in(t, header, &error);
    if (!m)
        return error;
    m->m_data -= IP_HEADER + header;
    m->m_len += IP_HEADER + header;
    uint8_t *ip = m->m_data;
    memset(ip, 0, IP_HEADER);
    ip[0] = 0x45;
    put16(ip + 2, IP_HEADER + header + n);
    put16(ip + 4, __atomic_fetch_add(&identification, 1, __ATOMIC_RELAXED));
    ip[8] = d->ttl;
    ip[9] = d->raw ? IPPROTO_ICMP : IPPROTO_UDP;
    put32(ip + 12, ends.laddr);
    put32(ip + 16, ends.faddr);
    if (!d->raw)
        put_udp(m, &ends, header + n);
    inet_enter();
    ip_output(m, ends.faddr);
    inet_leave();
    return (int)n;
}

/* Operations of descriptors ---------------------------------------------------------------------------------------- */

static int datagram_read(struct file *f, struct transfer *t)
{
    struct ends from;
    if (t->has_some)
        return -EAGAIN; /* one datagram for a call */
    return datagram_receive(f->data, t, &from, !(f->flags & O_NONBLOCK), false);
}

static int datagram_write(struct file *f, struct transfer *t)
{
    return datagram_send(f->data, t, 0, 0);
}

static int datagram_number(int *value, bool set, int is)
{
    if (set)
        return -ENOPROTOOPT;
    *value = is;
    return 0;
}

static int datagram_flag(bool *kept, int *value, bool set)
{
    if (set)
        *kept = *value;
    else
        *value = *kept;
    return 0;
}

/* -1: the default. */
static int datagram_ttl(struct datagram *d, int *value, bool set)
{
    if (set && (!*value || *value < -1 || *value > TTL_MOST))
        return -EINVAL;
    if (set)
        d->ttl = (uint8_t)(*value < 0 ? TTL : *value);
    else
        *value = d->ttl;
    return 0;
}

int datagram_option(struct datagram *d, uint32_t level, uint32_t name, void *value, bool set)
{
    crit_t s;
    int *number = value, error;
    if (level == IPPROTO_IP && name == USER_IP_TTL)
        return datagram_ttl(d, value, set);
    if (level != USER_SOL_SOCKET)
        return -ENOPROTOOPT;
    switch (name) {
    case USER_SO_TYPE: return datagram_number(value, set, d->raw ? USER_SOCK_RAW : USER_SOCK_DGRAM);
    case USER_SO_ACCEPTCONN: return datagram_number(value, set, 0);
    case USER_SO_ERROR: return datagram_number(value, set, set ? 0 : -datagram_taken_error(d));
    case USER_SO_SNDBUF: return datagram_number(value, set, DATAGRAM_MOST);
    case USER_SO_REUSEADDR: return datagram_flag(&d->reuse_address, value, set);
    case USER_SO_BROADCAST: return datagram_flag(&d->broadcast, value, set);
    case USER_SO_RCVBUF:
        if (set && *number < 1)
            return -EINVAL;
        s = simple_lock_enter(&d->lock);
        if (set) /* queued datagrams stay */
            d->waiting_most = MAX(MAX(MIN((uint32_t)*number, RECEIVE_MOST), RECEIVE_LEAST), d->waiting);
        else
            *number = (int)d->waiting_most;
        simple_lock_leave(&d->lock, s);
        return 0;
    default:
        s = simple_lock_enter(&d->lock);
        error = so_limits_option(&d->limits, name, value, set);
        simple_lock_leave(&d->lock, s);
        return error;
    }
}

static int datagram_ioctl(struct file *f, struct vm_map *map, uint32_t request, uint32_t argument)
{
    struct datagram *d = f->data;
    if (request != USER_FIONREAD)
        return if_ioctl(map, request, argument);
    crit_t s = simple_lock_enter(&d->lock);
    int n = (int)m_packet_length(STAILQ_FIRST(&d->queue));
    simple_lock_leave(&d->lock, s);
    return copyout(map, argument, &n, sizeof n);
}

static int datagram_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    *to = (struct user_stat){.mode = S_IFSOCK | 0600, .nlink = 1, .blksize = DATAGRAM_MOST};
    return 0;
}

static int datagram_poll(struct file *f, int events)
{
    struct datagram *d = f->data;
    crit_t s = simple_lock_enter(&d->lock);
    int is = USER_POLLOUT | (!STAILQ_EMPTY(&d->queue) || d->receive_shut || d->error ? USER_POLLIN : 0);
    is |= d->error ? USER_POLLERR : 0;
    simple_lock_leave(&d->lock, s);
    return is & (events | USER_POLLERR);
}

const struct file_ops datagram_ops = {.name = "datagram socket",
                                      .read = datagram_read,
                                      .write = datagram_write,
                                      .close = datagram_close,
                                      .ioctl = datagram_ioctl,
                                      .stat = datagram_stat,
                                      .poll = datagram_poll};
