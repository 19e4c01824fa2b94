/* Objects of other nodes (xmm.h): a pager that asks them for pages. */
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "arch/csr.h"
#include "ipc/transport.h"
#include "lib/printf.h"
#include "mem/zone.h"
#include "sched/sched.h"
#include "vm/internal.h"
#include "xmm/share.h"

#define PROXY_BUCKETS 64
#define PATIENCE_MS 5000 /* for what another node answers at once */

struct proxy {
    LIST_ENTRY(proxy) link;
    struct port *pager;   /* with a send right */
    struct port *control; /* with its receive right */
    struct vm_object *object;
    vm_control_t number; /* by which vm/ refers to it */
    volatile bool complete;
    struct port *manager; /* of a shared object: the manager's port for this proxy, with a send right; or 0 */
    bool shared, ended;   /* once it has ended, it sends nothing to the manager */
    struct proxy *copy;   /* pages for this proxy are checked there; or 0 */
    struct message_queue held; /* pages being checked */
};

DEFINE_MUTEX(xmm_lock_proxy, "xmm proxies");
DEFINE_ZONE(proxies, "xmm-proxies", sizeof(struct proxy), 8, SPL_SOFTPREEMPT, 0);
LIST_HEAD(proxy_list, proxy);
static struct proxy_list imported[PROXY_BUCKETS];

static struct proxy_list *bucket_of(const struct port *pager)
{
    return &imported[(uintptr_t)pager / 64 % PROXY_BUCKETS];
}

/* `memory` is the number of a proxy; these are the kernel's own, so it may be an address. */
static struct proxy *proxy_of(uint32_t memory)
{
    return (struct proxy *)((char *)page_pointer(memory & ~PAGE_MASK) + (memory & PAGE_MASK));
}

static struct message *message_to(struct port *p, uint32_t id)
{
    struct message *m = message_alloc(id);
    if (m) {
        port_make(p, RIGHT_SEND);
        m->to = (struct right){p, RIGHT_SEND};
    }
    return m;
}

/* ---- Called by vm/. */

static void proxy_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    struct proxy *x = proxy_of(memory);
    for (; count; page++, count--) {
        struct xmm_data body = {page, 1, rights, cycles32(), x->control->uid};
        struct message *m = message_to(x->pager, XMM_DATA_REQUEST);
        if (!m) {
            vm_pager_data_error(control, page, 1);
            continue;
        }
        memcpy(m->body, &body, sizeof body);
        m->size = sizeof body;
        __atomic_fetch_add(&xmm_counts.requests, 1, __ATOMIC_RELAXED);
        if (message_send(m, 0)) { /* the node has been given up */
            message_free(m);
            vm_pager_data_error(control, page, 1);
        }
    }
}

/* ---- The same of a shared object (share.h). */

#define PATIENCE_TICKS 500 /* for memory to send a written page with */

/* A right to the manager's port for the proxy; 0: the proxy has ended, or the manager has. */
static struct port *manager_of(struct proxy *x)
{
    mutex_lock(&xmm_lock_proxy);
    struct port *p = x->ended ? 0 : x->manager;
    if (p)
        port_make(p, RIGHT_SEND);
    mutex_unlock(&xmm_lock_proxy);
    return p;
}

static struct message *message_to_manager(struct proxy *x, uint32_t id, uint32_t page, unsigned rights)
{
    struct xmm_data body = {page, 1, rights, cycles32(), 0};
    struct port *p = manager_of(x);
    struct message *m = p ? message_alloc(id) : 0;
    if (m) {
        m->to = (struct right){p, RIGHT_SEND};
        memcpy(m->body, &body, sizeof body);
        m->size = sizeof body;
    } else if (p) {
        port_drop(p, RIGHT_SEND);
    }
    return m;
}

