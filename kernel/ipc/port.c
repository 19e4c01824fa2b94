/*
 * Ports (port.h). names_lock guards all counts of rights and references, so that they are consistent with each other;
 * the consequences of a change - a message to another node, a call of the receiver - are carried out after it has been
 * released.
 */
#include "ipc/port.h"

#include <errno.h>
#include <string.h>

#include "dev/clock.h"
#include "ipc/transport.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "mem/zone.h"
#include "sched/limit.h"
#include "sched/sched.h"

#define BUCKETS 128

DEFINE_ZONE(port_zone, "ipc-ports", sizeof(struct port), 8, SPL_SOFTCLOCK, 0);
static SIMPLE_LOCK_CLASS(port_class, "ipc port", SPL_SOFTCLOCK);
DEFINE_SIMPLE_LOCK(names_lock, "ipc names", SPL_SOFTCLOCK);

SLIST_HEAD(port_bucket, port);
static struct port_bucket named[BUCKETS];
static uint32_t last_uid = UID_FIRST;
uint16_t ipc_node;
int (*ipc_memory_leaves)(struct message *m);
int (*ipc_memory_arrived)(struct message *m);

struct count_message { /* of MESSAGE_RELEASE and MESSAGE_VOID */
    uint32_t uid, home, count;
    uint32_t unused; /* of these, send-once rights that will not be used */
};

/* Those of a port's rights that a node has been given; of these, send-once rights. */
struct given {
    SLIST_ENTRY(given) link;
    uint32_t count, onces;
    uint16_t node;
};

/* A notification that is due once: its message is sent, or another node is told. With names_lock held. */
struct watcher {
    SLIST_ENTRY(watcher) link;
    struct message *m; /* 0: tell a node */
    const void *by;
    uint32_t name, id;
    uint16_t node;
};

DEFINE_ZONE(watchers, "ipc-watchers", sizeof(struct watcher), 8, SPL_SOFTCLOCK, 0);
DEFINE_ZONE(given_zone, "ipc-given", sizeof(struct given), 4, SPL_SOFTCLOCK, 0);

/* Summed over all ports: rights that the node has from here, and rights here that came from it. With names_lock. */
static uint32_t given_to[PORT_NODES], had_from[PORT_NODES];

/*
 * Reports delayed for lack of memory, until ports_settle: rights that a port gives back are noted in the port itself,
 * so there is always room for them; others here. With names_lock held.
 */
#define OWED 32
static struct owed {
    struct count_message body;
    uint32_t to, id;
} owed[OWED];
static unsigned owed_count;
static SLIST_HEAD(, port) owing = SLIST_HEAD_INITIALIZER(owing);

static struct port *new_port(unsigned home)
{
    struct port *p = zone_alloc(&port_zone);
    if (!p)
        return 0;
    *p = (struct port){.references = 1, .home = (uint16_t)home, .limit = PORT_LIMIT};
    p->lock = (struct simple_lock)SIMPLE_LOCK("ipc port", port_class);
    STAILQ_INIT(&p->queue);
    TAILQ_INIT(&p->members);
    return p;
}

struct port *port_create(const struct port_ops *ops, void *object)
{
    struct port *p = new_port(ipc_node);
    if (p) {
        p->ops = ops;
        p->object = object;
    }
    return p;
}

uint32_t ports_in_use(void)
{
    return zone_counts(&port_zone).in_use;
}

/* ---- Names: with names_lock held. */

static struct port_bucket *port_bucket_of(unsigned home, uint32_t uid)
{
    return &named[(uid ^ home << 4) % BUCKETS];
}

static void name(struct port *p, uint32_t uid)
{
    p->uid = uid;
    SLIST_INSERT_HEAD(port_bucket_of(p->home, uid), p, named_link);
}

static void unname(struct port *p)
{
    SLIST_REMOVE(port_bucket_of(p->home, p->uid), p, port, named_link);
}

static struct port *port_named(unsigned home, uint32_t uid)
{
    struct port *p;
    SLIST_FOREACH(p, port_bucket_of(home, uid), named_link)
        if (p->uid == uid && p->home == home) {
            p->references++;
            break;
        }
    return p;
}

void port_publish(struct port *p, uint32_t uid)
{
    crit_t s = simple_lock_enter(&names_lock);
    name(p, uid);
    simple_lock_leave(&names_lock, s);
}

struct port *port_find(uint32_t uid)
{
    crit_t s = simple_lock_enter(&names_lock);
    struct port *p = port_named(ipc_node, uid);
    simple_lock_leave(&names_lock, s);
    return p;
}

void port_reference(struct port *p)
{
    crit_t s = simple_lock_enter(&names_lock);
    p->references++;
    simple_lock_leave(&names_lock, s);
}

bool port_has_senders(struct port *p)
{
    crit_t s = simple_lock_enter(&names_lock);
    bool some = p->senders || p->abroad;
    simple_lock_leave(&names_lock, s);
    return some;
}

