/*
 * Virtual machines on other nodes, over TCP. Each node runs the same program; `PROGRAM mpdx [PORT]` is its execution
 * manager, which makes a virtual machine, a process of the system, of every connection. The first one, where the
 * program began, is connected to all others and passes on what they say to each other. An operation or a resource of
 * another virtual machine is a proxy here.
 */
#include "remote.h"

#if MPD_THREADS > 1
#error "one thread carries the processes of a program with virtual machines"
#endif

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT 7039
#define FIRST_ADDRESS 2 /* of node 0: 10.0.0.2 */
#define MOST_VMS 32
#define MOST_NODES 64
#define LONGEST (16u << 20) /* message */
#define PATIENCE 10000      /* milliseconds for an answer, until a virtual machine is given up */
#define MANAGER_LOOKS 50    /* milliseconds between looks for those that have ended */

enum kind {
    HELLO,
    CREATE,
    INVOKE,
    SEND,
    DESTROY,
    COUNT,
    DONE,
    FAILED,
    ASK,
    IDLE,
    STOP,
    PING,
    PONG,
    ENDED,
    LOOK,    /* what waits at an operation */
    TAKE,    /* one of those, or the first one */
    FINISH,  /* what was taken has been served: its results */
    WATCH,   /* be told of the next invocation */
    ARRIVED, /* there is one */
};

struct header {
    uint32_t size; /* of what follows */
    uint8_t kind, from, to, unused;
    uint64_t id; /* of the block that waits for the answer */
};

struct peer {
    int fd;
    int node;
    bool ended, idle;
    uint32_t sent, got;    /* as it said when it was idle */
    mpd_int heard, pinged; /* when, in milliseconds */
    struct mpd_instance *instance;
    char *data; /* what has come */
    size_t size, room;
};

/* What stands for an operation of another virtual machine: its address and serial number there. */
struct proxy {
    struct mpd_op op;
    struct proxy *next;
    uint64_t there;
    uint32_t serial;
    int vm;
    uint32_t seen; /* arrivals there when it was last looked at */
    mpd_wire_block wire;
};

struct proxy_instance {
    struct mpd_instance instance;
    struct proxy_instance *next;
    uint64_t there;
    uint32_t serial;
    int vm;
};

/* One that another virtual machine has invoked: a process calls it here, and answers. */
struct agent {
    struct mpd_invocation base;
    void *block;
    struct mpd_cap cap;
    const struct mpd_resource *resource;
    mpd_wire_block wire;
    uint64_t id;
    int vm;
};

static struct peer peers[MOST_VMS + 1]; /* by virtual machine; in others than the first only that one */
static int own = 1, made = 1, own_node;
static bool all_asked /* all have been asked */, stopping;
static struct proxy *proxies;
static struct proxy_instance *instances;
static char places[MOST_NODES][32];
static uint32_t sent_to[MOST_VMS + 1], got_from[MOST_VMS + 1]; /* messages that count, of virtual machines that exist */
static uint32_t asked;
static uint32_t round_sent, round_got;
static int quiet_rounds;
static bool asking;
static bool gone[MOST_VMS + 1]; /* destroyed */

/* What waits for an answer, by the id of that. */
static struct outstanding {
    struct outstanding *next;
    uint64_t id;
    int vm;
} *outstanding;

/* Invocations that another virtual machine has taken, until it has served them. */
static struct lent {
    struct lent *next;
    struct mpd_invocation *block;
    uint32_t arrival;
    int vm;
    mpd_wire_block wire;
} *lent;

/* Bytes. */

static void put(struct mpd_wire *w, const void *value, size_t size)
{
    if (w->at + size > w->room) {
        w->room = 2 * (w->at + size) + 64;
        w->data = realloc(w->data, w->room);
        if (!w->data)
            mpd_error(w->location, "there is no memory left for a message");
    }
    memcpy(w->data + w->at, value, size);
    w->at += size;
}

void mpd_wire_bytes(struct mpd_wire *w, void *value, size_t size)
{
    if (!w->get) {
        put(w, value, size);
        return;
    }
    if (size > w->size - w->at)
        mpd_error(NULL, "a message of another virtual machine ends too early");
    memcpy(value, w->data + w->at, size);
    w->at += size;
}

#define WIRE(w, value) mpd_wire_bytes(w, &(value), sizeof(value))

void mpd_wire_string(struct mpd_wire *w, void *string, mpd_int maximum)
{
    struct mpd_string *s = string;
    WIRE(w, s->length);
    if (s->length < 0 || s->length > maximum)
        mpd_error(w->location, "a string of another virtual machine is too long");
    mpd_wire_bytes(w, s->data, (size_t)s->length);
}

void mpd_wire_text(struct mpd_wire *w, struct mpd_text *text)
{
    WIRE(w, text->length);
    if (w->get) {
        if (text->length < 0 || (size_t)text->length > w->size - w->at)
            mpd_error(NULL, "a message of another virtual machine ends too early");
        text->data = mpd_keep(w->kept, (size_t)text->length + 1);
    }
    mpd_wire_bytes(w, (char *)text->data, (size_t)text->length);
}

static void elements(struct mpd_wire *w, char *at, const struct mpd_dimension *d, size_t size, int dims,
                     mpd_wire_value each)
{
    if (!dims) {
        if (each)
            each(w, at);
        else
            mpd_wire_bytes(w, at, size);
        return;
    }
    for (uint32_t i = 0; i < d->count; i++)
        elements(w, at + (int32_t)i * d->stride, d + 1, size, dims - 1, each);
}