static void ask_manager(struct proxy *x, uint32_t id, vm_control_t control, uint32_t page, unsigned rights)
{
    struct message *m = message_to_manager(x, id, page, rights);
    if (m)
        __atomic_fetch_add(&xmm_counts.requests, 1, __ATOMIC_RELAXED);
    if (m && !message_send(m, 0))
        return;
    if (m)
        message_free(m);
    thread_delay(1); /* a thread that waits for more rights asks again */
    vm_pager_data_error(control, page, 1);
}

static void shared_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    for (; count; page++, count--)
        ask_manager(proxy_of(memory), XMM_DATA_REQUEST, control, page, rights);
}

static void shared_unlock(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    for (; count; page++, count--)
        ask_manager(proxy_of(memory), XMM_DATA_UNLOCK, control, page, rights);
}

static int shared_return(uint32_t memory, vm_control_t control, uint32_t page, const void *data, uint32_t count,
                         bool kept)
{
    (void)control, (void)count;
    struct message *m = kept ? 0 : message_to_manager(proxy_of(memory), XMM_DATA_RETURN, page, 0);
    if (!m)
        return kept ? -EIO : -ENOMEM;
    int error = message_make_room(m, PAGE_SIZE) ? 0 : -ENOMEM;
    if (!error) {
        memcpy(page_pointer(m->page[0]), data, PAGE_SIZE);
        error = message_send(m, 0);
    }
    if (error)
        message_free(m);
    return error;
}

/* Waits for a limited time until there is memory for the room. */
static bool await_room(struct message *m)
{
    for (unsigned ticks = 0; !message_make_room(m, PAGE_SIZE); ticks++) {
        if (ticks == PATIENCE_TICKS)
            return false;
        thread_delay(1);
    }
    return true;
}

/* Returns the next written page to the manager. Whether there was one; *sent: it could be sent. */
static bool return_last(struct proxy *x, uint32_t *page, bool *sent)
{
    struct message *m = message_to_manager(x, XMM_DATA_RETURN, 0, 0);
    static uint8_t nowhere[PAGE_SIZE];
    bool room = m && await_room(m), there = vm_shared_last(x->object, page, room ? page_pointer(m->page[0]) : nowhere);
    *sent = room || !there;
    if (room && there) {
        struct xmm_data body = {*page, 1, 0, 0, 0};
        memcpy(m->body, &body, sizeof body);
        message_post(m);
    } else if (m) {
        message_free(m);
    }
    ++*page;
    return there;
}

/* Returns all written pages, and then reports the end. */
static void return_all(struct proxy *x)
{
    bool all = true, sent = true;
    for (uint32_t page = 0; return_last(x, &page, &sent);)
        all &= sent;
    struct message *m = all ? message_to_manager(x, XMM_END, 0, 0) : 0;
    if (m)
        message_post(m);
}

/* Takes a page that has come but waits for its check, with the lock held; or 0. */
static struct message *take_held(struct proxy *x, uint32_t page)
{
    struct message *m;
    struct xmm_data body;
    STAILQ_FOREACH(m, &x->held, link) {
        memcpy(&body, m->body, sizeof body);
        if (body.page == page) {
            STAILQ_REMOVE(&x->held, m, message, link);
            return m;
        }
    }
    return 0;
}

/* A page that is recalled before it has been used is requested again: a thread that waits for it continues to wait. */
static void proxy_ask_again(struct proxy *x, uint32_t page)
{
    mutex_lock(&xmm_lock_proxy);
    struct message *m = take_held(x, page);
    mutex_unlock(&xmm_lock_proxy);
    if (!m)
        return;
    message_free(m);
    ask_manager(x, XMM_DATA_REQUEST, x->number, page, PAGE_READ);
}

