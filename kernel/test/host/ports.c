/*
 * Ports over several nodes: one program is each of them in turn, with its own names. Rights are made, sent, passed on
 * and dropped at random; messages between two nodes keep their order, and come late; nodes are given up, and begin
 * anew; memory is out for a while. No receiver is ever told that a port has no senders while one can send;
 * a caller that waits for an answer gets it, or learns that none will come; in the end nothing is left. Sources:
 * ipc/message.c mem/zone.c mem/page.c lock/simple_lock.c lib/printf.c. Options: ZONE_DEBUG=0
 */
#include "ipc/port.c"

#include "lib/random.h"
#include "test/host/host.h"

#define RAM_PAGES 600
#include "test/host/ram.h"

#define NODES 4
#define OWN 6     /* ports that a node has made */
#define HELD 12   /* rights that a node has */
#define CALLS 4   /* answers that a node waits for */
#define WATCHED 3 /* ports whose death it is notified of */
#define FLIGHTS 4000
#define STEPS 1200

void vm_object_release(struct vm_object *object)
{
    (void)object;
    host_failed(__FILE__, __LINE__, "no message has an object here");
}

void limit_begin(struct limit *l, uint32_t ticks, const void *channel, struct simple_lock *lock)
{
    (void)ticks, (void)channel, (void)lock;
    l->over = false;
}

void limit_end(struct limit *l)
{
    (void)l;
}

int limit_sleep(const struct limit *l)
{
    (void)l;
    host_failed(__FILE__, __LINE__, "a thread sleeps");
}

void thread_wakeup(const void *channel)
{
    (void)channel;
}

uint32_t clock_hz(void)
{
    return 1000;
}

/* ---- Nodes. */

/* A port that a node offers; the model counts its senders by looking everywhere. */
struct offered {
    struct port *port;
    unsigned told; /* notifications that there are no senders */
    bool freed;
};

static struct node {
    struct port_bucket named[BUCKETS];
    struct port *host;
    uint32_t last_uid, given_to[PORT_NODES], had_from[PORT_NODES];
    struct owed owed[OWED];
    unsigned owed_count;
    struct port *owing;
    struct offered own[OWN];
    struct right held[HELD];
    struct port *reply[CALLS];
    struct watched {
        struct port *of, *queue; /* a send right to it; where its death is notified */
    } watched[WATCHED];
} nodes[NODES];
static struct random luck;

static void become(unsigned n)
{
    struct node *from = &nodes[ipc_node], *to = &nodes[n];
    memcpy(from->named, named, sizeof named);
    memcpy(from->given_to, given_to, sizeof given_to);
    memcpy(from->had_from, had_from, sizeof had_from);
    memcpy(from->owed, owed, sizeof owed);
    from->owed_count = owed_count;
    from->owing = SLIST_FIRST(&owing);
    from->last_uid = last_uid;
    from->host = host_port;
    memcpy(named, to->named, sizeof named);
    memcpy(given_to, to->given_to, sizeof given_to);
    memcpy(had_from, to->had_from, sizeof had_from);
    memcpy(owed, to->owed, sizeof owed);
    owed_count = to->owed_count;
    owing.slh_first = to->owing;
    last_uid = to->last_uid;
    host_port = to->host;
    ipc_node = (uint16_t)n;
}

/* ---- The wire: each pair's messages in order. */

void (*transport_node_died)(unsigned node);

static unsigned deaths_told; /* of nodes, or of ports */

static void node_died(unsigned node)
{
    CHECK(node != ipc_node);
    deaths_told++;
}

void transport_tick_wanted(void) {}

static struct flight {
    uint16_t from, to;
    struct message *m;
} flights[FLIGHTS];
static unsigned in_flight;

static bool export_all(struct message *m, unsigned node)
{
    for (unsigned i = 0; i < m->rights; i++)
        if (m->right[i].port && !port_export(m->right[i].port, m->right[i].type, node, &m->wire_right[i])) {
            while (i--)
                if (m->right[i].port)
                    port_unexport(m->right[i].port, m->right[i].type, node);
            return false;
        }
    return true;
}

