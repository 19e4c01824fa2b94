/* Connections by their addresses (in_pcb.h). */
#include "net/in_pcb.h"

#include <errno.h>

#include "arch/csr.h"
#include "lib/bootargs.h"
#include "lib/panic.h"
#include "net/socket.h"
#include "net/tcp.h"

#define PORT_FIRST 49152u /* RFC 6335: dynamic ports */
#define PORTS 16384u

DEFINE_NET_CLASSES;

static struct list {
    struct list_mutex lock;
    LIST_HEAD(, inpcb) inpcbs;
} lists[DATABASES] = {[0 ... DATABASES - 1] = {.lock = LIST_MUTEX}};

/* The hash --------------------------------------------------------------------------------------------------------- */

static uint64_t rotated(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1], v[1] = rotated(v[1], 13) ^ v[0], v[0] = rotated(v[0], 32);
    v[2] += v[3], v[3] = rotated(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotated(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotated(v[1], 17) ^ v[2], v[2] = rotated(v[2], 32);
}

static void sip_take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

static uint64_t key[2];

/* The secret depends on what differs at each start: the seed of the run, and the time of the network's start. */
void in_pcb_start(void)
{
    key[0] = cycles64() * 0x9e3779b97f4a7c15u ^ (uint64_t)run_seed << 32;
    key[1] = bootargs_number(BOOT(kernel, net_secret)) * 0xd6e8feb86659fd93u ^ key[0] >> 7;
}

uint32_t in_pcb_hash(const struct inpcb *inp, uint32_t what)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                     key[1] ^ 0x7465646279746573u};
    sip_take(v, (uint64_t)inp->laddr << 32 | inp->faddr);
    sip_take(v, (uint64_t)what << 32 | (uint32_t)inp->lport << 16 | inp->fport);
    sip_take(v, 16ull << 56); /* the length */
    v[2] ^= 0xff;
    for (unsigned i = 0; i < 4; i++)
        sip_round(v);
    uint64_t sum = v[0] ^ v[1] ^ v[2] ^ v[3];
    return (uint32_t)(sum >> 32 ^ sum);
}

/* The lists -------------------------------------------------------------------------------------------------------- */

static struct list *list_of(const struct inpcb *inp)
{
    return &lists[inp->database];
}

/* Address 0 means any, in a bound connection and in the search for a conflict. */
static struct inpcb *found(const struct list *l, uint32_t faddr, uint32_t fport, uint32_t laddr, uint32_t lport)
{
    struct inpcb *inp;
    LIST_FOREACH(inp, &l->inpcbs, link)
        if (!inp->marker && inp->lport == lport && inp->fport == fport && inp->faddr == faddr &&
            (inp->laddr == laddr || (!inp->fport && (!inp->laddr || !laddr))))
            break;
    return inp;
}

struct inpcb *in_pcb_lookup(uint32_t faddr, uint32_t fport, uint32_t laddr, uint32_t lport)
{
    struct list *l = &lists[inet_database(lport, faddr, fport)];
    list_lock_shared(&l->lock);
    struct inpcb *inp = found(l, faddr, fport, laddr, lport);
    if (inp)
        references_add(&inp->references);
    list_unlock(&l->lock);
    return inp;
}

struct inpcb *in_pcb_listener(uint32_t laddr, uint32_t lport)
{
    return in_pcb_lookup(0, 0, laddr, lport);
}

void in_pcb_reference(struct inpcb *inp)
{
    struct list *l = list_of(inp);
    (void)l;
    references_lock(&l->lock);
    references_add(&inp->references);
    references_unlock(&l->lock);
}

void in_pcb_release(struct inpcb *inp)
{
    struct list *l = list_of(inp);
    (void)l;
    references_lock(&l->lock);
    uint32_t left = references_drop(&inp->references);
    references_unlock(&l->lock);
    if (left == UINT32_MAX)
        panic("inpcb: more references are released than there were");
    if (left)
        return;
    struct socket *so = inp->so;
    pcb_mutex_destroy(&inp->lock);
    tcp_free(tcb_of(inp));
    if (so)
        so_destroy(so);
}