/* A page is recalled. */
static void proxy_give_up(struct proxy *x, struct message *m)
{
    static uint8_t nowhere[PAGE_SIZE]; /* only for the thread */
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    bool room = await_room(m);
    struct port *p = manager_of(x); /* first: the last reference may go with the page */
    int written =
        p ? vm_shared_give(x->number, body.page, body.rights & PAGE_READ, room ? page_pointer(m->page[0]) : nowhere)
          : -ENOENT;
    if (written < 0) { /* the proxy is about to end, and reports that */
        if (p)
            port_drop(p, RIGHT_SEND);
        message_free(m);
        return;
    }
    message_redirect(m, p, RIGHT_SEND, XMM_LOCK_COMPLETED);
    m->data_size = room && written ? PAGE_SIZE : 0;
    body.count = room || !written;
    memcpy(m->body, &body, sizeof body);
    message_post(m);
    proxy_ask_again(x, body.page);
}

/* Sends the page back as it came; `data`: with its contents. */
static void proxy_send_back(struct proxy *x, struct message *m, bool data)
{
    struct port *p = manager_of(x);
    if (!p) {
        message_free(m);
        return;
    }
    message_redirect(m, p, RIGHT_SEND, XMM_DATA_RETURN);
    if (!data)
        m->data_size = 0;
    message_post(m);
}

void proxy_shared_message(struct port *port, struct message *m)
{
    struct proxy *x = port->object;
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    if (m->id == XMM_LOCK_REQUEST)
        proxy_give_up(x, m);
    else if (vm_shared_grant(x->number, body.page))
        proxy_send_back(x, m, false);
    else
        message_free(m);
}

static void proxy_supply(struct proxy *x, struct message *m);

/* The source of that copy, which ends, is no longer checked there. A reference to its control port keeps it; or 0. */
static struct proxy *part_from_source(struct proxy *copy, struct message_queue *held)
{
    struct proxy *source;
    for (unsigned i = 0; i < PROXY_BUCKETS; i++)
        LIST_FOREACH(source, &imported[i], link)
            if (source->copy == copy) {
                source->copy = 0;
                STAILQ_CONCAT(held, &source->held);
                port_reference(source->control);
                return source;
            }
    return 0;
}

/* No answer comes any more about the pages that are being checked at a copy that ends: threads that wait get them. */
static void release_held(struct proxy *source, struct message_queue *held)
{
    for (struct message *m; (m = STAILQ_FIRST(held));) {
        STAILQ_REMOVE_HEAD(held, link);
        proxy_supply(source, m);
    }
    port_release(source->control);
}

/*
 * The end of the control port reaches only the manager's right, and tells it that the proxy has gone; drops the pager's
 * right, too.
 */
static void proxy_terminate(uint32_t memory, vm_control_t control)
{
    (void)control;
    struct proxy *x = proxy_of(memory);
    if (x->shared)
        return_all(x);
    mutex_lock(&xmm_lock_proxy);
    x->ended = true;
    LIST_REMOVE(x, link);
    xmm_counts.proxies--;
    struct message_queue held = STAILQ_HEAD_INITIALIZER(held), unchecked = STAILQ_HEAD_INITIALIZER(unchecked);
    STAILQ_CONCAT(&held, &x->held);
    struct proxy *source = part_from_source(x, &unchecked);
    mutex_unlock(&xmm_lock_proxy);
    if (source)
        release_held(source, &unchecked);
    for (struct message *m; (m = STAILQ_FIRST(&held));) {
        STAILQ_REMOVE_HEAD(&held, link);
        message_free(m);
    }
    port_drop(x->pager, RIGHT_SEND);
    if (x->manager)
        port_drop(x->manager, RIGHT_SEND);
    port_destroy(x->control);
}

static const struct vm_pager proxy_pager = {.name = "xmm", .data_request = proxy_request, .terminate = proxy_terminate};
static const struct vm_pager shared_pager = {.name = "xmm shared",
                                             .data_request = shared_request,
                                             .data_unlock = shared_unlock,
                                             .data_return = shared_return,
                                             .terminate = proxy_terminate};

/* ---- Messages from the manager. */

