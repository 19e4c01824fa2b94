/*
 * What both transports share (transport.h): frames out and in, messages taken apart and put together. The file that
 * build option `ipc` names has what to send when:
 *
 *   peer_send(peer)          something new waits in the queue
 *   peer_data(peer, frame)   a frame with data has come
 *   peer_ack(peer, frame)    one that says what has
 *   peer_tick(peer)          the timer; whether it wants another tick
 *
 * All with the peer's lock. Messages that are complete are put in `peer->ready`, and delivered when it has been let go
 * of.
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
#include "sched/sched.h"

#define ETHERTYPE_IPC 0x88b5 /* IEEE 802's first for experiments */
#define INPUT_MOST 256           /* frames that wait for the input thread */
#define PIECES ((PAGE_SIZE + TRANSPORT_PIECE - 1) / TRANSPORT_PIECE)
#define TRIES 12  /* after which a node is given up: each takes twice as long as the one before, up to 32 times */
#define TICK_MS 5 /* between two looks of the timer */

enum { FRAME_DATA = 1, FRAME_ACK = 2 };

struct wire_header {
    uint16_t kind, from;
    uint32_t sequence, index, data_size;
    uint16_t head_size, unused;
    uint32_t epoch;
};

/* A message's head, as it is sent: what is before `right` always, as many rights as it has, the body. */
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
    bool dead; /* given up: nothing is sent there any more */
    /* what is sent there */
    struct message *first, **last; /* the first is under way */
    uint32_t waiting;
    uint32_t sequence; /* norma: of the packet that is under way; window: the first frame that is not there */
    uint32_t packet;   /* norma: which of the first message */
    uint32_t tries, due;
    uint32_t next, end; /* window: the next frame to be sent; behind the last one of all messages */
    uint32_t there, resent, overtaken; /* window: frames from `sequence` on, as bits; acknowledgements that say so */
    /* what comes from there */
    uint32_t expected;  /* the next packet, or frame */
    struct message *in; /* put together; window: several */
    uint32_t in_packet; /* norma */
    uint32_t got;       /* norma: frames of the packet; window: from `expected` on; as bits */
    uint32_t coming;    /* window: messages in `in` */
    uint32_t unsaid;    /* window: frames that have not been acknowledged */
    struct message *ready, **ready_last;
};

static struct peer *peers[PORT_NODES];
static unsigned node_total;
static MUTEX_CLASS(peer_class, "ipc peer");
DEFINE_ZONE(peer_zone, "ipc-peers", sizeof(struct peer), 8, SPL_SOFTPREEMPT, 0);
DEFINE_SIMPLE_LOCK(table_lock, "ipc peers", SPL_SOFTPREEMPT);
DEFINE_SIMPLE_LOCK(timer_lock, "ipc timer", SPL_SOFTCLOCK);
static bool timer_runs;
static uint32_t ticks; /* of the timer */
static uint32_t retry; /* of its ticks until a packet is sent again */
static uint32_t epoch;
struct transport_counts transport_counts;
void (*transport_node_died)(unsigned node);
#define COUNT(what) __atomic_fetch_add(&transport_counts.what, 1, __ATOMIC_RELAXED)

/* ---- Out. */

static uint32_t frames_of(const struct message *m)
{
    return 1 + (m->data_size + PAGE_SIZE - 1) / PAGE_SIZE * PIECES;
}

static uint32_t head_size_of(const struct message *m)
{
    return sizeof(struct wire_head) + m->rights * sizeof(struct wire_right) + m->size;
}

static void frame_out(struct mbuf *m, unsigned node)
{
    uint8_t to[ETHER_ADDRESS];
    memcpy(to, net_own.ether, sizeof to);
    to[ETHER_ADDRESS - 1] = (uint8_t)(net_own.ether[ETHER_ADDRESS - 1] - ipc_node + node);
    COUNT(frames);
    ether_output(m, to, ETHERTYPE_IPC);
}

static struct mbuf *frame_begin(const struct wire_header *header)
{
    struct mbuf *m = m_get();
    if (!m)
        return 0;
    m->m_data += ETHER_HEADER + 2;
    memcpy(m->m_data, header, sizeof *header);
    m->m_len = sizeof *header;
    return m;
}

static void append(struct mbuf *m, const void *bytes, uint32_t n)
{
    memcpy(m->m_data + m->m_len, bytes, n);
    m->m_len += n;
}

