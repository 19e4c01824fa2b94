/*
 * run=remote-copy: what an asymmetric copy of memory costs that tasks of other nodes have, over their number (paper
 * `crtc`, sections 1, 5 and 6). Node 0 has a page for each node, and shares them with an empty task on each; it copies
 * them `rounds` times with tasks on one other node, on two, and so on, doubling, up to all. On the managing node alone,
 * as section 5 proposes: pages that other nodes may write are returned first; once without such pages (`read`), once
 * with one on each node (`written`). And as the original does it (`distributed`): the copy is put above its source on
 * all nodes, while no node may write. Each copy must have the contents of its moment. Boot argument: rounds.
 *
 *   @remote_copy nodes=... read=... written=... distributed=...     other nodes; cycles, the mean of the rounds
 */
#include <errno.h>
#include <string.h>

#include "arch/boot.h"
#include "arch/csr.h"
#include "bench/remote.h"
#include "dev/node.h"
#include "init/run.h"
#include "ipc/port.h"
#include "lib/bootargs.h"
#include "lib/minmax.h"
#include "lib/panic.h"
#include "lib/printf.h"
#include "task/task.h"
#include "user/abi.h"
#include "vm/inherited.h"
#include "vm/map.h"
#include "vm/shared.h"
#include "xmm/xmm.h"

#define STEPS 7 /* all but the hierarchical ones */
#define PATIENCE_MS 20000
#define SOURCE VM_BEGIN

enum kind { READ, WRITTEN, DISTRIBUTED, KINDS };

static struct vm_map *memory;
static struct port *child[PORT_NODES];
static uint32_t pages, moment; /* counts what has been written */

static uint32_t copy_at(void)
{
    return SOURCE + (pages + 1) * PAGE_SIZE;
}

/* Asks the task on that node to write the value into its page; the answer goes to `answers`. */
static void send_write(unsigned node, uint32_t value, struct port *answers)
{
    uint32_t address = SOURCE + node * PAGE_SIZE;
    struct message *m = message_alloc(USER_VM_WRITE);
    if (!m || !message_make_room(m, sizeof value))
        panic("memory is out");
    memcpy(page_pointer(m->page[0]), &value, sizeof value);
    port_make(child[node], RIGHT_SEND);
    m->to = (struct right){child[node], RIGHT_SEND};
    memcpy(m->body, &address, sizeof address);
    m->size = sizeof address;
    port_make(answers, RIGHT_SEND_ONCE);
    m->reply = (struct right){answers, RIGHT_SEND_ONCE};
    message_post(m);
}

/* All nodes write at once, a page each. */
static void write_pages(unsigned nodes)
{
    struct message *reply;
    struct port *answers = port_create(0, 0);
    if (!answers)
        panic("memory is out");
    for (unsigned n = 1; n <= nodes; n++)
        send_write(n, ++moment, answers);
    for (unsigned n = 1; n <= nodes; n++) {
        int error = port_receive(answers, PATIENCE_MS, &reply);
        if (!error) {
            memcpy(&error, reply->body, sizeof error);
            error = reply->id == MESSAGE_SEND_ONCE ? -EPIPE : error;
            message_free(reply);
        }
        if (error)
            panic("a node does not write its page: error %d", -error);
    }
    port_destroy(answers);
}

static uint32_t word_of(uint32_t address)
{
    uint32_t value;
    if (vm_read(memory, address, sizeof value, &value))
        panic("%lx cannot be read", (unsigned long)address);
    return value;
}

static struct vm_object *object_at(uint32_t address)
{
    struct vm_inherited r;
    if (!vm_map_next(memory, address, &r) || !r.object)
        panic("no object at %lx", (unsigned long)address);
    return r.object;
}

