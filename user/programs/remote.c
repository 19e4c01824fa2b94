/*
 * remote [STEPS [ROUNDS [PAGES]]]: creates a child on each other node in turn (kernel/task/task.h), ROUNDS times; each computes over PAGES
 * pages of memory that it has from here, and of which half is written, and tells what it has got by a message. With run=remote.
 *
 *   @remote node=... steps=... regions=... objects=... allocate=... vector=... create=... run=... faults=...
 *
 * cycles: until the empty task was there, from there until its memory was, both; from its start to its message; `fault`: of a page that was
 * faulted over the wire, in the child: the mean
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lib/ports.h"
#include "user/lib/system.h"

#define PAGE 4096
#define MOST 64
#define STACK 8192 /* bytes */

static uint8_t memory[MOST * PAGE] __attribute__((aligned(PAGE)));
static uint8_t stack[STACK] __attribute__((aligned(16)));
static uint32_t pages = 8, round_number;
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

/* Every word of it counts, where it is. */
static uint32_t sum_of(void)
{
    uint32_t sum = *heap;
    for (uint32_t p = 0; p < pages; p++)
        for (uint32_t w = 0; w < PAGE / 4; w++)
            sum = sum * 31 + ((uint32_t *)(memory + p * PAGE))[w];
    return sum;
}

static void child(uint32_t arg)
{
    struct user_message m = {.id = 7, .size = sizeof(struct report)};
    struct report r = {.round = arg, .node = node_self()};
    uint32_t begin = cycles();
    for (uint32_t p = 0; p < pages; p++)
        r.sum += *(volatile uint32_t *)(memory + p * PAGE);
    r.fault = (cycles() - begin) / pages;
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

/* What the child is to get. */
static uint32_t expected(void)
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

static int round_on(uint32_t node, uint32_t steps, uint32_t port)
{
    struct created c;
    struct user_message m;
    struct report r;
    fill();
    int task = task_create((uint32_t)task_self(), node, steps, &c);
    if (task < 0)
        return failed("no child", task);
    for (uint32_t p = 0; p < pages; p++) /* what is written here from now on, the child does not see */
        memset(memory + p * PAGE, 0xee, 16);
    uint32_t begin = cycles();
    int error = task_run((uint32_t)task, child, round_number, stack + STACK);
    if (!error)
        error = message_receive(&m, port, 20000);
    uint32_t took = cycles() - begin;
    if (error)
        return failed("no answer", error);
    port_deallocate((uint32_t)task);
    memcpy(&r, m.body, sizeof r);
    fill();
    if (m.size != sizeof r || r.sum != expected() || r.node != node || r.round != round_number) {
        printf("remote: node %u says %x of round %u, not %x\n", (unsigned)r.node, (unsigned)r.sum, (unsigned)r.round,
               (unsigned)expected());
        return 1;
    }
    printf("@remote node=%u steps=%u regions=%u objects=%u allocate=%u vector=%u create=%u run=%u fault=%u\n",
           (unsigned)node, (unsigned)steps, (unsigned)c.regions, (unsigned)c.objects, (unsigned)c.allocate,
           (unsigned)c.vector, (unsigned)c.cycles, (unsigned)took, (unsigned)r.fault);
    return 0;
}

int main(int argc, char **argv)
{
    uint32_t steps = argc > 1 ? strtoul(argv[1], 0, 0) : 0, rounds = argc > 2 ? strtoul(argv[2], 0, 0) : 1;
    if (argc > 3)
        pages = strtoul(argv[3], 0, 0);
    if (!pages || pages > MOST)
        return failed("pages: give 1 to 64", -1);
    int port = port_allocate();
    heap = malloc(PAGE);
    if (port < 0 || !heap)
        return failed("no port", port);
    int error = set_bootstrap_port((uint32_t)port);
    if (error)
        return failed("no bootstrap port", error);
    for (uint32_t i = 0; i < rounds; i++)
        for (uint32_t node = 1; node < node_total(); node++) {
            round_number++;
            *heap = round_number * 77;
            if (round_on(node, steps, (uint32_t)port))
                return 1;
        }
    return 0;
}