void mpd_wire_array(struct mpd_wire *w, struct mpd_array *array, size_t size, int dims, mpd_wire_value each, bool there)
{
    mpd_int bounds[2 * MPD_DIMENSIONS];
    for (int i = 0; i < dims; i++) {
        bounds[2 * i] = array->d[i].low;
        bounds[2 * i + 1] = array->d[i].low + (mpd_int)array->d[i].count - 1;
    }
    mpd_wire_bytes(w, bounds, (size_t)dims * 2 * sizeof *bounds);
    if (w->get && !there)
        *array = mpd_make_array(w->kept, (uint32_t)size, dims, bounds, w->location);
    elements(w, array->data, array->d, size, dims, each);
}

void mpd_wire_never(struct mpd_wire *w, void *value)
{
    (void)value;
    mpd_error(w->location, "pointers, files and parameters by reference do not go to another virtual machine");
}

/* What the program has at one place, wherever that lies in memory. */
static void wire_static(struct mpd_wire *w, const void **at)
{
    int64_t offset = *at ? (const char *)*at - (const char *)&mpd_program_number : INT64_MIN;
    WIRE(w, offset);
    if (w->get)
        *at = offset == INT64_MIN ? NULL : (const char *)&mpd_program_number + offset;
}

static struct proxy *proxy_of(struct mpd_op *op)
{
    return (struct proxy *)(void *)op;
}

static struct mpd_op *proxy(int vm, uint64_t there, uint32_t serial, mpd_wire_block wire, const char *name)
{
    for (struct proxy *p = proxies; p; p = p->next) {
        if (p->vm == vm && p->there == there && p->serial == serial)
            return &p->op;
    }
    struct proxy *p = mpd_allocate(sizeof *p);
    p->op = (struct mpd_op){.kind = MPD_REMOTE, .serial = 1, .name = name};
    p->there = there;
    p->serial = serial;
    p->vm = vm;
    p->wire = wire;
    p->next = proxies;
    proxies = p;
    return &p->op;
}

#define VM_NULL 0
#define VM_NOOP 255

void mpd_wire_cap(struct mpd_wire *w, void *cap)
{
    struct mpd_cap *c = cap;
    uint8_t vm = VM_NULL;
    uint64_t there = 0;
    uint32_t serial = 0;
    const void *wire = NULL, *name = NULL;
    if (!w->get && c->op) {
        name = c->op->name;
        bool remote = c->op->kind == MPD_REMOTE;
        vm = c->op == &mpd_noop ? VM_NOOP : remote ? (uint8_t)proxy_of(c->op)->vm : (uint8_t)own;
        there = remote ? proxy_of(c->op)->there : (uintptr_t)c->op;
        serial = remote ? proxy_of(c->op)->serial : c->serial;
        wire = remote ? (const void *)proxy_of(c->op)->wire : (const void *)c->op->wire;
    }
    WIRE(w, vm);
    if (vm != VM_NULL && vm != VM_NOOP) {
        WIRE(w, there);
        WIRE(w, serial);
        wire_static(w, &wire);
        wire_static(w, &name);
    }
    if (!w->get)
        return;
    if (vm == VM_NULL)
        *c = (struct mpd_cap){0};
    else if (vm == VM_NOOP)
        *c = mpd_cap(&mpd_noop);
    else if (vm == own)
        *c = (struct mpd_cap){(struct mpd_op *)(uintptr_t)there, serial};
    else
        *c = mpd_cap(proxy(vm, there, serial, (mpd_wire_block)wire, name));
}

static struct proxy_instance *instance_of(struct mpd_instance *i)
{
    return (struct proxy_instance *)(void *)i;
}

void mpd_wire_rcap(struct mpd_wire *w, void *rcap)
{
    struct mpd_rcap *c = rcap;
    uint8_t vm = VM_NULL;
    uint64_t there = 0;
    uint32_t serial = 0, count = 0, arrays = 0;
    struct mpd_instance *i = c->instance;
    bool local = false;
    if (!w->get && i) {
        local = !i->vm;
        vm = (uint8_t)(local ? own : i->vm);
        there = local ? (uintptr_t)i : instance_of(i)->there;
        serial = local ? c->serial : instance_of(i)->serial;
        count = i->export_count;
        arrays = i->export_arrays;
    }
    WIRE(w, vm);
    if (vm == VM_NULL) {
        if (w->get)
            *c = (struct mpd_rcap){0};
        return;
    }
    WIRE(w, there);
    WIRE(w, serial);
    WIRE(w, count);
    WIRE(w, arrays);
    struct proxy_instance *p = NULL;
    if (w->get && vm != own) {
        for (p = instances; p && !(p->vm == vm && p->there == there && p->serial == serial);)
            p = p->next;
        if (!p) {
            p = mpd_allocate(sizeof *p + count * sizeof(void *));
            p->instance = (struct mpd_instance){.serial = 1, .name = "a resource of another virtual machine", .vm = vm};
            p->instance.export_count = count;
            p->instance.export_arrays = arrays;
            p->instance.exports = (void **)(void *)(p + 1);
            p->there = there;
            p->serial = serial;
            p->vm = vm;
            p->next = instances;
            instances = p;
        }
    }
    for (uint32_t n = 0; n < count; n++) {
        if (arrays >> n & 1)
            continue; /* these stay where they are */
        struct mpd_cap op = {0};
        if (!w->get)
            op = mpd_cap(i->exports[n]);
        mpd_wire_cap(w, &op);
        if (p)
            p->instance.exports[n] = op.op;
    }
    if (w->get && vm == own && !there)
        *c = mpd_my_vm();
    else if (w->get)
        *c = vm == own ? (struct mpd_rcap){(struct mpd_instance *)(uintptr_t)there, serial} : mpd_rcap(&p->instance);
}

/* Messages. */

static mpd_int patience(void)
{
    const char *told = getenv("MPD_PATIENCE");
    return told ? atoi(told) : PATIENCE;
}

_Noreturn static void lost(int vm)
{
    static char what[80];
    if (vm == 1)
        mpd_error(NULL, "the first virtual machine has ended, or is out of reach");
    snprintf(what, sizeof what, "virtual machine %d on node %d has ended, or is out of reach", vm, peers[vm].node);
    mpd_error(NULL, what);
}

