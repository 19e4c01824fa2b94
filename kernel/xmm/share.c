/* Pages that several nodes read and write (share.h): which nodes have which pages. */
#include "xmm/share.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "ipc/transport.h"
#include "mem/zone.h"
#include "sched/sched.h"
#include "vm/radix.h"
#include "vm/shared.h"

/* A proxy of another node. Its memory is freed with the last reference to its port. */
struct user {
    LIST_ENTRY(user) link;
    struct share *share; /* 0: it has been removed */
    struct port *port, *control;
    volatile bool gone; /* its node has no right to its port any more */
    bool ended;         /* and it has reported its end */
};

/* A user that has a page. */
struct holder {
    LIST_ENTRY(holder) link;
    struct user *user;
    bool writes, asked; /* it may write it; it has been asked to give up conflicting rights */
};

struct shared_page {
    struct share *share;
    uint32_t index;
    LIST_HEAD(, holder) holders;
    struct message_queue requests;
    unsigned asked;                /* holders that still have to answer */
    uint8_t home;                  /* rights that this node's tasks wait for */
    bool home_next;                /* before the first request */
    bool bringing;                 /* the page is not in memory yet */
    bool lost;
    bool ready; /* on the list of pages to be served */
    SLIST_ENTRY(shared_page) ready_link;
};

struct share {
    struct vm_object *object;
    struct port *port; /* the export's */
    struct radix pages;
    LIST_HEAD(, user) users;
    uint32_t writers; /* pages that another node may write */
    uint32_t frozen;
};

