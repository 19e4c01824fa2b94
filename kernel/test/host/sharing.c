/*
 * Memory that is shared by several nodes (xmm/share.h), with the real vm/ below: one program is all nodes, with a table
 * of proxies each; a thread on each reads, writes, copies and unmaps the memory, another handles messages for shared
 * objects, others act as servers. One thread runs at a time, and switches to another only where it would sleep.
 * Messages between two nodes keep their order, and come late. Each read returns what was written last, a copy is
 * of one moment, pages are paged out where memory is scarce, and in the end nothing is left. Sources: xmm/export.c
 * ipc/message.c vm/shared.c vm/inherited.c vm/map.c vm/object.c vm/fault.c vm/page.c vm/pager.c vm/pageout.c vm/swap.c
 * vm/radix.c mem/page.c mem/zone.c lock/simple_lock.c lib/printf.c test/host/fake/vm.c. Options: ZONE_DEBUG=0
 */
#include <pthread.h>
#include <stdio.h>

#include "test/host/fake/vm.h"

/* The test sends what goes to another node. */
#define message_send local_send
#define message_post local_post
#define message_call local_call
#define port_drop local_drop
#include "ipc/port.c"
#undef message_send
#undef message_post
#undef message_call
#undef port_drop
#undef BUCKETS
void port_drop(struct port *p, enum right_type type);
int message_send(struct message *m, uint32_t ms);
void message_post(struct message *m);
int message_call(struct message *m, uint32_t ms, struct message **reply);
#include "xmm/proxy.c"
#include "lib/random.h"
#include "test/host/host.h"
#include "xmm/share.c"

#define NODES 4 /* 0 is the manager */
#define SERVERS 8 /* of all nodes */
#define READERS (NODES + SERVERS + 1) /* the first one of them: others use the memory on their nodes, too */
#define THREADS (READERS + NODES)
#define PAGES 4
#define RW (PAGE_READ | PAGE_WRITE)
#define SHARED_AT VM_BEGIN
#define COPY_AT (VM_BEGIN + 64 * PAGE_SIZE)
#define KEPT_AT (VM_BEGIN + 128 * PAGE_SIZE) /* copies that a node has of another one's, one for each way */
#define FLIGHTS 4096
#define WRITES 100000
#define STEPS 200000 /* of all threads together, in a run */

static struct random luck;

/* ---- Threads: one runs at a time, with its node's state. */

static struct thread_of_test {
    pthread_t thread;
    unsigned node;
    bool over;
} threads[THREADS];
static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed[THREADS]; /* to each */
static unsigned running;
static struct proxy_list proxies_of[NODES][PROXY_BUCKETS];

static void become(unsigned node)
{
    memcpy(proxies_of[ipc_node], imported, sizeof imported);
    ipc_node = (uint16_t)node;
    memcpy(imported, proxies_of[node], sizeof imported);
}

/* Lets another thread run for a while, or this one continue; messages come meanwhile. */
static bool deliver_one(void);

static unsigned steps;
_Noreturn static void stuck(void);

static void let_others(unsigned own)
{
    unsigned node = ipc_node;
    if (steps++ > STEPS)
        stuck();
    while (random_below(&luck, 3) && deliver_one())
        ;
    unsigned next = random_below(&luck, THREADS);
    while (threads[next].over)
        next = (next + 1) % THREADS;
    running = next;
    pthread_cond_signal(&passed[next]);
    while (running != own)
        pthread_cond_wait(&passed[own], &baton);
    become(node);
}

static void sleep_a_while(const void *channel)
{
    (void)channel;
    let_others(running);
}

void thread_delay(uint32_t ticks)
{
    (void)ticks;
    let_others(running);
}

void limit_begin(struct limit *l, uint32_t ticks, const void *channel, struct simple_lock *lock)
{
    (void)ticks, (void)channel;
    l->over = false;
    l->lock = lock;
}

void limit_end(struct limit *l)
{
    (void)l;
}

int limit_sleep(const struct limit *l)
{
    simple_unlock(l->lock);
    let_others(running);
    simple_lock(l->lock);
    return 0;
}

