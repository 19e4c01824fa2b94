/*
 * Shared parts of both transports (transport.h): sending and receiving frames, splitting and assembling messages. The
 * file named by build option `ipc` decides what to send when:
 *
 *   peer_send(peer, m)       a message was put at the end of the queue
 *   peer_data(peer, frame)   a frame with data has come
 *   peer_ack(peer, frame)    an acknowledgement has come
 *   peer_tick(peer)          a tick of the timer
 *
 * All with the peer's lock held. Complete messages are put in `peer->ready`, and delivered after it has been
 * released.
 */
#include "ipc/transport.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/csr.h"
#include "dev/clock.h"
#include "ipc/port.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "lib/random.h"
#include "lock/lock.h"
#include "mem/zone.h"
#include "net/in.h"
#include "net/net.h"
#include "sched/limit.h"
#include "sched/sched.h"

#define ETHERTYPE_IPC 0x88b5 /* IEEE 802's first for experiments */
#define INPUT_MOST 256           /* frames that wait for the input thread */
#define PIECES ((PAGE_SIZE + TRANSPORT_PIECE - 1) / TRANSPORT_PIECE)
#define TICK_MS 5 /* between two ticks of the timer */

enum { FRAME_DATA = 1, FRAME_ACK = 2, FRAME_EPOCH = 3 };

struct wire_header {
    uint16_t kind, from;
    uint32_t sequence, index, data_size;
    uint32_t to_epoch, epoch;
};

#define BY_ONCE (1u << 31) /* in `released`: sent by a send-once right */
#define DESCRIBES_MEMORY 0x8000 /* in `rights`: so do the data */

/* A message's head on the wire: the fields before `right` always, as many rights as it has, the body. */
struct wire_head {
    uint32_t to_uid, id, released;
    uint16_t size, rights;
    struct wire_right reply;
    struct wire_right right[];
};

struct received {
    struct wire_header header;
    const uint8_t *bytes;
    uint32_t length;
};

struct peer {
    struct lock lock;
    uint16_t node;
    bool dying; /* being given up: nothing is sent there, or accepted */
    uint32_t epoch;        /* of this node towards it: raised each time it is given up */
    uint32_t theirs, seen; /* its epoch towards us, 0: not known yet; the last known one */
    uint32_t heard;        /* cycle of the last frame from it */
    /* sending */
    struct message_queue out; /* the first message is under way */
    uint32_t waiting;
    uint32_t sequence; /* norma: of the packet under way; window: the first unacknowledged frame */
    uint32_t packet;   /* norma: its number in the first message */
    uint32_t tries, due;
    uint32_t next, end; /* window: the next frame to send; one past the last frame of all messages */
    uint32_t there, resent, overtaken; /* window: bits of frames from `sequence` on; acknowledgements that show a gap */
    /* receiving */
    uint32_t expected; /* the next packet, or frame */
    struct message_queue in; /* being assembled; window: several */
    uint32_t in_packet; /* norma */
    uint32_t got; /* bits of received frames; norma: of the packet; window: from `expected` on */
    uint32_t coming; /* window: messages in `in` */
    uint32_t unsaid; /* window: frames that have not been acknowledged */
    struct message_queue ready;
};

static struct peer *peers[PORT_NODES];
static unsigned node_total;
static MUTEX_CLASS(peer_class, "ipc peer");
DEFINE_ZONE(peer_zone, "ipc-peers", sizeof(struct peer), 8, SPL_SOFTPREEMPT, 0);
DEFINE_SIMPLE_LOCK(table_lock, "ipc peers", SPL_SOFTPREEMPT);
DEFINE_SIMPLE_LOCK(timer_lock, "ipc timer", SPL_SOFTCLOCK);
static bool timer_runs;
static volatile bool watching; /* the timer watches for silent nodes */
static uint32_t ticks; /* of the timer */
static uint32_t retry; /* in ticks of it: until a packet is sent again */
static uint32_t
    transport_tries; /* before a node is given up: each waits twice as long as the previous one, up to 32 times */
static uint32_t transport_probe; /* cycles of silence after which a node is probed */
static uint32_t transport_begun; /* first epoch of all peers */
static uint64_t cut, healed; /* cycles between which the wire does not reach this node */
struct transport_counts transport_counts;
void (*transport_node_died)(unsigned node);
void (*transport_data_arrived)(struct message *m);
#define COUNT(what) __atomic_fetch_add(&transport_counts.what, 1, __ATOMIC_RELAXED)

