/*
 * Ports over several nodes: one program is each of them in turn, with its own names. Rights are made, sent, passed on
 * and dropped at random; messages between two nodes keep their order, and come late; nodes are given up, and begin
 * anew; memory is out for a while. At every moment nobody is told that a port has no senders while somebody can send;
 * a caller that waits for an answer gets it, or is told that none will come; in the end nothing is left. Sources:
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
#define CALLS 4   /* answers that it waits for */
#define WATCHED 3 /* ports of which it is to be told when they are dead */
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

/* A port that a node offers; the model's own count of who may send there is made by looking everywhere. */
struct offered {
    struct port *port;
    unsigned told; /* how often it was said that there are no senders */
    bool freed;
};

static struct node {
    struct port *named[BUCKETS], *host;
    uint32_t last_uid, given_to[PORT_NODES], had_from[PORT_NODES];
    struct owed owed[OWED];
    unsigned owed_count;
    struct offered own[OWN];
    struct right held[HELD];
    struct port *reply[CALLS];
    struct watched {
        struct port *of, *queue; /* a send right to it; where that is told */
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
    from->last_uid = last_uid;
    from->host = host_port;
    memcpy(named, to->named, sizeof named);
    memcpy(given_to, to->given_to, sizeof given_to);
    memcpy(had_from, to->had_from, sizeof had_from);
    memcpy(owed, to->owed, sizeof owed);
    owed_count = to->owed_count;
    last_uid = to->last_uid;
    host_port = to->host;
    ipc_node = (uint16_t)n;
}

/* ---- The wire: each pair's messages in order. */

void (*transport_node_died)(unsigned node);

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
    CHECK(node < NODES && node != ipc_node);
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

/* The message has left the node it is from, and comes to the other. False: memory is out there, and it comes again. */
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
        copy->reply = (struct right){port_import(&copy->wire_reply, f.from), (enum right_type)copy->wire_reply.type};
    for (unsigned i = 0; i < copy->rights; i++) {
        const struct wire_right *w = &copy->wire_right[i];
        copy->right[i] = w->type ? (struct right){port_import(w, f.from), (enum right_type)w->type} : (struct right){0};
    }
    if (copy->wire_released || copy->wire_first)
        port_home_release(copy->wire_uid, ipc_node, f.from, copy->wire_released, copy->wire_first);
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
    for (at = 0; flights[at].m != f.m; at++) /* what it has brought about is behind it */
        ;
    memmove(&flights[at], &flights[at + 1], (--in_flight - at) * sizeof f);
    return true;
}

/* Whether anybody, or a message that is not there yet, may send to the port of that node. */
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

static bool anybody_died; /* then rights may be lost on the way */

/* ---- Memory that is out, for a while. */

static uint32_t taken[RAM_PAGES], taken_count;
static bool starved; /* has been: then news that nobody has a place for are lost */

static void starve(void)
{
    starved = true;
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
    /* the rights that came are kept where there is room */
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

/* ---- What a node does. */

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

/* To somebody: with some of the rights, copied or moved, and perhaps a place for an answer. */
static void send(struct node *n)
{
    struct right *to = random_below(&luck, 2) ? some_held(n) : 0, host = {0, RIGHT_SEND};
    struct message *m = message_alloc(100);
    if (!m)
        return;
    if (to) {
        port_make(to->port, RIGHT_SEND);
        m->to = *to;
    } else { /* what each node offers */
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

/* It has been told, or does not want to be any more: then the right goes unused. */
static void end_watch(struct node *n, struct watched *w, bool told)
{
    struct message *m;
    struct port *of = w->of;
    if (!told)
        port_unwatch(of, n, 7);
    for (unsigned i = 0; i < WATCHED && !told; i++) /* those of the same port have gone with it */
        if (n->watched[i].of == of && &n->watched[i] != w)
            end_watch(n, &n->watched[i], true);
    bool heard = !told && !port_receive(w->queue, 0, &m);
    CHECK(told || heard || starved);
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

/* An answer that has come: or the news that none will. */
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

/* Each of two nodes gives the other up; what is between them is lost. */
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

/* When all have let go of what they have. */
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
    drain(); /* other nodes are told that they are dead */
    CHECK_EQUAL(ports_in_use(), NODES); /* what each offers */
    CHECK_EQUAL(messages_in_use(), 0);
    CHECK_EQUAL(zone_counts(&watchers).in_use, 0);
    CHECK_EQUAL(zone_counts(&given_zone).in_use, 0);
}

/* Of all nodes' ports, one is that; else who holds a right to it should have been told. */
static bool is_alive_at_home(const struct port *p)
{
    for (unsigned i = 0; i < OWN; i++) {
        const struct port *own = nodes[p->home].own[i].port;
        if (own && (own == p || (own->uid && own->uid == p->uid)))
            return true;
    }
    return false;
}

/* When nothing is under way, each node that is to be told of a dead port has been told. */
static void end_watches(void)
{
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        hear(&nodes[n]);
        for (unsigned i = 0; i < WATCHED; i++) {
            const struct port *p = nodes[n].watched[i].of;
            CHECK(!p || !p->dead);
            CHECK(!p || starved || anybody_died || is_alive_at_home(p));
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
        CHECK_EQUAL(owed_count, 0);
    }
    drain();
    end_watches();
    drain();
    for (unsigned n = 0; n < NODES; n++) {
        become(n);
        hear(&nodes[n]);
        for (unsigned i = 0; i < CALLS; i++)
            if (nodes[n].reply[i] && starved)
                port_destroy(nodes[n].reply[i]); /* as when its time is over */
            else
                CHECK(!nodes[n].reply[i]); /* all have been told */
        for (unsigned i = 0; i < OWN; i++)
            if (nodes[n].own[i].port && !anybody_died &&
                !somebody_can_send(n, nodes[n].own[i].port->uid, nodes[n].own[i].port))
                CHECK(nodes[n].own[i].told); /* nobody has forgotten it */
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