/* Frees watchers without a notification. */
static void drop_watchers(struct watcher_list *dropped)
{
    for (struct watcher *w; (w = SLIST_FIRST(dropped));) {
        SLIST_REMOVE_HEAD(dropped, link);
        if (w->m)
            message_free(w->m);
        zone_free(&watchers, w);
    }
}

void port_release(struct port *p)
{
    crit_t s = simple_lock_enter(&names_lock);
    bool last = !--p->references;
    struct given *g;
    if (last && p->uid)
        unname(p);
    if (last)
        SLIST_FOREACH(g, &p->given, link)
            given_to[g->node] -= g->count;
    simple_lock_leave(&names_lock, s);
    if (!last)
        return;
    while ((g = SLIST_FIRST(&p->given))) { /* of a destroyed port */
        SLIST_REMOVE_HEAD(&p->given, link);
        zone_free(&given_zone, g);
    }
    drop_watchers(&p->watchers);
    if (p->ops && p->ops->freed)
        p->ops->freed(p->object);
    zone_free(&port_zone, p);
}

/* ---- Rights. */

/* What follows from a decreased count. */
struct settled {
    bool no_senders;
    uint32_t back; /* rights to give back, ... */
    uint16_t to;   /* ... to that node, ... */
    uint32_t uid;  /* ... of that port */
};

static struct settled settle(struct port *p)
{
    struct settled what = {0};
    if (p->senders || p->abroad)
        return what;
    if (port_is_here(p)) {
        what.no_senders = p->had_senders && !p->dead;
        p->had_senders = false;
    } else if (!p->onces) {
        what.back = p->from_parent;
        what.to = p->parent;
        what.uid = p->uid;
        had_from[p->parent] -= p->from_parent;
        p->from_parent = 0;
    }
    return what;
}

static bool port_tell_node(uint32_t id, struct count_message body, unsigned to)
{
    struct port *host = port_known(to, UID_HOST);
    struct message *m = host ? message_alloc(id) : 0;
    if (!m) {
        if (host)
            port_drop(host, RIGHT_SEND);
        return false;
    }
    m->to = (struct right){host, RIGHT_SEND};
    memcpy(m->body, &body, sizeof body);
    m->size = sizeof body;
    message_post(m);
    return true;
}

/* Notes a report that does not fit in its port: added to one of the same kind about the same port, if there is one. */
static void owe(uint32_t id, struct count_message body, unsigned to)
{
    crit_t s = simple_lock_enter(&names_lock);
    struct owed *o = owed, *end = owed + owed_count;
    while (o < end && !(o->id == id && o->to == to && o->body.uid == body.uid && o->body.home == body.home))
        o++;
    if (o < end) {
        o->body.count += body.count;
        o->body.unused += body.unused;
    } else if (owed_count < OWED) {
        owed[owed_count++] = (struct owed){body, to, id};
    }
    simple_lock_leave(&names_lock, s);
    transport_tick_wanted();
}

/* At once, or when there is memory for it. */
static void tell_surely(uint32_t id, struct count_message body, unsigned to)
{
    if (!port_tell_node(id, body, to))
        owe(id, body, to);
}

/* The port has a report noted in it. With names_lock held. */
static void port_owes(struct port *p)
{
    if (p->owing)
        return;
    p->owing = true;
    p->references++;
    SLIST_INSERT_HEAD(&owing, p, owing_link);
}

/* Gives back a proxy's rights that are not in use any more. */
static void give_back(struct port *p, struct count_message body, unsigned to)
{
    if (port_tell_node(MESSAGE_RELEASE, body, to))
        return;
    crit_t s = simple_lock_enter(&names_lock);
    bool noted = !p->back || p->back_to == to;
    if (noted) {
        p->back += body.count;
        p->back_to = (uint16_t)to;
        p->back_uid = body.uid;
        port_owes(p);
    }
    simple_lock_leave(&names_lock, s);
    noted ? transport_tick_wanted() : owe(MESSAGE_RELEASE, body, to);
}

static void settle_owing(struct port *p, uint32_t back, uint32_t onces)
{
    if (back)
        give_back(p, (struct count_message){p->back_uid, p->home, back, 0}, p->back_to);
    for (; onces; onces--)
        port_drop(p, RIGHT_SEND_ONCE);
    port_release(p);
}

/* Sends the reports of all ports that have any at this moment, each once. */
static void ports_settle_owing(void)
{
    SLIST_HEAD(, port) now;
    crit_t s = simple_lock_enter(&names_lock);
    now.slh_first = owing.slh_first;
    SLIST_INIT(&owing);
    simple_lock_leave(&names_lock, s);
    for (struct port *p; (p = SLIST_FIRST(&now));) {
        SLIST_REMOVE_HEAD(&now, owing_link);
        s = simple_lock_enter(&names_lock);
        uint32_t back = p->back, onces = p->unused;
        p->back = p->unused = 0;
        p->owing = false;
        simple_lock_leave(&names_lock, s);
        settle_owing(p, back, onces);
    }
}