static void count_time(uint32_t asked)
{
    uint32_t took = cycles32() - asked;
    xmm_counts.supplied++; /* written by one thread only: the transport's */
    xmm_counts.cycles += took;
    if (took < xmm_counts.least)
        xmm_counts.least = took;
    if (took > xmm_counts.most)
        xmm_counts.most = took;
}

/* Asks the copy's manager whether the received page is still to be seen through the copy. False: no memory. */
static bool check_at_copy(struct proxy *x, struct message *m)
{
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    body.control = x->copy ? x->copy->control->uid : 0;
    mutex_lock(&xmm_lock_proxy);
    struct message *check = x->copy ? message_to(x->copy->pager, XMM_CHECK) : 0;
    if (check)
        STAILQ_INSERT_HEAD(&x->held, m, link);
    mutex_unlock(&xmm_lock_proxy);
    if (!check)
        return false;
    memcpy(check->body, &body, sizeof body);
    check->size = sizeof body;
    message_post(check);
    return true;
}

/* The answer, to the copy: supplies the page to its source; if it has been pushed, requests it anew for the copy. */
static void proxy_checked(struct proxy *copy, const struct xmm_data *body)
{
    struct proxy *source = 0, *x;
    struct message *m = 0;
    mutex_lock(&xmm_lock_proxy);
    for (unsigned i = 0; i < PROXY_BUCKETS && !source; i++)
        LIST_FOREACH(x, &imported[i], link)
            if (x->copy == copy) {
                source = x;
                break;
            }
    if (source && (m = take_held(source, body->page)))
        port_reference(source->control);
    mutex_unlock(&xmm_lock_proxy);
    if (body->rights)
        vm_pager_forget(copy->number, body->page);
    if (!m)
        return;
    proxy_supply(source, m);
    port_release(source->control);
}

/* A page has come, to be read or, for a shared object, to be written. */
static void proxy_supply(struct proxy *x, struct message *m)
{
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    unsigned locked = x->shared ? body.rights : 0;
    count_time(body.asked);
    if (vm_pager_data_supply(x->number, body.page, page_pointer(m->page[0]), 1, locked) && x->shared && !locked &&
        vm_shared_grant(x->number, body.page)) /* it is not there, and no thread waits for it */
        proxy_send_back(x, m, true);
    else
        message_free(m);
}

static struct port *inserts; /* a server's */
static void insert_message(void *object, struct message *m);
static const struct port_ops insert_ops = {.name = "copy to insert", .message = insert_message};

/* A server puts the copy in, as that waits for the manager. The proxy is kept by its port, which is in the message. */
static void insert(struct proxy *x, struct message *m)
{
    if (!inserts)
        inserts = port_create(&insert_ops, 0);
    if (!x->shared || !inserts || m->rights != 1 || m->size != sizeof(struct xmm_state)) {
        message_answer(m, inserts ? -EINVAL : -ENOMEM);
        return;
    }
    port_reference(inserts);
    message_add_right(m, m->to.port, RIGHT_NONE); /* with its reference */
    m->to = (struct right){inserts, RIGHT_NONE};
    server_add(inserts, m);
}

static void control_message(void *object, struct message *m)
{
    struct proxy *x = object;
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    switch (m->id) {
    case XMM_DATA_SUPPLY:
        if (m->data_size == PAGE_SIZE) {
            if (!x->copy || !check_at_copy(x, m))
                proxy_supply(x, m);
            return;
        }
        break;
    case XMM_DATA_UNAVAILABLE:
        xmm_counts.unavailable++;
        vm_pager_data_unavailable(x->number, body.page, 1);
        break;
    case XMM_DATA_ERROR:
        xmm_counts.errors++;
        vm_pager_data_error(x->number, body.page, 1);
        break;
    case XMM_CHECKED: proxy_checked(x, &body); break;
    case XMM_INSERT: insert(x, m); return;
    case XMM_LOCK_REQUEST:
    case XMM_GRANT:
        if (x->shared) {
            share_arrived(m);
            return;
        }
        break;
    default: break;
    }
    message_free(m);
}