/* Bytes of the message's data in frame `index` of it, from *at on. */
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

/* The head has been made when the message was handed over; it lies before the body. */
static void message_frame(struct peer *peer, const struct message *m, uint32_t sequence, uint32_t index)
{
    struct wire_header header = {.kind = FRAME_DATA,
                                 .from = ipc_node,
                                 .sequence = sequence,
                                 .index = index,
                                 .data_size = m->data_size,
                                 .head_size = (uint16_t)head_size_of(m),
                                 .epoch = epoch};
    struct mbuf *f = frame_begin(&header);
    if (!f)
        return; /* as if the wire had lost it */
    if (index) {
        uint32_t page, at, n = message_piece(m->data_size, index, &page, &at);
        append(f, (const uint8_t *)page_pointer(m->page[page]) + at, n);
    } else {
        struct wire_head head = {.to_uid = m->wire_uid,
                                 .id = m->id,
                                 .released = m->wire_released,
                                 .size = (uint16_t)m->size,
                                 .rights = (uint16_t)m->rights,
                                 .reply = m->wire_reply};
        append(f, &head, sizeof head);
        append(f, m->wire_right, m->rights * sizeof m->wire_right[0]);
        append(f, m->body, m->size);
    }
    frame_out(f, peer->node);
}

static void send_ack(struct peer *peer, uint32_t sequence, uint32_t index)
{
    struct wire_header header = {
        .kind = FRAME_ACK, .from = ipc_node, .sequence = sequence, .index = index, .epoch = epoch};
    struct mbuf *f = frame_begin(&header);
    COUNT(acknowledgements);
    if (f)
        frame_out(f, peer->node);
}

/* ---- In. */

/* Room for a message of these sizes; 0: memory is out, or it is none that anybody sends. */
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

/* The frame's bytes are put where they belong; false: it is not what it says it is. */
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
    m->next = 0;
    *peer->ready_last = m;
    peer->ready_last = &m->next;
}

/* The message is complete: its rights become ours, and it goes to its port. */
static void message_deliver(struct message *m)
{
    COUNT(arrived);
    if (m->wire_reply.type)
        m->reply = (struct right){port_import(&m->wire_reply, m->node), (enum right_type)m->wire_reply.type};
    for (unsigned i = 0; i < m->rights; i++) {
        const struct wire_right *w = &m->wire_right[i];
        m->right[i] = w->type ? (struct right){port_import(w, m->node), (enum right_type)w->type} : (struct right){0};
    }
    if (m->wire_released)
        port_home_release(m->wire_uid, ipc_node, m->wire_released);
    port_arrived(m, m->wire_uid);
}

/* The first message has got there. */
static void first_done(struct peer *peer)
{
    struct message *m = peer->first;
    peer->first = m->next;
    if (!peer->first)
        peer->last = &peer->first;
    peer->waiting--;
    message_ready(peer, m); /* it is freed behind the lock */
    m->node = ipc_node;
}