void ports_settle(void)
{
    if (*(struct port *volatile *)&owing.slh_first)
        ports_settle_owing();
    crit_t s = simple_lock_enter(&names_lock);
    unsigned count = owed_count;
    simple_lock_leave(&names_lock, s);
    for (; count; count--) {
        s = simple_lock_enter(&names_lock);
        struct owed o = owed[0];
        bool some = owed_count;
        if (some)
            owed[0] = owed[--owed_count];
        simple_lock_leave(&names_lock, s);
        if (some)
            tell_surely(o.id, o.body, o.to);
    }
}

/* Takes the watchers for `id` off the port. With names_lock held. */
static struct watcher_list take_watchers(struct port *p, uint32_t id)
{
    struct watcher_list taken = SLIST_HEAD_INITIALIZER(taken);
    struct watcher *w, *next;
    SLIST_FOREACH_SAFE(w, &p->watchers, link, next)
        if (w->id == id) {
            SLIST_REMOVE(&p->watchers, w, watcher, link);
            SLIST_INSERT_HEAD(&taken, w, link);
        }
    return taken;
}

static void tell_watchers(struct watcher_list *told, struct count_message body)
{
    for (struct watcher *w; (w = SLIST_FIRST(told));) {
        SLIST_REMOVE_HEAD(told, link);
        if (w->m)
            message_post(w->m);
        else
            tell_surely(MESSAGE_DEAD, body, w->node);
        zone_free(&watchers, w);
    }
}

/* `id` has become true of the port since names_lock was held last: notifies all watchers registered by then. */
static void notify(struct port *p, uint32_t id)
{
    if (!*(struct watcher *volatile *)&SLIST_FIRST(&p->watchers))
        return;
    crit_t s = simple_lock_enter(&names_lock);
    struct watcher_list told = take_watchers(p, id);
    struct count_message body = {.uid = p->uid, .home = p->home};
    simple_lock_leave(&names_lock, s);
    tell_watchers(&told, body);
}

static void act(struct port *p, struct settled what)
{
    if (what.no_senders)
        notify(p, MESSAGE_NO_SENDERS);
    if (what.no_senders && p->ops && p->ops->no_senders)
        p->ops->no_senders(p->object);
    if (what.back)
        give_back(p, (struct count_message){what.uid, p->home, what.back, 0}, what.to);
}

static void make(struct port *p, enum right_type type)
{
    p->references++;
    if (type == RIGHT_SEND) {
        p->senders++;
        p->had_senders = true;
    } else if (type == RIGHT_SEND_ONCE) {
        p->onces++;
    }
}

/* Afterwards the right is only a reference. */
static void unmake(struct port *p, enum right_type type)
{
    if (type == RIGHT_SEND)
        p->senders--;
    else if (type == RIGHT_SEND_ONCE)
        p->onces--;
}

void port_make(struct port *p, enum right_type type)
{
    crit_t s = simple_lock_enter(&names_lock);
    make(p, type);
    simple_lock_leave(&names_lock, s);
}

static void drop(struct port *p, enum right_type type)
{
    crit_t s = simple_lock_enter(&names_lock);
    unmake(p, type);
    struct settled what = settle(p);
    simple_lock_leave(&names_lock, s);
    act(p, what);
    port_release(p);
}

void port_drop(struct port *p, enum right_type type)
{
    if (type == RIGHT_RECEIVE) {
        port_destroy(p);
        return;
    }
    struct message *m = type == RIGHT_SEND_ONCE && !p->dead ? message_alloc(MESSAGE_SEND_ONCE) : 0;
    if (m) {
        m->to = (struct right){p, type};
        message_post(m); /* the right moves into it, and ends with it: if it cannot be sent, it is dropped below */
        return;
    }
    crit_t s = simple_lock_enter(&names_lock);
    bool later = type == RIGHT_SEND_ONCE && !p->dead; /* when there is memory: a thread may wait for it */
    if (later) {
        p->unused++;
        port_owes(p);
    }
    simple_lock_leave(&names_lock, s);
    later ? transport_tick_wanted() : drop(p, type);
}

struct port *port_known(unsigned node, uint32_t uid)
{
    struct port *fresh = node == ipc_node ? 0 : new_port(node);
    crit_t s = simple_lock_enter(&names_lock);
    struct port *p = port_named(node, uid);
    if (!p && fresh) {
        p = fresh;
        fresh = 0;
        name(p, uid);
    }
    if (p) {
        make(p, RIGHT_SEND);
        p->references--; /* that of port_named, or of new_port: the right has one */
        p->of_kernel = !port_is_here(p);
    }
    simple_lock_leave(&names_lock, s);
    if (fresh)
        zone_free(&port_zone, fresh);
    return p;
}

static struct given *given_of(struct port *p, unsigned node)
{
    struct given *g;
    SLIST_FOREACH(g, &p->given, link)
        if (g->node == node)
            break;
    return g;
}