static void control_freed(void *object)
{
    zone_free(&proxies, object);
}

static const struct port_ops control_ops = {
    .name = "memory control", .message = control_message, .at_once = true, .freed = control_freed};

/* ---- Imports. */

/* With the lock held: the proxy of `pager`, with a reference to its object; or 0. */
static struct proxy *proxy_find(const struct port *pager)
{
    struct proxy *x;
    LIST_FOREACH(x, bucket_of(pager), link)
        if (x->pager == pager && vm_object_try_reference(x->object))
            break;
    return x;
}

/* With the lock held: an object that is related to those of that number, with a reference; or 0. */
static struct vm_object *relative_of(uint32_t kin)
{
    struct proxy *x;
    for (unsigned i = 0; i < PROXY_BUCKETS; i++)
        LIST_FOREACH(x, &imported[i], link)
            if (vm_object_kin(x->object, 0) == kin && vm_object_try_reference(x->object))
                return x->object;
    return xmm_exported_kin(kin);
}

/* With the lock held. 0: memory is out. */
static struct proxy *proxy_new(struct port *pager, const struct xmm_state *state)
{
    struct proxy *x = zone_alloc(&proxies);
    struct port *control = x ? port_create(&control_ops, x) : 0;
    if (!control) {
        if (x)
            zone_free(&proxies, x);
        return 0;
    }
    *x = (struct proxy){.pager = pager, .control = control, .shared = state->shared};
    STAILQ_INIT(&x->held);
    struct vm_object *relative = relative_of(state->kin);
    x->object = vm_object_create_relative(x->shared ? &shared_pager : &proxy_pager, page_address(x), state->size,
                                          relative, state->kin);
    if (x->object && x->shared)
        vm_object_set_shared(x->object, VM_SHARED_AWAY);
    if (relative)
        vm_object_release(relative);
    if (!x->object) {
        port_destroy(control);
        return 0;
    }
    x->number = vm_object_control(x->object);
    LIST_INSERT_HEAD(bucket_of(pager), x, link);
    xmm_counts.proxies++;
    return x;
}

struct vm_object *xmm_import(struct port *pager, const struct xmm_state *state, bool *fresh)
{
    *fresh = false;
    if (port_is_here(pager)) {
        struct vm_object *own = xmm_exported(pager);
        if (own)
            port_drop(pager, RIGHT_SEND);
        return own;
    }
    if (state->shared && !share_start())
        return 0;
    mutex_lock(&xmm_lock_proxy);
    struct proxy *x = proxy_find(pager);
    *fresh = !x;
    if (!x)
        x = proxy_new(pager, state);
    mutex_unlock(&xmm_lock_proxy);
    if (!*fresh)
        port_drop(pager, RIGHT_SEND);
    return x ? x->object : 0;
}

static struct proxy *proxy_of_object(struct vm_object *object)
{
    struct proxy *x;
    for (unsigned i = 0; i < PROXY_BUCKETS; i++)
        LIST_FOREACH(x, &imported[i], link)
            if (x->object == object)
                return x;
    return 0;
}

DEFINE_SIMPLE_LOCK(complete_lock, "xmm complete", SPL_SOFTPREEMPT);

void xmm_complete(struct vm_object *object, int error)
{
    vm_object_reference(object);
    while (object) {
        mutex_lock(&xmm_lock_proxy);
        struct proxy *x = proxy_of_object(object);
        mutex_unlock(&xmm_lock_proxy);
        if (x && !x->complete) {
            if (error)
                vm_pager_destroy(x->number);
            crit_t s = simple_lock_enter(&complete_lock);
            x->complete = true;
            thread_wakeup(&imported);
            simple_lock_leave(&complete_lock, s);
        }
        struct vm_object *below = vm_object_next(object);
        vm_object_release(object);
        object = below;
    }
}