/* Copies all pages; returns the cycles. */
static uint32_t copy_once(unsigned nodes, enum kind kind)
{
    unsigned reached = nodes;
    struct vm_object *source = object_at(SOURCE), *copy;
    uint32_t begin = cycles32();
    if (kind == DISTRIBUTED)
        vm_sharing->freeze(source);
    int error = vm_copy(memory, SOURCE, pages * PAGE_SIZE, copy_at());
    if (kind == DISTRIBUTED && !error) {
        copy = object_at(copy_at());
        error = xmm_insert_copy(copy, &reached);
        vm_object_release(copy);
    }
    if (kind == DISTRIBUTED)
        vm_sharing->thaw(source);
    uint32_t took = cycles32() - begin;
    vm_object_release(source);
    if (error || reached != nodes)
        panic("no copy: error %d, %u nodes of %u", -error, reached, nodes);
    return took;
}

/* With the copy there, nodes write on: it keeps what it had. */
static void check_copy(unsigned nodes)
{
    uint32_t first = moment - nodes;
    write_pages(nodes);
    for (unsigned n = 1; n <= nodes; n++) {
        if (word_of(copy_at() + n * PAGE_SIZE) != first + n)
            panic("page %u of the copy is %lu, not %lu", n, (unsigned long)word_of(copy_at() + n * PAGE_SIZE),
                  (unsigned long)(first + n));
        if (word_of(SOURCE + n * PAGE_SIZE) != first + nodes + n)
            panic("page %u of the source is %lu", n, (unsigned long)word_of(SOURCE + n * PAGE_SIZE));
    }
}

/* The mean of the rounds. */
static uint32_t measure(unsigned nodes, enum kind kind, uint32_t rounds)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t at = copy_at();
        write_pages(nodes);
        if (kind == READ)
            for (unsigned n = 1; n <= nodes; n++)
                word_of(SOURCE + n * PAGE_SIZE); /* which other nodes may only read from then on */
        if (vm_allocate(memory, &at, pages * PAGE_SIZE, VM_FIXED))
            panic("memory is out");
        sum += copy_once(nodes, kind);
        check_copy(nodes);
        if (vm_deallocate(memory, at, pages * PAGE_SIZE))
            panic("the copy does not go");
    }
    return (uint32_t)(sum / rounds);
}

static void create_up_to(unsigned nodes)
{
    struct task_report report;
    for (unsigned n = 1; n <= nodes; n++) {
        int error = child[n] ? 0 : task_create_of(memory, n, STEPS, &child[n], &report);
        if (error)
            panic("no task on node %u: error %d", n, -error);
    }
}

static int copy_over_nodes(void)
{
    unsigned most = node_count() - 1;
    uint32_t rounds = bootargs_number(BOOT(bench_remote_copy, rounds)), at = SOURCE, zero = 0;
    pages = most + 1;
    memory = vm_map_create();
    if (!most || !memory || vm_allocate(memory, &at, pages * PAGE_SIZE, VM_FIXED) ||
        vm_write(memory, at, &zero, sizeof zero) || vm_inherit(memory, at, pages * PAGE_SIZE, VM_INHERIT_SHARE))
        panic("give several nodes, and memory");
    for (unsigned nodes = 1, last = 0; nodes != last; last = nodes, nodes = MIN(2 * nodes + 1, most)) {
        create_up_to(nodes);
        uint32_t took[KINDS];
        for (unsigned kind = 0; kind < KINDS; kind++)
            took[kind] = measure(nodes, (enum kind)kind, rounds);
        kprintf("@remote_copy nodes=%u read=%lu written=%lu distributed=%lu\n", nodes, (unsigned long)took[READ],
                (unsigned long)took[WRITTEN], (unsigned long)took[DISTRIBUTED]);
    }
    for (unsigned n = 1; n <= most; n++)
        port_drop(child[n], RIGHT_SEND);
    vm_map_release(memory);
    return 0;
}

static int run_remote_copy(void)
{
    return remote_run(copy_over_nodes);
}

RUN("remote-copy", "copies memory that other nodes write (rounds=)", run_remote_copy);