/* Takes what has come into the peer's buffer; false at the end of the connection. */
static bool take_in(struct peer *p)
{
    if (p->room - p->size < 2048) {
        p->room = 2 * p->room + 4096;
        p->data = realloc(p->data, p->room);
        if (!p->data)
            mpd_error(NULL, "there is no memory left for a message");
    }
    ssize_t n = read(p->fd, p->data + p->size, p->room - p->size);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    p->size += (size_t)n;
    return true;
}

/* While the other side does not take what is written it may be writing itself: what comes is taken in meanwhile. */
static void write_all(int vm, const char *data, size_t size)
{
    struct peer *p = &peers[vm];
    while (size && !(stopping && p->ended)) {
        struct pollfd f = {.fd = p->fd, .events = POLLIN | POLLOUT};
        if (poll(&f, 1, -1) < 0) {
            if (errno == EINTR)
                continue;
            lost(vm);
        }
        if (f.revents & (POLLIN | POLLHUP) && !take_in(p)) {
            p->ended = stopping;
            if (!stopping)
                lost(vm);
        }
        if (!(f.revents & POLLOUT))
            continue;
        ssize_t n = write(p->fd, data, size < 1024 ? size : 1024);
        if (n < 0 && errno != EINTR && !stopping)
            lost(vm);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
}

static int way_to(int vm)
{
    return own == 1 ? vm : 1;
}

static bool counts(enum kind kind)
{
    return kind == CREATE || kind == INVOKE || kind == SEND || kind == DESTROY || kind == COUNT || kind == DONE ||
           kind == FAILED || kind >= LOOK;
}

static bool asks(enum kind kind)
{
    return kind == CREATE || kind == INVOKE || kind == DESTROY || kind == COUNT || kind == LOOK || kind == TAKE;
}

/* Where it was for has ended, no process waits for it. */
static bool can_be_lost(enum kind kind)
{
    return kind == DONE || kind == FAILED || kind == FINISH || kind == ARRIVED;
}

static uint32_t sum(const uint32_t *counts_of)
{
    uint32_t all = 0;
    for (int vm = 1; vm <= MOST_VMS; vm++)
        all += counts_of[vm];
    return all;
}

static bool answered(uint64_t id)
{
    for (struct outstanding **at = &outstanding, *one; (one = *at); at = &one->next) {
        if (one->id != id)
            continue;
        *at = one->next;
        free(one);
        return true;
    }
    return false;
}

static struct mpd_wire begin_message(const char *location)
{
    struct mpd_wire w = {.location = location};
    struct header h = {0};
    put(&w, &h, sizeof h);
    return w;
}

static void end_message(struct mpd_wire *w, enum kind kind, int vm, uint64_t id)
{
    int way = way_to(vm);
    if (gone[vm] && can_be_lost(kind)) {
        free(w->data);
        return;
    }
    if (gone[vm] || peers[way].ended || peers[way].fd < 0)
        mpd_error(w->location, "this virtual machine has ended");
    if (asks(kind)) {
        struct outstanding *one = mpd_allocate(sizeof *one);
        *one = (struct outstanding){outstanding, id, vm};
        outstanding = one;
    }
    struct header h = {
        .size = (uint32_t)(w->at - sizeof h), .kind = (uint8_t)kind, .from = (uint8_t)own, .to = (uint8_t)vm, .id = id};
    memcpy(w->data, &h, sizeof h);
    sent_to[vm] += counts(kind);
    write_all(way, w->data, w->at);
    free(w->data);
}

static void short_message(enum kind kind, int vm, uint64_t id)
{
    struct mpd_wire w = begin_message(NULL);
    end_message(&w, kind, vm, id);
}

/* Processes that wait for an answer of another virtual machine. */
struct question {
    enum kind kind;
    struct mpd_sem done;
    const char *location;
    mpd_int count;
    struct mpd_rcap rcap;
    struct proxy *of; /* LOOK and TAKE */
    struct mpd_invocation *taken;
    bool first; /* TAKE: whichever comes first */
};

/* Not on the stack of the process that asks: that may be destroyed meanwhile. */
static struct question *question(enum kind kind)
{
    struct question *q = mpd_allocate(sizeof *q);
    q->kind = kind;
    return q;
}

static void ask(struct mpd_wire *w, int vm, struct question *q, const char *name, const char *location)
{
    mpd_sem_init(&q->done, name, 0, location);
    q->location = location;
    end_message(w, q->kind, vm, (uintptr_t)q | 1);
    mpd_P(&q->done, location);
}

static void remote_invoke(struct mpd_invocation *b, struct mpd_op *op, const char *location)
{
    struct proxy *p = proxy_of(op);
    struct mpd_wire w = begin_message(location);
    bool waits = b->caller || b->co || b->origin;
    WIRE(&w, p->there);
    WIRE(&w, p->serial);
    p->wire(&w, b, false);
    end_message(&w, waits ? INVOKE : SEND, p->vm, (uintptr_t)b);
    if (!waits)
        mpd_drop(b);
}

static void run_agent(void *block)
{
    struct agent *a = block;
    struct mpd_wire w = begin_message(NULL);
    mpd_call(a->block, a->cap, "mpd");
    a->wire(&w, a->block, true);
    mpd_drop(a->block);
    end_message(&w, DONE, a->vm, a->id);
}

static struct mpd_op agent_op = {
    .kind = MPD_PROC, .serial = 1, .name = "a call of another virtual machine", .code = run_agent};

static void run_creator(void *block)
{
    struct agent *a = block;
    struct mpd_wire w = begin_message(NULL);
    struct mpd_rcap made_here = a->resource->create(a->block, "mpd");
    mpd_wire_rcap(&w, &made_here);
    end_message(&w, DONE, a->vm, a->id);
}

static struct mpd_op creator_op = {
    .kind = MPD_PROC, .serial = 1, .name = "a creation for another virtual machine", .code = run_creator};

static void run_destroyer(void *block)
{
    struct agent *a = block;
    mpd_destroy(*(struct mpd_rcap *)(void *)a->base.values, "mpd");
    short_message(DONE, a->vm, a->id);
}

static struct mpd_op destroyer_op = {
    .kind = MPD_PROC, .serial = 1, .name = "destroy of another virtual machine", .code = run_destroyer};
_Static_assert(sizeof(struct mpd_rcap) <= sizeof(mpd_int[MPD_CO_VALUES]), "it is kept there");

static void fail_there(const struct header *h, const char *what)
{
    if (h->kind == SEND)
        mpd_error(NULL, what);
    struct mpd_wire w = begin_message(NULL);
    uint32_t length = (uint32_t)strlen(what);
    WIRE(&w, length);
    put(&w, what, length);
    end_message(&w, FAILED, h->from, h->id);
}

static struct agent *agent(const struct header *h)
{
    struct agent *a = mpd_block(sizeof *a, "mpd");
    a->vm = h->from;
    a->id = h->id;
    a->resource = NULL;
    return a;
}

/* The capability that comes next, of an operation here; false: there is none any more, and the caller is told. */
static bool cap_here(struct mpd_wire *w, const struct header *h, struct mpd_cap *cap)
{
    uint64_t there;
    WIRE(w, there);
    WIRE(w, cap->serial);
    cap->op = (struct mpd_op *)(uintptr_t)there;
    if (cap->op->serial == cap->serial)
        return true;
    fail_there(h, "a capability's operation no longer exists");
    return false;
}

static void invoked(struct mpd_wire *w, const struct header *h)
{
    struct mpd_cap cap;
    if (!cap_here(w, h, &cap))
        return;
    mpd_wire_block wire = cap.op->wire;
    struct mpd_invocation *b = wire(w, NULL, false);
    if (h->kind == SEND) {
        mpd_send(b, cap, "mpd");
        return;
    }
    struct agent *a = agent(h);
    a->block = b;
    a->cap = cap;
    a->wire = wire;
    mpd_start(&agent_op, a, "mpd");
}

/* Input statements and `receive` for operations of other virtual machines. Invocations stay where they are until one is
 * taken, so that nothing is lost with a process that waits. */

static void append_copy(struct mpd_op *op, struct mpd_invocation *b)
{
    b->next = NULL;
    *(op->last ? &op->last->next : &op->first) = b;
    op->last = b;
    op->count++;
}

/* One invocation, from a message. */
static struct mpd_invocation *get_invocation(struct mpd_wire *w, struct proxy *p)
{
    uint32_t arrival;
    WIRE(w, arrival);
    struct mpd_invocation *b = p->wire(w, NULL, false);
    b->op = &p->op;
    b->arrival = arrival;
    return b;
}

static void put_invocation(struct mpd_wire *w, struct mpd_op *op, struct mpd_invocation *b)
{
    WIRE(w, b->arrival);
    op->wire(w, b, false);
}

static void forget_copies(struct mpd_op *op)
{
    struct mpd_invocation *b;
    while ((b = op->first)) {
        mpd_withdraw(b);
        mpd_drop(b);
    }
}

static void get_copies(struct mpd_wire *w, struct proxy *p)
{
    uint32_t count;
    forget_copies(&p->op);
    WIRE(w, p->seen);
    WIRE(w, count);
    while (count--)
        append_copy(&p->op, get_invocation(w, p));
}

static void get_taken(struct mpd_wire *w, struct question *q)
{
    bool found, awaited;
    WIRE(w, found);
    if (!found && q->first) {
        forget_copies(&q->of->op);
        WIRE(w, q->of->seen);
    }
    if (!found)
        return;
    WIRE(w, awaited);
    q->taken = get_invocation(w, q->of);
    q->taken->replied = !awaited;
    q->taken->borrowed = awaited;
    if (!q->done.waiting.head) /* the process that wanted it has been destroyed */
        mpd_finish(q->taken);
}

static struct mpd_wire begin_of_proxy(struct proxy *p, const char *location)
{
    struct mpd_wire w = begin_message(location);
    WIRE(&w, p->there);
    WIRE(&w, p->serial);
    return w;
}

void mpd_refresh(struct mpd_cap cap, const char *location)
{
    if (!cap.op || cap.op->kind != MPD_REMOTE)
        return;
    struct proxy *p = proxy_of(cap.op);
    struct question *q = question(LOOK);
    q->of = p;
    struct mpd_wire w = begin_of_proxy(p, location);
    ask(&w, p->vm, q, p->op.name, location);
    free(q);
}

/* The invocation with that arrival, or the first one, at the head of the queue here; null: it is not there. */
static struct mpd_invocation *fetch(struct proxy *p, const uint32_t *arrival, const char *location)
{
    struct question *q = question(TAKE);
    q->of = p;
    struct mpd_wire w = begin_of_proxy(p, location);
    q->first = !arrival;
    WIRE(&w, q->first);
    if (arrival)
        put(&w, arrival, sizeof *arrival);
    ask(&w, p->vm, q, p->op.name, location);
    struct mpd_invocation *b = q->taken;
    free(q);
    if (b) { /* a copy of it stays, which nobody can take: with what was `seen` the copies are all there is */
        b->next = p->op.first;
        p->op.first = b;
        if (!b->next)
            p->op.last = b;
        p->op.count++;
    }
    return b;
}

bool mpd_claim(struct mpd_invocation **chosen, const char *location)
{
    if ((*chosen)->op->kind != MPD_REMOTE)
        return true;
    uint32_t arrival = (*chosen)->arrival;
    return (*chosen = fetch(proxy_of((*chosen)->op), &arrival, location));
}

static struct mpd_invocation *remote_receive(struct mpd_op *op, const char *location)
{
    return fetch(proxy_of(op), NULL, location);
}

static void remote_watch(struct mpd_op *op, const char *location)
{
    struct mpd_wire w = begin_of_proxy(proxy_of(op), location);
    WIRE(&w, proxy_of(op)->seen);
    end_message(&w, WATCH, proxy_of(op)->vm, 0);
}

static void remote_finish(struct mpd_invocation *b)
{
    struct mpd_wire w = begin_message(NULL);
    WIRE(&w, b->arrival);
    proxy_of(b->op)->wire(&w, b, true);
    end_message(&w, FINISH, proxy_of(b->op)->vm, 0);
}

static void tell_arrival(struct mpd_op *op, int vm)
{
    struct mpd_wire w = begin_message(NULL);
    uint64_t there = (uintptr_t)op;
    WIRE(&w, there);
    end_message(&w, ARRIVED, vm, 0);
}

static void remote_tell(struct mpd_op *op)
{
    uint32_t watchers = op->watchers;
    op->watchers = 0;
    for (int vm = 1; vm <= MOST_VMS; vm++) {
        if (watchers >> (vm - 1) & 1)
            tell_arrival(op, vm);
    }
}

/* Of an operation here that another virtual machine waits on. */
static bool can_be_waited_on(struct mpd_wire *w, const struct header *h, struct mpd_cap *cap)
{
    if (!cap_here(w, h, cap))
        return false;
    if (cap->op->kind == MPD_IN)
        return true;
    fail_there(h, cap->op->kind == MPD_ENDED ? "a capability's operation no longer exists" : MPD_HAS_PROC);
    return false;
}

static void looked_at(struct mpd_wire *w, const struct header *h)
{
    struct mpd_cap cap;
    if (!can_be_waited_on(w, h, &cap))
        return;
    struct mpd_wire answer = begin_message(NULL);
    uint32_t next = mpd_arrivals(), count = (uint32_t)cap.op->count;
    WIRE(&answer, next);
    WIRE(&answer, count);
    for (struct mpd_invocation *b = cap.op->first; b; b = b->next)
        put_invocation(&answer, cap.op, b);
    end_message(&answer, DONE, h->from, h->id);
}

static void taken(struct mpd_wire *w, const struct header *h)
{
    struct mpd_cap cap;
    bool first;
    uint32_t arrival = 0, next = mpd_arrivals();
    if (!can_be_waited_on(w, h, &cap))
        return;
    WIRE(w, first);
    if (!first)
        WIRE(w, arrival);
    struct mpd_invocation *b = cap.op->first;
    while (b && !first && b->arrival != arrival)
        b = b->next;
    struct mpd_wire answer = begin_message(NULL);
    bool found = b, awaited = b && !b->replied;
    WIRE(&answer, found);
    if (!found) {
        WIRE(&answer, next);
        end_message(&answer, DONE, h->from, h->id);
        return;
    }
    WIRE(&answer, awaited);
    put_invocation(&answer, cap.op, b);
    mpd_withdraw(b);
    if (awaited) {
        struct lent *one = mpd_allocate(sizeof *one);
        *one = (struct lent){lent, b, b->arrival, h->from, cap.op->wire};
        lent = one;
    } else {
        mpd_drop(b);
    }
    end_message(&answer, DONE, h->from, h->id);
}

/* What a virtual machine has taken with that arrival, or anything. */
static struct lent *given_back(int vm, const uint32_t *arrival)
{
    for (struct lent **at = &lent, *one; (one = *at); at = &one->next) {
        if (one->vm != vm || (arrival && one->arrival != *arrival))
            continue;
        *at = one->next;
        return one;
    }
    return NULL;
}

static void finished(struct mpd_wire *w, const struct header *h)
{
    uint32_t arrival;
    WIRE(w, arrival);
    struct lent *one = given_back(h->from, &arrival);
    if (!one)
        return;
    w->kept = &one->block->kept;
    one->wire(w, one->block, true);
    mpd_finish(one->block);
    free(one);
}

static void watched(struct mpd_wire *w, const struct header *h)
{
    uint64_t there;
    uint32_t serial, seen;
    WIRE(w, there);
    WIRE(w, serial);
    WIRE(w, seen);
    struct mpd_op *op = (struct mpd_op *)(uintptr_t)there;
    bool changed = op->serial != serial;
    for (struct mpd_invocation *b = op->first; b; b = b->next)
        changed = changed || (int32_t)(b->arrival - seen) >= 0;
    if (changed)
        tell_arrival(op, h->from);
    else
        op->watchers |= 1u << (h->from - 1);
}

static void arrived(struct mpd_wire *w, const struct header *h)
{
    uint64_t there;
    WIRE(w, there);
    for (struct proxy *p = proxies; p; p = p->next) {
        if (p->vm == h->from && p->there == there)
            mpd_awaken_waiters(&p->op);
    }
}

static void done(struct mpd_wire *w, const struct header *h, bool failed)
{
    if (!answered(h->id))
        mpd_error(NULL, "an answer of another virtual machine is to nothing");
    if (failed) {
        static char what[120];
        uint32_t length;
        WIRE(w, length);
        if (length >= sizeof what)
            length = sizeof what - 1;
        mpd_wire_bytes(w, what, length);
        mpd_error(h->id & 1 ? ((struct question *)(uintptr_t)(h->id & ~(uint64_t)1))->location
                            : mpd_called_at((struct mpd_invocation *)(uintptr_t)h->id),
                  what);
    }
    if (h->id & 1) { /* a question */
        struct question *q = (struct question *)(uintptr_t)(h->id & ~(uint64_t)1);
        switch (q->kind) {
        case CREATE: mpd_wire_rcap(w, &q->rcap); break;
        case COUNT: WIRE(w, q->count); break;
        case LOOK: get_copies(w, q->of); break;
        case TAKE: get_taken(w, q); break;
        default: break;
        }
        mpd_V(&q->done);
        return;
    }
    struct mpd_invocation *b = (struct mpd_invocation *)(uintptr_t)h->id;
    w->kept = &b->kept;
    proxy_of(b->op)->wire(w, b, true);
    mpd_finish(b);
}

static void created(struct mpd_wire *w, const struct header *h)
{
    const void *resource;
    wire_static(w, &resource);
    struct agent *a = agent(h);
    a->resource = resource;
    a->block = a->resource->wire(w, NULL, false);
    mpd_start(&creator_op, a, "mpd");
}

static void counted(struct mpd_wire *w, const struct header *h)
{
    struct mpd_cap cap;
    if (!cap_here(w, h, &cap))
        return;
    mpd_int count = mpd_count(cap, "mpd");
    struct mpd_wire answer = begin_message(NULL);
    WIRE(&answer, count);
    end_message(&answer, DONE, h->from, h->id);
}

/* A process that waits for its answer continues, with the results as they are. */
static void virtual_machine_ended(int vm)
{
    gone[vm] = true;
    sent_to[vm] = got_from[vm] = 0;
    for (struct outstanding *one = outstanding; one;) {
        uint64_t id = one->id;
        if (one->vm != vm) {
            one = one->next;
            continue;
        }
        answered(id);
        if (id & 1)
            mpd_V(&((struct question *)(uintptr_t)(id & ~(uint64_t)1))->done);
        else
            mpd_finish((void *)(uintptr_t)id);
        one = outstanding;
    }
    for (struct lent *of; (of = given_back(vm, NULL)); free(of))
        mpd_finish(of->block);
    for (struct proxy *p = proxies; p; p = p->next) {
        if (p->vm == vm)
            mpd_awaken_waiters(&p->op);
    }
}

/* By the first one; what it still sends is not read any more. */
static bool destroy_vm(int vm)
{
    struct peer *p = &peers[vm];
    if (vm < 2 || vm > made || p->ended)
        return false;
    short_message(STOP, vm, 0);
    p->ended = true;
    shutdown(p->fd, SHUT_WR);
    all_asked = false;
    for (int other = 2; other <= made; other++) {
        if (!peers[other].ended)
            short_message(ENDED, other, (uint64_t)vm);
    }
    virtual_machine_ended(vm);
    return true;
}

static void destroyed(struct mpd_wire *w, const struct header *h)
{
    uint64_t there;
    struct mpd_rcap cap;
    WIRE(w, there);
    WIRE(w, cap.serial);
    if (!there) { /* a virtual machine, by its number */
        if (destroy_vm((int)cap.serial))
            short_message(DONE, h->from, h->id);
        else
            fail_there(h, "this virtual machine has ended already");
        return;
    }
    cap.instance = (struct mpd_instance *)(uintptr_t)there;
    if (cap.instance->serial != cap.serial) {
        fail_there(h, "this resource is destroyed already");
        return;
    }
    struct agent *a = agent(h);
    memcpy(a->base.values, &cap, sizeof cap);
    mpd_start(&destroyer_op, a, "mpd");
}

static void handle(int from, const struct header *h, struct mpd_wire *w)
{
    if (h->to != own) { /* of one to another: only the first can be asked to pass it on */
        if (own != 1 || h->to > made || !h->to)
            mpd_error(NULL, "a message is for a virtual machine that does not exist");
        if (gone[h->to]) {
            if (!can_be_lost(h->kind) && h->kind != WATCH) /* it will be told that this one has ended */
                fail_there(h, "this virtual machine has ended");
            return;
        }
        write_all(h->to, (const char *)h, sizeof *h);
        write_all(h->to, w->data, w->size);
        return;
    }
    if (!gone[h->from])
        got_from[h->from] += counts(h->kind);
    peers[from].heard = mpd_age();
    if (counts(h->kind))
        all_asked = false; /* it is not idle any more: all are asked again */
    switch (h->kind) {
    case CREATE: created(w, h); break;
    case INVOKE:
    case SEND: invoked(w, h); break;
    case DESTROY: destroyed(w, h); break;
    case COUNT: counted(w, h); break;
    case DONE: done(w, h, false); break;
    case FAILED: done(w, h, true); break;
    case ASK:
        asking = true;
        asked = (uint32_t)h->id;
        break;
    case IDLE:
        if (h->id == asked) {
            WIRE(w, peers[from].sent);
            WIRE(w, peers[from].got);
            peers[from].idle = true;
        }
        break;
    case STOP:
        peers[from].ended = own == 1;
        stopping = own != 1;
        mpd_end((int)h->id);
    case ENDED: virtual_machine_ended((int)h->id); break;
    case LOOK: looked_at(w, h); break;
    case TAKE: taken(w, h); break;
    case FINISH: finished(w, h); break;
    case WATCH: watched(w, h); break;
    case ARRIVED: arrived(w, h); break;
    case PING: short_message(PONG, h->from, 0); break;
    default: break;
    }
}

/* All whole messages that have come of a peer. */
static bool work_off(int vm)
{
    struct peer *p = &peers[vm];
    bool any = false;
    struct header h;
    while (p->size >= sizeof h) {
        memcpy(&h, p->data, sizeof h);
        if (h.size > LONGEST)
            mpd_error(NULL, "a message of another virtual machine is too long");
        if (p->size < sizeof h + h.size)
            break;
        /* Of its own, as what is done may take in more. */
        char *data = malloc(h.size + 1);
        if (!data)
            mpd_error(NULL, "there is no memory left for a message");
        memcpy(data, p->data + sizeof h, h.size);
        p->size -= sizeof h + h.size;
        memmove(p->data, p->data + sizeof h + h.size, p->size);
        struct mpd_wire w = {.data = data, .size = h.size, .get = true};
        void *kept = NULL;
        w.kept = &kept;
        handle(vm, &h, &w);
        free(data);
        any = true;
    }
    return any;
}

/* What has come, and what comes within so many milliseconds (-1: any time). Whether anything has. */
static bool look(mpd_int milliseconds)
{
    struct pollfd f[MOST_VMS];
    int vms[MOST_VMS], count = 0;
    bool any = false;
    for (int vm = 1; vm <= MOST_VMS; vm++) {
        if (peers[vm].fd > 0 && !peers[vm].ended) {
            any |= work_off(vm);
            f[count] = (struct pollfd){.fd = peers[vm].fd, .events = POLLIN};
            vms[count++] = vm;
        }
    }
    if (!count || poll(f, (nfds_t)count, any ? 0 : milliseconds) <= 0)
        return any;
    for (int i = 0; i < count; i++) {
        if (!(f[i].revents & (POLLIN | POLLHUP | POLLERR)))
            continue;
        if (!take_in(&peers[vms[i]]) && !peers[vms[i]].ended)
            lost(vms[i]);
        any |= work_off(vms[i]);
    }
    return any;
}

/*
 * No process of this virtual machine can go on. In the first one the program ends when all others say twice in a row
 * that they are idle, too, and as many messages have come as were sent (Mattern's four counters).
 */
static bool all_are_quiet(void)
{
    uint32_t all_sent = sum(sent_to), all_got = sum(got_from);
    for (int vm = 2; vm <= made; vm++) {
        if (peers[vm].ended)
            continue;
        if (!peers[vm].idle)
            return false;
        all_sent += peers[vm].sent;
        all_got += peers[vm].got;
    }
    bool same = all_sent == round_sent && all_got == round_got && all_sent == all_got;
    quiet_rounds = same ? quiet_rounds + 1 : 0;
    round_sent = all_sent;
    round_got = all_got;
    all_asked = false;
    return quiet_rounds >= 1;
}

static bool remote_wait(mpd_int milliseconds)
{
    fflush(stdout);
    if (own != 1) {
        if (look(0))
            return true;
        if (asking && milliseconds < 0) {
            asking = false;
            struct mpd_wire w = begin_message(NULL);
            uint32_t both[] = {sum(sent_to), sum(got_from)};
            WIRE(&w, both);
            end_message(&w, IDLE, 1, asked);
        }
        /* The first one may compute for long without a look at what comes: it has more time. */
        mpd_int limit = 10 * patience(), step = limit / 4 + 1, now = mpd_age();
        if (now - peers[1].heard > limit)
            lost(1);
        if (now - peers[1].heard > limit / 4 && now - peers[1].pinged > limit / 4) {
            peers[1].pinged = now;
            short_message(PING, 1, 0);
        }
        look(milliseconds >= 0 && milliseconds < step ? milliseconds : step);
        return true;
    }
    if (look(0))
        return true;
    int others = 0;
    for (int vm = 2; vm <= made; vm++)
        others += !peers[vm].ended;
    if (!others)
        return milliseconds >= 0 ? (poll(NULL, 0, milliseconds), true) : false;
    if (milliseconds < 0 && all_asked && all_are_quiet())
        return false;
    if (!all_asked && milliseconds < 0) {
        asked++;
        for (int vm = 2; vm <= made; vm++) {
            if (!peers[vm].ended) {
                peers[vm].idle = false;
                short_message(ASK, vm, asked);
            }
        }
        all_asked = true;
    }
    /* A virtual machine that was silent is asked for a sign of life. */
    mpd_int limit = patience(), step = limit / 4 + 1;
    bool any = look(milliseconds >= 0 && milliseconds < step ? milliseconds : step);
    mpd_int now = mpd_age();
    for (int vm = 2; vm <= made; vm++) {
        struct peer *p = &peers[vm];
        if (p->ended || any || p->idle)
            continue;
        if (now - p->heard > limit)
            lost(vm);
        if (now - p->heard > limit / 4 && now - p->pinged > limit / 4) {
            p->pinged = now;
            short_message(PING, vm, 0);
        }
    }
    return true;
}

static void remote_end(int status)
{
    if (stopping)
        return;
    stopping = true;
    for (int vm = 1; vm <= MOST_VMS; vm++) {
        if (peers[vm].fd > 0 && !peers[vm].ended)
            short_message(STOP, vm, (uint64_t)(unsigned)status);
    }
}

static mpd_int remote_count(struct mpd_op *op, const char *location)
{
    struct proxy *p = proxy_of(op);
    struct question *q = question(COUNT);
    struct mpd_wire w = begin_of_proxy(p, location);
    ask(&w, p->vm, q, "the number of invocations", location);
    mpd_int count = q->count;
    free(q);
    return count;
}

static void remote_destroy(struct mpd_instance *i, const char *location)
{
    uint64_t there = instance_of(i)->there;
    if (!there && own == 1) {
        if (!destroy_vm(i->vm))
            mpd_error(location, "this virtual machine has ended already");
        return;
    }
    struct question *q = question(DESTROY);
    struct mpd_wire w = begin_message(location);
    uint32_t serial = there ? instance_of(i)->serial : (uint32_t)i->vm;
    WIRE(&w, there);
    WIRE(&w, serial);
    ask(&w, there ? i->vm : 1, q, "the end of a resource", location);
    free(q);
}

static const struct mpd_remote hooks = {remote_invoke,  remote_wait,    look,         remote_end,  remote_count,
                                        remote_destroy, remote_receive, remote_watch, remote_tell, remote_finish};

/* Virtual machines. */

void mpd_locate(mpd_int node, struct mpd_text place, const char *location)
{
    if (node < 0 || node >= MOST_NODES || (size_t)place.length >= sizeof places[0])
        mpd_error(location, "a node's number is 0 to 63, its place an address of up to 31 characters");
    memcpy(places[node], place.data, (size_t)place.length);
    places[node][place.length] = 0;
}

struct mpd_text mpd_place_of_node(mpd_int node, const char *location)
{
    if (node < 0 || node >= MOST_NODES)
        mpd_error(location, "a node's number is 0 to 63");
    if (!places[node][0]) {
        char name[24];
        snprintf(name, sizeof name, "MPD_NODE_%d", (int)node);
        const char *told = getenv(name);
        if (told)
            snprintf(places[node], sizeof places[0], "%s", told);
        else
            snprintf(places[node], sizeof places[0], "10.0.0.%d", (int)node + FIRST_ADDRESS);
    }
    return mpd_of_c(places[node]);
}

static int node_of(struct mpd_text place)
{
    for (int node = 0; node < MOST_NODES; node++) {
        if (!mpd_compare(mpd_of_c(places[node]), place))
            return node;
    }
    return -1;
}

static int connected(struct mpd_text place, const char *location)
{
    char text[32];
    if ((size_t)place.length >= sizeof text)
        mpd_error(location, "this is no place of a virtual machine: an address, perhaps with a port, 10.0.0.3:7039");
    memcpy(text, place.data, (size_t)place.length);
    text[place.length] = 0;
    char *port = strchr(text, ':');
    if (port)
        *port++ = 0;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(port ? atoi(port) : PORT))};
    if (!inet_aton(text, &to.sin_addr))
        mpd_error(location, "this is no place of a virtual machine: an address, perhaps with a port, 10.0.0.3:7039");
    /* Its execution manager may not have begun yet. */
    for (mpd_int begin = mpd_age(); mpd_age() - begin < patience();) {
        int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
        if (fd < 0)
            mpd_error(location, "there are no sockets here: the kernel has no network");
        if (!connect(fd, (struct sockaddr *)&to, sizeof to)) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            return fd;
        }
        close(fd);
        usleep(20000);
    }
    mpd_error(location, "no execution manager answers there");
}