/*
 * Pages are pushed where both objects are managed, before this node may write them: what it writes first may not be
 * what the copy has to keep.
 */
static void push_nothing_here(struct vm_object *source, const struct vm_object *copy)
{
    vm_object_lock(source);
    if (source->copy == copy)
        source->copy = 0;
    vm_object_unlock(source);
}

bool xmm_set_source(struct vm_object *copy, struct vm_object *source)
{
    mutex_lock(&xmm_lock_proxy);
    struct proxy *x = proxy_of_object(source), *y = proxy_of_object(copy);
    bool sound = !x || !x->shared || !x->copy || x->copy == y;
    if (x && x->shared && sound) {
        x->copy = y;
        push_nothing_here(source, copy);
    }
    mutex_unlock(&xmm_lock_proxy);
    return sound;
}

void xmm_await(struct vm_object *object)
{
    mutex_lock(&xmm_lock_proxy);
    struct proxy *x = proxy_of_object(object);
    mutex_unlock(&xmm_lock_proxy);
    crit_t s = simple_lock_enter(&complete_lock);
    while (x && !x->complete) /* the caller's reference keeps it */
        thread_sleep(&imported, &complete_lock);
    simple_lock_leave(&complete_lock, s);
}

struct port *xmm_pager_of(struct vm_object *object)
{
    mutex_lock(&xmm_lock_proxy);
    struct proxy *x = proxy_of_object(object);
    struct port *p = x ? x->pager : 0;
    if (p)
        port_make(p, RIGHT_SEND);
    mutex_unlock(&xmm_lock_proxy);
    return p;
}

/* The answer's first word is an error number. */
static int call_for_error(struct message *m)
{
    struct message *reply;
    int error = message_call(m, PATIENCE_MS, &reply);
    if (!error) {
        memcpy(&error, reply->body, sizeof error);
        message_free(reply);
    }
    return error;
}

/* The answer has a right to the manager's port for this proxy. */
static int init_shared(struct proxy *x, struct message *m)
{
    struct message *reply;
    int error = message_call(m, PATIENCE_MS, &reply);
    if (error)
        return error;
    memcpy(&error, reply->body, sizeof error);
    struct port *p = message_take_right(reply, 0);
    message_free(reply);
    mutex_lock(&xmm_lock_proxy);
    x->manager = p;
    mutex_unlock(&xmm_lock_proxy);
    return error ? error : p ? 0 : -EIO;
}

int xmm_init(struct vm_object *object, bool waits)
{
    mutex_lock(&xmm_lock_proxy);
    struct proxy *x = proxy_of_object(object); /* the caller's reference keeps it */
    mutex_unlock(&xmm_lock_proxy);
    struct message *m = x ? message_to(x->pager, XMM_INIT) : 0;
    if (!m)
        return -ENOMEM;
    port_make(x->control, RIGHT_SEND);
    message_add_right(m, x->control, RIGHT_SEND);
    if (x->shared)
        return init_shared(x, m);
    if (waits)
        return call_for_error(m);
    int error = message_send(m, 0);
    if (error)
        message_free(m);
    return error;
}

/* Imports the copy, above the source; `fresh`: this node has not had it. */
static int insert_above(struct vm_object *copy, struct vm_object *source, bool fresh)
{
    if (!fresh) {
        xmm_await(copy);
        return 0;
    }
    int error = !vm_object_set_shadow(copy, source, 0) ? -EINVAL
                : !xmm_set_source(copy, source)        ? -EOPNOTSUPP
                                                       : xmm_init(copy, true);
    xmm_complete(copy, error);
    return error;
}