/* ---- Sending. */

static uint32_t frames_of(const struct message *m)
{
    return 1 + (m->data_size + PAGE_SIZE - 1) / PAGE_SIZE * PIECES;
}

/* For tests: nothing is sent, and nothing accepted. */
static bool is_cut(void)
{
    return healed && cycles64() - cut < healed - cut;
}

static void frame_out(struct mbuf *m, unsigned node)
{
    uint8_t to[ETHER_ADDRESS];
    if (is_cut()) {
        m_free(m);
        return;
    }
    memcpy(to, net_own.ether, sizeof to);
    to[ETHER_ADDRESS - 1] = (uint8_t)(net_own.ether[ETHER_ADDRESS - 1] - ipc_node + node);
    COUNT(frames);
    ether_output(m, to, ETHERTYPE_IPC);
}

/* With room for `bytes` more. */
static struct mbuf *frame_begin(const struct wire_header *header, uint32_t bytes)
{
    struct mbuf *m = m_get(IP_AT + sizeof *header + bytes, M_PROTOCOL);
    if (!m)
        return 0;
    m->m_data += IP_AT;
    memcpy(m->m_data, header, sizeof *header);
    m->m_len = sizeof *header;
    return m;
}

static void append(struct mbuf *m, const void *bytes, uint32_t n)
{
    memcpy(m->m_data + m->m_len, bytes, n);
    m->m_len += n;
}

/* The bytes of the message's data in its frame `index`, from *at on. */
static uint32_t message_piece(uint32_t data_size, uint32_t index, uint32_t *page, uint32_t *at)
{
    *page = (index - 1) / PIECES;
    *at = (index - 1) % PIECES * TRANSPORT_PIECE;
    uint32_t in_page = data_size - *page * PAGE_SIZE, n;
    if (in_page > PAGE_SIZE)
        in_page = PAGE_SIZE;
    n = in_page > *at ? in_page - *at : 0;
    return MIN(n, TRANSPORT_PIECE);
}

/* The head was made when the message was handed over; it precedes the body. */
static void message_frame(struct peer *peer, const struct message *m, uint32_t sequence, uint32_t index)
{
    struct wire_header header = {.kind = FRAME_DATA,
                                 .from = ipc_node,
                                 .sequence = sequence,
                                 .index = index,
                                 .data_size = m->data_size,
                                 .to_epoch = peer->theirs,
                                 .epoch = peer->epoch};
    uint32_t page, at,
        n = index ? message_piece(m->data_size, index, &page, &at)
                  : sizeof(struct wire_head) + m->rights * sizeof m->wire_right[0] + m->size;
    struct mbuf *f = frame_begin(&header, n);
    if (!f)
        return; /* treated as lost on the wire */
    if (index) {
        append(f, (const uint8_t *)page_pointer(m->page[page]) + at, n);
    } else {
        struct wire_head head = {.to_uid = m->wire_uid,
                                 .id = m->id,
                                 .released = m->wire_released,
                                 .size = (uint16_t)m->size,
                                 .rights = (uint16_t)(m->rights | (m->memory ? DESCRIBES_MEMORY : 0)),
                                 .reply = m->wire_reply};
        append(f, &head, sizeof head);
        append(f, m->wire_right, m->rights * sizeof m->wire_right[0]);
        append(f, m->body, m->size);
    }
    frame_out(f, peer->node);
}

static void send_header(struct peer *peer, struct wire_header header)
{
    header.from = ipc_node;
    header.epoch = peer->epoch;
    struct mbuf *f = frame_begin(&header, 0);
    if (f)
        frame_out(f, peer->node);
}

static void send_ack(struct peer *peer, uint32_t sequence, uint32_t index)
{
    COUNT(acknowledgements);
    send_header(
        peer, (struct wire_header){.kind = FRAME_ACK, .sequence = sequence, .index = index, .to_epoch = peer->theirs});
}

/* ---- Receiving. */

/* Allocates a message of these sizes; 0: memory is out, or invalid sizes. */
static struct message *begin_message(const struct peer *peer, const struct wire_header *h)
{
    if (h->data_size > MESSAGE_PAGES * PAGE_SIZE)
        return 0;
    struct message *m = message_alloc(0);
    if (!m)
        return 0;
    m->node = peer->node;
    if (!message_make_room(m, h->data_size)) {
        message_free(m);
        return 0;
    }
    return m;
}