uint32_t clock_hz(void)
{
    return 1000;
}

uint32_t cycles32(void)
{
    return 1;
}

/* ---- The wire: to node 0, from it. */

struct flight {
    struct message *m; /* or */
    struct port *dropped; /* a right to it */
};
static struct channel {
    struct flight flights[FLIGHTS];
    unsigned first, next;
} up[NODES], down[NODES];

void (*transport_node_died)(unsigned node);

void transport_tick_wanted(void) {}

int transport_send(unsigned node, struct message *m)
{
    (void)node, (void)m;
    host_failed(__FILE__, __LINE__, "a message goes by the real wire");
}

static void put(struct channel *c, struct flight f)
{
    CHECK(c->next - c->first < FLIGHTS);
    c->flights[c->next++ % FLIGHTS] = f;
}

/*
 * The channel for a port of another node; 0: it is this node's. What node 0 does for others goes to the port's home.
 */
static struct channel *channel_to(const struct port *p)
{
    return p->home ? p->home == ipc_node ? 0 : &down[p->home] : ipc_node ? &up[ipc_node] : 0;
}

void port_drop(struct port *p, enum right_type type)
{
    struct channel *c = type == RIGHT_SEND && !p->home ? channel_to(p) : 0;
    if (c)
        put(c, (struct flight){.dropped = p});
    else
        local_drop(p, type);
}

int message_send(struct message *m, uint32_t ms)
{
    struct channel *c = channel_to(m->to.port);
    if (!c)
        return local_send(m, ms);
    m->node = ipc_node;
    put(c, (struct flight){.m = m});
    return 0;
}

void message_post(struct message *m)
{
    if (message_send(m, 0))
        message_free(m);
}

int message_call(struct message *m, uint32_t ms, struct message **reply)
{
    struct port *p = port_create(0, 0);
    port_make(p, RIGHT_SEND_ONCE);
    m->reply = (struct right){p, RIGHT_SEND_ONCE};
    int error = message_send(m, ms);
    if (!error)
        error = port_receive(p, ms, reply);
    port_destroy(p);
    return error;
}

static struct job {
    struct message *m;
    unsigned node;
} jobs[FLIGHTS];
static unsigned first_job, next_job;

void server_add(struct port *p, struct message *m)
{
    (void)p;
    CHECK(next_job - first_job < FLIGHTS);
    jobs[next_job++ % FLIGHTS] = (struct job){m, ipc_node};
}

static void deliver(struct channel *c, unsigned node)
{
    struct flight f = c->flights[c->first++ % FLIGHTS];
    unsigned was = ipc_node;
    become(node);
    if (f.dropped) {
        local_drop(f.dropped, RIGHT_SEND);
    } else {
        struct message *m = f.m;
        struct port *p = m->to.port;
        bool once = m->to.type == RIGHT_SEND_ONCE;
        port_reference(p);
        if (once)
            right_use(&m->to);
        else if (node)
            local_drop(p, m->to.type);
        else
            put(&up[m->node], (struct flight){.dropped = p}); /* when it has been acknowledged */
        m->to = (struct right){p, RIGHT_NONE};
        if (once)
            port_release(p); /* the right was a reference to it */
        if (p->dead)
            message_free(m);
        else if (!p->ops)
            CHECK(!port_enqueue(p, m, 0, true));
        else if (p->ops->at_once)
            p->ops->message(p->object, m);
        else
            server_add(p, m);
    }
    become(was);
}

static bool deliver_one(void)
{
    unsigned node = random_below(&luck, 2 * NODES);
    for (unsigned i = 0; i < 2 * NODES; i++, node = (node + 1) % (2 * NODES)) {
        struct channel *c = node < NODES ? &up[node] : &down[node - NODES];
        if (c->first != c->next) {
            deliver(c, node < NODES ? 0 : node - NODES);
            return true;
        }
    }
    return false;
}

/* ---- What the memory holds. */

static uint32_t now[PAGES], written; /* how often */
static struct written {
    uint16_t page;
    uint32_t before;
} history[WRITES];