static void insert_message(void *object, struct message *m)
{
    (void)object;
    struct proxy *x = m->right[1].port->object;
    struct xmm_state state;
    bool fresh;
    memcpy(&state, m->body, sizeof state);
    state.shared = 0;
    struct port *pager = m->right[0].type == RIGHT_SEND ? message_take_right(m, 0) : 0;
    mutex_lock(&xmm_lock_proxy);
    struct vm_object *source = !x->ended && vm_object_try_reference(x->object) ? x->object : 0;
    mutex_unlock(&xmm_lock_proxy);
    struct vm_object *copy = source && pager ? xmm_import(pager, &state, &fresh) : 0;
    if (pager && !copy)
        port_drop(pager, RIGHT_SEND);
    int error = copy ? insert_above(copy, source, fresh) : source ? -ENOMEM : 0; /* it has just ended here */
    if (copy)
        vm_object_release(copy); /* first, as the next copy may come then */
    if (source)
        vm_object_release(source);
    message_answer(m, error);
}

int xmm_get_state(struct port *pager, struct xmm_state *state)
{
    struct message *reply, *m = message_to(pager, XMM_GET_STATE);
    int error = m ? message_call(m, PATIENCE_MS, &reply) : -ENOMEM;
    if (error)
        return error;
    error = reply->size == sizeof *state ? 0 : -EIO;
    memcpy(state, reply->body, sizeof *state);
    message_free(reply);
    return error;
}

int xmm_get_shadow(struct port *pager, bool hierarchical, struct port **shadow)
{
    struct message *reply, *m = message_to(pager, XMM_GET_SHADOW);
    if (m) {
        m->body[0] = hierarchical;
        m->size = 1;
    }
    int error = m ? message_call(m, PATIENCE_MS, &reply) : -ENOMEM;
    if (error)
        return error;
    *shadow = message_take_right(reply, 0);
    message_free(reply);
    return 0;
}

struct vm_object *xmm_copy_away(struct vm_object *object)
{
    struct xmm_state state;
    bool fresh;
    struct port *pager = xmm_pager_of(object);
    struct message *reply, *m = pager ? message_to(pager, XMM_COPY) : 0;
    if (pager)
        port_drop(pager, RIGHT_SEND);
    if (!m || message_call(m, PATIENCE_MS, &reply))
        return 0;
    memcpy(&state, reply->body, sizeof state);
    pager = reply->size == sizeof state ? message_take_right(reply, 0) : 0;
    message_free(reply);
    struct vm_object *copy = pager ? xmm_import(pager, &state, &fresh) : 0;
    if (pager && !copy)
        port_drop(pager, RIGHT_SEND);
    if (copy && fresh)
        xmm_complete(copy, xmm_init(copy, true));
    else if (copy)
        xmm_await(copy);
    return copy;
}

void xmm_node_died(unsigned node)
{
    struct proxy *x;
    (void)node;
    mutex_lock(&xmm_lock_proxy);
    for (unsigned i = 0; i < PROXY_BUCKETS; i++)
        LIST_FOREACH(x, &imported[i], link)
            if (x->manager ? x->manager->dead
                           : x->pager->dead) /* so its home has been given up, or the node that gave it */
                vm_pager_destroy(x->number);
    mutex_unlock(&xmm_lock_proxy);
}

void xmm_print_results(void)
{
    const struct xmm_counts *c = &xmm_counts;
    kprintf("@xmm exports=%lu proxies=%lu requests=%lu supplied=%lu unavailable=%lu errors=%lu served=%lu mean=%lu "
            "least=%lu most=%lu recalled=%lu returned=%lu\n",
            (unsigned long)c->exports, (unsigned long)c->proxies, (unsigned long)c->requests,
            (unsigned long)c->supplied, (unsigned long)c->unavailable, (unsigned long)c->errors,
            (unsigned long)c->served, (unsigned long)(c->supplied ? c->cycles / c->supplied : 0),
            (unsigned long)(c->supplied ? c->least : 0), (unsigned long)c->most, (unsigned long)c->recalled,
            (unsigned long)c->returned);
}