/* Copies the frame's bytes to their place; false: its header or sizes are invalid. */
static bool take_frame(struct message *m, const struct received *f)
{
    const struct wire_header *h = &f->header;
    if (h->index) {
        uint32_t page, at, n = message_piece(m->data_size, h->index, &page, &at);
        if (f->length < n || h->index >= frames_of(m))
            return false;
        memcpy((uint8_t *)page_pointer(m->page[page]) + at, f->bytes, n);
        return true;
    }
    struct wire_head head;
    if (f->length < sizeof head)
        return false;
    memcpy(&head, f->bytes, sizeof head);
    m->memory = head.rights & DESCRIBES_MEMORY;
    head.rights &= (uint16_t)~DESCRIBES_MEMORY;
    uint32_t rights_size = head.rights * sizeof(struct wire_right);
    if (head.rights > MESSAGE_RIGHTS || head.size > MESSAGE_BODY || f->length < sizeof head + rights_size + head.size)
        return false;
    m->id = head.id;
    m->size = head.size;
    m->rights = head.rights;
    m->wire_uid = head.to_uid;
    m->wire_released = head.released;
    m->wire_reply = head.reply;
    memcpy(m->wire_right, f->bytes + sizeof head, rights_size);
    memcpy(m->body, f->bytes + sizeof head + rights_size, head.size);
    return true;
}

static void message_ready(struct peer *peer, struct message *m)
{
    STAILQ_INSERT_TAIL(&peer->ready, m, link);
}

/* The message is complete: takes over its rights, and delivers it to its port. */
static void timer_wanted(void);

static void message_deliver(struct message *m)
{
    COUNT(arrived);
    if (!watching && (m->rights || m->wire_reply.type))
        timer_wanted(); /* from now on the node's silence must be noticed */
    if (m->wire_reply.type)
        m->reply = (struct right){port_import(&m->wire_reply, m->node), port_right_type(&m->wire_reply)};
    for (unsigned i = 0; i < m->rights; i++) {
        const struct wire_right *w = &m->wire_right[i];
        m->right[i] = w->type ? (struct right){port_import(w, m->node), port_right_type(w)} : (struct right){0};
    }
    if (m->wire_released)
        port_home_release(m->wire_uid, ipc_node, m->node, m->wire_released & ~BY_ONCE, m->wire_released & BY_ONCE, 0);
    m->by_once = m->wire_released & BY_ONCE;
    if (m->data_size && transport_data_arrived)
        transport_data_arrived(m);
    else
        m->memory = 0;
    port_arrived(m, m->wire_uid);
}

/* The first message has arrived completely. */
static void first_done(struct peer *peer)
{
    struct message *m = STAILQ_FIRST(&peer->out);
    STAILQ_REMOVE_HEAD(&peer->out, link);
    peer->waiting--;
    message_ready(peer, m); /* freed after the lock is released */
    m->node = ipc_node;
}

static void peer_queues_init(struct peer *peer)
{
    STAILQ_INIT(&peer->out);
    STAILQ_INIT(&peer->in);
    STAILQ_INIT(&peer->ready);
}

/*
 * Gives the node up: drops what was to be sent there, and partly received messages. With the peer's lock held; until
 * peer_buried has been called, without it, nothing is sent there or accepted from there.
 */
static void peer_died(struct peer *peer)
{
    struct message *m;
    while (!STAILQ_EMPTY(&peer->out))
        first_done(peer);
    STAILQ_FOREACH(m, &peer->in, link)
        m->node = ipc_node;
    STAILQ_CONCAT(&peer->ready, &peer->in);
    struct message_queue ready = STAILQ_HEAD_INITIALIZER(ready);
    STAILQ_CONCAT(&ready, &peer->ready);
    struct peer fresh = {.lock = peer->lock,
                         .node = peer->node,
                         .dying = true,
                         .epoch = peer->epoch + 1,
                         .seen = peer->theirs ? peer->theirs : peer->seen};
    *peer = fresh;
    peer_queues_init(peer);
    STAILQ_CONCAT(&peer->ready, &ready);
    COUNT(given_up);
}

static void peer_buried(struct peer *peer)
{
    port_node_died(peer->node);
    if (transport_node_died)
        transport_node_died(peer->node);
    mutex_lock(&peer->lock);
    peer->dying = false;
    mutex_unlock(&peer->lock);
}