static struct vm_map *maps[2 * NODES]; /* of each node's thread, and of its reader */
static struct vm_object *shared;
static unsigned rounds, working;
static bool is_little; /* memory */
static bool mostly_copies, has_readers;

static uint32_t *word(unsigned map, uint32_t address, unsigned rights)
{
    int error;
    uint32_t *w;
    while (!(w = fake_access(maps[map], address, rights, &error))) { /* memory is out for a while */
        CHECK(is_little && (error == -ENOMEM || error == -EIO));
        let_others(running);
    }
    return w + 5;
}

/* The page's word at that moment: the number of writes so far. */
static uint32_t word_at(unsigned page, uint32_t moment)
{
    for (uint32_t i = moment; i < written; i++)
        if (history[i].page == page)
            return history[i].before;
    return now[page];
}

/* The copy's contents were the memory's at one moment between the two. */
static void check_copy(unsigned node, uint32_t begin, uint32_t end)
{
    uint32_t is[PAGES];
    bool found = false;
    for (unsigned p = 0; p < PAGES; p++)
        is[p] = *word(node, COPY_AT + p * PAGE_SIZE, PAGE_READ);
    for (uint32_t moment = begin; moment <= end && !found; moment++) {
        found = true;
        for (unsigned p = 0; p < PAGES && found; p++)
            found = is[p] == word_at(p, moment);
    }
    CHECK(found);
}

/* ---- Copies that tasks of other nodes have, by reference or with their source (as the original), or both. */

enum way { BY_REFERENCE, WITH_SOURCE, WAYS };

static struct offer { /* the newest copy on node 0, and when it was made */
    struct vm_object *object;
    uint32_t moment;
} offer;
static bool is_frozen; /* as long as it is, nodes may put the copy above their source */
static struct kept_copy {
    bool is_there;
    uint32_t moment;
} copies[NODES][WAYS];

static unsigned copies_read[WAYS], copies_of_both;

static uint32_t kept_at(enum way way)
{
    return KEPT_AT + way * 2 * PAGES * PAGE_SIZE;
}

static void offer_ends(void)
{
    if (offer.object)
        vm_object_release(offer.object);
    offer.object = 0;
}

/* Offers the copy that node 0 has just made, and lets other nodes take it while the source is frozen. */
static void offer_copy(void)
{
    struct vm_inherited r;
    struct vm_map *snapshot = vm_map_fork(maps[0]);
    offer_ends();
    if (!snapshot)
        return;
    CHECK(vm_map_next(snapshot, COPY_AT, &r) && r.object);
    offer = (struct offer){r.object, written};
    vm_map_release(snapshot);
    is_frozen = true;
    for (unsigned i = random_below(&luck, mostly_copies ? 20 * THREADS : 2); i; i--)
        let_others(running);
    CHECK_EQUAL(offer.moment, written);
    is_frozen = false;
}

/*
 * The object of that right, which is taken over, with the objects below it, asked for one by one; 0: memory is out. The
 * calling thread is of the node that uses it.
 */
static struct vm_object *import_chain(struct port *p)
{
    struct vm_object *first = 0, *above = 0;
    uint32_t offset = 0;
    int error = 0;
    for (bool fresh = true; p && fresh && !error;) {
        struct xmm_state state;
        struct port *below = 0;
        error = xmm_get_state(p, &state);
        if (!error && state.shadowed)
            error = xmm_get_shadow(p, false, &below);
        struct vm_object *o = error ? 0 : xmm_import(p, &state, &fresh);
        if (!o) {
            port_drop(p, RIGHT_SEND);
            if (below)
                port_drop(below, RIGHT_SEND);
            error = -ENOMEM;
            break;
        }
        if (fresh)
            error = xmm_init(o, true);
        if (above) {
            CHECK(vm_object_set_shadow(above, o, offset));
            vm_object_release(o);
        } else {
            first = o;
        }
        if (!fresh && below)
            port_drop(below, RIGHT_SEND);
        if (!fresh)
            xmm_await(o);
        above = o;
        offset = state.shadow_offset;
        p = below;
    }
    if (first)
        xmm_complete(first, error);
    return first;
}