int transport_send(unsigned node, struct message *m)
{
    CHECK(node != ipc_node);
    if (node >= NODES)
        return -ENOMEM;
    if (m->reply.port && !port_export(m->reply.port, m->reply.type, node, &m->wire_reply))
        return -ENOMEM;
    if (!export_all(m, node)) {
        if (m->reply.port)
            port_unexport(m->reply.port, m->reply.type, node);
        return -ENOMEM;
    }
    m->reply.type = RIGHT_NONE;
    for (unsigned i = 0; i < m->rights; i++)
        m->right[i].type = RIGHT_NONE;
    m->wire_uid = m->to.port->uid;
    m->wire_first = m->to.type == RIGHT_SEND_ONCE;
    m->wire_released = port_leaves(&m->to);
    CHECK(in_flight < FLIGHTS);
    flights[in_flight++] = (struct flight){ipc_node, (uint16_t)node, m};
    return 0;
}

void server_add(struct port *p, struct message *m)
{
    p->dead ? message_free(m) : p->ops->message(p->object, m);
}

/* Delivers the message to the other node. False: memory is out there, and it comes again. */
static bool deliver(struct flight f)
{
    struct message *m = f.m, *copy = message_alloc(m->id);
    if (!copy)
        return false;
    copy->size = m->size;
    copy->rights = m->rights;
    copy->node = f.from;
    memcpy(copy->body, m->body, m->size);
    memcpy(copy->wire_right, m->wire_right, sizeof m->wire_right);
    copy->wire_reply = m->wire_reply;
    copy->wire_uid = m->wire_uid;
    copy->wire_first = m->wire_first;
    copy->wire_released = m->wire_released;
    become(f.from);
    message_free(m);
    become(f.to);
    if (copy->wire_reply.type)
        copy->reply = (struct right){port_import(&copy->wire_reply, f.from), port_right_type(&copy->wire_reply)};
    for (unsigned i = 0; i < copy->rights; i++) {
        const struct wire_right *w = &copy->wire_right[i];
        copy->right[i] = w->type ? (struct right){port_import(w, f.from), port_right_type(w)} : (struct right){0};
    }
    if (copy->wire_released || copy->wire_first)
        port_home_release(copy->wire_uid, ipc_node, f.from, copy->wire_released, copy->wire_first, 0);
    copy->by_once = copy->wire_first;
    port_arrived(copy, copy->wire_uid);
    return true;
}

/* The first message of some pair. */
static bool deliver_one(void)
{
    if (!in_flight)
        return false;
    unsigned pick = random_below(&luck, in_flight), at = 0;
    struct flight f = flights[pick];
    while (flights[at].from != f.from || flights[at].to != f.to)
        at++;
    f = flights[at];
    if (!deliver(f))
        return false;
    for (at = 0; flights[at].m != f.m; at++) /* messages that it caused are behind it */
        ;
    memmove(&flights[at], &flights[at + 1], (--in_flight - at) * sizeof f);
    return true;
}

/* Whether any node, or a message under way, has a send right to the port of that node. */
static bool somebody_can_send(unsigned home, uint32_t uid, const struct port *own)
{
    for (unsigned n = 0; n < NODES; n++)
        for (unsigned i = 0; i < HELD; i++) {
            const struct right *r = &nodes[n].held[i];
            if (r->port && r->type == RIGHT_SEND && !(r->port->dead && r->port->home != n) &&
                (r->port == own || (uid && r->port->uid == uid && r->port->home == home)))
                return true;
        }
    for (unsigned n = 0; n < NODES; n++)
        for (unsigned i = 0; i < WATCHED; i++) {
            const struct port *p = nodes[n].watched[i].of;
            if (p && !(p->dead && p->home != n) && (p == own || (uid && p->uid == uid && p->home == home)))
                return true;
        }
    for (unsigned i = 0; i < in_flight && uid; i++)
        for (unsigned k = 0; k < flights[i].m->rights; k++) {
            const struct wire_right *w = &flights[i].m->wire_right[k];
            if (w->type == RIGHT_SEND && w->uid == uid && w->home == home)
                return true;
        }
    return false;
}