bool port_export(struct port *p, enum right_type type, unsigned node, struct wire_right *to)
{
    struct given *fresh = 0;
    crit_t s = simple_lock_enter(&names_lock);
    if (p->dead && !port_is_here(p)) { /* the right is void, on every node */
        unmake(p, type);
        simple_lock_leave(&names_lock, s);
        *to = (struct wire_right){0};
        return true;
    }
    struct given *g = given_of(p, node);
    if (!g) {
        simple_lock_leave(&names_lock, s);
        fresh = zone_alloc(&given_zone);
        if (!fresh)
            return false;
        s = simple_lock_enter(&names_lock);
        g = given_of(p, node);
    }
    if (!g) {
        *fresh = (struct given){.node = (uint16_t)node};
        SLIST_INSERT_HEAD(&p->given, fresh, link);
        g = fresh;
        fresh = 0;
    }
    if (!p->uid)
        name(p, ++last_uid);
    unmake(p, type);
    if (!p->abroad++ && !port_is_here(p))
        p->references++; /* a proxy stays as long as other nodes have rights by way of it */
    g->count++;
    g->onces += type == RIGHT_SEND_ONCE;
    given_to[node]++;
    *to = (struct wire_right){p->uid, p->home, (uint16_t)(type | (port_is_of_kernel(p) ? RIGHT_OF_KERNEL : 0u))};
    simple_lock_leave(&names_lock, s);
    if (fresh)
        zone_free(&given_zone, fresh);
    return true;
}

uint32_t port_leaves(struct right *by)
{
    struct port *p = by->port;
    if (by->type != RIGHT_SEND_ONCE)
        return 0;
    crit_t s = simple_lock_enter(&names_lock);
    uint32_t back = 0;
    unmake(p, by->type);
    if (!p->senders && !p->onces && !p->abroad && p->parent == p->home) {
        back = p->from_parent;
        had_from[p->parent] -= back;
        p->from_parent = 0;
    }
    simple_lock_leave(&names_lock, s);
    by->type = RIGHT_NONE;
    return back;
}

struct port *port_import(const struct wire_right *from, unsigned node)
{
    enum right_type type = port_right_type(from);
    if ((type != RIGHT_SEND && type != RIGHT_SEND_ONCE) || !from->uid || from->home >= PORT_NODES)
        return 0; /* no node sends such a right */
    struct port *fresh = from->home == ipc_node ? 0 : new_port(from->home);
    bool back = true;
    crit_t s = simple_lock_enter(&names_lock);
    struct port *p = port_named(from->home, from->uid);
    if (!p && fresh) {
        p = fresh;
        fresh = 0;
        name(p, from->uid);
    }
    if (p) {
        make(p, type);
        p->references--;
        p->of_kernel = !port_is_here(p) && from->type & RIGHT_OF_KERNEL;
        if (!port_is_here(p) && (!p->from_parent || p->parent == node)) {
            p->parent = (uint16_t)node;
            p->from_parent++;
            had_from[node]++;
            back = false;
        }
    }
    simple_lock_leave(&names_lock, s);
    if (fresh)
        zone_free(&port_zone, fresh);
    if (back)
        tell_surely(MESSAGE_RELEASE, (struct count_message){from->uid, from->home, 1, !p && type == RIGHT_SEND_ONCE},
                    node);
    return p;
}

/*
 * That node has used a send-once right: one that it was given, or that another node has passed on. With names_lock.
 */
static void once_used(struct port *p, unsigned node)
{
    struct given *g = given_of(p, node);
    if (!g || !g->onces)
        SLIST_FOREACH(g, &p->given, link)
            if (g->onces)
                break;
    if (g)
        g->onces--;
}

/*
 * Removes `count` of the node's rights; returns the entry, if it is to be freed. With names_lock held, and a
 * reference besides the one for a proxy's rights abroad.
 */
static struct given *port_take_back(struct port *p, struct given *g, uint32_t count)
{
    count = MIN(count, g->count);
    g->count -= count;
    if (count && !(p->abroad -= count) && !port_is_here(p))
        p->references--;
    given_to[g->node] -= count;
    g->onces = MIN(g->onces, g->count);
    if (g->count)
        return 0;
    SLIST_REMOVE(&p->given, g, given, link);
    return g;
}

void port_home_release(uint32_t uid, uint16_t home, unsigned node, uint32_t count, bool once, uint32_t unused)
{
    struct settled what = {0};
    struct given *ended = 0;
    unused = MIN(unused, count);
    crit_t s = simple_lock_enter(&names_lock);
    struct port *p = port_named(home, uid);
    if (p) {
        if (once)
            once_used(p, node);
        struct given *g = given_of(p, node);
        unused = g ? MIN(unused, g->onces) : 0;
        for (uint32_t i = 0; i < unused; i++)
            make(p, RIGHT_SEND_ONCE);
        if (g)
            ended = port_take_back(p, g, count);
        what = settle(p);
    }
    simple_lock_leave(&names_lock, s);
    if (ended)
        zone_free(&given_zone, ended);
    if (!p)
        return;
    for (; unused; unused--)
        port_drop(p, RIGHT_SEND_ONCE);
    act(p, what);
    port_release(p);
}

