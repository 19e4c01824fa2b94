/* Pairs of sockets (pair.h). */
#include "net/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/minmax.h"
#include "lock/lock_pair.h"
#include "mem/zone.h"
#include "net/socket.h"
#include "net/waiting.h"
#include "sched/sched.h"

struct pair;
struct pair_end {
    struct simple_lock lock;
    struct pair *pair;
    struct sockbuf rcv;
    bool ended; /* no more data: an end was closed or shut down */
    bool sending, receiving; /* a thread has the turn to send into it, or to take from it */
    int error; /* reported once */
    struct so_limits limits; /* of the descriptor's calls */
};

struct pair {
    struct pair_end end[2];
    uint32_t open; /* with both locks */
};

static SIMPLE_LOCK_CLASS(pair_class, "socket pair", SPL_SOFTCLOCK); /* waiting.h */
DEFINE_ZONE(pairs, "socket pair", sizeof(struct pair), _Alignof(struct pair), SPL_SOFTPREEMPT, 0);

static struct pair_end *other_of(struct pair_end *e)
{
    return &e->pair->end[e == &e->pair->end[0]];
}

static void pair_destroy(struct pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        sb_flush(&p->end[i].rcv);
        simple_lock_destroy(&p->end[i].lock);
    }
    zone_free(&pairs, p);
}

int pair_create(struct file *end[2], uint32_t flags)
{
    pools_start();
    struct pair *p = zone_alloc(&pairs);
    if (!p)
        return -ENOMEM;
    *p = (struct pair){.open = 2};
    for (unsigned i = 0; i < 2; i++) {
        p->end[i] = (struct pair_end){.lock = SIMPLE_LOCK("socket pair", pair_class), .pair = p};
        sb_init(&p->end[i].rcv);
    }
    end[0] = file_create(&pair_ops, &p->end[0], FILE_READ | FILE_WRITE, flags);
    end[1] = end[0] ? file_create(&pair_ops, &p->end[1], FILE_READ | FILE_WRITE, flags) : 0;
    if (end[1])
        return 0;
    p->open = end[0] ? 1 : 0;
    if (end[0])
        file_release(end[0]);
    else
        pair_destroy(p);
    return -ENOMEM;
}

/* The next two with the end's lock held. */
static void pair_changed(struct pair_end *e)
{
    thread_wakeup(e);
    poll_wakeup();
}

static int pair_turn(struct waiting *w, bool *taken)
{
    int error = 0;
    while (*taken && !error)
        error = waiting_sleep(w);
    if (!error)
        *taken = true;
    return error;
}

int pair_send(struct pair_end *e, struct transfer *t, bool waits)
{
    struct pair_end *to = other_of(e);
    int done = 0;
    struct waiting w;
    waiting_begin(&w, waits, e->limits.send, to, &to->lock);
    crit_t s = simple_lock_enter(&to->lock);
    int error = pair_turn(&w, &to->sending);
    bool mine = !error;
    while (!error && t->left) {
        uint32_t space = sb_space(&to->rcv); /* which no other thread fills */
        if (to->ended || !space) {
            error = to->ended ? -EPIPE : waiting_sleep(&w);
            continue;
        }
        simple_lock_leave(&to->lock, s);
        struct mbuf *chain = sb_taken_in(t, space, waits, e->limits.send, &error);
        s = simple_lock_enter(&to->lock);
        if (to->ended) {
            m_free_chain(chain);
            error = -EPIPE;
            continue;
        }
        done += (int)m_length(chain);
        for (struct mbuf *next; chain; chain = next) {
            next = STAILQ_NEXT(chain, m_nextpkt);
            sb_append(&to->rcv, chain);
        }
        pair_changed(to);
    }
    if (mine) {
        to->sending = false;
        pair_changed(to);
    }
    simple_lock_leave(&to->lock, s);
    waiting_end(&w);
    return done ? done : error;
}

/* Contiguous bytes from `skip` on, at *from, valid while it is the thread's turn. */
static uint32_t bytes_from(const struct sockbuf *sb, uint32_t skip, const uint8_t **from)
{
    const struct mbuf *m = STAILQ_FIRST(&sb->packets);
    for (; skip >= m->m_len; m = STAILQ_NEXT(m, m_nextpkt))
        skip -= m->m_len;
    *from = m->m_data + skip;
    return m->m_len - skip;
}

/* Called when there is no data: 0 and *over, or an error. */
static int nothing_there(struct pair_end *e, struct waiting *w, bool done, bool *over)
{
    int error = done ? 0 : e->error;
    *over = e->error || e->ended;
    if (error)
        e->error = 0;
    return *over ? error : waiting_sleep(w);
}