/* The copy above the node's own proxy of its source, as it is distributed by the original. */
static struct vm_object *import_with_source(struct port *p, unsigned node)
{
    struct xmm_state state = {.size = PAGES, .kin = vm_object_kin(shared, 0), .shadowed = 1};
    struct vm_inherited r;
    bool fresh;
    struct vm_object *o = xmm_import(p, &state, &fresh);
    CHECK(vm_map_next(maps[node], SHARED_AT, &r) && r.object);
    if (!o) {
        port_drop(p, RIGHT_SEND);
    } else if (insert_above(o, r.object, fresh)) { /* or another copy is there */
        vm_object_release(o);
        o = 0;
    }
    vm_object_release(r.object);
    return o;
}

/* A task of that node inherits the copy. */
static void keep_copy(unsigned node, enum way way)
{
    uint32_t offset, at = kept_at(way), moment = offer.moment;
    if (!offer.object || copies[node][way].is_there || (way == WITH_SOURCE && !is_frozen))
        return;
    become(0);
    struct vm_object *source = way == WITH_SOURCE ? vm_object_source(offer.object, &offset) : 0;
    struct port *p = way == BY_REFERENCE ? xmm_export(offer.object, false) : source ? xmm_export_copy(offer.object) : 0;
    if (source)
        vm_object_release(source);
    become(node);
    struct vm_object *o = !p ? 0 : way == BY_REFERENCE ? import_chain(p) : import_with_source(p, node);
    CHECK(is_little || o || way == WITH_SOURCE);
    if (o) {
        const struct vm_inherited r = {at, at + PAGES * PAGE_SIZE, o, 0, RW, RW, VM_INHERIT_COPY, true, true};
        int error = vm_map_enter(maps[node], &r);
        CHECK(is_little || !error);
        copies[node][way] = (struct kept_copy){!error, moment};
        if (error)
            vm_object_release(o);
    }
}

static void drop_copy(unsigned node, enum way way)
{
    if (copies[node][way].is_there)
        CHECK_EQUAL(vm_deallocate(maps[node], kept_at(way), PAGES * PAGE_SIZE), 0);
    copies[node][way].is_there = false;
}

static void read_copy(unsigned node, enum way way)
{
    unsigned page = random_below(&luck, PAGES);
    if (!copies[node][way].is_there)
        return;
    uint32_t is = *word(node, kept_at(way) + page * PAGE_SIZE, PAGE_READ), m = copies[node][way].moment;
    CHECK_EQUAL(is, word_at(page, m));
    copies_read[way]++;
    copies_of_both += copies[node][!way].is_there;
}

static void use_copies(unsigned node)
{
    enum way way = random_below(&luck, WAYS);
    switch (random_below(&luck, 8)) {
    case 0: drop_copy(node, way); break;
    case 1:
    case 2: keep_copy(node, way); break;
    default: read_copy(node, way);
    }
}

/* As the original: the copy is put above its source on all nodes, while none may write. */
static int copy_over_nodes(void)
{
    struct vm_inherited r;
    unsigned others;
    share_freeze(shared);
    int error = vm_copy(maps[0], SHARED_AT, PAGES * PAGE_SIZE, COPY_AT);
    if (!error) {
        CHECK(vm_map_next(maps[0], COPY_AT, &r) && r.object);
        error = xmm_insert_copy(r.object, &others);
        CHECK(others <= NODES * NODES || error == -EINVAL);
        if (!error)
            offer_copy();
        if (error == -EINVAL || error == -EOPNOTSUPP) /* no node has the memory; a node has another copy of it */
            error = 0;
        vm_object_release(r.object);
    }
    share_thaw(shared);
    return error;
}