static bool anybody_died; /* then rights may be lost under way */

/* ---- Memory is out, for a while. */

static uint32_t taken[RAM_PAGES], taken_count;

static void starve(void)
{
    while ((taken[taken_count] = page_alloc_raw()))
        taken_count++;
}

static void feed(void)
{
    while (taken_count)
        page_free(taken[--taken_count]);
}

static void own_message(void *object, struct message *m)
{
    (void)object;
    /* received rights are kept where there is room */
    for (unsigned i = 0; i < m->rights; i++)
        for (unsigned k = 0; k < HELD && m->right[i].port; k++)
            if (!nodes[ipc_node].held[k].port) {
                nodes[ipc_node].held[k] = m->right[i];
                m->right[i].port = 0;
            }
    if (m->reply.port && random_below(&luck, 4))
        message_answer(m, 5);
    else
        message_free(m); /* the right goes unused */
}

static void host_message(struct message *m)
{
    own_message(0, m);
}

static void own_no_senders(void *object)
{
    struct offered *o = object;
    CHECK(anybody_died || !somebody_can_send(ipc_node, o->port->uid, o->port));
    o->told++;
}

static void own_freed(void *object)
{
    ((struct offered *)object)->freed = true;
}

static const struct port_ops own_ops = {
    .name = "own", .message = own_message, .no_senders = own_no_senders, .freed = own_freed, .at_once = true};

/* ---- A node's operations. */

static struct right *some_held(struct node *n)
{
    struct right *r = &n->held[random_below(&luck, HELD)];
    return r->port ? r : 0;
}

static struct right *free_place(struct node *n)
{
    for (unsigned i = 0; i < HELD; i++)
        if (!n->held[i].port)
            return &n->held[i];
    return 0;
}

static void make_right(struct node *n)
{
    struct offered *o = &n->own[random_below(&luck, OWN)];
    struct right *place = free_place(n);
    if (!place)
        return;
    if (!o->port) {
        *o = (struct offered){0};
        o->port = port_create(&own_ops, o);
        if (!o->port)
            return;
    }
    port_make(o->port, RIGHT_SEND);
    *place = (struct right){o->port, RIGHT_SEND};
}

static void destroy(struct node *n)
{
    struct offered *o = &n->own[random_below(&luck, OWN)];
    if (!o->port || random_below(&luck, 4))
        return;
    struct port *p = o->port;
    o->port = 0;
    port_destroy(p);
}

/* To some port: with some of the rights, copied or moved, and perhaps a port for an answer. */
static void send(struct node *n)
{
    struct right *to = random_below(&luck, 2) ? some_held(n) : 0, host = {0, RIGHT_SEND};
    struct message *m = message_alloc(100);
    if (!m)
        return;
    if (to) {
        port_make(to->port, RIGHT_SEND);
        m->to = *to;
    } else { /* the port that each node offers */
        host.port = port_known((ipc_node + 1 + random_below(&luck, NODES - 1)) % NODES, UID_HOST);
        if (!host.port) {
            message_free(m);
            return;
        }
        m->to = host;
    }
    for (unsigned i = random_below(&luck, 4); i; i--) {
        struct right *r = some_held(n);
        if (r && random_below(&luck, 2)) {
            port_make(r->port, RIGHT_SEND);
            message_add_right(m, r->port, RIGHT_SEND);
        } else if (r && r != to) {
            message_add_right(m, r->port, RIGHT_SEND);
            r->port = 0;
        }
    }
    struct port **reply = &n->reply[random_below(&luck, CALLS)];
    if (!*reply && random_below(&luck, 2) && (*reply = port_create(0, 0))) {
        port_make(*reply, RIGHT_SEND_ONCE);
        m->reply = (struct right){*reply, RIGHT_SEND_ONCE};
    }
    message_post(m);
}