void port_unexport(struct port *p, enum right_type type, unsigned node)
{
    crit_t s = simple_lock_enter(&names_lock);
    struct given *g = given_of(p, node), *ended = 0;
    p->senders += type == RIGHT_SEND;
    p->onces += type == RIGHT_SEND_ONCE;
    if (g) {
        g->onces -= type == RIGHT_SEND_ONCE;
        ended = port_take_back(p, g, 1);
    }
    simple_lock_leave(&names_lock, s);
    if (ended)
        zone_free(&given_zone, ended);
}

bool ports_related(unsigned node)
{
    return *(volatile uint32_t *)&given_to[node] || *(volatile uint32_t *)&had_from[node];
}

/* A named port that the node has rights to, or gave, with a reference; or 0. With names_lock held. */
static struct port *port_of_node(unsigned node)
{
    struct port *p;
    for (unsigned i = 0; i < BUCKETS; i++)
        SLIST_FOREACH(p, &named[i], named_link)
            if (given_of(p, node) || (!port_is_here(p) && p->from_parent && (p->parent == node || p->home == node))) {
                p->references++;
                return p;
            }
    return 0;
}

/*
 * Takes back what the node had of the port; if the node is its home, or the rights came from it, the port is dead: then
 * rights that others have by way of this node are void, and its own return to the node that gave them. With names_lock.
 */
static struct settled port_is_bereft(struct port *p, unsigned node, uint32_t *onces, struct given_list *ended)
{
    struct settled what = {0};
    struct given *g = given_of(p, node);
    if (g) {
        *onces = g->onces;
        port_take_back(p, g, g->count);
        SLIST_INSERT_HEAD(ended, g, link);
        for (uint32_t i = 0; i < *onces; i++)
            make(p, RIGHT_SEND_ONCE);
    }
    if (port_is_here(p) || !p->from_parent || (p->parent != node && p->home != node))
        return settle(p);
    while ((g = SLIST_FIRST(&p->given))) {
        port_take_back(p, g, g->count);
        SLIST_INSERT_HEAD(ended, g, link);
    }
    unname(p);
    had_from[p->parent] -= p->from_parent;
    what.uid = p->uid;
    if (p->parent != node) {
        what.back = p->from_parent;
        what.to = p->parent;
    }
    p->uid = p->from_parent = 0;
    p->dead = true;
    return what;
}

/* Carries out what port_is_bereft has found. Drops the reference. */
static void port_bereave(struct port *p, struct settled what, struct given_list *ended, uint32_t onces, unsigned dead)
{
    for (struct given *g; (g = SLIST_FIRST(ended));) {
        SLIST_REMOVE_HEAD(ended, link);
        if (g->node != dead)
            tell_surely(MESSAGE_VOID, (struct count_message){.uid = what.uid, .home = p->home}, g->node);
        zone_free(&given_zone, g);
    }
    for (; onces; onces--)
        port_drop(p, RIGHT_SEND_ONCE);
    if (p->dead)
        notify(p, MESSAGE_DEAD_NAME);
    act(p, what);
    port_release(p);
}

void port_node_died(unsigned node)
{
    struct port *p;
    do {
        uint32_t onces = 0;
        struct given_list ended = SLIST_HEAD_INITIALIZER(ended);
        struct settled what = {0};
        crit_t s = simple_lock_enter(&names_lock);
        p = port_of_node(node);
        if (p)
            what = port_is_bereft(p, node, &onces, &ended);
        simple_lock_leave(&names_lock, s);
        if (p)
            port_bereave(p, what, &ended, onces, node);
    } while (p);
}

/* The rights to the port that came from that node are void, as that node has lost it. */
static void port_is_void(uint32_t uid, uint16_t home, unsigned node)
{
    uint32_t onces = 0;
    struct given_list ended = SLIST_HEAD_INITIALIZER(ended);
    struct settled what = {0};
    crit_t s = simple_lock_enter(&names_lock);
    struct port *p = port_named(home, uid);
    bool is_void = p && !port_is_here(p) && p->from_parent && p->parent == node;
    if (is_void)
        what = port_is_bereft(p, node, &onces, &ended);
    simple_lock_leave(&names_lock, s);
    if (is_void)
        port_bereave(p, what, &ended, onces, ipc_node);
    else if (p)
        port_release(p);
    if (is_void && transport_node_died)
        transport_node_died(node);
}

/* ---- Notifications. */

static struct watcher *watcher_new(struct port *notify, uint32_t id, uint32_t name, const void *by)
{
    struct watcher *w = zone_alloc(&watchers);
    struct message *m = w ? message_alloc(id) : 0;
    if (!m) {
        if (w)
            zone_free(&watchers, w);
        return 0;
    }
    m->to = (struct right){notify, RIGHT_SEND_ONCE};
    memcpy(m->body, &name, sizeof name);
    m->size = sizeof name;
    *w = (struct watcher){.m = m, .id = id, .by = by, .name = name};
    return w;
}

/* Whether the watcher's condition already holds. With names_lock held. */
static bool is_so(const struct port *p, uint32_t id)
{
    return id == MESSAGE_DEAD_NAME ? p->dead : !p->senders && !p->abroad;
}

