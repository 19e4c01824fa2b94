/*
 * remote [STEPS [ROUNDS [PAGES [FANOUT [DEPTH [REGIONS [COPIED]]]]]]]: creates a child on each other node
 * (kernel/task/task.h), ROUNDS times; each computes over PAGES pages of memory that it inherits from here, half of
 * which are written, and sends its result in a message. ROUNDS 0: a round on 1 node, on 7, on 31, and so on up to all.
 * One after the other if FANOUT is -, else all at once, by a tree of that fan-out, or flat if it is 0. The parent has
 * DEPTH waiting ancestors, each of which has written a page of its own in each of REGIONS regions: so each of these is
 * a chain of DEPTH + 1 objects. COPIED 1: the pages are of memory that has been shared with another task, of which
 * children have an asymmetric copy; 2: which is distributed with its source (STEPS has 16 more). The parent writes
 * every fourth of these pages before the child reads them: these are the copy's, the others the source's. With
 * run=remote.
 *
 *   @remote node=... steps=... regions=... objects=... allocate=... vector=... create=... run=... faults=...
 *
 *   @spread nodes=... steps=... fanout=... regions=... objects=... send=... create=... run=...
 *
 * cycles: until the empty task was there, from there until its memory was, both; from its start to its message;
 * `fault`: of a page that was faulted over the wire, in the child: the mean; with COPIED, of pages of the source
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/lib/ports.h"
#include "user/lib/system.h"

#define PAGE 4096
#define MOST 64
#define STACK 8192 /* bytes */
#define ANSWER_MS 5000 /* for a child that runs */
#define SETTLE_US 100000 /* until children that have answered are gone */

static uint8_t own[MOST * PAGE] __attribute__((aligned(PAGE))), *memory = own;
static uint8_t stack[STACK] __attribute__((aligned(16)));
static uint32_t pages = 8, round_number, copied;
static uint32_t *heap;

struct report {
    uint32_t sum, node, cycles, round, fault;
};

static uint32_t value_of(uint32_t page, uint32_t word)
{
    return page * 0x9e3779b9u ^ word * 0x85ebca6bu ^ round_number;
}

static void fill(void)
{
    for (uint32_t p = 0; p < pages; p++)
        for (uint32_t w = 0; w < PAGE / 4; w++)
            ((uint32_t *)(memory + p * PAGE))[w] = value_of(p, w);
}

/*
 * Regions that are not joined, as there is a page between them. Generation N writes page N of each: an object all of
 * whose pages were written again further up would be bypassed, and the chain stay short.
 */
#define DEEPEST 16
#define REGION ((DEEPEST + 2) * PAGE)
static uint32_t region_count;

