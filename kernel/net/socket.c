/* Stream sockets: buffers, waiting, states (socket.h). */
#include "net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "dev/clock.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "mem/zone.h"
#include "net/if_ioctl.h"
#include "net/in.h"
#include "net/net.h"
#include "net/tcp.h"
#include "sched/sched.h"

static SIMPLE_LOCK_CLASS(wait_class, "socket wait", SPL_SOFTCLOCK); /* waiting.h */
DEFINE_ZONE(sockets, "socket", sizeof(struct socket), _Alignof(struct socket), SPL_SOFTPREEMPT, 0);

/* Creation and end ------------------------------------------------------------------------------------------------- */

struct socket *so_create(void)
{
    struct socket *so = zone_alloc(&sockets);
    struct tcpcb *tp = so ? tcp_create() : 0;
    if (!tp) {
        if (so)
            zone_free(&sockets, so);
        return 0;
    }
    *so = (struct socket){.tcb = tp, .wait_lock = SIMPLE_LOCK("socket wait", wait_class)};
    sb_init(&so->snd);
    sb_init(&so->rcv);
    STAILQ_INIT(&so->queue);
    so_mutex_init(&so->lock);
    tp->inp.so = so;
    return so;
}

void so_destroy(struct socket *so)
{
    sb_flush(&so->snd);
    sb_flush(&so->rcv);
    so_mutex_destroy(&so->lock);
    simple_lock_destroy(&so->wait_lock);
    zone_free(&sockets, so);
}

void so_waiting(struct socket *so, struct waiting *w, bool waits, bool receives)
{
    waiting_begin(w, waits, receives ? so->limits.receive : so->limits.send, &so->changes, &so->wait_lock);
}

int so_wait(struct socket *so, struct waiting *w)
{
    uint32_t seen = so->changes;
    int error = 0;
    if (!w->waits)
        return -EAGAIN;
    so_unlock(&so->lock);
    crit_t s = simple_lock_enter(&so->wait_lock);
    while (so->changes == seen && !error)
        error = waiting_sleep(w);
    simple_lock_leave(&so->wait_lock, s);
    so_lock(&so->lock);
    return error;
}

void so_changed(struct socket *so)
{
    crit_t s = simple_lock_enter(&so->wait_lock);
    so->changes++;
    thread_wakeup(&so->changes);
    simple_lock_leave(&so->wait_lock, s);
    poll_wakeup();
}

bool so_append(struct socket *so, struct mbuf *chain, bool urgent)
{
    bool sends = !(so->state & SS_CANTSEND);
    for (struct mbuf *next; sends && chain; chain = next) {
        next = STAILQ_NEXT(chain, m_nextpkt);
        sb_append(&so->snd, chain);
    }
    m_free_chain(chain);
    if (sends && urgent) {
        so->urgent_to = so->snd.cc;
        so->urgent_new = true;
    }
    return sends;
}

/* Reports of TCP --------------------------------------------------------------------------------------------------- */

void so_is_connected(struct socket *so)
{
    so_lock(&so->lock);
    so->state = (so->state & ~SS_CONNECTING) | SS_CONNECTED;
    so_changed(so);
    so_unlock(&so->lock);
}

void so_cannot_receive(struct socket *so)
{
    so_lock(&so->lock);
    so->state |= SS_CANTRECEIVE;
    so_changed(so);
    so_unlock(&so->lock);
}

void so_is_disconnected(struct socket *so, int error)
{
    so_lock(&so->lock);
    so->state = (so->state & ~SS_CONNECTING) | SS_CANTSEND | SS_CANTRECEIVE | SS_FLUSHED;
    if (error)
        so->error = error;
    sb_flush(&so->snd);
    so_changed(so);
    so_unlock(&so->lock);
}

void so_is_flushed(struct socket *so)
{
    so_lock(&so->lock);
    so->state |= SS_FLUSHED;
    so_changed(so);
    so_unlock(&so->lock);
}

bool so_reserve(struct socket *listening)
{
    so_lock(&listening->lock);
    bool room = !(listening->state & SS_CLOSED) && listening->queued < listening->backlog;
    listening->queued += room;
    so_unlock(&listening->lock);
    return room;
}

void so_unreserve(struct socket *listening)
{
    so_lock(&listening->lock);
    listening->queued--;
    so_unlock(&listening->lock);
}

bool so_queue(struct socket *listening, struct socket *so)
{
    so_lock(&listening->lock);
    bool open = !(listening->state & SS_CLOSED);
    if (open) {
        STAILQ_INSERT_TAIL(&listening->queue, so, queue_link);
        so_changed(listening);
    } else {
        listening->queued--;
    }
    so_unlock(&listening->lock);
    return open;
}