int port_watch(struct port *p, uint32_t id, struct port *notify_port, uint32_t name, const void *by)
{
    struct watcher *w = watcher_new(notify_port, id, name, by);
    if (!w)
        return -ENOMEM;
    crit_t s = simple_lock_enter(&names_lock);
    SLIST_INSERT_HEAD(&p->watchers, w, link);
    bool now = is_so(p, id);
    struct count_message body = {.uid = p->uid, .home = p->home};
    simple_lock_leave(&names_lock, s);
    if (now)
        notify(p, id);
    else if (!port_is_here(p))
        tell_surely(MESSAGE_WATCH, body, p->home);
    return 0;
}

void port_unwatch(struct port *p, const void *by, uint32_t name)
{
    struct watcher_list dropped = SLIST_HEAD_INITIALIZER(dropped);
    struct watcher *w, *next;
    if (!*(struct watcher *volatile *)&SLIST_FIRST(&p->watchers))
        return;
    crit_t s = simple_lock_enter(&names_lock);
    SLIST_FOREACH_SAFE(w, &p->watchers, link, next)
        if (w->by == by && w->name == name) {
            SLIST_REMOVE(&p->watchers, w, watcher, link);
            SLIST_INSERT_HEAD(&dropped, w, link);
        }
    simple_lock_leave(&names_lock, s);
    drop_watchers(&dropped);
}

/* Whether the node is already registered for the port: it tells all its own watchers then. With names_lock held. */
static bool is_watched_by(const struct port *p, unsigned node)
{
    const struct watcher *w;
    SLIST_FOREACH(w, &p->watchers, link)
        if (!w->m && w->node == node)
            break;
    return w;
}

/* Registers the node to be told when the port of this node is dead, which may be already. */
static void watch_for(struct count_message body, unsigned node)
{
    struct port *p = port_find(body.uid);
    struct watcher *w = p ? zone_alloc(&watchers) : 0;
    bool dead = !p, added = false;
    if (p) {
        crit_t s = simple_lock_enter(&names_lock);
        dead = p->dead;
        added = w && !dead && !is_watched_by(p, node);
        if (added) {
            *w = (struct watcher){.id = MESSAGE_DEAD_NAME, .node = (uint16_t)node};
            SLIST_INSERT_HEAD(&p->watchers, w, link);
        }
        simple_lock_leave(&names_lock, s);
    }
    if (dead)
        tell_surely(MESSAGE_DEAD, body, node);
    if (w && !added)
        zone_free(&watchers, w);
    if (p)
        port_release(p);
}

/* Its home reports that it has no receiver any more: answers that threads wait for will not come. */
static void is_dead_there(uint32_t uid, unsigned home)
{
    crit_t s = simple_lock_enter(&names_lock);
    struct port *p = home == ipc_node ? 0 : port_named(home, uid);
    if (p)
        p->dead = true;
    simple_lock_leave(&names_lock, s);
    if (!p)
        return;
    notify(p, MESSAGE_DEAD_NAME);
    port_release(p);
    if (transport_node_died)
        transport_node_died(home);
}

/* The right by which a message is sent has been used: that ends a send-once right. */
static void right_use(struct right *r)
{
    if (r->type != RIGHT_SEND_ONCE)
        return;
    crit_t s = simple_lock_enter(&names_lock);
    unmake(r->port, r->type);
    struct settled what = settle(r->port);
    simple_lock_leave(&names_lock, s);
    r->type = RIGHT_NONE;
    act(r->port, what);
}

/* ---- Queues. */

static uint32_t ticks_of(uint32_t ms)
{
    return ms == FOREVER ? NO_LIMIT : (uint32_t)((uint64_t)ms * clock_hz() / 1000) + 1;
}

/* Sleeps until the data under the port's lock change. Called and returns with the lock held. */
static int port_await(const struct limit *limit, uint32_t ms)
{
    return limit->over || !ms ? -ETIMEDOUT : limit_sleep(limit);
}

static void set_has_some(struct port *set)
{
    crit_t s = simple_lock_enter(&set->lock);
    set->arrived = true;
    thread_wakeup(set);
    simple_lock_leave(&set->lock, s);
}

/* Its set, if it is in one, may have a message from it. */
static void tell_set(struct port *p)
{
    crit_t s = simple_lock_enter(&names_lock);
    struct port *set = p->set;
    if (set)
        set->references++;
    simple_lock_leave(&names_lock, s);
    if (!set)
        return;
    set_has_some(set);
    port_release(set);
}

struct port *port_set_create(void)
{
    struct port *set = new_port(ipc_node);
    if (set)
        set->is_set = true;
    return set;
}

/* With names_lock held. */
static void leave_set(struct port *p)
{
    if (p->set)
        TAILQ_REMOVE(&p->set->members, p, member_link);
    p->set = 0;
}

/* As its last member. With names_lock held. */
static void enter_set(struct port *p, struct port *set)
{
    TAILQ_INSERT_TAIL(&set->members, p, member_link);
    p->set = set;
}