static void watch(struct node *n)
{
    struct watched *w = &n->watched[random_below(&luck, WATCHED)];
    struct right *r = some_held(n);
    if (w->of || !r || r->port == host_port || !(w->queue = port_create(0, 0)))
        return;
    port_make(w->queue, RIGHT_SEND_ONCE);
    if (port_watch(r->port, MESSAGE_DEAD_NAME, w->queue, 7, n)) {
        port_drop(w->queue, RIGHT_SEND_ONCE);
        port_destroy(w->queue);
        w->queue = 0;
        return;
    }
    port_make(r->port, RIGHT_SEND);
    w->of = r->port;
}

/* It has been notified, or cancels that: then the right goes unused. */
static void end_watch(struct node *n, struct watched *w, bool told)
{
    struct message *m;
    struct port *of = w->of;
    if (!told)
        port_unwatch(of, n, 7);
    for (unsigned i = 0; i < WATCHED && !told; i++) /* entries for the same port have gone with it */
        if (n->watched[i].of == of && &n->watched[i] != w)
            end_watch(n, &n->watched[i], true);
    bool heard = !told && !port_receive(w->queue, 0, &m);
    CHECK(told || heard);
    if (heard) {
        CHECK(m->id == MESSAGE_SEND_ONCE || m->id == MESSAGE_DEAD_NAME);
        message_free(m);
    }
    port_destroy(w->queue);
    *w = (struct watched){0};
    port_drop(of, RIGHT_SEND);
}

static void hear_of_dead(struct node *n)
{
    for (unsigned i = 0; i < WATCHED; i++) {
        struct watched *w = &n->watched[i];
        struct message *m;
        if (!w->of || port_receive(w->queue, 0, &m))
            continue;
        CHECK_EQUAL(m->id, MESSAGE_DEAD_NAME);
        CHECK(w->of->dead && m->size == 4 && m->body[0] == 7);
        message_free(m);
        end_watch(n, w, true);
    }
}

/* An answer that has come, or the notification that none will. */
static void hear(struct node *n)
{
    hear_of_dead(n);
    for (unsigned i = 0; i < CALLS; i++) {
        struct message *m;
        if (!n->reply[i] || port_receive(n->reply[i], 0, &m))
            continue;
        CHECK(m->id == 100 + MESSAGE_REPLY || m->id == MESSAGE_SEND_ONCE);
        message_free(m);
        port_destroy(n->reply[i]);
        n->reply[i] = 0;
    }
}

static void drop_right(struct node *n)
{
    struct right *r = some_held(n);
    if (!r)
        return;
    struct port *p = r->port;
    r->port = 0;
    port_drop(p, RIGHT_SEND);
}

/* Each of two nodes gives the other up; messages between them are lost. */
static void part(unsigned a, unsigned b)
{
    anybody_died = true;
    for (unsigned i = 0; i < in_flight;) {
        struct flight f = flights[i];
        if ((f.from == a && f.to == b) || (f.from == b && f.to == a)) {
            memmove(&flights[i], &flights[i + 1], (--in_flight - i) * sizeof f);
            become(f.from);
            message_free(f.m);
            i = 0;
        } else {
            i++;
        }
    }
    become(a);
    port_node_died(b);
    CHECK(!ports_related(b));
    become(b);
    port_node_died(a);
    CHECK(!ports_related(a));
}

static void drain(void)
{
    while (deliver_one())
        for (unsigned n = 0; n < NODES; n++) {
            become(n);
            hear(&nodes[n]);
        }
}

static void let_go(unsigned number)
{
    struct node *n = &nodes[number];
    become(number);
    for (unsigned i = 0; i < HELD; i++)
        if (n->held[i].port) {
            struct port *p = n->held[i].port;
            n->held[i].port = 0;
            port_drop(p, RIGHT_SEND);
        }
}