/* Reading and writing ---------------------------------------------------------------------------------------------- */

static struct socket *socket_of(struct file *f)
{
    return f->data;
}

static int taken_error(struct socket *so)
{
    int error = so->error;
    so->error = 0;
    return error;
}

/*
 * The room to send, in bytes, or an error; `tells`: the call reports the connection's error, which is cleared. With the
 * socket's lock held.
 */
static int room(struct socket *so, struct waiting *w, bool tells)
{
    int error = 0;
    for (; !error; error = so_wait(so, w)) {
        if (so->error)
            return tells ? taken_error(so) : so->error;
        if (so->state & SS_CANTSEND)
            return -EPIPE;
        if (!(so->state & (SS_CONNECTED | SS_CONNECTING)))
            return -ENOTCONN;
        if (so->state & SS_CONNECTED && sb_space(&so->snd))
            return (int)sb_space(&so->snd);
    }
    return error;
}

/* Takes a turn (turn_ends returns it); with the socket's lock held. */
static int turn(struct socket *so, struct waiting *w, bool *taken)
{
    int error = 0;
    while (*taken && !error)
        error = so_wait(so, w);
    if (!error)
        *taken = true;
    return error;
}

static void turn_ends(struct socket *so, bool *taken)
{
    *taken = false;
    so_changed(so);
}

int so_send(struct socket *so, struct transfer *t, bool waits, bool urgent)
{
    int done = 0;
    struct waiting w;
    so_waiting(so, &w, waits, false);
    inet_enter();
    so_lock(&so->lock);
    int error = turn(so, &w, &so->sending);
    bool mine = !error;
    while (!error && t->left) {
        int space = room(so, &w, !done);
        if (space < 0) {
            error = space;
            break;
        }
        so_unlock(&so->lock);
        struct mbuf *chain = sb_taken_in(t, (uint32_t)space, waits, so->limits.send, &error);
        uint32_t bytes = m_length(chain);
        int sent = chain ? inet_send(so, chain, urgent && !t->left) : 0;
        if (!sent)
            done += (int)bytes;
        else if (sent != -EPIPE) /* else room() has the error */
            error = sent;
        so_lock(&so->lock);
    }
    if (mine)
        turn_ends(so, &so->sending);
    so_unlock(&so->lock);
    inet_leave();
    waiting_end(&w);
    return done ? done : error;
}

/*
 * Bytes that may be read, at most `most`, or 0 at the end, or an error. `begun`: also 0 at the urgent byte, where a
 * call ends that has read something. `peeked`: how many are to be skipped before them; if null, the urgent byte is
 * dropped. With the socket's lock held.
 */
static int there_is(struct socket *so, struct waiting *w, uint32_t most, bool begun, uint32_t *peeked)
{
    int error = 0;
    for (; !error; error = so_wait(so, w)) {
        uint32_t skip, bytes = so_readable(so, &skip);
        if (begun && so->urgent != URGENT_NONE && !so->urgent_at)
            return 0;
        if (peeked)
            *peeked = skip;
        else if (skip && so->rcv.cc)
            so_drop_received(so, 1);
        if (bytes)
            return (int)MIN(bytes, most);
        if (so->error)
            return taken_error(so);
        if (so->state & SS_CANTRECEIVE)
            return 0;
        if (!(so->state & (SS_CONNECTED | SS_CONNECTING)))
            return -ENOTCONN;
    }
    return error;
}

/*
 * Copies `most` buffered bytes from `skip` on, which stay; their packets do, as it is the thread's turn. With the
 * socket's lock held.
 */
static int copied_out(struct socket *so, struct transfer *t, uint32_t skip, uint32_t most, int *error)
{
    const struct mbuf *m = STAILQ_FIRST(&so->rcv.packets);
    uint32_t done = 0;
    for (; skip >= m->m_len; m = STAILQ_NEXT(m, m_nextpkt))
        skip -= m->m_len;
    for (; done < most && !*error; m = STAILQ_NEXT(m, m_nextpkt), skip = 0) {
        const uint8_t *from = m->m_data + skip;
        uint32_t n = MIN(m->m_len - skip, most - done);
        so_unlock(&so->lock);
        *error = transfer_out(t, from, n);
        so_lock(&so->lock);
        done += *error ? 0 : n;
    }
    return (int)done;
}