/* Whether anything is under way there; read without its lock. */
static bool peer_is_busy(const struct peer *peer)
{
    return *(struct message *volatile *)&STAILQ_FIRST(&peer->out);
}

static void timer_wanted(void)
{
    if (*(volatile bool *)&timer_runs)
        return;
    crit_t s = simple_lock_enter(&timer_lock);
    timer_runs = true;
    thread_wakeup(&timer_runs);
    simple_lock_leave(&timer_lock, s);
}

void transport_tick_wanted(void)
{
    timer_wanted();
}

#include TRANSPORT_FILE

static struct peer *peer_of(unsigned node)
{
    if (node >= node_total || node == ipc_node)
        return 0;
    if (peers[node])
        return peers[node];
    struct peer *fresh = zone_alloc(&peer_zone);
    if (!fresh)
        return 0;
    *fresh = (struct peer){.node = (uint16_t)node, .epoch = transport_begun, .heard = cycles32()};
    peer_queues_init(fresh);
    lock_init(&fresh->lock, &peer_class, "ipc peer");
    crit_t s = simple_lock_enter(&table_lock);
    bool ours = !peers[node];
    if (ours)
        peers[node] = fresh;
    simple_lock_leave(&table_lock, s);
    if (!ours) {
        lock_destroy(&fresh->lock);
        zone_free(&peer_zone, fresh);
    }
    return peers[node];
}

/* Releases the peer's lock, and passes on what has become ready meanwhile. */
static void peer_done(struct peer *peer)
{
    struct message_queue ready = STAILQ_HEAD_INITIALIZER(ready);
    STAILQ_CONCAT(&ready, &peer->ready);
    mutex_unlock(&peer->lock);
    for (struct message *m; (m = STAILQ_FIRST(&ready));) {
        STAILQ_REMOVE_HEAD(&ready, link);
        if (m->node == ipc_node)
            message_free(m);
        else
            message_deliver(m);
    }
}

/* Transfers the message's rights to the node; false: memory is out, and nothing has changed. */
static bool export_rights(struct message *m, unsigned node)
{
    unsigned done = 0;
    if (m->reply.port && !port_export(m->reply.port, m->reply.type, node, &m->wire_reply))
        return false;
    while (done < m->rights &&
           (!m->right[done].port || port_export(m->right[done].port, m->right[done].type, node, &m->wire_right[done])))
        done++;
    bool all = done == m->rights && (!m->export_data || m->export_data(m, node));
    for (unsigned i = 0; i < done; i++)
        if (m->right[i].port && all)
            m->right[i].type = RIGHT_NONE;
        else if (m->right[i].port)
            port_unexport(m->right[i].port, m->right[i].type, node);
    if (m->reply.port && all)
        m->reply.type = RIGHT_NONE;
    else if (m->reply.port)
        port_unexport(m->reply.port, m->reply.type, node);
    return all;
}

int transport_send(unsigned node, struct message *m)
{
    struct peer *peer = peer_of(node);
    if (!peer)
        return -ENOMEM;
    mutex_lock(&peer->lock);
    int error = peer->dying ? -EPIPE : 0;
    if (!error && !export_rights(m, node))
        error = -ENOMEM;
    if (error) {
        mutex_unlock(&peer->lock);
        return error;
    }
    m->discard = 0;
    m->wire_uid = m->to.port->uid;
    m->wire_released = m->to.type == RIGHT_SEND_ONCE ? BY_ONCE : 0;
    m->wire_released |= port_leaves(&m->to);
    COUNT(messages);
    STAILQ_INSERT_TAIL(&peer->out, m, link);
    peer->waiting++;
    peer_send(peer, m);
    peer_done(peer);
    return 0;
}

/* ---- Threads. */

static struct ifqueue input_queue = IFQUEUE(input_queue, "ipc input", INPUT_MOST);
DEFINE_SIMPLE_LOCK(input_lock, "ipc input", SPL_NET);
static bool input_sleeps;
static struct random chance;
static uint32_t lose, repeat; /* of 1000 frames */

static void frame_input(struct mbuf *m)
{
    if (!IF_ENQUEUE(&input_queue, m))
        return;
    crit_t s = simple_lock_enter(&input_lock);
    if (input_sleeps) {
        input_sleeps = false;
        thread_wakeup(&input_queue);
    }
    simple_lock_leave(&input_lock, s);
}

