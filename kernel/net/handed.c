/* The network's work is handed to designated harts (handed.h). */
#include "net/handed.h"

#include <errno.h>

#include "lib/bootargs.h"
#include "lib/panic.h"
#include "lock/event.h"
#include "mem/zone.h"
#include "net/in.h"
#include "net/net.h"
#include "net/socket.h"
#include "net/tcp.h"

static SIMPLE_LOCK_CLASS(queue_class, "krp queue", SPL_NET);
static SIMPLE_LOCK_CLASS(database_class, "TCP/IP global", SPL_SOFTPREEMPT);
static SIMPLE_LOCK_CLASS(done_class, "krp done", SPL_SOFTPREEMPT);
DEFINE_ZONE(krps, "krp", sizeof(struct krp), _Alignof(struct krp), SPL_NET, 0);

static struct database {
    struct simple_lock lock; /* held while a packet is processed */
    struct designated queue;
    uint32_t frames, full; /* waiting received packets; dropped ones */
} databases[DATABASES] = {[0 ... DATABASES - 1] = {.lock = SIMPLE_LOCK("TCP/IP global", database_class),
                                                   .queue = DESIGNATED("krp queue", queue_class)}};
static uint32_t frames_most;
unsigned inet_databases = 1;

void inet_start(void)
{
    static bool started;
    frames_most = bootargs_number(BOOT(kernel, net_queue));
    if (!frames_most)
        panic("boot argument net.queue: give 1 to 1000");
    if (started)
        return;
    started = true;
    if (DATABASES > 1)
        inet_databases = bootargs_number(BOOT_OR(kernel, net_databases, (hart_count + 1) / 2));
    if (!inet_databases)
        panic("boot argument net.databases: give 1 to %u", DATABASES);
    unsigned last_ones = hart_count > inet_databases ? hart_count - inet_databases : 0;
    unsigned first = bootargs_number(BOOT_OR(kernel, net_hart, last_ones));
    if (first >= hart_count)
        panic("boot argument net.hart: give 0 to %u", hart_count - 1);
    for (unsigned i = 0; i < inet_databases; i++)
        designated_start(&databases[i].queue, (first + i) % hart_count, PRI_DESIGNATED);
}

static struct database *database_of(const struct socket *so)
{
    return &databases[so->tcb->inp.database];
}

/* Calls and other waits -------------------------------------------------------------------------------------------- */

struct call {
    struct krp krp;
    struct database *database;
    inet_fn *fn;
    struct socket *so;
    void *arg;
    int result;
    struct event done;
};

static void work_call(struct krp *krp)
{
    struct call *call = (struct call *)krp;
    crit_t s = simple_lock_enter(&call->database->lock);
    call->result = call->fn(call->so, call->arg);
    simple_lock_leave(&call->database->lock, s);
    event_post(&call->done);
}

static int call_in(struct database *d, struct socket *so, inet_fn *fn, void *arg)
{
    struct call call = {
        .krp.action = work_call, .database = d, .fn = fn, .so = so, .arg = arg, .done = EVENT("krp done", done_class)};
    krp_queue(&d->queue, &call.krp);
    event_wait(&call.done);
    event_destroy(&call.done);
    return call.result;
}

int inet_call(struct socket *so, inet_fn *fn, void *arg)
{
    return call_in(database_of(so), so, fn, arg);
}

struct round {
    void (*fn)(unsigned database, void *arg);
    void *arg;
    unsigned database;
};

static int work_round(struct socket *so, void *arg)
{
    const struct round *round = arg;
    (void)so;
    round->fn(round->database, round->arg);
    return 0;
}

void inet_round(void (*fn)(unsigned database, void *arg), void *arg)
{
    for (unsigned i = 0; i < inet_databases; i++)
        call_in(&databases[i], 0, work_round, &(struct round){fn, arg, i});
}

static int nothing(struct socket *so, void *arg)
{
    (void)so, (void)arg;
    return 0;
}

void inet_rest(void)
{
    for (unsigned i = 0; i < inet_databases; i++)
        call_in(&databases[i], 0, nothing, 0);
}

/* Reading and writing ---------------------------------------------------------------------------------------------- */