int pair_receive(struct pair_end *e, struct transfer *t, bool waits, bool peek, bool all)
{
    int done = 0;
    uint32_t looked = 0, least = t->has_some ? 0 : all ? t->left : MIN(MAX(e->limits.least, 1u), t->left);
    bool over = !t->left;
    struct waiting w;
    waiting_begin(&w, waits, e->limits.receive, e, &e->lock);
    crit_t s = simple_lock_enter(&e->lock);
    int error = over ? 0 : pair_turn(&w, &e->receiving);
    bool mine = !error && !over;
    while (!error && !over && t->left && (e->rcv.cc > looked || (uint32_t)done < least)) {
        if (e->rcv.cc == looked) {
            error = nothing_there(e, &w, done, &over);
            continue;
        }
        const uint8_t *from;
        uint32_t n = MIN(bytes_from(&e->rcv, looked, &from), t->left);
        simple_lock_leave(&e->lock, s);
        error = transfer_out(t, from, n);
        s = simple_lock_enter(&e->lock);
        if (error)
            continue;
        done += (int)n;
        if (peek) {
            looked += n;
        } else {
            sb_drop(&e->rcv, n);
            pair_changed(e);
        }
    }
    if (mine) {
        e->receiving = false;
        pair_changed(e);
    }
    simple_lock_leave(&e->lock, s);
    waiting_end(&w);
    bool none_yet = !done && !error && !over && t->has_some;
    return done ? done : none_yet ? -EAGAIN : error;
}

int pair_shut(struct pair_end *e, bool receive, bool send)
{
    struct pair_end *other = other_of(e);
    crit_t s = simple_lock_pair_enter(&e->lock, &other->lock);
    e->ended |= receive;
    other->ended |= send;
    pair_changed(e);
    pair_changed(other);
    simple_lock_pair_leave(&e->lock, &other->lock, s);
    return 0;
}

static int pair_number(int *value, bool set, int is)
{
    if (set)
        return -ENOPROTOOPT;
    *value = is;
    return 0;
}

int pair_option(struct pair_end *e, uint32_t level, uint32_t name, void *value, bool set)
{
    if (level != USER_SOL_SOCKET)
        return -EOPNOTSUPP;
    switch (name) {
    case USER_SO_TYPE: return pair_number(value, set, USER_SOCK_STREAM);
    case USER_SO_ACCEPTCONN: return pair_number(value, set, 0);
    case USER_SO_SNDBUF:
    case USER_SO_RCVBUF: return pair_number(value, set, SO_BUFFER);
    case USER_SO_ERROR: {
        crit_t s = simple_lock_enter(&e->lock);
        int error = pair_number(value, set, -e->error);
        if (!error)
            e->error = 0;
        simple_lock_leave(&e->lock, s);
        return error;
    }
    default: {
        crit_t s = simple_lock_enter(&e->lock);
        int error = so_limits_option(&e->limits, name, value, set);
        simple_lock_leave(&e->lock, s);
        return error;
    }
    }
}

static int pair_read(struct file *f, struct transfer *t)
{
    return pair_receive(f->data, t, !(f->flags & O_NONBLOCK), false, false);
}

static int pair_write(struct file *f, struct transfer *t)
{
    return pair_send(f->data, t, !(f->flags & O_NONBLOCK));
}

/* If unread bytes are lost, the other end gets an error. */
static void pair_close(struct file *f)
{
    struct pair_end *e = f->data, *other = other_of(e);
    crit_t s = simple_lock_pair_enter(&e->lock, &other->lock);
    if (e->rcv.cc)
        other->error = -ECONNRESET;
    e->ended = other->ended = true;
    sb_flush(&e->rcv);
    bool last = !--e->pair->open;
    pair_changed(other);
    simple_lock_pair_leave(&e->lock, &other->lock, s);
    if (last)
        pair_destroy(e->pair);
}

static int pair_ioctl(struct file *f, struct vm_map *map, uint32_t request, uint32_t argument)
{
    struct pair_end *e = f->data;
    if (request != USER_FIONREAD)
        return -ENOTTY;
    crit_t s = simple_lock_enter(&e->lock);
    int n = (int)e->rcv.cc;
    simple_lock_leave(&e->lock, s);
    return copyout(map, argument, &n, sizeof n);
}

static int pair_stat(struct file *f, struct user_stat *to)
{
    (void)f;
    *to = (struct user_stat){.mode = S_IFSOCK | 0777, .nlink = 1, .blksize = SO_BUFFER};
    return 0;
}

static int pair_poll(struct file *f, int events)
{
    struct pair_end *e = f->data, *other = other_of(e);
    int now = 0;
    crit_t s = simple_lock_pair_enter(&e->lock, &other->lock);
    if (e->rcv.cc || e->ended || e->error)
        now |= USER_POLLIN;
    if (other->ended || sb_space(&other->rcv))
        now |= USER_POLLOUT;
    if (e->ended && other->ended)
        now |= USER_POLLHUP;
    if (e->error)
        now |= USER_POLLERR;
    simple_lock_pair_leave(&e->lock, &other->lock, s);
    return now & (events | USER_POLLHUP | USER_POLLERR);
}

const struct file_ops pair_ops = {.name = "socket pair",
                                  .read = pair_read,
                                  .write = pair_write,
                                  .close = pair_close,
                                  .ioctl = pair_ioctl,
                                  .stat = pair_stat,
                                  .poll = pair_poll};
