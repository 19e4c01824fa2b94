/*
 * parcel: out-of-line memory that goes round all nodes, by copy on write (user/abi.h, SYS_MESSAGE). A task on
 * each other node gets it from the one before, compares it with what it should be, writes into some of its pages,
 * sends it on, and writes into it again; each that has sent it sees what it wrote itself, and nothing else. The memory
 * is private, or written by other tasks too. At the end each task but the last has ended while the next one fetches
 * pages that have come through it. Exits with 0, or prints what is wrong. With run=remote.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/lib/ports.h"
#include "user/lib/system.h"

#define PAGE 4096
#define MOST 18 /* pages: more than a message has */
#define MOST_NODES 16
#define STACK 8192
#define MS 5000
#define PARCEL 10 /* messages: memory, with the next tasks' rights; */
#define HELLO 11 /* the child's own port */

static uint8_t stack[STACK] __attribute__((aligned(16)));
static uint32_t *shared; /* pages that all tasks may write */
static uint32_t nodes;

static uint32_t wrong(const char *what, uint32_t is, uint32_t should)
{
    printf("parcel: node %u: %s: %u, not %u\n", (unsigned)node_self(), what, (unsigned)is, (unsigned)should);
    return 1;
}

static uint32_t first_of(uint32_t page)
{
    return page * 0x9e3779b9u | 1;
}

/* Node `node` writes every page whose number leaves this rest. */
static int writes(uint32_t node, uint32_t page)
{
    return page % (nodes + 1) == node;
}

/* As it is when nodes 1 to `through` have written; looks at every page whose number is a multiple of `step`. */
static uint32_t check(const uint32_t *memory, uint32_t pages, uint32_t through, uint32_t step)
{
    for (uint32_t p = 0; p < pages; p += step)
        for (uint32_t w = 0; w < PAGE / 4; w += 341) {
            uint32_t should = first_of(p) + w;
            for (uint32_t node = 1; node <= through; node++)
                should += writes(node, p) && w == 682 ? 1000 * node : 0;
            if (memory[p * (PAGE / 4) + w] != should)
                return wrong("a word", memory[p * (PAGE / 4) + w], should);
        }
    return 0;
}

static void fill(uint32_t *memory, uint32_t pages)
{
    for (uint32_t p = 0; p < pages; p++)
        for (uint32_t w = 0; w < PAGE / 4; w++)
            memory[p * (PAGE / 4) + w] = first_of(p) + w;
}

/* Sends it to the first of the rights that came with it, with the others. */
static int send_on(const struct user_message *got, uint32_t *memory)
{
    struct user_message m = {.id = PARCEL, .size = got->size, .data = (uint32_t)memory, .data_size = got->data_size};
    m.to = (struct user_right){got->right[0].name, USER_RIGHT_COPY_SEND};
    m.rights = got->rights - 1;
    for (uint32_t i = 0; i < m.rights; i++)
        m.right[i] = (struct user_right){got->right[i + 1].name, USER_RIGHT_COPY_SEND};
    memcpy(m.body, got->body, got->size);
    return message_send(&m, MS);
}

static uint32_t take_parcel(struct user_message *m, uint32_t node)
{
    uint32_t *memory = (uint32_t *)m->data, pages = m->data_size / PAGE;
    uint32_t failed = check(memory, pages, node - 1, 2);
    for (uint32_t p = 0; p < pages; p++)
        if (writes(node, p))
            memory[p * (PAGE / 4) + 682] += 1000 * node;
    int error = send_on(m, memory);
    if (error)
        failed = wrong("sent on", (uint32_t)-error, 0);
    for (uint32_t p = 0; p < pages; p += 3)
        memory[p * (PAGE / 4)] = 7;
    munmap(memory, m->data_size);
    for (uint32_t i = 0; i < m->rights; i++)
        port_deallocate(m->right[i].name);
    return failed;
}