static void begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    mpd_remote = &hooks;
}

struct mpd_rcap mpd_create_vm(struct mpd_text place, const char *location)
{
    if (own != 1)
        mpd_error(location, "only the first virtual machine can create others");
    if (made == MOST_VMS)
        mpd_error(location, "there are too many virtual machines");
    int vm = ++made;
    struct peer *p = &peers[vm];
    begin();
    p->node = node_of(place);
    p->fd = connected(place, location);
    p->heard = mpd_age();
    struct proxy_instance *i = mpd_allocate(sizeof *i);
    i->instance = (struct mpd_instance){.serial = 1, .name = "vm", .vm = vm};
    i->vm = vm;
    p->instance = &i->instance;
    struct mpd_wire w = begin_message(location);
    uint32_t number = mpd_program_number;
    int32_t node = p->node;
    WIRE(&w, number);
    WIRE(&w, node);
    end_message(&w, HELLO, vm, 0);
    return mpd_rcap(&i->instance);
}

static struct mpd_instance own_vm = {.serial = 1, .name = "vm"};

struct mpd_rcap mpd_my_vm(void)
{
    return mpd_rcap(&own_vm);
}

mpd_int mpd_my_machine(void)
{
    return own_node;
}

struct mpd_rcap mpd_create_on(void *block, const struct mpd_resource *resource, struct mpd_rcap vm,
                              const char *location)
{
    if (!vm.instance)
        mpd_error(location, "a capability is null");
    if (!vm.instance->vm)
        return resource->create(block, location);
    struct question *q = question(CREATE);
    struct mpd_wire w = begin_message(location);
    const void *at = resource;
    wire_static(&w, &at);
    resource->wire(&w, block, false);
    mpd_drop(block);
    ask(&w, vm.instance->vm, q, "a resource of another virtual machine", location);
    struct mpd_rcap rcap = q->rcap;
    free(q);
    return rcap;
}