/* After all nodes have released what they have. */
static void nothing_is_left(void)
{
    for (unsigned n = 0; n < NODES; n++)
        let_go(n);
    drain();
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        for (unsigned i = 0; i < OWN; i++)
            if (nodes[n].own[i].port) {
                CHECK(nodes[n].own[i].told && !port_has_senders(nodes[n].own[i].port));
                port_destroy(nodes[n].own[i].port);
            }
        for (unsigned to = 0; to < NODES; to++)
            CHECK(to == n || !ports_related(to));
    }
    drain(); /* other nodes are notified that they are dead */
    CHECK_EQUAL(ports_in_use(), NODES); /* what each offers */
    CHECK_EQUAL(messages_in_use(), 0);
    CHECK_EQUAL(zone_counts(&watchers).in_use, 0);
    CHECK_EQUAL(zone_counts(&given_zone).in_use, 0);
}

/* One of all nodes' ports is that one; else the right's holder should have been notified. */
static bool is_alive_at_home(const struct port *p)
{
    for (unsigned i = 0; i < OWN; i++) {
        const struct port *own = nodes[p->home].own[i].port;
        if (own && (own == p || (own->uid && own->uid == p->uid)))
            return true;
    }
    return false;
}

/* When nothing is under way, each node has been notified of the dead ports that it asked about. */
static void end_watches(void)
{
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        hear(&nodes[n]);
        for (unsigned i = 0; i < WATCHED; i++) {
            const struct port *p = nodes[n].watched[i].of;
            CHECK(!p || !p->dead);
            CHECK(!p || anybody_died || is_alive_at_home(p));
            if (p)
                end_watch(&nodes[n], &nodes[n].watched[i], false);
        }
    }
}

static void run(uint32_t seed, bool parts, bool starves)
{
    pages_init(BASE, BASE + sizeof memory);
    luck = random_from(seed, 5);
    ipc_host_message = host_message;
    transport_node_died = node_died;
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        last_uid = UID_FIRST;
        ipc_ports_init(n);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned number = random_below(&luck, NODES);
        struct node *n = &nodes[number];
        become(number);
        switch (random_below(&luck, 10)) {
        case 0: make_right(n); break;
        case 1: destroy(n); break;
        case 2:
        case 3: drop_right(n); break;
        case 4:
        case 5:
        case 6: send(n); break;
        case 7: hear(n); break;
        case 8: watch(n); break;
        default:
            if (parts && !random_below(&luck, 20))
                part(number, (number + 1 + random_below(&luck, NODES - 1)) % NODES);
        }
        for (unsigned i = random_below(&luck, 3); i && deliver_one(); i--)
            ;
        if (starves && !random_below(&luck, 100))
            starve();
        else if (!random_below(&luck, 30))
            feed();
        ports_settle();
    }
    feed();
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        ports_settle();
        CHECK(!owed_count && SLIST_EMPTY(&owing));
    }
    drain();
    end_watches();
    drain();
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        hear(&nodes[n]);
        for (unsigned i = 0; i < CALLS; i++)
            CHECK(!nodes[n].reply[i]); /* all have been notified */
        for (unsigned i = 0; i < OWN; i++)
            if (nodes[n].own[i].port && !anybody_died &&
                !somebody_can_send(n, nodes[n].own[i].port->uid, nodes[n].own[i].port))
                CHECK(nodes[n].own[i].told); /* no node has forgotten it */
    }
    nothing_is_left();
}

