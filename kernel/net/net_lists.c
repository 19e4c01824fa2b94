/*
 * Lists of routes, sockets and counters for programs (net_lists.h). Sockets are described under their locks into mbufs,
 * which are copied out without a lock.
 */
#include "net/net_lists.h"

#include <errno.h>
#include <string.h>

#include "lib/minmax.h"
#include "lock/lock.h"
#include "net/datagram.h"
#include "net/in.h"
#include "net/net.h"
#include "net/route.h"
#include "net/socket.h"
#include "net/tcp.h"
#include "user/abi.h"
#include "vm/map.h"

#define OF_AN_MBUF (MCLBYTES / sizeof(struct user_socket))

DEFINE_MUTEX(sockets_lock, "list of sockets");
/* Under sockets_lock: what is wanted, and what has been described. */
static struct {
    uint32_t most, count;
    struct mbuf_list packets;
    bool is_short; /* memory is out */
} described;

static struct user_socket *described_place(void)
{
    if (described.count++ >= described.most)
        return 0;
    struct mbuf *m = STAILQ_LAST(&described.packets, mbuf, m_nextpkt);
    if (!m || m->m_len == OF_AN_MBUF * sizeof(struct user_socket)) {
        m = m_get(MCLBYTES, M_USER);
        if (!m) {
            described.is_short = true;
            return 0;
        }
        STAILQ_INSERT_TAIL(&described.packets, m, m_nextpkt);
    }
    m->m_len += sizeof(struct user_socket);
    return (struct user_socket *)(void *)(m->m_data + m->m_len) - 1;
}

static void put_ends(struct user_socket *to, const struct ends *ends)
{
    put32((uint8_t *)&to->address, ends->laddr);
    put32((uint8_t *)&to->peer, ends->faddr);
    put16((uint8_t *)&to->port, ends->lport);
    put16((uint8_t *)&to->peer_port, ends->fport);
}

static void describe_datagram(const struct ends *ends, uint32_t type, uint32_t received)
{
    struct user_socket *to = described_place();
    if (!to)
        return;
    *to = (struct user_socket){.type = type, .received = received};
    put_ends(to, ends);
}

static void describe_connection(struct inpcb *inp)
{
    struct user_socket *to = described_place();
    struct socket *so = inp->so;
    if (!to)
        return;
    *to = (struct user_socket){.type = USER_SOCK_STREAM, .state = (uint32_t)so->tcb->state};
    put_ends(to, &(struct ends){inp->laddr, inp->faddr, inp->lport, inp->fport});
    so_lock(&so->lock);
    to->received = so->rcv.cc;
    to->sent = so->snd.cc;
    so_unlock(&so->lock);
}

static void describe_connections(unsigned database, void *marker)
{
    in_pcb_each(database, marker, describe_connection);
}

static int sockets_out(struct vm_map *map, struct user_list *list)
{
    struct inpcb marker = {0};
    int error = 0;
    mutex_lock(&sockets_lock);
    described.most = list->most;
    described.count = 0;
    STAILQ_INIT(&described.packets);
    described.is_short = false;
    inet_round(describe_connections, &marker);
    datagram_each(describe_datagram);
    uint32_t to = list->to;
    for (const struct mbuf *m = STAILQ_FIRST(&described.packets); m && !error;
         to += m->m_len, m = STAILQ_NEXT(m, m_nextpkt))
        error = copyout(map, to, m->m_data, m->m_len);
    list->count = described.count;
    if (!error && described.is_short)
        error = -ENOBUFS;
    m_free_chain(STAILQ_FIRST(&described.packets));
    mutex_unlock(&sockets_lock);
    return error;
}

static int routes_out(struct vm_map *map, struct user_list *list)
{
    struct route r;
    int error = 0;
    for (list->count = 0; !error; list->count++) {
        inet_enter();
        bool is = route_at(list->count, &r);
        inet_leave();
        if (!is)
            break;
        struct user_route to = {.flags = r.flags, .uses = r.uses};
        put32((uint8_t *)&to.to, r.to);
        put32((uint8_t *)&to.mask, r.mask);
        put32((uint8_t *)&to.gateway, r.gateway);
        if (list->count < list->most)
            error = copyout(map, list->to + list->count * (uint32_t)sizeof to, &to, sizeof to);
    }
    return error;
}

static int counts_out(struct vm_map *map, struct user_list *list)
{
    struct net_counts sum = net_counts();
#define NET_COUNT_OF(name) {#name, sum.name},
    struct user_count all[] = {NET_COUNTS(NET_COUNT_OF)};
    list->count = sizeof all / sizeof *all;
    return copyout(map, list->to, all, MIN(list->most, list->count) * (uint32_t)sizeof *all);
}

int net_lists_ioctl(struct vm_map *map, uint32_t request, uint32_t at)
{
    struct user_list list;
    if (request != USER_SIOCROUTES && request != USER_SIOCSOCKETS && request != USER_SIOCNETCOUNTS)
        return -ENOTTY;
    int error = copyin(map, &list, at, sizeof list);
    if (error)
        return error;
    switch (request) {
    case USER_SIOCROUTES: error = routes_out(map, &list); break;
    case USER_SIOCSOCKETS: error = sockets_out(map, &list); break;
    default: error = counts_out(map, &list);
    }
    return error ? error : copyout(map, at, &list, sizeof list);
}