static bool is_later(uint32_t epoch, uint32_t than)
{
    return (int32_t)(epoch - than) > 0;
}

/* The node has begun a new epoch, so all that it had from here, or was to get, is void. */
static bool has_given_us_up(const struct peer *peer, const struct wire_header *h)
{
    return !peer->dying && peer->theirs && is_later(h->epoch, peer->theirs);
}

/* Whether the frame is of the current epochs; it may be the first of a new one. */
static bool is_of_now(struct peer *peer, const struct wire_header *h)
{
    if (peer->dying || (peer->theirs ? h->epoch != peer->theirs : peer->seen && !is_later(h->epoch, peer->seen))) {
        if (!peer->dying && h->to_epoch &&
            is_later(peer->epoch, h->to_epoch)) /* it does not know that it was given up */
            send_header(peer, (struct wire_header){.kind = FRAME_EPOCH, .to_epoch = h->to_epoch});
        return false;
    }
    peer->theirs = h->epoch;
    peer->heard = cycles32();
    return h->kind == FRAME_EPOCH || !h->to_epoch || h->to_epoch == peer->epoch;
}

static void take_in(struct mbuf *m)
{
    struct received f = {.bytes = m->m_data + sizeof f.header, .length = m->m_len - sizeof f.header};
    if (m->m_len < sizeof f.header) {
        COUNT(dropped);
        return;
    }
    memcpy(&f.header, m->m_data, sizeof f.header);
    struct peer *peer = peer_of(f.header.from);
    if (!peer || is_cut()) {
        COUNT(dropped);
        return;
    }
    mutex_lock(&peer->lock);
    bool dies = has_given_us_up(peer, &f.header);
    if (dies) {
        peer_died(peer);
        peer_done(peer);
        peer_buried(peer);
        mutex_lock(&peer->lock);
    }
    if (!is_of_now(peer, &f.header))
        COUNT(dropped);
    else if (f.header.kind == FRAME_DATA)
        peer_data(peer, &f);
    else if (f.header.kind == FRAME_ACK)
        peer_ack(peer, &f);
    else if (f.header.kind != FRAME_EPOCH)
        COUNT(dropped);
    peer_done(peer);
}

static void input_thread(void *arg)
{
    (void)arg;
    for (;;) {
        struct mbuf *m = IF_DEQUEUE(&input_queue);
        if (!m) {
            crit_t s = simple_lock_enter(&input_lock);
            input_sleeps = true;
            if (!*(struct mbuf *volatile *)&STAILQ_FIRST(&input_queue.ifq_packets))
                thread_sleep(&input_queue, &input_lock);
            input_sleeps = false;
            simple_lock_leave(&input_lock, s);
            continue;
        }
        if (lose && random_below(&chance, 1000) < lose) {
            COUNT(dropped);
        } else {
            take_in(m);
            if (repeat && random_below(&chance, 1000) < repeat)
                take_in(m);
        }
        m_free(m);
    }
}

/* Probes the node, if it has been silent for a while and threads may wait for it. */
static void probe_node(struct peer *peer, unsigned node)
{
    if (!transport_probe || peer->dying || peer_is_busy(peer) || cycles32() - peer->heard < transport_probe ||
        !ports_related(node))
        return;
    struct port *host = port_known(node, UID_HOST);
    struct message *m = host ? message_alloc(MESSAGE_PROBE) : 0;
    if (m) {
        m->to = (struct right){host, RIGHT_SEND};
        message_post(m);
    } else if (host) {
        port_drop(host, RIGHT_SEND);
    }
}

/* A tick of the timer: sends again what has been under way for too long. */
static void timer_tick(void)
{
    ticks++;
    ports_settle();
    servers_look();
    for (unsigned n = 0; n < node_total; n++) {
        struct peer *peer = peers[n];
        if (!peer)
            continue;
        probe_node(peer, n);
        if (!peer_is_busy(peer))
            continue;
        mutex_lock(&peer->lock);
        bool dies = peer_is_busy(peer) && peer->tries > transport_tries;
        if (dies) {
            peer_died(peer);
        } else if (peer_is_busy(peer)) {
            peer_tick(peer);
            timer_wanted();
        }
        peer_done(peer);
        if (dies)
            peer_buried(peer);
    }
}