#define OF_SEED(n)                              \
    HOST_TEST(rights_over_nodes_by_seed_##n)    \
    {                                           \
        run(n, false, false);                   \
    }                                           \
    HOST_TEST(nodes_that_are_given_up_seed_##n) \
    {                                           \
        run(n, true, false);                    \
    }                                           \
    HOST_TEST(memory_is_out_for_a_while_##n)    \
    {                                           \
        run(n, n % 2, true);                    \
    }
OF_SEED(1)
OF_SEED(2)
OF_SEED(3)
OF_SEED(4)
OF_SEED(5)
OF_SEED(6)
OF_SEED(7)
OF_SEED(8)

/* ---- One thing at a time. */

static void begin_nodes(uint32_t seed)
{
    if (!pages_free()) /* once: zones keep their pages */
        pages_init(BASE, BASE + sizeof memory);
    luck = random_from(seed, 5);
    transport_node_died = node_died;
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        last_uid = UID_FIRST;
        ipc_ports_init(n);
    }
    become(0);
}

static void end_nodes(void)
{
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        port_destroy(host_port);
    }
}

/* A port of node 0 that another node has a send right to: the proxy. */
static struct port *proxy_on(unsigned node, struct port *p)
{
    struct wire_right w;
    become(0);
    port_make(p, RIGHT_SEND);
    CHECK(port_export(p, RIGHT_SEND, node, &w));
    port_release(p);
    become(node);
    struct port *proxy = port_import(&w, 0);
    CHECK(proxy);
    return proxy;
}

/* A program may ask for a notification and cancel it, again and again: its home keeps one entry for each node. */
HOST_TEST(a_home_keeps_one_watch_for_each_node)
{
    begin_nodes(1);
    struct port *p = port_create(0, 0), *proxy[NODES] = {0};
    for (unsigned n = 1; n < NODES; n++)
        proxy[n] = proxy_on(n, p);
    for (unsigned i = 0; i < 50; i++)
        for (unsigned n = 1; n < NODES; n++) {
            become(n);
            struct port *queue = port_create(0, 0);
            port_make(queue, RIGHT_SEND_ONCE);
            CHECK_EQUAL(port_watch(proxy[n], MESSAGE_DEAD_NAME, queue, 7, &proxy), 0);
            port_unwatch(proxy[n], &proxy, 7);
            port_destroy(queue);
            drain();
        }
    CHECK(zone_counts(&watchers).in_use <= NODES - 1);
    for (unsigned n = 1; n < NODES; n++) {
        become(n);
        port_drop(proxy[n], RIGHT_SEND);
    }
    become(0);
    port_destroy(p);
    drain();
    CHECK_EQUAL(zone_counts(&watchers).in_use, 0);
    CHECK_EQUAL(ports_in_use(), NODES);
}

/* A node that sends to a dead port, and waits for a result, is notified. */
HOST_TEST(a_node_that_sends_to_what_is_dead_is_told)
{
    for (unsigned named = 0; named < 2; named++) { /* the home still knows the number, or not */
        begin_nodes(1);
        struct port *p = port_create(0, 0), *proxy = proxy_on(1, p);
        unsigned before = deaths_told;
        become(0);
        if (!named)
            port_home_release(proxy->uid, 0, 1, 1, false, 0); /* as if it were miscounted */
        port_destroy(p);
        become(1);
        struct message *m = message_alloc(100);
        port_make(proxy, RIGHT_SEND);
        m->to = (struct right){proxy, RIGHT_SEND};
        message_post(m);
        drain();
        CHECK(proxy->dead && deaths_told == before + 1);
        become(1);
        m = message_alloc(100);
        port_make(proxy, RIGHT_SEND);
        m->to = (struct right){proxy, RIGHT_SEND};
        CHECK_EQUAL(message_send(m, 0), -EPIPE);
        message_free(m);
        port_drop(proxy, RIGHT_SEND);
        drain();
        CHECK_EQUAL(messages_in_use(), 0);
        CHECK_EQUAL(ports_in_use(), NODES);
        end_nodes();
    }
}

/* Another node's receiver is dead if that node says so, but not if another node does. */
HOST_TEST(only_the_home_says_that_a_port_is_dead)
{
    begin_nodes(1);
    struct port *p = port_create(0, 0), *proxy = proxy_on(1, p);
    become(2);
    port_tell_node(MESSAGE_DEAD, (struct count_message){.uid = proxy->uid, .home = 0}, 1);
    drain();
    CHECK(!proxy->dead);
    become(0);
    port_tell_node(MESSAGE_DEAD, (struct count_message){.uid = proxy->uid, .home = 0}, 1);
    drain();
    CHECK(proxy->dead);
}

/* A node that asked for "no senders" is notified if the port dies before. */
HOST_TEST(no_senders_of_a_port_that_goes)
{
    begin_nodes(1);
    struct port *p = port_create(0, 0), *queue = port_create(0, 0);
    struct message *m;
    port_make(p, RIGHT_SEND);
    port_make(queue, RIGHT_SEND_ONCE);
    CHECK_EQUAL(port_watch(p, MESSAGE_NO_SENDERS, queue, 7, &queue), 0);
    port_destroy(p);
    CHECK_EQUAL(port_receive(queue, 0, &m), 0);
    CHECK_EQUAL(m->id, MESSAGE_SEND_ONCE);
    message_free(m);
    port_drop(p, RIGHT_SEND);
    port_destroy(queue);
    CHECK_EQUAL(ports_in_use(), NODES);
}

#define EATEN 2000
static struct port *eaten[EATEN]; /* all ports that there is memory for */
static unsigned eaten_count;

static void eat(void)
{
    starve();
    while ((eaten[eaten_count] = port_create(0, 0)))
        CHECK(++eaten_count < EATEN);
}

static void spit(void)
{
    feed();
    while (eaten_count)
        port_destroy(eaten[--eaten_count]);
}

static void is_told_of_unused(struct port *queue)
{
    struct message *m;
    become(0);
    CHECK_EQUAL(port_receive(queue, 0, &m), 0);
    CHECK_EQUAL(m->id, MESSAGE_SEND_ONCE);
    message_free(m);
    port_destroy(queue);
    drain();
    CHECK_EQUAL(ports_in_use(), NODES);
    CHECK_EQUAL(messages_in_use(), 0);
}

/* A thread that waits for an answer learns that none will come, even if there was no memory for that message. */
HOST_TEST(a_right_that_goes_unused_when_memory_is_out)
{
    struct message *m, *all = 0;
    begin_nodes(1);
    struct port *queue = port_create(0, 0);
    port_make(queue, RIGHT_SEND_ONCE);
    starve();
    while ((m = message_alloc(1))) {
        m->object = (void *)all; /* a list of them */
        all = m;
    }
    port_drop(queue, RIGHT_SEND_ONCE);
    CHECK_EQUAL(port_receive(queue, 0, &m), -ETIMEDOUT);
    ports_settle();
    CHECK_EQUAL(port_receive(queue, 0, &m), -ETIMEDOUT);
    feed();
    while ((m = all)) {
        all = (void *)m->object;
        m->object = 0;
        message_free(m);
    }
    ports_settle();
    is_told_of_unused(queue);
}

HOST_TEST(a_right_that_comes_when_memory_is_out)
{
    struct wire_right w;
    begin_nodes(1);
    struct port *queue = port_create(0, 0);
    port_make(queue, RIGHT_SEND_ONCE);
    CHECK(port_export(queue, RIGHT_SEND_ONCE, 1, &w));
    port_release(queue);
    become(1);
    eat();
    CHECK(!port_import(&w, 0));
    spit();
    ports_settle();
    drain();
    is_told_of_unused(queue);
}

/* Messages that no node sends have no effect: there is no right but to send, and no other node. */
HOST_TEST(rights_of_any_content)
{
    begin_nodes(3);
    struct port *mine = port_create(0, 0);
    port_publish(mine, 20);
    port_reference(mine);
    for (unsigned i = 0; i < 4000; i++) {
        struct wire_right w = {random_below(&luck, 30),
                               (uint16_t)random_below(&luck, random_below(&luck, 2) ? 6 : 65536),
                               (uint16_t)random_below(&luck, random_below(&luck, 2) ? 5 : 65536)};
        if (random_below(&luck, 4) == 0)
            w.type |= RIGHT_OF_KERNEL;
        struct port *p = port_import(&w, 1 + random_below(&luck, NODES - 1));
        enum right_type type = port_right_type(&w);
        bool sound = w.uid && w.home < PORT_NODES && (type == RIGHT_SEND || type == RIGHT_SEND_ONCE);
        CHECK(!p || sound);
        CHECK(!p || port_is_here(p) || w.uid == UID_HOST || p->of_kernel == !!(w.type & RIGHT_OF_KERNEL));
        in_flight = 0;
        if (p)
            port_drop(p, type);
        in_flight = 0;
        CHECK(!mine->dead && !host_port->dead);
    }
    CHECK(ports_in_use() <= NODES + 1 + 30 * PORT_NODES);
}

static uint32_t kernel_messages;

static void count_message(void *object, struct message *m)
{
    (void)object;
    kernel_messages++;
    message_free(m);
}

/* Another node knows from which ports a kernel receives, also by way of a third; it gets no description of memory. */
HOST_TEST(ports_of_a_kernel_take_no_memory)
{
    static const struct port_ops counts = {.name = "counts", .message = count_message, .at_once = true};
    struct wire_right first, second;
    begin_nodes(1);
    for (unsigned of_kernel = 0; of_kernel < 2; of_kernel++) {
        become(0);
        struct port *p = port_create(of_kernel ? &counts : 0, 0);
        port_make(p, RIGHT_SEND);
        CHECK(port_export(p, RIGHT_SEND, 1, &first));
        uint32_t uid = p->uid;
        become(1);
        struct port *proxy = port_import(&first, 0);
        CHECK_EQUAL(port_is_of_kernel(proxy), of_kernel);
        CHECK(port_export(proxy, RIGHT_SEND, 2, &second));
        become(2);
        CHECK_EQUAL(port_is_of_kernel(port_import(&second, 1)), of_kernel);
        become(0);
        for (uint32_t memory = 0; memory <= PAGE_SIZE; memory += PAGE_SIZE) {
            uint32_t before = messages_in_use();
            struct message *m = message_alloc(1);
            m->memory = memory;
            m->node = 1;
            kernel_messages = 0;
            port_arrived(m, uid);
            CHECK_EQUAL(kernel_messages, of_kernel && !memory);
            CHECK_EQUAL(messages_in_use(), before + !of_kernel);
        }
    }
}

/* ---- Receive rights in each other's queues. */

#define RING 6

/* Whether receiving from all held rights receives all of them: by a model of its own. */
static bool all_can_be_had(const int *lies_in)
{
    for (unsigned i = 0; i < RING; i++) {
        int at = (int)i;
        for (unsigned steps = 0; at >= 0; steps++, at = lies_in[at])
            if (steps > RING)
                return false;
    }
    return true;
}

static void receive_rights(uint32_t seed)
{
    begin_nodes(seed);
    struct port *p[RING];
    int lies_in[RING]; /* -1: it is held */
    for (unsigned i = 0; i < RING; i++) {
        p[i] = port_create(0, 0);
        p[i]->limit = 1;
        port_make(p[i], RIGHT_SEND);
        lies_in[i] = -1;
    }
    for (unsigned step = 0; step < 400; step++) {
        unsigned to = random_below(&luck, RING), from = random_below(&luck, RING);
        struct message *m;
        if (lies_in[to] < 0 && !random_below(&luck, 2)) {
            if (port_receive(p[to], 0, &m))
                continue;
            for (unsigned i = 0; i < RING; i++)
                if (m->rights && m->right[0].port == p[i])
                    lies_in[i] = -1;
            CHECK(message_take_right(m, 0));
            message_free(m);
        } else if (lies_in[from] < 0) {
            m = message_alloc(100);
            port_make(p[to], RIGHT_SEND);
            m->to = (struct right){p[to], RIGHT_SEND};
            message_add_right(m, p[from], RIGHT_RECEIVE);
            int error = message_send(m, 0);
            lies_in[from] = (int)to;
            bool sound = all_can_be_had(lies_in);
            CHECK(sound ? !error || error == -ETIMEDOUT : error == -ELOOP);
            if (error) {
                lies_in[from] = -1;
                message_take_right(m, 0);
                message_free(m);
            }
        }
    }
    for (unsigned i = 0; i < RING; i++)
        if (lies_in[i] < 0)
            port_destroy(p[i]); /* with all that is queued in it */
    for (unsigned i = 0; i < RING; i++)
        port_drop(p[i], RIGHT_SEND);
    CHECK_EQUAL(ports_in_use(), NODES);
    CHECK_EQUAL(messages_in_use(), 0);
}

HOST_TEST(receive_rights_in_queues)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        receive_rights(seed);
        end_nodes();
    }
}