static void map_regions(uint32_t count, uint32_t depth)
{
    region_count = count;
    for (uint32_t i = 0; i < count; i++)
        mmap((void *)(0x28000000 + i * REGION), (depth + 1) * PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
}

static uint32_t *region_page(uint32_t i, uint32_t generation)
{
    return (uint32_t *)(0x28000000 + i * REGION + generation * PAGE);
}

static void write_regions(uint32_t generation)
{
    for (uint32_t i = 0; i < region_count; i++)
        *region_page(i, generation) = value_of(i, generation);
}

/* Sums every word of it by its place; and what the first generation has written, at the end of a chain. */
static uint32_t sum_of(void)
{
    uint32_t sum = *heap + (region_count ? *region_page(0, 0) : 0);
    for (uint32_t p = 0; p < pages; p++)
        for (uint32_t w = 0; w < PAGE / 4; w++)
            sum = sum * 31 + ((uint32_t *)(memory + p * PAGE))[w];
    return sum;
}

/* Whether the parent writes the page at once: it is the copy's own then. */
static bool is_spoiled(uint32_t page)
{
    return !copied || page % 4 == 0;
}

/* Cycles of a page's first access: only of the source's pages, if there is a copy. */
static uint32_t fault_time(uint32_t *sum)
{
    uint32_t all = 0, count = 0;
    for (uint32_t p = 0; p < pages; p++) {
        uint32_t begin = cycles();
        *sum += *(volatile uint32_t *)(memory + p * PAGE);
        if (copied && is_spoiled(p))
            continue;
        all += cycles() - begin;
        count++;
    }
    return count ? all / count : 0;
}

static void child(uint32_t arg)
{
    struct user_message m = {.id = 7, .size = sizeof(struct report)};
    struct report r = {.round = round_number, .node = arg == node_self() ? arg : 0};
    uint32_t begin = cycles();
    r.fault = fault_time(&r.sum);
    r.sum = sum_of();
    for (uint32_t p = 0; p < pages; p += 2)
        *(volatile uint32_t *)(memory + p * PAGE) += 1 + p;
    r.sum += sum_of();
    r.cycles = cycles() - begin;
    int to = bootstrap_port();
    m.to = (struct user_right){(uint32_t)to, USER_RIGHT_COPY_SEND};
    memcpy(m.body, &r, sizeof r);
    _exit(to <= 0 || message_send(&m, USER_FOREVER) ? 1 : 0);
}

/* What the children of this round are to get. */
static uint32_t expected;

static uint32_t expected_of(void)
{
    uint32_t sum = sum_of();
    for (uint32_t p = 0; p < pages; p += 2)
        *(uint32_t *)(memory + p * PAGE) += 1 + p;
    sum += sum_of();
    for (uint32_t p = 0; p < pages; p += 2)
        *(uint32_t *)(memory + p * PAGE) -= 1 + p;
    return sum;
}

static int failed(const char *what, int error)
{
    printf("remote: %s: error %d\n", what, -error);
    return 1;
}

static uint32_t steps;

/* The result from the child on a node. */
static int hear(uint32_t port, struct report *r)
{
    struct user_message m;
    int error = message_receive(&m, port, ANSWER_MS);
    if (error)
        return failed("no answer", error);
    memcpy(r, m.body, sizeof *r);
    if (m.size == sizeof *r && r->sum == expected && r->round == round_number)
        return 0;
    printf("remote: node %u says %x of round %u, not %x\n", (unsigned)r->node, (unsigned)r->sum, (unsigned)r->round,
           (unsigned)expected);
    return 1;
}

/* Children see no writes from now on. */
static void spoil(void)
{
    for (uint32_t p = 0; p < pages; p++)
        if (is_spoiled(p))
            memset(memory + p * PAGE, 0xee, 16);
}

static int round_on(uint32_t node, uint32_t port)
{
    struct created c;
    struct report r;
    int task = task_create((uint32_t)task_self(), node, steps, &c);
    if (task < 0)
        return failed("no child", task);
    spoil();
    uint32_t begin = cycles();
    int error = task_run((uint32_t)task, child, node, stack + STACK);
    if (!copied)
        fill();
    if (error)
        return failed("it does not run", error);
    if (hear(port, &r))
        return 1;
    if (copied)
        fill();
    uint32_t took = cycles() - begin;
    port_deallocate((uint32_t)task);
    if (r.node != node)
        return failed("another node", -(int)r.node);
    printf("@remote node=%u steps=%u regions=%u objects=%u allocate=%u vector=%u create=%u run=%u fault=%u\n",
           (unsigned)node, (unsigned)steps, (unsigned)c.regions, (unsigned)c.objects, (unsigned)c.allocate,
           (unsigned)c.vector, (unsigned)c.cycles, (unsigned)took, (unsigned)r.fault);
    return 0;
}

static int round_on_all(uint32_t count, uint32_t fanout, uint32_t port)
{
    struct created c;
    struct report r;
    uint32_t begin = cycles();
    uint64_t seen = 0;
    int error = task_spread((uint32_t)task_self(), 1, count, steps, fanout, child, stack + STACK, &c);
    if (error)
        return failed("no children", error);
    spoil();
    if (!copied)
        fill();
    for (uint32_t i = 0; i < count; i++) {
        if (hear(port, &r))
            return 1;
        if (r.node < 1 || r.node > count || seen >> r.node & 1)
            return failed("a node that has answered", -(int)r.node);
        seen |= 1ull << r.node;
    }
    printf("@spread nodes=%u steps=%u fanout=%u regions=%u objects=%u send=%u create=%u run=%u\n", (unsigned)count,
           (unsigned)steps, (unsigned)fanout, (unsigned)c.regions, (unsigned)c.objects, (unsigned)c.allocate,
           (unsigned)c.cycles, (unsigned)(cycles() - begin));
    return 0;
}

/* Memory that keeps its object, as another task shares it; a child has a copy of it. */
static void share_memory(void)
{
    int status;
    memory = mmap(0, MOST * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    int id = memory == MAP_FAILED ? -1 : fork();
    if (!id)
        _exit(0);
    if (id < 0 || waitpid(id, &status, 0) != id ||
        task_vm_inherit((uint32_t)task_self(), (uint32_t)memory, MOST * PAGE, USER_INHERIT_COPY))
        _exit(failed("no shared memory", -1));
}

/* The calling process, `depth` generations further down; its parents wait, and exit with its status. */
static void descend(uint32_t depth)
{
    write_regions(0);
    for (uint32_t generation = 1; generation <= depth; generation++) {
        int status, id = fork();
        if (id) {
            if (id < 0 || waitpid(id, &status, 0) != id)
                _exit(1);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
        write_regions(generation);
    }
}

static uint32_t number(int argc, char **argv, int i, uint32_t otherwise)
{
    return argc > i ? strtoul(argv[i], 0, 0) : otherwise;
}

int main(int argc, char **argv)
{
    uint32_t rounds = number(argc, argv, 2, 1), depth = number(argc, argv, 5, 0), count = number(argc, argv, 6, 0);
    bool spread = argc > 4 && strcmp(argv[4], "-") != 0;
    steps = number(argc, argv, 1, 0);
    pages = number(argc, argv, 3, pages);
    if (!pages || pages > MOST || count > MOST || depth > DEEPEST)
        return failed("pages: give 1 to 64, regions: up to 64, depth: up to 16", -1);
    map_regions(count, depth);
    copied = number(argc, argv, 7, 0);
    if (copied)
        share_memory();
    if (copied == 2)
        steps |= 16;
    descend(depth);
    int port = port_allocate();
    heap = malloc(PAGE);
    if (port < 0 || !heap)
        return failed("no port", port);
    int error = set_bootstrap_port((uint32_t)port);
    if (error)
        return failed("no bootstrap port", error);
    uint32_t most = node_total() - 1, fanout = number(argc, argv, 4, 0);
    for (uint32_t i = 0, nodes = rounds ? most : MIN(1, most); rounds ? i < rounds : nodes != 0; i++) {
        *heap = ++round_number * 77;
        fill();
        expected = expected_of();
        if (spread && round_on_all(nodes, fanout, (uint32_t)port))
            return 1;
        for (uint32_t node = 1; !spread && node <= nodes; node++)
            if (round_on(node, (uint32_t)port))
                return 1;
        if (!rounds) {
            usleep(SETTLE_US);
            nodes = nodes == most ? 0 : MIN(4 * nodes + 3, most);
        }
    }
    return 0;
}