/* Nothing has been heard of the node for so long that it is given up: what was to be sent there goes. */
static void peer_died(struct peer *peer)
{
    peer->dead = true;
    while (peer->first)
        first_done(peer);
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
    *fresh = (struct peer){.node = (uint16_t)node};
    fresh->last = &fresh->first;
    fresh->ready_last = &fresh->ready;
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

/* Lets go of the peer, and passes on what has become ready meanwhile. */
static void peer_done(struct peer *peer)
{
    struct message *m = peer->ready;
    peer->ready = 0;
    peer->ready_last = &peer->ready;
    mutex_unlock(&peer->lock);
    for (struct message *next; m; m = next) {
        next = m->next;
        if (m->node == ipc_node)
            message_free(m);
        else
            message_deliver(m);
    }
}

int transport_send(unsigned node, struct message *m)
{
    struct peer *peer = peer_of(node);
    if (!peer || peer->dead)
        return peer ? -EPIPE : -ENOMEM;
    m->wire_uid = m->to.port->uid;
    m->wire_released = port_leaves(&m->to);
    if (m->reply.port) {
        port_export(m->reply.port, m->reply.type, &m->wire_reply);
        m->reply.type = RIGHT_NONE;
    }
    for (unsigned i = 0; i < m->rights; i++)
        if (m->right[i].port) {
            port_export(m->right[i].port, m->right[i].type, &m->wire_right[i]);
            m->right[i].type = RIGHT_NONE;
        }
    COUNT(messages);
    mutex_lock(&peer->lock);
    m->next = 0;
    *peer->last = m;
    peer->last = &m->next;
    peer->waiting++;
    peer_send(peer);
    peer_done(peer);
    return 0;
}

/* ---- Threads. */

static struct ifqueue input_queue = IFQUEUE("ipc input", INPUT_MOST);
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

static void take_in(struct mbuf *m)
{
    struct received f = {.bytes = m->m_data + sizeof f.header, .length = m->m_len - sizeof f.header};
    if (m->m_len < sizeof f.header) {
        COUNT(dropped);
        return;
    }
    memcpy(&f.header, m->m_data, sizeof f.header);
    struct peer *peer = peer_of(f.header.from);
    if (!peer) {
        COUNT(dropped);
        return;
    }
    mutex_lock(&peer->lock);
    if (f.header.kind == FRAME_DATA)
        peer_data(peer, &f);
    else if (f.header.kind == FRAME_ACK)
        peer_ack(peer, &f);
    else
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
            if (!*(struct mbuf *volatile *)&input_queue.ifq_head)
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

/* A tick of the timer: what has been under way for too long is sent again. */
static void timer_tick(void)
{
    ticks++;
    for (unsigned n = 0; n < node_total; n++) {
        struct peer *peer = peers[n];
        if (!peer || !*(struct message *volatile *)&peer->first)
            continue;
        mutex_lock(&peer->lock);
        bool dies = peer->first && peer->tries > TRIES;
        if (dies) {
            peer_died(peer);
        } else if (peer->first) {
            peer_tick(peer);
            timer_wanted();
        }
        peer_done(peer);
        if (dies && transport_node_died)
            transport_node_died(n);
    }
}

static void timer_thread(void *arg)
{
    (void)arg;
    uint32_t delay = TICK_MS * clock_hz() / 1000;
    for (;;) {
        crit_t s = simple_lock_enter(&timer_lock);
        while (!timer_runs)
            thread_sleep(&timer_runs, &timer_lock);
        timer_runs = false;
        simple_lock_leave(&timer_lock, s);
        thread_delay(delay ? delay : 1);
        timer_tick();
    }
}

void transport_start(unsigned nodes)
{
    static struct ether_protocol protocol = {.type = ETHERTYPE_IPC, .input = frame_input};
    if (nodes > PORT_NODES)
        panic("%u nodes: there may be %u", nodes, PORT_NODES);
    node_total = nodes;
    epoch = cycles32();
    retry = bootargs_number(BOOT(kernel, ipc_retry)) / TICK_MS + 1;
    lose = bootargs_number(BOOT(kernel, ipc_lose));
    repeat = bootargs_number(BOOT(kernel, ipc_repeat));
    chance = random_from(run_seed, ipc_node);
    ether_register(&protocol);
    if (!thread_create(input_thread, 0, PRI_INTERRUPT, ANY_HART, "ipc input") ||
        !thread_create(timer_thread, 0, PRI_INTERRUPT, ANY_HART, "ipc timer"))
        panic("no thread is free for messages of other nodes");
}

bool transport_drain(uint32_t ms)
{
    for (uint32_t left = (uint32_t)((uint64_t)ms * clock_hz() / 1000);; left--) {
        bool busy = false;
        for (unsigned n = 0; n < node_total; n++)
            busy |= peers[n] && *(struct message *volatile *)&peers[n]->first;
        if (!busy || !left)
            return !busy;
        thread_delay(1);
    }
}

void transport_print_results(void)
{
    const struct transport_counts *c = &transport_counts;
    kprintf("@ipc transport=" TRANSPORT_NAME " messages=%lu packets=%lu frames=%lu resent=%lu acknowledgements=%lu "
            "arrived=%lu repeated=%lu dropped=%lu ports=%lu in_use=%lu\n",
            (unsigned long)c->messages, (unsigned long)c->packets, (unsigned long)c->frames, (unsigned long)c->resent,
            (unsigned long)c->acknowledgements, (unsigned long)c->arrived, (unsigned long)c->repeated,
            (unsigned long)c->dropped, (unsigned long)ports_in_use(), (unsigned long)messages_in_use());
}