void port_join(struct port *p, struct port *set)
{
    crit_t s = simple_lock_enter(&names_lock);
    leave_set(p);
    if (set)
        enter_set(p, set);
    simple_lock_leave(&names_lock, s);
    if (set)
        tell_set(p);
}

/* A member with a message, with a reference; it becomes the last one. */
static struct port *member_with_message(struct port *set)
{
    crit_t s = simple_lock_enter(&names_lock);
    struct port *p;
    TAILQ_FOREACH(p, &set->members, member_link)
        if (*(struct message *volatile *)&STAILQ_FIRST(&p->queue))
            break;
    if (p) {
        p->references++;
        leave_set(p);
        enter_set(p, set);
    }
    simple_lock_leave(&names_lock, s);
    return p;
}

int port_receive_any(struct port *set, uint32_t ms, struct message **m, struct port **from)
{
    struct limit limit;
    int error = 0;
    limit_begin(&limit, ms ? ticks_of(ms) : 0, set, &set->lock);
    for (*m = 0; !*m && !error;) {
        *from = member_with_message(set);
        if (*from && port_receive(*from, 0, m)) {
            port_release(*from); /* another thread was quicker */
            *m = 0;
            continue;
        }
        if (*from)
            break;
        crit_t s = simple_lock_enter(&set->lock);
        while (!set->arrived && !set->dead && !error)
            error = port_await(&limit, ms);
        if (set->dead)
            error = -EPIPE;
        set->arrived = false;
        simple_lock_leave(&set->lock, s);
    }
    limit_end(&limit);
    if (*m)
        set_has_some(set); /* there may be more, for other waiting threads */
    return error;
}

static bool has_receive_right(const struct message *m)
{
    unsigned i = 0;
    while (i < m->rights && !(m->right[i].port && m->right[i].type == RIGHT_RECEIVE))
        i++;
    return i < m->rights;
}

/* Records that the message's receive rights lie in that port's queue; 0: in none. With names_lock held. */
static void carried_by(struct message *m, struct port *p)
{
    for (unsigned i = 0; i < m->rights; i++)
        if (m->right[i].port && m->right[i].type == RIGHT_RECEIVE)
            m->right[i].port->carrier = p;
}

/* `always`: even if the queue is full. */
static int port_enqueue(struct port *p, struct message *m, uint32_t ms, bool always)
{
    struct limit limit;
    int error = 0;
    limit_begin(&limit, ms ? ticks_of(ms) : 0, p, &p->lock);
    crit_t s = simple_lock_enter(&p->lock);
    while (!p->dead && p->queued >= p->limit && !always && !error)
        error = port_await(&limit, ms);
    if (p->dead)
        error = -EPIPE;
    if (!error) {
        STAILQ_INSERT_TAIL(&p->queue, m, link);
        p->queued++;
        thread_wakeup(p);
    }
    simple_lock_leave(&p->lock, s);
    limit_end(&limit);
    if (!error && *(struct port *volatile *)&p->set)
        tell_set(p);
    return error;
}

/*
 * The queue of `p` gets the receive rights of the message, if it has any; 0: none has them. False: one of them is that
 * of `p`, or of a port in whose queue that lies, and so on; it could never be received again.
 */
static bool carry(struct message *m, struct port *p)
{
    bool sound = true;
    if (!has_receive_right(m))
        return true;
    crit_t s = simple_lock_enter(&names_lock);
    for (unsigned i = 0; i < m->rights; i++)
        for (const struct port *q = p; q && m->right[i].type == RIGHT_RECEIVE; q = q->carrier)
            sound &= q != m->right[i].port;
    if (sound)
        carried_by(m, p);
    simple_lock_leave(&names_lock, s);
    return sound;
}

int message_send(struct message *m, uint32_t ms)
{
    struct port *p = m->to.port;
    if (!port_is_here(p)) {
        if (has_receive_right(m))
            return -EOPNOTSUPP; /* receive rights stay on their node */
        int error = p->dead ? -EPIPE : m->object ? ipc_memory_leaves(m) : 0;
        return error ? error : transport_send(p->home, m);
    }
    if (p->ops && p->dead)
        return -EPIPE;
    bool always = m->to.type != RIGHT_SEND;
    m->node = ipc_node;
    if (!carry(m, p))
        return -ELOOP;
    right_use(&m->to);
    if (p->ops) {
        p->ops->message(p->object, m);
        return 0;
    }
    int error = port_enqueue(p, m, ms, always);
    if (error && has_receive_right(m))
        carry(m, 0);
    return error;
}

void message_post(struct message *m)
{
    if (!message_send(m, 0))
        return;
    if (m->to.type == RIGHT_SEND_ONCE) { /* it has been used, without effect */
        drop(m->to.port, m->to.type);
        m->to.port = 0;
    }
    message_free(m);
}