static void put_first(struct list *l, struct inpcb *inp)
{
    LIST_INSERT_HEAD(&l->inpcbs, inp, link);
    inp->listed = true;
}

static void unlink(struct inpcb *inp)
{
    LIST_REMOVE(inp, link);
    inp->listed = false;
}

/*
 * Inserts it into the list of a database, unless another one there has these addresses and ports. `linked`: it already
 * has the list's reference.
 */
static bool enters(struct inpcb *inp, unsigned database, uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport,
                   bool linked)
{
    struct list *l = &lists[database];
    list_lock(&l->lock);
    struct inpcb *has = found(l, faddr, fport, laddr, lport);
    bool is_free = !has || has == inp;
    if (is_free) {
        inp->laddr = laddr;
        inp->faddr = faddr;
        inp->lport = (uint16_t)lport;
        inp->fport = (uint16_t)fport;
        inp->database = (uint8_t)database;
        if (!inp->listed) {
            put_first(l, inp);
            if (!linked)
                references_add(&inp->references);
        }
    }
    list_unlock(&l->lock);
    return is_free;
}

/*
 * A connection that moves to another database is in neither list for a moment: it is not looked up in the new one yet,
 * nor in the old one any more.
 */
int in_pcb_insert(struct inpcb *inp, uint32_t laddr, uint32_t lport, uint32_t faddr, uint32_t fport)
{
    unsigned to = inet_database(lport, faddr, fport), from = inp->database;
    bool moves = DATABASES > 1 && inp->listed && to != from;
    if (moves) {
        list_lock(&lists[from].lock);
        unlink(inp);
        list_unlock(&lists[from].lock);
    }
    if (enters(inp, to, laddr, lport, faddr, fport, moves))
        return 0;
    if (moves) {
        list_lock(&lists[from].lock);
        put_first(&lists[from], inp);
        list_unlock(&lists[from].lock);
    }
    return -EADDRINUSE;
}

static bool port_is_used(uint32_t port)
{
    bool used = false;
    for (unsigned i = 0; i < DATABASES && !used; i++) {
        list_lock_shared(&lists[i].lock);
        const struct inpcb *other;
        LIST_FOREACH(other, &lists[i].inpcbs, link)
            used |= !other->marker && other->lport == port;
        list_unlock(&lists[i].lock);
    }
    return used;
}

int in_pcb_choose_port(struct inpcb *inp)
{
    static uint32_t chosen; /* advances, so that a port is not used again soon */
    uint32_t from = in_pcb_hash(inp, 1);
    for (uint32_t i = 0; i < PORTS; i++) {
        uint32_t port = PORT_FIRST + (from + __atomic_fetch_add(&chosen, 1, __ATOMIC_RELAXED)) % PORTS;
        if (port_is_used(port))
            continue;
        inp->lport = (uint16_t)port;
        return 0;
    }
    return -EADDRNOTAVAIL;
}

void in_pcb_remove(struct inpcb *inp)
{
    struct list *l = list_of(inp);
    list_lock(&l->lock);
    inp->closing = true;
    if (inp->listed) {
        unlink(inp);
        references_drop(&inp->references); /* the caller's own remains */
    }
    list_unlock(&l->lock);
}

void in_pcb_each(unsigned database, struct inpcb *marker, void (*fn)(struct inpcb *inp))
{
    struct list *l = &lists[database];
    marker->marker = true;
    list_lock(&l->lock);
    LIST_INSERT_HEAD(&l->inpcbs, marker, link);
    for (struct inpcb *inp; (inp = LIST_NEXT(marker, link));) {
        LIST_REMOVE(marker, link);
        LIST_INSERT_AFTER(inp, marker, link);
        if (inp->marker)
            continue;
        references_add(&inp->references);
        list_unlock(&l->lock);
        pcb_lock(&inp->lock);
        if (!inp->closing)
            fn(inp);
        pcb_unlock(&inp->lock);
        in_pcb_release(inp);
        list_lock(&l->lock);
    }
    LIST_REMOVE(marker, link);
    list_unlock(&l->lock);
}
