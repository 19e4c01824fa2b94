/*
 * Calls of the client, and their answers (client.h). A call without an answer is sent again, each time after twice as
 * long, beginning with the time that answers take (RFC 6298, with Karn's rule: a repeated call is not measured). One
 * thread of the mount receives answers, and finds the call by its number.
 *
 * At first signals do not interrupt a waiting thread; after NFS_PATIENCE tries without an answer they
 * do.
 */
#include <errno.h>

#include "arch/csr.h"
#include "lib/minmax.h"
#include "mem/page.h"
#include "mem/zone.h"
#include "net/datagram.h"
#include "net/in_pcb.h"
#include "net/net.h"
#include "nfs/client.h"
#include "sched/limit.h"
#include "sched/sched.h"
#include "dev/clock.h"

#define NFS_PATIENCE 3u
#define NFS_FIRST_TICKS(m) (4 * (m)->least_ticks) /* before an answer is measured */
#define NFS_TICKS_MOST (clock_hz() * 30)
#define NFS_PORT_LAST 1023u /* privileged ports, from here downwards */
#define NFS_PORT_FIRST 600u

DEFINE_ZONE(nfs_messages, "nfs-call", sizeof(struct nfs_message), 8, SPL_SOFTPREEMPT, 0);
struct nfs_client_counts nfs_client_counts;

#define NFS_COUNT(what) __atomic_fetch_add(&nfs_client_counts.what, 1, __ATOMIC_RELAXED)

/* Boot arguments nfs.lose and nfs.repeat, by the run's seed: whether this message is affected. */
static bool nfs_happens(struct nfs_mount *m, uint32_t of_a_thousand)
{
    if (!of_a_thousand)
        return false;
    crit_t s = simple_lock_enter(&m->lock);
    bool does = random_below(&m->chance, 1000) < of_a_thousand;
    simple_lock_leave(&m->lock, s);
    return does;
}

/* Answers ---------------------------------------------------------------------------------------------------------- */

static void nfs_answer(struct nfs_mount *m, const uint8_t *bytes, uint32_t n)
{
    struct nfs_message *c;
    struct xdr x = {.at = (uint8_t *)bytes, .end = (uint8_t *)bytes + n};
    uint32_t xid = xdr_get(&x);
    crit_t s = simple_lock_enter(&m->lock);
    TAILQ_FOREACH(c, &m->calls, link)
        if (!x.failed && c->call.xid == xid && !c->answered)
            break;
    if (c) {
        memcpy(c->reply, bytes, n);
        c->in = (struct xdr){.at = c->reply, .end = c->reply + n};
        c->answered = true;
        thread_wakeup(c);
    }
    simple_lock_leave(&m->lock, s);
}

static void nfs_receive(void *arg)
{
    struct nfs_mount *m = arg;
    uint32_t page = page_alloc_raw();
    while (page && !m->ending) {
        struct ends from;
        struct transfer t = {.at = page, .left = RPC_MOST};
        int n = datagram_receive(m->socket, &t, &from, true, false);
        if (n > 0 && from.faddr == m->server && !nfs_happens(m, m->lose))
            nfs_answer(m, page_pointer(page), (uint32_t)n);
    }
    if (page)
        page_free(page);
    thread_exit();
}

int nfs_calls_begin(struct nfs_mount *m)
{
    int error = net_start();
    m->socket = error ? 0 : datagram_create();
    if (!m->socket)
        return error ? error : -ENOMEM;
    error = -EADDRINUSE;
    for (uint32_t port = NFS_PORT_LAST; error == -EADDRINUSE && port >= NFS_PORT_FIRST; port--)
        error = datagram_bind(m->socket, 0, port);
    if (error)
        return error;
    m->xid = in_pcb_hash(&(struct inpcb){.faddr = m->server, .laddr = (uint32_t)cycles64()}, 3);
    m->receiver = thread_create(nfs_receive, m, PRI_NORMAL, ANY_HART, "nfs");
    return m->receiver ? 0 : -ENOMEM;
}

void nfs_calls_end(struct nfs_mount *m)
{
    m->ending = true;
    if (m->receiver) {
        thread_interrupt(m->receiver);
        thread_join(m->receiver);
    }
    if (m->socket)
        datagram_destroy(m->socket);
    m->receiver = 0;
    m->socket = 0;
}

/* Calls ------------------------------------------------------------------------------------------------------------ */

struct nfs_message *nfs_begin_other(struct nfs_mount *m, uint32_t port, const struct rpc_call *call)
{
    struct nfs_message *c = zone_alloc(&nfs_messages);
    if (!c)
        return 0;
    c->call = *call;
    c->call.xid = __atomic_add_fetch(&m->xid, 1, __ATOMIC_RELAXED);
    c->port = port;
    c->tries = 0;
    c->answered = false;
    c->out = (struct xdr){.at = c->sent, .end = c->sent + RPC_MOST};
    rpc_put_call(&c->out, &c->call, "interlock");
    return c;
}