DEFINE_MUTEX(xmm_lock_share, "xmm share");
DEFINE_SIMPLE_LOCK(queue_lock, "xmm queue", SPL_SOFTCLOCK);
DEFINE_ZONE(shares, "xmm-shares", sizeof(struct share), 8, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(shared_pages, "xmm-pages", sizeof(struct shared_page), 8, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(holders, "xmm-holders", sizeof(struct holder), 8, SPL_SOFTPREEMPT, 0);
DEFINE_ZONE(users, "xmm-users", sizeof(struct user), 8, SPL_SOFTPREEMPT, 0);

static struct message_queue share_queue = STAILQ_HEAD_INITIALIZER(share_queue); /* with queue_lock; as is the next */
static volatile bool somebody_gone, may_end;
static SLIST_HEAD(, shared_page) share_ready; /* with the mutex held */
static bool share_runs;

/* ---- The thread's work. */

void share_may_end(void)
{
    crit_t s = simple_lock_enter(&queue_lock);
    may_end = true;
    thread_wakeup(&share_queue);
    simple_lock_leave(&queue_lock, s);
}

static void share_kick(void)
{
    crit_t s = simple_lock_enter(&queue_lock);
    thread_wakeup(&share_queue);
    simple_lock_leave(&queue_lock, s);
}

void share_arrived(struct message *m)
{
    crit_t s = simple_lock_enter(&queue_lock);
    STAILQ_INSERT_TAIL(&share_queue, m, link);
    thread_wakeup(&share_queue);
    simple_lock_leave(&queue_lock, s);
}

/* With the mutex held. */
static void share_look_at(struct shared_page *sp)
{
    if (sp->ready)
        return;
    sp->ready = true;
    SLIST_INSERT_HEAD(&share_ready, sp, ready_link);
    share_kick();
}

static struct xmm_data body_of(const struct message *m)
{
    struct xmm_data body;
    memcpy(&body, m->body, sizeof body);
    return body;
}

/* ---- Messages to proxies. A request is sent back as its answer, so no memory is needed for that. */

static void answer_with(struct message *m, struct user *u, uint32_t id, const struct xmm_data *body)
{
    port_make(u->control, RIGHT_SEND);
    message_redirect(m, u->control, RIGHT_SEND, id);
    memcpy(m->body, body, sizeof *body);
    m->size = sizeof *body;
    message_post(m);
}

/* Takes the first request off the list. */
static struct message *first_of(struct shared_page *sp)
{
    struct message *m = STAILQ_FIRST(&sp->requests);
    STAILQ_REMOVE_HEAD(&sp->requests, link);
    sp->home_next = true;
    return m;
}

static struct user *user_of(const struct message *m)
{
    return m->to.port->object;
}

/* ---- Holders. */

static struct holder *holder_of(struct shared_page *sp, const struct user *u)
{
    struct holder *h;
    LIST_FOREACH(h, &sp->holders, link)
        if (h->user == u)
            break;
    return h;
}

static void set_writes(struct shared_page *sp, struct holder *h, bool writes)
{
    struct share *s = sp->share;
    s->writers += (uint32_t)writes - (uint32_t)h->writes;
    h->writes = writes;
    if (!s->writers && s->frozen) {
        crit_t c = simple_lock_enter(&queue_lock);
        thread_wakeup(&s->frozen);
        simple_lock_leave(&queue_lock, c);
    }
}

static void drop_holder(struct shared_page *sp, struct holder *h)
{
    LIST_REMOVE(h, link);
    sp->asked -= h->asked;
    set_writes(sp, h, false);
    zone_free(&holders, h);
}

/*
 * Asks a holder to give up its conflicting rights to the page. False: memory is out for one; those before it have been
 * asked.
 */
static bool share_ask(struct shared_page *sp, struct holder *h, bool keeps)
{
    struct message *m = message_alloc(XMM_LOCK_REQUEST);
    if (!m)
        return false;
    struct xmm_data body = {sp->index, 1, keeps ? PAGE_READ : 0, 0, 0};
    port_make(h->user->control, RIGHT_SEND);
    m->to = (struct right){h->user->control, RIGHT_SEND};
    memcpy(m->body, &body, sizeof body);
    m->size = sizeof body;
    h->asked = true;
    sp->asked++;
    __atomic_fetch_add(&xmm_counts.recalled, 1, __ATOMIC_RELAXED);
    message_post(m); /* if the node is dead: its rights are about to be returned, which counts as an answer */
    return true;
}

/* ---- Serving requests in order. All with the mutex held, which is released for calls of vm/. */

static int take(struct shared_page *sp, unsigned withheld, void *to)
{
    mutex_unlock(&xmm_lock_share);
    int result = vm_shared_take(sp->share->object, sp->index, withheld, to);
    mutex_lock(&xmm_lock_share);
    return result;
}

static unsigned withheld_here(const struct shared_page *sp)
{
    const struct holder *h;
    LIST_FOREACH(h, &sp->holders, link)
        if (h->writes)
            return PAGE_RIGHTS;
    return LIST_EMPTY(&sp->holders) ? 0 : PAGE_WRITE;
}

static void let_home(const struct shared_page *sp)
{
    vm_shared_allow(sp->share->object, sp->index, sp->lost ? PAGE_RIGHTS : withheld_here(sp));
}

static void share_refuse(struct shared_page *sp)
{
    struct message *m = first_of(sp);
    struct xmm_data body = body_of(m);
    m->data_size = 0;
    answer_with(m, user_of(m), XMM_DATA_ERROR, &body);
}

/* A server waits until the page is in memory. */
static struct port *bring_port;

struct bring {
    struct shared_page *page;
    int error;
    bool written;
};

static void bring_message(void *object, struct message *m)
{
    (void)object;
    struct bring b;
    memcpy(&b, m->body, sizeof b);
    b.error = vm_shared_bring(b.page->share->object, b.page->index, b.written); /* the record stays, and keeps both */
    memcpy(m->body, &b, sizeof b);
    share_arrived(m);
}

static const struct port_ops bring_ops = {.name = "bring", .message = bring_message};

static bool bring(struct shared_page *sp, bool written)
{
    struct message *m = message_alloc(XMM_BROUGHT);
    if (!m)
        return false;
    struct bring b = {.page = sp, .written = written};
    memcpy(m->body, &b, sizeof b);
    port_reference(bring_port);
    m->to = (struct right){bring_port, RIGHT_NONE};
    sp->bringing = true;
    server_add(bring_port, m);
    return true;
}

/* No holder conflicts: the first request's user gets the page. False: it has to wait. */
static bool share_give(struct shared_page *sp, struct user *u, bool writes)
{
    struct message *m = STAILQ_FIRST(&sp->requests);
    struct xmm_data body = body_of(m);
    struct holder *own = holder_of(sp, u), *fresh = own ? own : zone_alloc(&holders);
    bool has = own && m->id == XMM_DATA_UNLOCK;
    if (!fresh || (!has && !message_make_room(m, PAGE_SIZE))) {
        if (fresh && !own)
            zone_free(&holders, fresh);
        share_refuse(sp);
        return true;
    }
    int result = take(sp, writes ? PAGE_RIGHTS : PAGE_WRITE, has ? 0 : page_pointer(m->page[0]));
    if (result > 0 && !bring(sp, writes))
        result = -ENOMEM;
    if (result && !own)
        zone_free(&holders, fresh);
    if (result > 0)
        return false;
    if (!result && writes && sp->share->frozen) { /* frozen meanwhile; the request keeps its place */
        if (!own)
            zone_free(&holders, fresh);
        let_home(sp);
        return false;
    }
    if (result) {
        let_home(sp);
        share_refuse(sp);
        return true;
    }
    if (!own) {
        *fresh = (struct holder){.user = u};
        LIST_INSERT_HEAD(&sp->holders, fresh, link);
    }
    set_writes(sp, fresh, writes);
    first_of(sp);
    body.rights = writes ? 0 : PAGE_WRITE;
    __atomic_fetch_add(&xmm_counts.served, 1, __ATOMIC_RELAXED);
    answer_with(m, u, has ? XMM_GRANT : XMM_DATA_SUPPLY, &body);
    return true;
}

/* For a user, or, if it is 0, for the tasks on this node. False: it has to wait. */
static bool share_step(struct shared_page *sp, struct user *u, bool writes)
{
    struct holder *own = u ? holder_of(sp, u) : 0;
    if (sp->lost) {
        if (u) {
            share_refuse(sp);
        } else {
            sp->home = 0;
            let_home(sp);
        }
        return true;
    }
    if (own && own->writes) { /* it got the page after it asked: earlier requests are obsolete */
        message_free(first_of(sp));
        return true;
    }
    struct holder *h;
    LIST_FOREACH(h, &sp->holders, link)
        if (h != own && !h->asked && (writes || h->writes) && !share_ask(sp, h, !writes) && !sp->asked) {
            if (u) {
                share_refuse(sp);
            } else { /* a waiting thread asks again */
                sp->home = 0;
                let_home(sp);
            }
            return true;
        }
    if (sp->asked)
        return false;
    if (u)
        return share_give(sp, u, writes);
    sp->home = 0;
    sp->home_next = false;
    let_home(sp);
    return true;
}

static void share_serve(struct shared_page *sp)
{
    struct share *s = sp->share;
    for (bool on = true; on && !sp->asked && !sp->bringing;) {
        const struct message *first = STAILQ_FIRST(&sp->requests);
        bool writes = first && body_of(first).rights & PAGE_WRITE;
        if (writes && s->frozen)
            first = 0;
        if (sp->home && (sp->home_next || !first))
            on = share_step(sp, 0, sp->home & PAGE_WRITE);
        else
            on = first && share_step(sp, user_of(first), writes);
    }
    if (sp->asked || sp->bringing || !STAILQ_EMPTY(&sp->requests) || sp->home || !LIST_EMPTY(&sp->holders) ||
        sp->lost || sp->ready)
        return;
    let_home(sp);
    radix_clear(&s->pages, sp->index);
    zone_free(&shared_pages, sp);
}

static void serve_ready(void)
{
    for (struct shared_page *sp; (sp = SLIST_FIRST(&share_ready));) {
        SLIST_REMOVE_HEAD(&share_ready, ready_link);
        sp->ready = false;
        share_serve(sp);
    }
}

/* The record of the page; 0: memory is out, or there is no such page. */
static struct shared_page *page_of(struct share *s, uint32_t index, bool make)
{
    struct shared_page *sp = radix_get(&s->pages, index);
    if (sp || !make || index >= vm_object_size(s->object) || !(sp = zone_alloc(&shared_pages)))
        return sp;
    *sp = (struct shared_page){.share = s, .index = index};
    STAILQ_INIT(&sp->requests);
    if (radix_set(&s->pages, index, sp))
        return sp;
    zone_free(&shared_pages, sp);
    return 0;
}

/* ---- Messages from a proxy. */

static void share_request(struct user *u, struct message *m)
{
    struct xmm_data body = body_of(m);
    struct shared_page *sp = page_of(u->share, body.page, true);
    if (!sp) {
        answer_with(m, u, XMM_DATA_ERROR, &body);
        return;
    }
    STAILQ_INSERT_TAIL(&sp->requests, m, link);
    share_look_at(sp);
}

/* Data that the user has written, if any; unasked, or as an answer. */
static void share_returned(struct user *u, const struct message *m)
{
    struct xmm_data body = body_of(m);
    struct shared_page *sp = page_of(u->share, body.page, false);
    struct holder *h = sp ? holder_of(sp, u) : 0;
    bool answers = m->id == XMM_LOCK_COMPLETED, kept = answers && body.rights & PAGE_READ;
    if (!h || (answers && !h->asked))
        return;
    if (h->writes && m->data_size == PAGE_SIZE) {
        mutex_unlock(&xmm_lock_share);
        vm_shared_put(u->share->object, body.page, page_pointer(m->page[0]));
        mutex_lock(&xmm_lock_share);
        __atomic_fetch_add(&xmm_counts.returned, 1, __ATOMIC_RELAXED);
    }
    sp->lost |= answers && !body.count; /* it could not be sent */
    if (answers) {
        h->asked = false;
        sp->asked--;
    }
    if (kept)
        set_writes(sp, h, false);
    else if (h->asked)
        set_writes(sp, h, false); /* its answer is under way */
    else
        drop_holder(sp, h);
    if (!answers && !sp->asked)
        let_home(sp);
    share_look_at(sp);
}

static void user_freed(void *object)
{
    zone_free(&users, object);
}

static void user_message(void *object, struct message *m)
{
    (void)object;
    share_arrived(m);
}

static void user_no_senders(void *object)
{
    struct user *u = object;
    crit_t s = simple_lock_enter(&queue_lock);
    u->gone = somebody_gone = true;
    thread_wakeup(&share_queue);
    simple_lock_leave(&queue_lock, s);
}

static const struct port_ops user_ops = {.name = "memory user",
                                         .message = user_message,
                                         .at_once = true,
                                         .no_senders = user_no_senders,
                                         .freed = user_freed};

static void share_from_user(struct user *u, struct message *m)
{
    if (!u->share) {
        message_free(m);
        return;
    }
    switch (m->id) {
    case XMM_DATA_REQUEST:
    case XMM_DATA_UNLOCK: share_request(u, m); return;
    case XMM_DATA_RETURN:
    case XMM_LOCK_COMPLETED: share_returned(u, m); break;
    case XMM_END: u->ended = true; break;
    default: break;
    }
    message_free(m);
}

/* Drops the user's requests and its rights to the page. */
static void forget_in(struct shared_page *sp, const struct user *u)
{
    struct holder *h = holder_of(sp, u);
    struct message *m, *next;
    STAILQ_FOREACH_SAFE(m, &sp->requests, link, next)
        if (user_of(m) == u) {
            STAILQ_REMOVE(&sp->requests, m, message, link);
            message_free(m);
        }
    if (h) {
        sp->lost |= h->writes && !u->ended;
        drop_holder(sp, h);
        if (!sp->asked)
            let_home(sp);
    }
    share_look_at(sp);
}

static void see_off(struct user *u)
{
    struct share *s = u->share;
    struct shared_page *sp;
    LIST_REMOVE(u, link);
    port_reference(u->port);
    for (uint32_t i = 0; (sp = radix_next(&s->pages, &i)); i++)
        forget_in(sp, u);
    u->share = 0;
    port_drop(u->control, RIGHT_SEND);
    port_destroy(u->port);
    port_release(u->port);
}

void share_init(struct share *s, struct message *m)
{
    struct port *control = message_take_right(m, 0);
    struct user *u = control ? zone_alloc(&users) : 0;
    struct port *port = u ? port_create(&user_ops, u) : 0;
    struct message *reply = message_reply_to(m);
    int error = port && reply ? 0 : -ENOMEM;
    if (!error) {
        mutex_lock(&xmm_lock_share);
        *u = (struct user){.share = s, .port = port, .control = control};
        LIST_INSERT_HEAD(&s->users, u, link);
        mutex_unlock(&xmm_lock_share);
        port_make(port, RIGHT_SEND);
        message_add_right(reply, port, RIGHT_SEND);
    } else {
        if (port)
            port_destroy(port); /* which frees the user */
        else if (u)
            zone_free(&users, u);
        if (control)
            port_drop(control, RIGHT_SEND);
    }
    message_free(m);
    if (!reply)
        return;
    memcpy(reply->body, &error, sizeof error);
    reply->size = sizeof error;
    message_post(reply);
}

int share_messages(struct vm_object *object, uint32_t id, struct message_queue *to, unsigned *count)
{
    const struct user *u;
    int error = 0;
    *count = 0;
    mutex_lock(&xmm_lock_share);
    const struct share *s = export_share_of(object);
    for (u = s ? LIST_FIRST(&s->users) : 0; u && !error; u = LIST_NEXT(u, link)) {
        struct message *m = message_alloc(id);
        if (m) {
            port_make(u->control, RIGHT_SEND);
            m->to = (struct right){u->control, RIGHT_SEND};
            STAILQ_INSERT_TAIL(to, m, link);
            ++*count;
        } else {
            error = -ENOMEM;
        }
    }
    mutex_unlock(&xmm_lock_share);
    return error;
}

/* ---- Requests of vm/. */

static int share_want(struct vm_object *object, uint32_t page, unsigned rights)
{
    mutex_lock(&xmm_lock_share);
    struct share *s = export_share_of(object);
    struct shared_page *sp = s ? page_of(s, page, false) : 0;
    int error = sp && sp->lost ? -EIO : 0;
    if (sp && !error) {
        sp->home |= (uint8_t)rights;
        share_look_at(sp);
    }
    if (s && !sp) /* no node has it any more */
        vm_shared_allow(object, page, 0);
    mutex_unlock(&xmm_lock_share);
    return error;
}

static void share_freeze(struct vm_object *object)
{
    struct shared_page *sp;
    mutex_lock(&xmm_lock_share);
    struct share *s = export_share_of(object);
    if (s)
        s->frozen++;
    for (uint32_t i = 0; s && (sp = radix_next(&s->pages, &i)); i++)
        if (withheld_here(sp) == PAGE_RIGHTS) {
            sp->home |= PAGE_READ;
            share_look_at(sp);
        }
    mutex_unlock(&xmm_lock_share);
    crit_t c = simple_lock_enter(&queue_lock);
    while (s && *(volatile uint32_t *)&s->writers)
        thread_sleep(&s->frozen, &queue_lock);
    simple_lock_leave(&queue_lock, c);
}

static void share_thaw(struct vm_object *object)
{
    struct shared_page *sp;
    mutex_lock(&xmm_lock_share);
    struct share *s = export_share_of(object);
    if (s && s->frozen)
        s->frozen--;
    for (uint32_t i = 0; s && (sp = radix_next(&s->pages, &i)); i++)
        if (!STAILQ_EMPTY(&sp->requests))
            share_look_at(sp);
    mutex_unlock(&xmm_lock_share);
    share_may_end();
}

static const struct vm_sharing share_for_vm = {
    .want = share_want, .freeze = share_freeze, .thaw = share_thaw, .copy = xmm_copy_away};

/* ---- Beginning and end. */

struct share *share_new(struct vm_object *object, struct port *port)
{
    struct share *s = zone_alloc(&shares);
    if (!s)
        return 0;
    *s = (struct share){.object = object, .port = port};
    vm_object_set_shared(object, VM_SHARED_HOME);
    return s;
}

bool share_is_used(const struct share *s)
{
    const struct shared_page *sp;
    for (uint32_t i = 0; (sp = radix_next(&s->pages, &i)); i++)
        if (!sp->lost || sp->ready || sp->bringing)
            return true;
    return !LIST_EMPTY(&s->users) || s->frozen;
}

void share_end(struct share *s)
{
    struct shared_page *sp;
    vm_object_set_shared(s->object, VM_SHARED_NOT);
    for (uint32_t i = 0; (sp = radix_next(&s->pages, &i)); i++) {
        radix_clear(&s->pages, i);
        let_home(sp); /* lost pages stay lost */
        zone_free(&shared_pages, sp);
    }
    zone_free(&shares, s);
}

static struct message *next_arrived(void)
{
    crit_t s = simple_lock_enter(&queue_lock);
    struct message *m = STAILQ_FIRST(&share_queue);
    if (m)
        STAILQ_REMOVE_HEAD(&share_queue, link);
    simple_lock_leave(&queue_lock, s);
    return m;
}

static void share_message(struct message *m)
{
    struct port *p = m->to.port;
    port_reference(p);
    if (m->id == XMM_BROUGHT) {
        struct bring b;
        memcpy(&b, m->body, sizeof b);
        mutex_lock(&xmm_lock_share);
        b.page->bringing = false;
        if (b.error && !STAILQ_EMPTY(&b.page->requests))
            share_refuse(b.page);
        share_look_at(b.page);
        mutex_unlock(&xmm_lock_share);
        message_free(m);
    } else if (p->ops == &user_ops) {
        mutex_lock(&xmm_lock_share);
        share_from_user(p->object, m);
        mutex_unlock(&xmm_lock_share);
    } else if (export_is_shared(p)) {
        export_shared_message(p, m);
    } else {
        proxy_shared_message(p, m);
    }
    port_release(p);
}

/* A user that has gone is removed after all its messages have been handled. */
static void see_off_the_gone(struct share *s)
{
    struct user *u, *next;
    LIST_FOREACH_SAFE(u, &s->users, link, next)
        if (u->gone)
            see_off(u);
}

/* Does one step of the work; whether there was something to do. */
static bool share_work(void)
{
    bool gone = somebody_gone, end = may_end;
    struct message *m = next_arrived();
    if (m) {
        share_message(m);
    } else if (gone) {
        somebody_gone = false;
        mutex_lock(&xmm_lock_share);
        exports_each_shared(see_off_the_gone);
        mutex_unlock(&xmm_lock_share);
        may_end = true;
    }
    mutex_lock(&xmm_lock_share);
    bool some = m || gone || end || !SLIST_EMPTY(&share_ready);
    serve_ready();
    if (!m && end) {
        may_end = false;
        exports_end();
    }
    mutex_unlock(&xmm_lock_share);
    exports_ended();
    return some;
}

static void share_thread(void *arg)
{
    (void)arg;
    for (;;) {
        if (share_work())
            continue;
        crit_t s = simple_lock_enter(&queue_lock);
        if (STAILQ_EMPTY(&share_queue) && !*(struct shared_page *volatile *)&SLIST_FIRST(&share_ready) &&
            !somebody_gone && !may_end)
            thread_sleep(&share_queue, &queue_lock);
        simple_lock_leave(&queue_lock, s);
    }
}

bool share_start(void)
{
    mutex_lock(&xmm_lock_share);
    vm_sharing = &share_for_vm;
    if (!bring_port)
        bring_port = port_create(&bring_ops, 0);
    if (!share_runs)
        share_runs = bring_port && thread_create(share_thread, 0, PRI_INTERRUPT, ANY_HART, "xmm");
    bool there = share_runs;
    mutex_unlock(&xmm_lock_share);
    return there;
}