/* The execution manager: a process of the system for each virtual machine. It ends with the last of them. */
void mpd_execution_manager(int argc, char **argv)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(argc > 2 ? atoi(argv[2]) : PORT))};
    int listening = socket(AF_INET, SOCK_STREAM, 0), on = 1, children = 0, worst = 0;
    if (listening < 0)
        mpd_error(NULL, "there are no sockets here: the kernel has no network");
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listening, (struct sockaddr *)&here, sizeof here) < 0 || listen(listening, 5) < 0)
        mpd_error(NULL, "another program has the execution manager's port");
    begin();
    for (bool any = false;;) {
        int status;
        while (children && waitpid(-1, &status, WNOHANG) > 0) {
            children--;
            int ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            worst = ended > worst ? ended : worst;
        }
        if (any && !children)
            exit(worst);
        struct pollfd f = {.fd = listening, .events = POLLIN};
        if (poll(&f, 1, MANAGER_LOOKS) <= 0)
            continue;
        int fd = accept(listening, NULL, NULL);
        if (fd < 0)
            continue;
        pid_t child = fork();
        if (child < 0)
            mpd_error(NULL, "there is no room for another virtual machine");
        if (child) {
            close(fd);
            any = true;
            children++;
            continue;
        }
        close(listening);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        peers[1].fd = fd;
        break;
    }
    /* A virtual machine: the first message is its number. */
    struct header h;
    while (peers[1].size < sizeof h + 8) {
        if (!take_in(&peers[1]))
            lost(1);
    }
    memcpy(&h, peers[1].data, sizeof h);
    uint32_t number;
    int32_t node;
    memcpy(&number, peers[1].data + sizeof h, 4);
    memcpy(&node, peers[1].data + sizeof h + 4, 4);
    peers[1].size -= sizeof h + 8;
    memmove(peers[1].data, peers[1].data + sizeof h + 8, peers[1].size);
    if (h.kind != HELLO || number != mpd_program_number)
        mpd_error(NULL, "the execution manager is of another program");
    own = h.to;
    own_node = node;
}