struct nfs_message *nfs_begin(struct nfs_mount *m, enum nfs_procedure procedure)
{
    uint32_t n = m->v3 ? (uint32_t)procedure : nfs_to_v2(procedure);
    return nfs_begin_other(m, m->port,
                           &(struct rpc_call){.program = NFS_PROGRAM, .version = m->v3 ? 3 : 2, .procedure = n});
}

void nfs_end(struct nfs_message *c)
{
    zone_free(&nfs_messages, c);
}

/* The timeout of the next answer, in ticks. */
static uint32_t nfs_patience(struct nfs_mount *m, uint32_t tries)
{
    crit_t s = simple_lock_enter(&m->lock);
    uint32_t ticks = m->smooth ? (m->smooth >> 3) + MAX(m->varies, 1u) + 1 : NFS_FIRST_TICKS(m);
    simple_lock_leave(&m->lock, s);
    ticks = MAX(ticks, m->least_ticks) << MIN(tries, 8u);
    return MIN(ticks, NFS_TICKS_MOST);
}

/* RFC 6298, 2.3, in the integers of Jacobson's *Congestion Avoidance and Control*. */
static void nfs_measure(struct nfs_mount *m, uint32_t took)
{
    crit_t s = simple_lock_enter(&m->lock);
    if (!m->smooth) {
        m->smooth = (took << 3) | 1;
        m->varies = took << 1;
    } else {
        int32_t apart = (int32_t)took - (int32_t)(m->smooth >> 3);
        m->smooth = (uint32_t)((int32_t)m->smooth + apart) | 1;
        m->varies += (uint32_t)((apart < 0 ? -apart : apart) - (int32_t)(m->varies >> 2));
    }
    simple_lock_leave(&m->lock, s);
}

/* Waits for the answer. -EAGAIN: it timed out; -EINTR, if it may be interrupted. */
static int nfs_wait(struct nfs_mount *m, struct nfs_message *c, uint32_t ticks)
{
    struct limit limit;
    int error = 0;
    limit_begin(&limit, ticks, c, &m->lock);
    crit_t s = simple_lock_enter(&m->lock);
    while (!c->answered && !limit.over && !error) {
        if (c->tries > NFS_PATIENCE)
            error = limit_sleep(&limit);
        else
            thread_sleep(c, &m->lock);
    }
    bool answered = c->answered;
    simple_lock_leave(&m->lock, s);
    limit_end(&limit);
    return answered ? 0 : error ? error : -EAGAIN;
}

/* -EAGAIN: the answer belongs to another call, or cannot be decoded. */
static int nfs_try(struct nfs_mount *m, struct nfs_message *c, uint32_t bytes)
{
    int error = 0;
    for (unsigned copies = nfs_happens(m, m->lose) ? 0 : 1 + nfs_happens(m, m->repeat); copies && !error; copies--) {
        struct transfer t = {.at = page_address(c->sent), .left = bytes};
        error = datagram_send(m->socket, &t, m->server, c->port);
        error = error < 0 ? error : 0;
    }
    if (error == -ENETUNREACH || error == -EINVAL || error == -EACCES)
        return error; /* later tries would fail, too */
    uint32_t patience = nfs_patience(m, c->tries), begin = clock_ticks();
    if (c->tries++)
        NFS_COUNT(again);
    else
        NFS_COUNT(calls);
    error = nfs_wait(m, c, patience);
    if (error)
        return error;
    if (c->tries == 1)
        nfs_measure(m, clock_ticks() - begin);
    error = rpc_get_reply(&c->in, c->call.xid);
    if (error == -EAGAIN) {
        crit_t s = simple_lock_enter(&m->lock);
        c->answered = false;
        simple_lock_leave(&m->lock, s);
    }
    return error;
}

int nfs_call_other(struct nfs_mount *m, struct nfs_message *c)
{
    int error = -EAGAIN;
    uint32_t bytes = (uint32_t)(c->out.at - c->sent);
    if (c->out.failed)
        return -EMSGSIZE;
    crit_t s = simple_lock_enter(&m->lock);
    TAILQ_INSERT_TAIL(&m->calls, c, link);
    simple_lock_leave(&m->lock, s);
    while (error == -EAGAIN) {
        if (m->tries_most && c->tries >= m->tries_most) {
            error = -ETIMEDOUT;
            NFS_COUNT(timeouts);
            break;
        }
        error = nfs_try(m, c, bytes);
    }
    s = simple_lock_enter(&m->lock);
    TAILQ_REMOVE(&m->calls, c, link);
    simple_lock_leave(&m->lock, s);
    return error;
}

int nfs_call(struct nfs_mount *m, struct nfs_message *c)
{
    int error = nfs_call_other(m, c);
    if (error)
        return error;
    error = nfs_error_of(xdr_get(&c->in));
    return c->in.failed ? -EIO : error;
}
