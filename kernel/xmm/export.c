/* Objects that other nodes see (xmm.h): the managing side. */
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "ipc/transport.h"
#include "mem/zone.h"
#include "sched/sched.h"
#include "vm/shared.h"
#include "xmm/share.h"

#define BUCKETS 64
#define PATIENCE_TICKS 500 /* for memory to answer a request with */
#define INSERT_MS 20000 /* for a node that puts a copy between its objects */

/* A node that uses the object, and the port to which its pages are sent. */
struct client {
    SLIST_ENTRY(client) link;
    struct port *control; /* with a send right */
    uint16_t node;
};

struct export
{
    LIST_ENTRY(export) link;
    struct port *port;
    struct vm_object *object;
    bool through; /* it is read together with the objects below it */
    bool above;   /* but without its source, and the objects below that */
    struct share *share; /* several nodes may write it; or 0 */
    SLIST_HEAD(client_list, client) clients;
};

DEFINE_MUTEX(xmm_lock_export, "xmm exports");
DEFINE_ZONE(exports, "xmm-exports", sizeof(struct export), 8, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(clients, "xmm-clients", sizeof(struct client), 8, SPL_SOFTPREEMPT, 0);
LIST_HEAD(export_list, export);
static struct export_list exported[BUCKETS];
static uint32_t last_kin;
struct xmm_counts xmm_counts = {.least = UINT32_MAX};

static struct export_list *exports_beside(const struct vm_object *object)
{
    return &exported[(uintptr_t)object / 64 % BUCKETS];
}

/*
 * The object's export; or 0. A copy may have two: for nodes that read it through its source, and for those that have
 * the source, too (`above`). With the lock held.
 */
static struct export *export_of(const struct vm_object *object, bool above)
{
    struct export *e;
    LIST_FOREACH(e, exports_beside(object), link)
        if (e->object == object && e->above == above)
            break;
    return e;
}

void xmm_state_of(struct vm_object *object, struct xmm_state *state)
{
    bool through;
    uint32_t own = __atomic_add_fetch(&last_kin, 1, __ATOMIC_RELAXED) << 10 | ipc_node;
    *state = (struct xmm_state){.size = vm_object_size(object), .kin = vm_object_kin(object, own)};
    struct vm_object *below = vm_object_below(object, &state->shadow_offset, &through);
    state->shared = vm_object_shared(object) != VM_SHARED_NOT;
    state->shadowed = below && !state->shared;
    if (below)
        vm_object_release(below);
}

/* With a reference; 0: the last right to it was dropped meanwhile, and it has gone. */
static struct vm_object *export_object_of(struct export *e)
{
    mutex_lock(&xmm_lock_export);
    struct vm_object *o = e->object;
    if (o)
        vm_object_reference(o);
    mutex_unlock(&xmm_lock_export);
    return o;
}

static void get_state(struct export *e, struct vm_object *object, struct message *m)
{
    struct message *reply = message_reply_to(m);
    if (reply) {
        struct xmm_state state;
        xmm_state_of(object, &state);
        state.shadowed = e->above || (state.shadowed && !e->through);
        memcpy(reply->body, &state, sizeof state);
        reply->size = sizeof state;
        message_post(reply);
    }
    message_free(m);
}

static void get_shadow(struct export *e, struct vm_object *object, struct message *m)
{
    struct message *reply = message_reply_to(m);
    if (reply) {
        uint32_t offset;
        bool through;
        struct vm_object *below = e->through || e->share ? 0 : vm_object_below(object, &offset, &through);
        struct port *port = below ? xmm_export(below, m->body[0]) : 0;
        if (port)
            message_add_right(reply, port, RIGHT_SEND);
        if (below)
            vm_object_release(below);
        message_post(reply);
    }
    message_free(m);
}

/* With the lock held. */
static struct client *client_on(struct export *e, unsigned node)
{
    struct client *c;
    SLIST_FOREACH(c, &e->clients, link)
        if (c->node == node)
            break;
    return c;
}

/* Of each node its newest proxy asks for pages: it replaces the earlier ones. */
static bool note_client(struct export *e, unsigned node, struct port *control)
{
    struct client *fresh = zone_alloc(&clients);
    struct port *before = 0;
    mutex_lock(&xmm_lock_export);
    struct client *c = client_on(e, node);
    if (c) {
        before = c->control;
        c->control = control;
    } else if (fresh) {
        *fresh = (struct client){.control = control, .node = (uint16_t)node};
        SLIST_INSERT_HEAD(&e->clients, fresh, link);
    }
    bool noted = c || fresh;
    mutex_unlock(&xmm_lock_export);
    if (before)
        port_drop(before, RIGHT_SEND);
    if (c && fresh)
        zone_free(&clients, fresh);
    return noted;
}

static void add_client(struct export *e, struct message *m)
{
    struct port *control = message_take_right(m, 0);
    bool noted = control && note_client(e, m->node, control);
    if (control && !noted)
        port_drop(control, RIGHT_SEND);
    message_answer(m, noted ? 0 : -ENOMEM);
}

/* The control port of that node's newest proxy, with a send right; or 0. */
static struct port *control_of(struct export *e, unsigned node)
{
    mutex_lock(&xmm_lock_export);
    const struct client *c = client_on(e, node);
    struct port *control = c ? c->control : 0;
    if (control)
        port_make(control, RIGHT_SEND);
    mutex_unlock(&xmm_lock_export);
    return control;
}

/*
 * The request itself is sent back as the answer, so no memory is needed for that; but a proxy that is not noted, for
 * lack of memory, is found by its number, once there is memory for a right to it.
 */
static void answer_request(struct export *e, struct message *m, uint32_t id, const struct xmm_data *body)
{
    struct port *control;
    for (unsigned ticks = 0; !(control = control_of(e, m->node)) && !(control = port_known(m->node, body->control));
         ticks++) {
        if (ticks == PATIENCE_TICKS) {
            message_free(m);
            return;
        }
        thread_delay(1);
    }
    message_redirect(m, control, RIGHT_SEND, id);
    if (id != XMM_DATA_SUPPLY)
        m->data_size = 0;
    memcpy(m->body, body, sizeof *body);
    m->size = sizeof *body;
    message_post(m);
}

/* `object` 0: it has gone. */
static void data_request(struct export *e, struct vm_object *object, struct message *m)
{
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    int result = !object                            ? -EIO
                 : !message_make_room(m, PAGE_SIZE) ? -ENOMEM
                 : e->above                         ? vm_object_read_above(object, body.page, page_pointer(m->page[0]))
                            : vm_object_read(object, body.page, e->through, page_pointer(m->page[0]));
    __atomic_fetch_add(&xmm_counts.served, 1, __ATOMIC_RELAXED);
    answer_request(e, m, result < 0 ? XMM_DATA_ERROR : result ? XMM_DATA_UNAVAILABLE : XMM_DATA_SUPPLY, &body);
}

/* Answers whether a page received from the copy's source has been pushed into the copy. */
static void check_source(struct export *e, struct vm_object *object, struct message *m)
{
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    body.rights = object && vm_object_has_above(object, body.page);
    answer_request(e, m, XMM_CHECKED, &body);
}

static void export_message(void *object, struct message *m)
{
    struct export *e = object;
    struct vm_object *o = export_object_of(e); /* keeps it, also if the last right to it is dropped meanwhile */
    if (m->id == XMM_DATA_REQUEST)
        data_request(e, o, m);
    else if (m->id == XMM_CHECK)
        check_source(e, o, m);
    else if (m->id == XMM_INIT)
        add_client(e, m);
    else if (m->id == XMM_GET_STATE && o)
        get_state(e, o, m);
    else if (m->id == XMM_GET_SHADOW && o)
        get_shadow(e, o, m);
    else
        message_answer(m, o ? -ENOSYS : -EIO);
    if (o)
        vm_object_release(o);
}

/* No other node uses the object any more, unless it has been exported again meanwhile. */
static void export_no_senders(void *object)
{
    struct export *e = object;
    struct client_list left = SLIST_HEAD_INITIALIZER(left);
    mutex_lock(&xmm_lock_export);
    struct vm_object *object_of = e->object;
    bool ends = object_of && !port_has_senders(e->port);
    if (ends) {
        LIST_REMOVE(e, link);
        e->object = 0;
        SLIST_SWAP(&left, &e->clients, client);
        xmm_counts.exports--;
    }
    mutex_unlock(&xmm_lock_export);
    if (!ends)
        return;
    for (struct client *c; (c = SLIST_FIRST(&left));) {
        SLIST_REMOVE_HEAD(&left, link);
        port_drop(c->control, RIGHT_SEND);
        zone_free(&clients, c);
    }
    vm_object_release(object_of);
    port_destroy(e->port);
}

static void export_freed(void *object)
{
    zone_free(&exports, object);
}

static const struct port_ops export_ops = {
    .name = "memory object", .message = export_message, .no_senders = export_no_senders, .freed = export_freed};

/* ---- Objects that are shared (share.h). */

static void shared_message(void *object, struct message *m)
{
    (void)object;
    share_arrived(m);
}

static void shared_no_senders(void *object)
{
    (void)object;
    share_may_end();
}

static const struct port_ops shared_ops = {.name = "shared memory object",
                                           .message = shared_message,
                                           .at_once = true,
                                           .no_senders = shared_no_senders,
                                           .freed = export_freed};

/* A server makes the copy, as that may wait for other nodes. The object's port is in the message. */
static void copy_message(void *object, struct message *m)
{
    (void)object;
    struct vm_object *of = export_object_of(m->right[m->rights - 1].port->object);
    struct message *reply = message_reply_to(m);
    struct vm_object *copy = reply && of ? vm_object_shared_copy(of) : 0;
    struct port *port = copy ? xmm_export(copy, false) : 0;
    if (port) {
        struct xmm_state state;
        xmm_state_of(copy, &state);
        state.shadowed = 0;
        memcpy(reply->body, &state, sizeof state);
        reply->size = sizeof state;
        message_add_right(reply, port, RIGHT_SEND);
    }
    if (copy)
        vm_object_release(copy);
    if (of)
        vm_object_release(of);
    message_free(m);
    if (reply)
        message_post(reply);
}

static const struct port_ops copy_ops = {.name = "copy", .message = copy_message};

static void copy(struct port *port, struct message *m)
{
    static struct port *copies;
    if (!copies)
        copies = port_create(&copy_ops, 0);
    if (!copies || m->rights) {
        message_free(m);
        return;
    }
    port_reference(copies);
    message_add_right(m, port, RIGHT_NONE); /* with its reference */
    m->to = (struct right){copies, RIGHT_NONE};
    server_add(copies, m);
}

void export_shared_message(struct port *port, struct message *m)
{
    struct export *e = port->object;
    if (!e->object) {
        message_free(m);
        return;
    }
    switch (m->id) {
    case XMM_INIT: share_init(e->share, m); break;
    case XMM_GET_STATE: get_state(e, e->object, m); break;
    case XMM_GET_SHADOW: get_shadow(e, e->object, m); break;
    case XMM_COPY: copy(port, m); break;
    default: message_answer(m, -ENOSYS);
    }
}

bool export_is_shared(const struct port *port)
{
    return port->ops == &shared_ops;
}

struct share *export_share_of(struct vm_object *object)
{
    mutex_lock(&xmm_lock_export);
    struct export *e = export_of(object, false);
    struct share *s = e ? e->share : 0;
    mutex_unlock(&xmm_lock_export);
    return s;
}

void exports_each_shared(void (*fn)(struct share *s))
{
    struct export *e;
    for (unsigned i = 0; i < BUCKETS; i++)
        LIST_FOREACH(e, &exported[i], link) /* only the thread removes entries */
            if (e->share)
                fn(e->share);
}

static struct export_list exports_over; /* only for the thread */

void exports_end(void)
{
    struct export *e, *next;
    mutex_lock(&xmm_lock_export);
    for (unsigned i = 0; i < BUCKETS; i++)
        LIST_FOREACH_SAFE(e, &exported[i], link, next)
            if (e->share && !share_is_used(e->share) && !port_has_senders(e->port)) {
                LIST_REMOVE(e, link);
                LIST_INSERT_HEAD(&exports_over, e, link);
                xmm_counts.exports--;
            }
    mutex_unlock(&xmm_lock_export);
    LIST_FOREACH(e, &exports_over, link) {
        share_end(e->share);
        e->share = 0;
    }
}

void exports_ended(void)
{
    for (struct export *e; (e = LIST_FIRST(&exports_over));) {
        LIST_REMOVE(e, link);
        struct vm_object *object = e->object;
        mutex_lock(&xmm_lock_export);
        e->object = 0;
        mutex_unlock(&xmm_lock_export);
        vm_object_release(object);
        port_destroy(e->port);
    }
}

struct vm_object *xmm_exported(struct port *pager)
{
    bool ours = pager->ops == &export_ops || pager->ops == &shared_ops;
    return ours ? export_object_of(pager->object) : 0;
}

struct vm_object *xmm_exported_kin(uint32_t kin)
{
    struct vm_object *found = 0;
    const struct export *e;
    mutex_lock(&xmm_lock_export);
    for (unsigned i = 0; i < BUCKETS && !found; i++)
        LIST_FOREACH(e, &exported[i], link)
            if (vm_object_kin(e->object, 0) == kin) {
                found = e->object;
                break;
            }
    if (found)
        vm_object_reference(found);
    mutex_unlock(&xmm_lock_export);
    return found;
}

/* Creates an export, and adds it to the table. With the lock held. */
static struct export *export_new(struct vm_object *object, bool shared, bool above)
{
    struct export *e = zone_alloc(&exports);
    struct port *p = e ? port_create(shared ? &shared_ops : &export_ops, e) : 0;
    if (!p) {
        if (e)
            zone_free(&exports, e);
        return 0;
    }
    uint32_t offset;
    *e = (struct export){.port = p, .object = object, .above = above};
    if (shared && !(e->share = share_new(object, p))) {
        port_destroy(p);
        return 0;
    }
    struct vm_object *below = vm_object_below(object, &offset, &e->through);
    if (below)
        vm_object_release(below);
    vm_object_reference(object);
    LIST_INSERT_HEAD(exports_beside(object), e, link);
    xmm_counts.exports++;
    return e;
}

static struct port *export_as(struct vm_object *object, bool shared, bool above)
{
    struct port *p = 0;
    mutex_lock(&xmm_lock_export);
    struct export *e = export_of(object, above);
    if (!e)
        e = export_new(object, shared, above);
    if (e && !e->share == !shared) {
        p = e->port;
        port_make(p, RIGHT_SEND);
    }
    mutex_unlock(&xmm_lock_export);
    return p;
}

struct port *xmm_export(struct vm_object *object, bool hierarchical)
{
    struct port *p = hierarchical ? 0 : xmm_pager_of(object);
    return p ? p : export_as(object, false, false);
}

struct port *xmm_export_copy(struct vm_object *object)
{
    return export_as(object, false, true);
}

/* The answers of so many nodes: the first error. A node whose proxy has ended meanwhile, or itself, does not count. */
static int await_inserted(struct port *answers, unsigned count)
{
    int error = 0;
    for (; count; count--) {
        struct message *reply;
        int its = port_receive(answers, INSERT_MS, &reply);
        if (!its) {
            if (reply->id != MESSAGE_SEND_ONCE)
                memcpy(&its, reply->body, sizeof its);
            message_free(reply);
        }
        error = error ? error : its;
    }
    return error;
}

/* Sends the messages, each with the copy's state and a right to `port`, for an answer to `answers`. */
static void insert_on_all(struct message_queue *to, const struct xmm_state *state, struct port *port,
                          struct port *answers)
{
    for (struct message *m; (m = STAILQ_FIRST(to));) {
        STAILQ_REMOVE_HEAD(to, link);
        memcpy(m->body, state, sizeof *state);
        m->size = sizeof *state;
        port_make(port, RIGHT_SEND);
        message_add_right(m, port, RIGHT_SEND);
        port_make(answers, RIGHT_SEND_ONCE);
        m->reply = (struct right){answers, RIGHT_SEND_ONCE};
        message_post(m); /* if it cannot be sent, the answer is that its right goes unused */
    }
}

int xmm_insert_copy(struct vm_object *copy, unsigned *nodes)
{
    uint32_t offset;
    struct message_queue to = STAILQ_HEAD_INITIALIZER(to);
    struct vm_object *source = vm_object_source(copy, &offset);
    int error = source && !offset ? share_messages(source, XMM_INSERT, &to, nodes) : -EINVAL;
    struct port *port = error ? 0 : xmm_export_copy(copy), *answers = port ? port_create(0, 0) : 0;
    if (answers) {
        struct xmm_state state;
        xmm_state_of(copy, &state);
        state.shadowed = 1;
        state.shadow_offset = 0;
        insert_on_all(&to, &state, port, answers);
        error = await_inserted(answers, *nodes);
        port_destroy(answers);
    } else if (!error) {
        error = -ENOMEM;
    }
    for (struct message *m; (m = STAILQ_FIRST(&to));) {
        STAILQ_REMOVE_HEAD(&to, link);
        message_free(m);
    }
    if (port)
        port_drop(port, RIGHT_SEND);
    if (source)
        vm_object_release(source);
    return error;
}

struct port *xmm_export_shared(struct vm_object *object)
{
    struct port *p = xmm_pager_of(object);
    return p || !share_start() ? p : export_as(object, true, false);
}
