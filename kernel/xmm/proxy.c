/* Objects of other nodes (xmm.h): a pager that asks them for pages. */
#include <errno.h>
#include <string.h>

#include "arch/csr.h"
#include "lib/printf.h"
#include "mem/zone.h"
#include "sched/sched.h"
#include "xmm/internal.h"

#define BUCKETS 64
#define PATIENCE_MS 5000 /* for what another node is to answer at once */

struct proxy {
    struct proxy *next;
    struct port *pager;   /* with a send right */
    struct port *control; /* with its receive right */
    struct vm_object *object;
    vm_control_t number; /* what vm/ calls it */
    volatile bool complete;
};

DEFINE_MUTEX(xmm_lock_proxy, "xmm proxies");
DEFINE_ZONE(proxies, "xmm-proxies", sizeof(struct proxy), 8, SPL_SOFTPREEMPT, 0);
static struct proxy *imported[BUCKETS];

static struct proxy **bucket_of(const struct port *pager)
{
    return &imported[(uintptr_t)pager / 64 % BUCKETS];
}

/* `memory` is the number of one of these; they are the kernel's own, so it may be an address. */
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

/* ---- What vm/ calls. */

static void proxy_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    struct proxy *x = proxy_of(memory);
    for (; count; page++, count--) {
        struct xmm_data body = {page, 1, rights, cycles32()};
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

/*
 * The control port's end says to nobody but the manager's right that there is no proxy any more; the pager's right
 * goes, too.
 */
static void proxy_terminate(uint32_t memory, vm_control_t control)
{
    (void)control;
    struct proxy *x = proxy_of(memory);
    mutex_lock(&xmm_lock_proxy);
    struct proxy **at = bucket_of(x->pager);
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    xmm_counts.proxies--;
    mutex_unlock(&xmm_lock_proxy);
    port_drop(x->pager, RIGHT_SEND);
    port_destroy(x->control);
}

static const struct vm_pager proxy_pager = {.name = "xmm", .data_request = proxy_request, .terminate = proxy_terminate};

/* ---- What the manager sends. */

static void count_time(uint32_t asked)
{
    uint32_t took = cycles32() - asked;
    xmm_counts.supplied++; /* of one thread alone: the transport's */
    xmm_counts.cycles += took;
    if (took < xmm_counts.least)
        xmm_counts.least = took;
    if (took > xmm_counts.most)
        xmm_counts.most = took;
}

static void control_message(void *object, struct message *m)
{
    struct proxy *x = object;
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    switch (m->id) {
    case XMM_DATA_SUPPLY:
        if (m->data_size == PAGE_SIZE) {
            count_time(body.asked);
            vm_pager_data_supply(x->number, body.page, page_pointer(m->page[0]), 1, 0);
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

/* With the lock: the proxy of `pager`, with a reference to its object; or 0. */
static struct proxy *proxy_find(const struct port *pager)
{
    struct proxy *x = *bucket_of(pager);
    while (x && !(x->pager == pager && vm_object_try_reference(x->object)))
        x = x->next;
    return x;
}

/* With the lock: an object that is related to those of that number, with a reference; or 0. */
static struct vm_object *relative_of(uint32_t kin)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct proxy *x = imported[i]; x; x = x->next)
            if (vm_object_kin(x->object, 0) == kin && vm_object_try_reference(x->object))
                return x->object;
    return xmm_exported_kin(kin);
}

/* With the lock. 0: memory is out. */
static struct proxy *proxy_new(struct port *pager, const struct xmm_state *state)
{
    struct proxy *x = zone_alloc(&proxies);
    struct port *control = x ? port_create(&control_ops, x) : 0;
    if (!control) {
        if (x)
            zone_free(&proxies, x);
        return 0;
    }
    *x = (struct proxy){.pager = pager, .control = control};
    struct vm_object *relative = relative_of(state->kin);
    x->object = vm_object_create_relative(&proxy_pager, page_address(x), state->size, relative, state->kin);
    if (relative)
        vm_object_release(relative);
    if (!x->object) {
        port_destroy(control);
        return 0;
    }
    x->number = vm_object_control(x->object);
    x->next = *bucket_of(pager);
    *bucket_of(pager) = x;
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
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct proxy *x = imported[i]; x; x = x->next)
            if (x->object == object)
                return x;
    return 0;
}

DEFINE_SIMPLE_LOCK(complete_lock, "xmm complete", SPL_SOFTPREEMPT);

void xmm_complete(struct vm_object *object, int error)
{
    bool through;
    uint32_t offset;
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
        struct vm_object *below = vm_object_below(object, &offset, &through);
        vm_object_release(object);
        object = below;
    }
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
    if (waits)
        return call_for_error(m);
    message_post(m);
    return 0;
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

void xmm_node_died(unsigned node)
{
    (void)node;
    mutex_lock(&xmm_lock_proxy);
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct proxy *x = imported[i]; x; x = x->next)
            if (x->pager->dead) /* so its home has been given up, or who gave it */
                vm_pager_destroy(x->number);
    mutex_unlock(&xmm_lock_proxy);
}

void xmm_print_results(void)
{
    const struct xmm_counts *c = &xmm_counts;
    kprintf("@xmm exports=%lu proxies=%lu requests=%lu supplied=%lu unavailable=%lu errors=%lu served=%lu mean=%lu "
            "least=%lu most=%lu\n",
            (unsigned long)c->exports, (unsigned long)c->proxies, (unsigned long)c->requests,
            (unsigned long)c->supplied, (unsigned long)c->unavailable, (unsigned long)c->errors,
            (unsigned long)c->served, (unsigned long)(c->supplied ? c->cycles / c->supplied : 0),
            (unsigned long)(c->supplied ? c->least : 0), (unsigned long)c->most);
}