/* Clock ticks until the next check for silent nodes; NO_LIMIT: no node is watched. */
static uint32_t watch_ticks(void)
{
    for (unsigned n = 0; n < node_total && transport_probe; n++)
        if (peers[n] && ports_related(n))
            return (uint32_t)((uint64_t)transport_probe * clock_hz() / CLOCK_HZ) / 2 + 1;
    return NO_LIMIT;
}

static void timer_thread(void *arg)
{
    (void)arg;
    uint32_t delay = TICK_MS * clock_hz() / 1000;
    for (;;) {
        struct limit limit;
        uint32_t limited = watch_ticks();
        watching = limited != NO_LIMIT;
        limit_begin(&limit, limited, &timer_runs, &timer_lock);
        crit_t s = simple_lock_enter(&timer_lock);
        while (!timer_runs && !limit.over)
            limit_sleep(&limit);
        bool runs = timer_runs;
        timer_runs = false;
        simple_lock_leave(&timer_lock, s);
        limit_end(&limit);
        if (runs)
            thread_delay(delay ? delay : 1);
        timer_tick();
    }
}

void transport_start(unsigned nodes)
{
    static struct ether_protocol protocol = {.type = ETHERTYPE_IPC, .input = frame_input};
    if (nodes > PORT_NODES)
        panic("%u nodes: at most %u have Ethernet addresses of their own", nodes, PORT_NODES);
    node_total = nodes;
    transport_begun = cycles32() | 1;
    retry = bootargs_number(BOOT(kernel, ipc_retry)) / TICK_MS + 1;
    transport_tries = bootargs_number(BOOT(kernel, ipc_tries));
    transport_probe = bootargs_number(BOOT(kernel, ipc_probe)) * (CLOCK_HZ / 1000);
    if (bootargs_number(BOOT(kernel, ipc_cut)) && bootargs_number(BOOT(kernel, ipc_cut_node)) == ipc_node) {
        cut = cycles64() + (uint64_t)bootargs_number(BOOT(kernel, ipc_cut)) * (CLOCK_HZ / 1000000);
        healed = cut + (uint64_t)bootargs_number(BOOT(kernel, ipc_heal)) * (CLOCK_HZ / 1000000);
    }
    lose = bootargs_number(BOOT(kernel, ipc_lose));
    repeat = bootargs_number(BOOT(kernel, ipc_repeat));
    chance = random_from(run_seed, ipc_node);
    ether_register(&protocol);
    if (!thread_create(input_thread, 0, PRI_INTERRUPT, ANY_HART, "ipc input") ||
        !thread_create(timer_thread, 0, PRI_INTERRUPT, ANY_HART, "ipc timer"))
        panic("no thread is free for messages of other nodes");
}

bool transport_has_given_up(unsigned node)
{
    return peers[node] && *(volatile uint32_t *)&peers[node]->epoch != transport_begun;
}

uint32_t transport_patience(void)
{
    uint32_t wait = 0;
    for (uint32_t i = 0; i <= transport_tries; i++)
        wait += (retry + 1) << MIN(i, 5u);
    return wait * TICK_MS + 2 * (transport_probe / (CLOCK_HZ / 1000));
}

bool transport_is_cut(void)
{
    return healed;
}

bool transport_drain(uint32_t ms)
{
    for (uint32_t left = (uint32_t)((uint64_t)ms * clock_hz() / 1000);; left--) {
        bool busy = false;
        for (unsigned n = 0; n < node_total; n++)
            busy |= peers[n] && peer_is_busy(peers[n]);
        if (!busy || !left)
            return !busy;
        thread_delay(1);
    }
}

void transport_print_results(void)
{
    const struct transport_counts *c = &transport_counts;
    kprintf("@ipc transport=" TRANSPORT_NAME " messages=%lu packets=%lu frames=%lu resent=%lu acknowledgements=%lu "
            "arrived=%lu repeated=%lu dropped=%lu given_up=%lu ports=%lu in_use=%lu\n",
            (unsigned long)c->messages, (unsigned long)c->packets, (unsigned long)c->frames, (unsigned long)c->resent,
            (unsigned long)c->acknowledgements, (unsigned long)c->arrived, (unsigned long)c->repeated,
            (unsigned long)c->dropped, (unsigned long)c->given_up, (unsigned long)ports_in_use(),
            (unsigned long)messages_in_use());
}