static void copy_it(unsigned node)
{
    uint32_t begin = written;
    int error = !node && vm_object_shared(shared) && random_below(&luck, 2)
                    ? copy_over_nodes()
                    : vm_copy(maps[node], SHARED_AT, PAGES * PAGE_SIZE, COPY_AT);
    uint32_t end = written;
    CHECK(!error || (is_little && (error == -ENOMEM || error == -EIO)));
    if (error)
        return;
    for (unsigned i = random_below(&luck, 20); i; i--)
        let_others(running);
    check_copy(node, begin, end);
    if (random_below(&luck, 2))
        *word(node, COPY_AT, PAGE_WRITE) = 1; /* no other node sees that */
}

_Noreturn static void stuck(void)
{
    for (unsigned n = 0; n < NODES; n++)
        printf("node %u: %u messages go to it, %u from it; its thread %s\n", n, down[n].next - down[n].first,
               up[n].next - up[n].first, threads[n].over ? "has ended" : "runs");
    host_failed(__FILE__, __LINE__, "%u writes, and no end: jobs %u arrived %d ready %d gone %d end %d", written,
                next_job - first_job, !STAILQ_EMPTY(&share_queue), !SLIST_EMPTY(&share_ready), somebody_gone, may_end);
}

/* Makes a task with the memory on that node. */
static void begin(unsigned map)
{
    unsigned node = map % NODES;
    uint32_t at = COPY_AT;
    maps[map] = vm_map_create();
    CHECK_EQUAL(vm_allocate(maps[map], &at, PAGES * PAGE_SIZE, VM_FIXED), 0);
    struct vm_object *o = shared;
    at = SHARED_AT;
    if (node) {
        struct xmm_state state;
        bool fresh;
        become(0);
        struct port *p = xmm_export_shared(shared);
        xmm_state_of(shared, &state);
        CHECK(p && state.shared && !state.shadowed);
        become(node);
        o = xmm_import(p, &state, &fresh);
        CHECK(o);
        if (fresh)
            xmm_complete(o, xmm_init(o, true));
        else
            xmm_await(o);
    }
    CHECK_EQUAL(vm_map_object(maps[map], &at, PAGES * PAGE_SIZE, VM_FIXED, o, 0, false, RW, RW, VM_INHERIT_SHARE), 0);
    if (node)
        vm_object_release(o);
}

static void use_page(unsigned map)
{
    unsigned page = random_below(&luck, PAGES), writes = random_below(&luck, 2);
    uint32_t *w = word(map, SHARED_AT + page * PAGE_SIZE, writes ? PAGE_WRITE : PAGE_READ);
    CHECK_EQUAL(*w, now[page]);
    CHECK(written < WRITES);
    if (!writes)
        return;
    history[written++] = (struct written){(uint16_t)page, now[page]};
    *w = now[page] = random_next(&luck);
}

static void work(unsigned node)
{
    if (node && mostly_copies && random_below(&luck, 4)) {
        use_copies(node);
        return;
    }
    switch (random_below(&luck, mostly_copies ? 10 : 40)) {
    case 0: copy_it(node); break;
    case 1:
        if (node) {
            vm_map_release(maps[node]);
            memset(copies[node], 0, sizeof copies[node]);
            begin(node);
        }
        break;
    case 2: fake_forget(random_next(&luck), 3); break;
    default: use_page(node);
    }
}

static bool all_is_done(void)
{
    for (unsigned n = 0; n < NODES; n++)
        if (up[n].first != up[n].next || down[n].first != down[n].next)
            return false;
    return !working && first_job == next_job && STAILQ_EMPTY(&share_queue) && SLIST_EMPTY(&share_ready) &&
           !somebody_gone && !may_end;
}