/* Sends what may be sent now, and releases the packet's reference. */
static void send_and_release(struct socket *so)
{
    struct inpcb *inp = &so->tcb->inp;
    pcb_lock(&inp->lock);
    tcp_output(so->tcb);
    pcb_unlock(&inp->lock);
    in_pcb_release(inp);
}

static void work_output(struct krp *krp)
{
    struct socket *so = (struct socket *)krp->parameter[0];
    struct database *d = database_of(so);
    crit_t s = simple_lock_enter(&d->lock);
    so_lock(&so->lock);
    so->handover.output_waits = false;
    so_unlock(&so->lock);
    send_and_release(so);
    simple_lock_leave(&d->lock, s);
}

/* One packet serves all reads until it is processed. */
void inet_output(struct socket *so)
{
    struct so_handover *h = &so->handover;
    so_lock(&so->lock);
    bool waits = h->output_waits;
    h->output_waits = true;
    so_unlock(&so->lock);
    if (waits)
        return;
    in_pcb_reference(&so->tcb->inp);
    h->output = (struct krp){.action = work_output, .parameter = {(uintptr_t)so}};
    krp_queue(&database_of(so)->queue, &h->output);
}

static void work_send(struct krp *krp)
{
    struct socket *so = (struct socket *)krp->parameter[0];
    struct mbuf *chain = (struct mbuf *)krp->parameter[1];
    bool urgent = krp->parameter[2];
    struct database *d = database_of(so);
    zone_free(&krps, krp);
    crit_t s = simple_lock_enter(&d->lock);
    so_lock(&so->lock);
    so->snd.coming -= m_length(chain);
    so_append(so, chain, urgent);
    so_unlock(&so->lock);
    send_and_release(so);
    simple_lock_leave(&d->lock, s);
}

/* The chain has the user's data: the call may return before the packet is processed. */
int inet_send(struct socket *so, struct mbuf *chain, bool urgent)
{
    struct krp *krp = zone_alloc(&krps);
    if (!krp) {
        m_free_chain(chain);
        return -ENOBUFS;
    }
    so_lock(&so->lock);
    bool sends = !(so->state & SS_CANTSEND);
    if (sends)
        so->snd.coming += m_length(chain);
    so_unlock(&so->lock);
    if (!sends) {
        m_free_chain(chain);
        zone_free(&krps, krp);
        return -EPIPE;
    }
    in_pcb_reference(&so->tcb->inp);
    *krp = (struct krp){.action = work_send, .parameter = {(uintptr_t)so, (uintptr_t)chain, urgent}};
    krp_queue(&database_of(so)->queue, krp);
    return 0;
}

/* Received packets ------------------------------------------------------------------------------------------------- */

static void work_frame(struct krp *krp)
{
    struct database *d = (struct database *)krp->parameter[0];
    struct mbuf *m = (struct mbuf *)krp->parameter[1];
    zone_free(&krps, krp);
    __atomic_fetch_sub(&d->frames, 1, __ATOMIC_RELAXED);
    crit_t s = simple_lock_enter(&d->lock);
    ip_input(m);
    simple_lock_leave(&d->lock, s);
}

/* The database of a segment's connection; for other packets, the first. */
static struct database *database_of_packet(const struct mbuf *m)
{
    const uint8_t *ip = m->m_data, *tcp = ip + (ip[0] & 0xf) * 4u;
    if (m->m_len < IP_HEADER || ip[9] != IPPROTO_TCP || m->m_len < (uint32_t)(tcp - ip) + 4)
        return &databases[0];
    return &databases[inet_database(get16(tcp + 2), get32(ip + 12), get16(tcp))];
}

bool inet_receive(struct mbuf *m)
{
    struct database *d = database_of_packet(m);
    bool room = __atomic_fetch_add(&d->frames, 1, __ATOMIC_RELAXED) < frames_most;
    struct krp *krp = room ? zone_alloc(&krps) : 0;
    if (!krp) {
        __atomic_fetch_sub(&d->frames, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&d->full, 1, __ATOMIC_RELAXED);
        m_free(m);
        return true;
    }
    *krp = (struct krp){.action = work_frame, .parameter = {(uintptr_t)d, (uintptr_t)m}};
    krp_queue(&d->queue, krp);
    return true;
}

uint32_t inet_full(void)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < inet_databases; i++)
        sum += databases[i].full;
    return sum;
}