int port_receive(struct port *p, uint32_t ms, struct message **m)
{
    struct limit limit;
    int error = 0;
    limit_begin(&limit, ms ? ticks_of(ms) : 0, p, &p->lock);
    crit_t s = simple_lock_enter(&p->lock);
    while (STAILQ_EMPTY(&p->queue) && !p->dead && !error)
        error = port_await(&limit, ms);
    *m = STAILQ_FIRST(&p->queue);
    if (*m) {
        error = 0;
        STAILQ_REMOVE_HEAD(&p->queue, link);
        p->queued--;
        thread_wakeup(p); /* a sender may wait for room */
        if (has_receive_right(*m)) {
            simple_lock(&names_lock);
            carried_by(*m, 0);
            simple_unlock(&names_lock);
        }
    } else if (p->dead) {
        error = -EPIPE;
    }
    simple_lock_leave(&p->lock, s);
    limit_end(&limit);
    return error;
}

void port_destroy(struct port *p)
{
    struct message_queue left = STAILQ_HEAD_INITIALIZER(left);
    crit_t s = simple_lock_enter(&p->lock);
    p->dead = true;
    STAILQ_CONCAT(&left, &p->queue);
    p->queued = 0;
    thread_wakeup(p);
    simple_lock_leave(&p->lock, s);
    s = simple_lock_enter(&names_lock); /* from here on port_watch sees that it is dead */
    leave_set(p);
    while (!TAILQ_EMPTY(&p->members))
        leave_set(TAILQ_FIRST(&p->members));
    p->carrier = 0;
    struct watcher_list dead = take_watchers(p, MESSAGE_DEAD_NAME), never = take_watchers(p, MESSAGE_NO_SENDERS);
    struct count_message body = {.uid = p->uid, .home = p->home};
    simple_lock_leave(&names_lock, s);
    for (struct message *m; (m = STAILQ_FIRST(&left));) {
        STAILQ_REMOVE_HEAD(&left, link);
        message_free(m);
    }
    tell_watchers(&dead, body);
    drop_watchers(&never);
    port_release(p);
}

int message_call(struct message *m, uint32_t ms, struct message **reply)
{
    struct port *p = port_create(0, 0);
    if (!p) {
        message_free(m);
        return -ENOMEM;
    }
    port_make(p, RIGHT_SEND_ONCE);
    m->reply = (struct right){p, RIGHT_SEND_ONCE};
    int error = message_send(m, ms);
    if (error)
        message_free(m);
    else
        error = port_receive(p, ms, reply);
    port_destroy(p);
    if (!error && (*reply)->id == MESSAGE_SEND_ONCE) {
        message_free(*reply);
        error = -EPIPE;
    }
    return error;
}

/* ---- From the wire. */

/*
 * A node has sent a message to a port without a receiver: it is told, so that its threads do not wait; not
 * if it came by a send-once right, as no thread waits then.
 */
static void tell_of_dead(const struct message *m, uint32_t uid)
{
    if (!m->by_once)
        tell_surely(MESSAGE_DEAD, (struct count_message){.uid = uid, .home = ipc_node}, m->node);
}

void port_arrived(struct message *m, uint32_t uid)
{
    struct port *p = port_find(uid);
    if (!p || p->dead)
        tell_of_dead(m, uid);
    if (!p) {
        message_free(m);
        return;
    }
    m->to = (struct right){p, RIGHT_NONE};
    if (p->ops && m->memory) { /* no node sends a kernel such a message */
        message_free(m);
        return;
    }
    if (p->ops && (p->dead || p->ops->at_once))
        p->dead ? message_free(m) : p->ops->message(p->object, m);
    else if (p->ops)
        server_add(p, m);
    else if (port_enqueue(p, m, 0, true))
        message_free(m);
}

/* ---- The services of a node for all others. */

static struct port *host_port;
void (*ipc_host_message)(struct message *m);

static void host_port_message(void *object, struct message *m)
{
    (void)object;
    struct count_message body;
    if (m->id == MESSAGE_RELEASE && m->size == sizeof body) {
        memcpy(&body, m->body, sizeof body);
        port_home_release(body.uid, (uint16_t)body.home, m->node, body.count, false, body.unused);
        message_free(m);
    } else if (m->id == MESSAGE_VOID && m->size == sizeof body) {
        memcpy(&body, m->body, sizeof body);
        port_is_void(body.uid, (uint16_t)body.home, m->node);
        message_free(m);
    } else if (m->id == MESSAGE_WATCH && m->size == sizeof body) {
        memcpy(&body, m->body, sizeof body);
        watch_for(body, m->node);
        message_free(m);
    } else if (m->id == MESSAGE_DEAD && m->size == sizeof body) {
        memcpy(&body, m->body, sizeof body);
        is_dead_there(body.uid, m->node);
        message_free(m);
    } else if (m->id == MESSAGE_PROBE) {
        message_free(m);
    } else if (ipc_host_message) {
        ipc_host_message(m);
    } else {
        message_answer(m, -ENOSYS);
    }
}

static const struct port_ops host_ops = {.name = "host", .message = host_port_message};

void ipc_ports_init(unsigned node)
{
    ipc_node = (uint16_t)node;
    host_port = port_create(&host_ops, 0);
    if (!host_port)
        panic("memory is out: no port for the node");
    port_publish(host_port, UID_HOST);
}