static void *thread_main(void *arg)
{
    unsigned own = (unsigned)(uintptr_t)arg;
    pthread_mutex_lock(&baton);
    while (running != own)
        pthread_cond_wait(&passed[own], &baton);
    if (own < NODES) {
        become(own);
        begin(own);
        for (unsigned i = 0; i < rounds; i++) {
            work(own);
            if (random_below(&luck, 2))
                let_others(own);
        }
        vm_map_release(maps[own]);
        if (!own)
            offer_ends();
        working--;
    }
    if (own > READERS && has_readers) {
        unsigned reader = own - READERS + NODES;
        become(own - READERS);
        begin(reader);
        for (unsigned i = 0; i < rounds; i++) {
            use_page(reader);
            let_others(own);
        }
        vm_map_release(maps[reader]);
        working--;
    }
    while (own >= NODES && own < READERS && !all_is_done()) {
        if (own == NODES) { /* the work of each node's thread `xmm`, in place of the port's */
            const struct message *m = STAILQ_FIRST(&share_queue);
            become(m && m->id != XMM_BROUGHT ? m->to.port->home : 0);
            share_work();
        } else if (first_job != next_job) {
            struct job j = jobs[first_job++ % FLIGHTS];
            become(j.node);
            j.m->to.port->ops->message(j.m->to.port->object, j.m);
        }
        become(0);
        let_others(own);
    }
    threads[own].over = true;
    bool some = false;
    for (unsigned i = 0; i < THREADS; i++)
        some |= !threads[i].over;
    for (unsigned next = own; some && threads[next].over; next = running)
        running = (next + 1) % THREADS;
    pthread_cond_signal(&passed[running]);
    pthread_mutex_unlock(&baton);
    return 0;
}

static void run(uint32_t seed, uint32_t pages, uint32_t swap, bool copies_too)
{
    mostly_copies = copies_too;
    luck = random_from(seed, 7);
    if (!written) /* once in a process: zones keep their pages */
        fake_vm_init(pages, swap);
    fake_sleep = sleep_a_while;
    fake_patience = 1000;
    share_runs = true;
    for (unsigned n = 0; n < NODES; n++)
        up[n].first = up[n].next = down[n].first = down[n].next = 0;
    rounds = 250;
    is_little = swap;
    has_readers = copies_too;
    working = has_readers ? 2 * NODES - 1 : NODES;
    written = steps = 0;
    memset(copies, 0, sizeof copies);
    ipc_node = 0;
    shared = vm_object_create(PAGES);
    memset(now, 0, sizeof now);
    running = 0;
    pthread_mutex_lock(&baton); /* all are there before the first one runs */
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i].over = false;
        CHECK_EQUAL(pthread_create(&threads[i].thread, 0, thread_main, (void *)(uintptr_t)i), 0);
    }
    pthread_mutex_unlock(&baton);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i].thread, 0);
    become(0);
    CHECK_EQUAL(xmm_counts.exports, 0);
    CHECK_EQUAL(xmm_counts.proxies, 0);
    CHECK(is_little || !xmm_counts.errors);
    CHECK_EQUAL(messages_in_use(), 0);
    CHECK(xmm_counts.recalled && xmm_counts.returned && written > (mostly_copies ? rounds / 4 : rounds));
    struct vm_statistics v;
    vm_statistics(&v);
    CHECK(!swap || mostly_copies || v.pageouts);
    vm_object_release(shared);
    vm_check_no_leak();
}