/* Moves bytes off the buffer, as many as there are, but at least `least`. With the socket's lock held. */
static int moved_out(struct socket *so, struct transfer *t, struct waiting *w, uint32_t least, int *error)
{
    int done = 0, said = 0;
    while (!*error && t->left && (so->rcv.cc || (uint32_t)done < least)) {
        if (!so->rcv.cc && done != said) { /* the other side may wait for room */
            said = done;
            so_unlock(&so->lock);
            inet_output(so);
            so_lock(&so->lock);
        }
        int n = there_is(so, w, t->left, done || t->has_some, 0);
        if (n <= 0) {
            *error = n;
            break;
        }
        const struct mbuf *m = STAILQ_FIRST(&so->rcv.packets);
        n = (int)MIN(m->m_len, (uint32_t)n);
        const uint8_t *from = m->m_data; /* stable: only the thread that has the turn takes packets off */
        so_unlock(&so->lock);
        *error = transfer_out(t, from, (uint32_t)n);
        so_lock(&so->lock);
        if (!*error) {
            so_drop_received(so, (uint32_t)n);
            done += n;
        }
    }
    return done;
}

/* Bytes that a receiver waits for, as long as they fit into the buffer. With the socket's lock held. */
static uint32_t at_least(const struct socket *so)
{
    return MAX(MIN(so->limits.least, so->rcv.hiwat / 2), 1u);
}

/*
 * Bytes that may be peeked at, as there_is returns them, but at least `least` before a mark or the end. With the
 * socket's lock held.
 */
static int peeked_at(struct socket *so, struct waiting *w, uint32_t most, uint32_t least, uint32_t *skip)
{
    int n;
    while ((n = there_is(so, w, most, false, skip)) > 0 && (uint32_t)n < least && so->urgent == URGENT_NONE &&
           !(so->state & SS_CANTRECEIVE) && sb_space(&so->rcv) && !so_wait(so, w))
        ;
    return n;
}

int so_receive(struct socket *so, struct transfer *t, bool waits, bool peek, bool all)
{
    int done = 0;
    struct waiting w;
    if (!t->left)
        return 0;
    so_waiting(so, &w, waits, true);
    inet_enter();
    so_lock(&so->lock);
    uint32_t least = t->has_some ? 0 : all ? t->left : MIN(at_least(so), t->left);
    int error = turn(so, &w, &so->receiving);
    bool mine = !error;
    if (!error && peek) {
        uint32_t skip;
        int n = peeked_at(so, &w, t->left, least, &skip);
        error = n < 0 ? n : 0;
        done = n > 0 ? copied_out(so, t, skip, (uint32_t)n, &error) : 0;
    } else if (!error) {
        done = moved_out(so, t, &w, least, &error);
    }
    if (mine)
        turn_ends(so, &so->receiving);
    bool none_yet = !done && !error && t->has_some;
    so_unlock(&so->lock);
    if (done && !peek)
        inet_output(so);
    inet_leave();
    waiting_end(&w);
    return done ? done : none_yet ? -EAGAIN : error;
}

static bool descriptor_waits(const struct file *f)
{
    return !(f->flags & O_NONBLOCK);
}

static int socket_write(struct file *f, struct transfer *t)
{
    return so_send(socket_of(f), t, descriptor_waits(f), false);
}

static int socket_read(struct file *f, struct transfer *t)
{
    return so_receive(socket_of(f), t, descriptor_waits(f), false, false);
}

/* The end of a descriptor ------------------------------------------------------------------------------------------ */

/* Ends connections that will not be accepted any more. */
static void refuse_queue(struct socket *so)
{
    so_lock(&so->lock);
    so->state |= SS_CLOSED;
    for (struct socket *of; (of = STAILQ_FIRST(&so->queue));) {
        STAILQ_REMOVE_HEAD(&so->queue, queue_link);
        so->queued--;
        so_unlock(&so->lock);
        struct inpcb *inp = &of->tcb->inp;
        pcb_lock(&inp->lock);
        if (!inp->closing)
            tcp_abort(of->tcb, 0);
        pcb_unlock(&inp->lock);
        in_pcb_release(inp);
        so_lock(&so->lock);
    }
    so_unlock(&so->lock);
}

static int socket_release(struct socket *so, void *arg)
{
    (void)arg;
    in_pcb_release(&so->tcb->inp);
    return 0;
}