static void child(uint32_t node)
{
    int port = port_allocate();
    struct user_message m = {.id = HELLO, .size = 4, .rights = 1};
    m.to = (struct user_right){(uint32_t)bootstrap_port(), USER_RIGHT_COPY_SEND};
    m.right[0] = (struct user_right){(uint32_t)port, USER_RIGHT_MAKE_SEND};
    memcpy(m.body, &node, sizeof node);
    uint32_t failed = port < 0 || message_send(&m, MS), ends = 0;
    while (!failed && !ends) {
        int error = message_receive(&m, (uint32_t)port, USER_FOREVER);
        ends = m.body[0];
        failed = error ? wrong("received", (uint32_t)-error, 0) : take_parcel(&m, node);
    }
    _exit((int)failed);
}

static uint32_t right_to[MOST_NODES];

static uint32_t start(int port)
{
    struct created c;
    for (uint32_t node = 1; node < nodes; node++) {
        int task = task_create((uint32_t)task_self(), node, 7, &c);
        int error = task < 0 ? task : task_run((uint32_t)task, child, node, stack + STACK);
        if (error)
            return wrong("a task", (uint32_t)-error, 0);
        port_deallocate((uint32_t)task);
    }
    for (uint32_t i = 1; i < nodes; i++) {
        struct user_message m;
        uint32_t node;
        int error = message_receive(&m, (uint32_t)port, MS);
        if (error)
            return wrong("a child's port", (uint32_t)-error, 0);
        memcpy(&node, m.body, sizeof node);
        right_to[node % MOST_NODES] = m.right[0].name;
    }
    return 0;
}

/* Round all nodes, in order. `bytes` may be no whole pages: then it is copied. */
static uint32_t round_trip(int port, uint32_t *memory, uint32_t bytes, uint32_t ends)
{
    uint32_t pages = bytes / PAGE;
    struct user_message m = {.id = PARCEL, .size = 4, .rights = nodes - 1};
    m.to = (struct user_right){right_to[1], USER_RIGHT_COPY_SEND};
    m.body[0] = (unsigned char)ends;
    for (uint32_t node = 2; node < nodes; node++)
        m.right[node - 2] = (struct user_right){right_to[node], USER_RIGHT_COPY_SEND};
    m.right[nodes - 2] = (struct user_right){(uint32_t)port, USER_RIGHT_MAKE_SEND};
    m.data = (uint32_t)memory;
    m.data_size = bytes;
    fill(memory, pages);
    int error = message_send(&m, MS);
    for (uint32_t p = 0; p < pages; p++)
        memory[p * (PAGE / 4) + 341] = 5;
    if (!error)
        error = message_receive(&m, (uint32_t)port, 4 * MS);
    if (error)
        return wrong("the way round", (uint32_t)-error, 0);
    uint32_t failed = m.data_size == bytes ? 0 : wrong("bytes", m.data_size, bytes);
    if (!failed)
        failed = check((uint32_t *)m.data, pages, nodes - 1, 1);
    for (uint32_t p = 0; p < pages && !failed; p++)
        if (memory[p * (PAGE / 4) + 341] != 5 || memory[p * (PAGE / 4) + 682] != first_of(p) + 682)
            failed = wrong("the sender's own", memory[p * (PAGE / 4) + 682], first_of(p) + 682);
    munmap((void *)m.data, m.data_size);
    return failed;
}

int main(void)
{
    nodes = node_total();
    int port = port_allocate();
    shared = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    uint32_t *own = mmap(0, (MOST + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (nodes < 2 || nodes > USER_MESSAGE_RIGHTS || port < 0 || shared == MAP_FAILED || own == MAP_FAILED ||
        set_bootstrap_port((uint32_t)port))
        return 1;
    uint32_t failed = start(port);
    if (!failed)
        failed = round_trip(port, shared, 2 * PAGE, 0);
    if (!failed)
        failed = round_trip(port, own, 3000, 0);
    if (!failed)
        failed = round_trip(port, own + PAGE / 4, MOST * PAGE, 1); /* not from its first page on */
    return (int)failed;
}