#define OF_SEED(n)                                    \
    HOST_TEST(what_was_written_last_is_read_seed_##n) \
    {                                                 \
        for (unsigned i = 0; i < host_times(); i++)   \
            run(n + 100 * i, 400, 0, false);          \
    }                                                 \
    HOST_TEST(with_little_memory_seed_##n)            \
    {                                                 \
        for (unsigned i = 0; i < host_times(); i++)   \
            run(n + 100 * i, 60, 40, false);          \
    }
OF_SEED(1)
OF_SEED(2)

HOST_TEST(copies_of_other_nodes_are_of_one_moment)
{
    for (unsigned i = 0; i < 8 * host_times(); i++)
        run(1000 + i, 400, 0, true);
}
HOST_TEST(copies_of_other_nodes_with_little_memory)
{
    for (unsigned i = 0; i < 8 * host_times(); i++)
        run(2000 + i, 100, 60, true);
}

/* ---- Objects that are read by reference: nodes' requests to an export, one message at a time. */

/* Delivers it as if it came over the wire. */
static void comes(struct port *p, uint32_t id, unsigned node, struct port *control, uint32_t page)
{
    struct message *m = message_alloc(id);
    struct xmm_data body = {.page = page, .count = 1, .control = control->uid};
    CHECK(m);
    m->node = (uint16_t)node;
    memcpy(m->body, &body, sizeof body);
    m->size = sizeof body;
    port_reference(p);
    m->to = (struct right){p, RIGHT_NONE};
    if (id == XMM_INIT) {
        port_make(control, RIGHT_SEND);
        message_add_right(m, control, RIGHT_SEND);
    }
    p->ops->message(p->object, m);
}

/* The control port of a proxy on that node, as this node names it. */
static struct port *control_on(unsigned node, uint32_t uid)
{
    struct port *control = port_known(node, uid);
    CHECK(control);
    return control;
}

static struct port *exported_object(struct vm_object **object)
{
    fake_vm_init(400, 0);
    ipc_node = 0;
    *object = vm_object_create(PAGES);
    struct port *p = xmm_export(*object, false);
    CHECK(p);
    return p;
}

/* The message sent to that node: its number, and the port's. */
static uint32_t sent_to(unsigned node, uint32_t *uid)
{
    struct channel *c = &down[node];
    CHECK(c->first != c->next);
    struct message *m = c->flights[c->first++ % FLIGHTS].m;
    uint32_t id = m->id;
    *uid = m->to.port->uid;
    message_free(m);
    return id;
}

/* Nodes make and drop proxies of an object while others use it: its manager keeps the newest of each node. */
HOST_TEST(an_export_keeps_one_proxy_for_each_node)
{
    struct vm_object *object;
    struct port *p = exported_object(&object);
    uint32_t uid;
    for (uint32_t round = 0; round < 50; round++)
        for (unsigned n = 1; n < NODES; n++) {
            struct port *control = control_on(n, 100 + round);
            comes(p, XMM_INIT, n, control, 0);
            comes(p, XMM_DATA_REQUEST, n, control, 0);
            CHECK_EQUAL(sent_to(n, &uid), XMM_DATA_UNAVAILABLE);
            CHECK_EQUAL(uid, 100 + round);
            port_drop(control, RIGHT_SEND);
        }
    CHECK(ports_in_use() <= NODES);
    port_drop(p, RIGHT_SEND);
    CHECK_EQUAL(ports_in_use(), 0);
    CHECK_EQUAL(messages_in_use(), 0);
    vm_object_release(object);
}

/*
 * Whichever allocation fails, each request is answered: the thread that waits for the page has no time limit.
 */
HOST_TEST(each_request_is_answered)
{
    struct vm_object *object;
    struct port *p = exported_object(&object);
    static uint32_t taken[FAKE_PAGES];
    for (unsigned noted = 0; noted < 2; noted++)
        for (unsigned out = 0; out < 2; out++) {
            uint32_t count = 0, uid;
            struct port *control = control_on(2, 50 + 2 * noted + out);
            if (noted)
                comes(p, XMM_INIT, 2, control, 0);
            while (out && (taken[count] = page_alloc_raw()))
                count++;
            comes(p, XMM_DATA_REQUEST, 2, control, 1);
            comes(p, XMM_CHECK, 2, control, 1);
            while (count)
                page_free(taken[--count]);
            CHECK_EQUAL(sent_to(2, &uid), out ? XMM_DATA_ERROR : XMM_DATA_UNAVAILABLE);
            CHECK_EQUAL(uid, control->uid);
            CHECK_EQUAL(sent_to(2, &uid), XMM_CHECKED);
            port_drop(control, RIGHT_SEND);
        }
    port_drop(p, RIGHT_SEND);
    CHECK_EQUAL(ports_in_use(), 0);
    CHECK_EQUAL(messages_in_use(), 0);
    vm_object_release(object);
}

static struct port *last_right; /* to the export, which ends during a request to its pager */
static bool pager_ended;

static void slow_request(uint32_t memory, vm_control_t control, uint32_t page, uint32_t count, unsigned rights)
{
    static uint8_t bytes[PAGE_SIZE];
    (void)memory, (void)count, (void)rights;
    port_drop(last_right, RIGHT_SEND);
    CHECK(!pager_ended);
    CHECK_EQUAL(vm_pager_data_supply(control, page, bytes, 1, 0), 0);
}

static void slow_terminate(uint32_t memory, vm_control_t control)
{
    (void)memory, (void)control;
    pager_ended = true;
}

static const struct vm_pager slow_pager = {.name = "slow", .data_request = slow_request, .terminate = slow_terminate};

/* A node that asks for a page is given up before the page has come: the object stays until no thread uses it. */
HOST_TEST(an_export_that_ends_while_a_page_is_read)
{
    fake_vm_init(400, 0);
    ipc_node = 0;
    struct vm_object *object = vm_object_create_relative(&slow_pager, 1, PAGES, 0, 7);
    last_right = xmm_export(object, false);
    struct port *control = control_on(1, 50), *p = last_right;
    uint32_t uid;
    vm_object_release(object);
    comes(p, XMM_INIT, 1, control, 0);
    port_reference(p);
    comes(p, XMM_DATA_REQUEST, 1, control, 1);
    CHECK(pager_ended);
    CHECK_EQUAL(sent_to(1, &uid), XMM_DATA_SUPPLY);
    port_release(p);
    port_drop(control, RIGHT_SEND);
    CHECK_EQUAL(ports_in_use(), 0);
    vm_check_no_leak();
}

/* ---- Pages of a source that are checked at a copy, of another node. */

static struct vm_object *import_from(uint32_t uid, bool is_shared)
{
    const struct xmm_state state = {.size = PAGES, .kin = 7, .shared = is_shared};
    bool fresh;
    struct vm_object *o = xmm_import(port_known(0, uid), &state, &fresh);
    CHECK(o && fresh);
    return o;
}

/* A message of node 0 comes to the proxy of that object. */
static void comes_for(struct vm_object *object, uint32_t id, uint32_t page)
{
    struct proxy *x = proxy_of_object(object);
    struct message *m = message_alloc(id);
    const struct xmm_data body = {.page = page, .count = 1, .rights = id == XMM_CHECKED ? 0 : PAGE_WRITE};
    CHECK(m && (id == XMM_CHECKED || message_make_room(m, PAGE_SIZE)));
    memcpy(m->body, &body, sizeof body);
    m->size = sizeof body;
    control_message(x, m);
}

/* The copy ends at any moment, with any pages being checked: the source gets each page that has come, once. */
HOST_TEST(pages_that_are_checked_when_the_copy_ends)
{
    struct random r = random_from(1, 5);
    unsigned checked_at_the_end = 0;
    fake_vm_init(400, 0);
    share_runs = true;
    for (unsigned i = 0; i < 200 * host_times(); i++) {
        bool checks[PAGES] = {false};
        uint32_t came = xmm_counts.supplied;
        up[1].first = up[1].next = 0;
        become(1);
        struct vm_object *source = import_from(40, true), *copy = import_from(41, false);
        CHECK(vm_object_set_shadow(copy, source, 0) && xmm_set_source(copy, source));
        for (unsigned n = 1 + random_below(&r, 3 * PAGES); n; n--) {
            unsigned page = random_below(&r, PAGES);
            if (!checks[page])
                came++;
            comes_for(checks[page] ? copy : source, checks[page] ? XMM_CHECKED : XMM_DATA_SUPPLY, page);
            checks[page] = !checks[page];
        }
        for (unsigned p = 0; p < PAGES; p++)
            checked_at_the_end += checks[p];
        vm_object_release(copy);
        CHECK_EQUAL(xmm_counts.supplied, came);
        comes_for(source, XMM_DATA_SUPPLY, 0); /* it is not checked any more */
        CHECK_EQUAL(xmm_counts.supplied, came + 1);
        vm_object_release(source);
        for (; up[1].first != up[1].next; up[1].first++)
            if (up[1].flights[up[1].first % FLIGHTS].m)
                message_free(up[1].flights[up[1].first % FLIGHTS].m);
        CHECK_EQUAL(messages_in_use(), 0);
        CHECK_EQUAL(xmm_counts.proxies, 0);
    }
    CHECK(checked_at_the_end > 100);
}