/* Returns whether the socket lingers, and keeps its reference. */
static int close_connection(struct socket *so, void *arg)
{
    struct inpcb *inp = &so->tcb->inp;
    const struct user_linger *linger = &so->limits.linger;
    (void)arg;
    pcb_lock(&inp->lock);
    so_lock(&so->lock);
    bool listens = so->state & SS_LISTENS, unread = so->rcv.cc || (linger->on && !linger->seconds);
    bool lingers = linger->on && linger->seconds && so->state & SS_CONNECTED;
    so->state |= SS_NO_DESCRIPTOR | SS_CANTSEND | SS_CANTRECEIVE | (lingers ? SS_LINGERS : 0);
    sb_flush(&so->rcv); /* the connection may stay for minutes */
    so_unlock(&so->lock);
    if (!inp->closing)
        tcp_user_closed(so->tcb, unread);
    pcb_unlock(&inp->lock);
    if (listens)
        refuse_queue(so);
    if (!lingers)
        in_pcb_release(inp);
    return lingers;
}

/* Waits until the peer has everything (SO_LINGER), at most the option's time; not when the process ends. */
static void socket_linger(struct socket *so)
{
    struct waiting w;
    uint32_t ticks = NO_TIME;
    if (!limit_wait_ends())
        clock_ticks_of(&(struct user_timespec){.seconds = so->limits.linger.seconds}, &ticks);
    waiting_begin(&w, true, ticks, &so->changes, &so->wait_lock);
    inet_enter();
    so_lock(&so->lock);
    while (!(so->state & SS_FLUSHED) && !so_wait(so, &w))
        ;
    so_unlock(&so->lock);
    inet_leave();
    waiting_end(&w);
    inet_call(so, socket_release, 0);
}

/* A file whose socket was put back into its queue closes nothing. */
static void socket_close(struct file *f)
{
    struct socket *so = socket_of(f);
    if (so && inet_call(so, close_connection, 0))
        socket_linger(so);
}

static int socket_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    *to = (struct user_stat){.mode = S_IFSOCK | 0600, .nlink = 1, .blksize = SO_BUFFER};
    return 0;
}

static struct user_mbuf_pool pool_status(const struct mbuf_pool *p, uint32_t bytes)
{
    struct pool_counts n = pool_counts(p);
    return (struct user_mbuf_pool){n.in_use, n.peak, n.free, n.denied, n.waits, n.pages, n.most, bytes};
}

static int copy_mbuf_status(struct vm_map *map, uint32_t to)
{
    struct user_mbuf_status status = {pool_status(&mbuf_pool, MSIZE), pool_status(&cluster_pool, MCLBYTES)};
    return copyout(map, to, &status, sizeof status);
}

static int socket_ioctl(struct file *f, struct vm_map *map, uint32_t request, uint32_t argument)
{
    struct socket *so = socket_of(f);
    inet_enter();
    so_lock(&so->lock);
    bool passed = so->urgent == URGENT_NONE || so->urgent == URGENT_ANNOUNCED || so->urgent_inline;
    int n = (int)(passed ? so->rcv.cc : so->urgent_at), at_mark = so->urgent != URGENT_NONE && !so->urgent_at;
    so_unlock(&so->lock);
    inet_leave();
    struct user_net_status status = {m_in_use(), tcp_in_use(), 0};
    put32((uint8_t *)&status.address, net_own.ip);
    switch (request) {
    case USER_FIONREAD: return copyout(map, argument, &n, sizeof n);
    case USER_SIOCATMARK: return copyout(map, argument, &at_mark, sizeof at_mark);
    case USER_SIOCNETSTATUS: return copyout(map, argument, &status, sizeof status);
    case USER_SIOCMBUFSTATUS: return copy_mbuf_status(map, argument);
    default: return if_ioctl(map, request, argument);
    }
}

static int socket_poll(struct file *f, int events)
{
    struct socket *so = socket_of(f);
    uint32_t skip;
    int now = 0;
    inet_enter();
    so_lock(&so->lock);
    if (so->urgent == URGENT_THERE)
        now |= USER_POLLPRI;
    if ((so_readable(so, &skip) && so->rcv.cc >= at_least(so) + skip) || so->state & SS_CANTRECEIVE ||
        !STAILQ_EMPTY(&so->queue) || so->error)
        now |= USER_POLLIN;
    if (so->state & SS_CANTSEND || so->error || (so->state & SS_CONNECTED && sb_space(&so->snd)))
        now |= USER_POLLOUT;
    if (so->state & SS_CANTSEND && so->state & SS_CANTRECEIVE)
        now |= USER_POLLHUP;
    if (so->error)
        now |= USER_POLLERR;
    so_unlock(&so->lock);
    inet_leave();
    return now & (events | USER_POLLHUP | USER_POLLERR);
}

const struct file_ops socket_ops = {.name = "socket",
                                    .read = socket_read,
                                    .write = socket_write,
                                    .close = socket_close,
                                    .ioctl = socket_ioctl,
                                    .stat = socket_stat,
                                    .poll = socket_poll};
